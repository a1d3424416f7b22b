/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_CPU_H
#define HF_SRC_CPU_H
/*
 * cpu - what this processor can do, as it reports itself: read at the first call and kept.
 *
 * Use when / not when
 *   To find out whether an implementation may run here at all. Not to find out which is fast: there
 *   are processors with FSRM whose misaligned `rep movsb` is many times slower than a plain loop.
 *   The lab measures that.
 *
 * Tests  HOLDFAST_CPU_WITHOUT=avx512f,avx2 in the environment hides these features (Linux user
 *   space; the names are those of cpu_feature.h in small letters). It can't add any.
 *
 * Ordering  none
 * Context   any thread, any signal handler
 */
#include "holdfast/internal/cpu_feature.h"

HF_BEGIN_DECLS

/* hf_detail_cpu_known - all that the processor reports. */
struct hf_detail_cpu hf_detail_cpu_known(void) __attribute__((visibility("hidden")));

/* hf_detail_cpu_zva_size - the bytes that DC ZVA clears; 0: it is missing, or may not be used. */
unsigned int hf_detail_cpu_zva_size(void) __attribute__((visibility("hidden")));

/* hf_detail_cpu_has - has the processor this feature? */
bool hf_detail_cpu_has(enum hf_detail_cpu_feature feature) __attribute__((visibility("hidden")));

/*
 * Makes the library take the features in @list, names of cpu_feature.h separated by commas, for
 * absent. To be called before there are other threads. Returns false if a name is unknown; the
 * others still apply.
 */
bool hf_detail_cpu_hide(const char *list) __attribute__((visibility("hidden")));

HF_END_DECLS

#endif
