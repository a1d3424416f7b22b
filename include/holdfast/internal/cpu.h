/* SPDX-License-Identifier: MIT */
#ifndef HF_CPU_H
#define HF_CPU_H
#pragma GCC system_header
/*
 * cpu - what this processor can do, as it reports itself.
 *
 * Use when / not when
 *   To find out whether an implementation may run here at all. Not to find out which is fast: there
 *   are processors with FSRM whose misaligned `rep movsb` is many times slower than a plain loop.
 *   The lab measures that, and hf_nofault_calibrate().
 *
 * State
 *   Read from the processor at the first call and kept. A feature of another processor is absent.
 *
 * Tests  HOLDFAST_CPU_WITHOUT=avx512f,avx2 in the environment hides these features from all that asks
 *   here (Linux user space; the names are those of the functions below). It can't add any.
 *
 * Return    has_: true = it has it; what the others return stands beside them
 * Ordering  none
 * Context   any thread, any signal handler
 * Example   examples/cpu.c; `hf-lab cpu` prints all of it
 * Source    Intel SDM vol. 2, CPUID; AMD APM vol. 3, appendix E; Arm ARM, ID_AA64ISAR0/2_EL1,
 *           DCZID_EL0
 */
#include "compiler.h"
#include "env.h"

HF_BEGIN_DECLS

/* x86-64: `rep stosq` and `rep movsq` are worth it. There is no CPUID bit: Intel of family 6 from
 * Core on, AMD and Hygon from family 0x10 on, Zhaoxin and Centaur from family 7 on. */
bool hf_cpu_has_rep_good(void) HF_API_EACH;

/* x86-64: enhanced `rep movsb` and `rep stosb`. CPUID 7.0 EBX bit 9. */
bool hf_cpu_has_erms(void) HF_API_EACH;

/* x86-64: fast short `rep movsb`. CPUID 7.0 EDX bit 4. */
bool hf_cpu_has_fsrm(void) HF_API_EACH;

/* x86-64: fast short `rep stosb`. CPUID 7.1 EAX bit 11. */
bool hf_cpu_has_fsrs(void) HF_API_EACH;

/* x86-64: fast `rep movsb` of length 0. CPUID 7.1 EAX bit 10. */
bool hf_cpu_has_fzrm(void) HF_API_EACH;

/* x86-64: vectors of 32 bytes, and the system saves them. CPUID 7.0 EBX bit 5, XCR0. */
bool hf_cpu_has_avx2(void) HF_API_EACH;

/* x86-64: vectors of 64 bytes, and the system saves them. CPUID 7.0 EBX bit 16, XCR0. */
bool hf_cpu_has_avx512f(void) HF_API_EACH;

/* x86-64: the same instructions on vectors of 16 and 32 bytes. CPUID 7.0 EBX bit 31. */
bool hf_cpu_has_avx512vl(void) HF_API_EACH;

/* AArch64: atomics in one instruction. ID_AA64ISAR0_EL1.Atomic. */
bool hf_cpu_has_lse(void) HF_API_EACH;

/* AArch64: memory copy and set instructions. ID_AA64ISAR2_EL1.MOPS. */
bool hf_cpu_has_mops(void) HF_API_EACH;

/* AArch64: what DC ZVA clears. DCZID_EL0. Returns bytes, or 0: it may not be used. */
unsigned int hf_cpu_zva_size(void) HF_API_EACH;

/* x86-64: display family and model. Returns 0 elsewhere. */
unsigned int hf_cpu_family(void) HF_API_EACH;
unsigned int hf_cpu_model(void) HF_API_EACH;

/* x86-64: the vendor as CPUID spells it. Returns 12 letters, or "" elsewhere. */
const char *hf_cpu_vendor(void) HF_API_EACH;

HF_END_DECLS

#endif
