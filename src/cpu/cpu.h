/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_CPU_H
#define HF_SRC_CPU_H
/* cpu - for src/: all of what the processor says at once, and hiding some of it. */
#include "holdfast/internal/cpu_feature.h"

struct hf_detail_cpu hf_detail_cpu_known(void) __attribute__((visibility("hidden")));

/*
 * At the start, before any other thread: takes features away, for tests. @list: names of cpu.h with
 * commas between them. Returns false if there was a name that is none; the others count.
 */
bool hf_detail_cpu_hide(const char *list) __attribute__((visibility("hidden")));

#endif
