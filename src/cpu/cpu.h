/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_CPU_H
#define HF_SRC_CPU_H
/* cpu - hides features of the processor, for tests. */
#include "holdfast/internal/cpu.h"

/*
 * Makes the library take the features in @list, names of cpu_feature.h separated by commas, for
 * absent. To be called before there are other threads. Returns false if a name is unknown; the
 * others still apply.
 */
bool hf_detail_cpu_hide(const char *list) __attribute__((visibility("hidden")));

#endif
