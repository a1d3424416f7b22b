/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_X86_64_SPIN_H
#define HF_ARCH_X86_64_SPIN_H
/*
 * spin, for x86-64 - PAUSE, PREFETCHW, plain loads.
 *
 * PAUSE costs about 2 to 65 cycles on AMD and 9 to 140 on Intel, by generation: a wait counted in
 * PAUSEs is a different time on each. docs/design/0005-waiting.md has what that does to a lock.
 */
#include "../../compiler.h"
#include "../../env.h"

/* Bytes that one core owns at a time. Intel's adjacent-line prefetcher moves lines in pairs. */
#define HF_ARCH_CACHE_LINE 64
#define HF_ARCH_NO_SHARING 128

/* Backoff in hints: first wait, and the limit that doubling reaches. */
#define HF_ARCH_BACKOFF_MIN 4
#define HF_ARCH_BACKOFF_MAX 64

/* The most hints between two looks of the next in line for a queued lock. */
#define HF_ARCH_PENDING_HINTS 16

/* A LOCK-prefixed instruction orders everything (AMD APM vol. 2, 7.4; Intel SDM vol. 3, 8.2). */
#define HF_ARCH_RMW_IS_FULL_BARRIER 1

/* 1 where a compare-and-swap of one byte is worth having beside that of a word. */
#define HF_ARCH_HAS_CMPXCHG8 1

/* How each lock waits here, chosen by the lab's sweep (docs/design/0005-waiting.md). */
#define HF_ARCH_WAIT_CAS HF_WAIT_BACKOFF
#define HF_ARCH_WAIT_WFE HF_WAIT_BACKOFF
#define HF_ARCH_WAIT_TICKET HF_WAIT_HINT
#define HF_ARCH_WAIT_MCS HF_WAIT_HINT
#define HF_ARCH_WAIT_QUEUED HF_WAIT_BACKOFF
#define HF_ARCH_WAIT_LOCKREF HF_WAIT_BACKOFF

/* hf_arch_relax - the spin hint: PAUSE. Leaves the pipeline to the sibling thread for a while. */
HF_INLINE void hf_arch_relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/* hf_arch_prefetch_store - bring the line that holds *p here, ready to be written. A hint. */
HF_INLINE void hf_arch_prefetch_store(const void *p)
{
	__asm__ volatile("prefetchw %0" ::"m"(*(const char *)p));
}

/* hf_arch_wait_change32 - wait while *p == old, at most for a moment. Returns *p. Acquire. */
HF_INLINE uint32_t hf_arch_wait_change32(uint32_t *p, uint32_t old)
{
	uint32_t value = __atomic_load_n(p, __ATOMIC_ACQUIRE);

	if (value == old)
		hf_arch_relax();
	return value;
}

/* hf_arch_wait_zero_set32 - wait until *p is 0, then make it 1. Acquire. */
HF_INLINE void hf_arch_wait_zero_set32(uint32_t *p)
{
	uint32_t zero = 0;

	while (!__atomic_compare_exchange_n(p, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		while (__atomic_load_n(p, __ATOMIC_RELAXED))
			hf_arch_relax();
		zero = 0;
	}
}

#endif
