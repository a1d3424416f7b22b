/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_CPU_H
#define HF_SRC_CPU_H
/*
 * cpu - what this processor can do, as it reports itself: read at the first call and kept. It says
 * what may run here, not what is fast: that is measured (x86_64_policy.h).
 *
 * Context   any thread, any signal handler
 */
#include "holdfast/internal/cpu_feature.h"

HF_BEGIN_DECLS

struct hf_detail_cpu hf_detail_cpu_known(void) __attribute__((visibility("hidden")));

/* The bytes that DC ZVA clears; 0: it is missing, or may not be used. */
unsigned int hf_detail_cpu_zva_size(void) __attribute__((visibility("hidden")));

bool hf_detail_cpu_has(enum hf_detail_cpu_feature feature) __attribute__((visibility("hidden")));

/*
 * HOLDFAST_CPU_WITHOUT: takes the features in @list, names of cpu_feature.h in small letters with
 * commas between, for absent. Called before there are other threads. Returns false if a name is
 * unknown; the others still apply.
 */
bool hf_detail_cpu_hide(const char *list) __attribute__((visibility("hidden")));

HF_END_DECLS

#endif
