/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_CPU_H
#define HF_SRC_CPU_H
/* cpu - for src/: what the processor reports, and hiding some of it. */
#include "holdfast/internal/cpu.h"

/*
 * At the start, before any other thread: takes features away, for tests. @list: names of cpu_feature.h with
 * commas between them. Returns false if there was a name that is none; the others count.
 */
bool hf_detail_cpu_hide(const char *list) __attribute__((visibility("hidden")));

#endif
