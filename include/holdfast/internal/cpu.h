/* SPDX-License-Identifier: MIT */
#ifndef HF_CPU_H
#define HF_CPU_H
#pragma GCC system_header
/*
 * cpu - what this processor can do, as it reports itself: read at the first call and kept.
 *
 * Use when / not when
 *   To find out whether an implementation may run here at all. Not to find out which is fast: there
 *   are processors with FSRM whose misaligned `rep movsb` is many times slower than a plain loop.
 *   The lab measures that, and hf_nofault_calibrate().
 *
 * Tests  HOLDFAST_CPU_WITHOUT=avx512f,avx2 in the environment hides these features from all that asks
 *   here (Linux user space; the names are those of cpu_feature.h in small letters). It can't add any.
 *
 * Ordering  none
 * Context   any thread, any signal handler
 */
#include "cpu_feature.h"

HF_BEGIN_DECLS

/* hf_detail_cpu_known - all of it. */
struct hf_detail_cpu hf_detail_cpu_known(void) __attribute__((visibility("hidden")));

/* hf_detail_cpu_zva_size - the bytes that DC ZVA clears; 0: it may not be used, or is not there. */
unsigned int hf_detail_cpu_zva_size(void) __attribute__((visibility("hidden")));

/* hf_detail_cpu_has - has it this feature? */
bool hf_detail_cpu_has(enum hf_detail_cpu_feature feature) __attribute__((visibility("hidden")));

HF_END_DECLS

#endif
