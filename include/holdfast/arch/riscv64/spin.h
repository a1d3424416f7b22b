/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_RISCV64_SPIN_H
#define HF_ARCH_RISCV64_SPIN_H
/*
 * spin, for RISC-V of 64 bits - PAUSE (Zihintpause), which older processors take for a FENCE that
 * orders nothing; plain loads.
 */
#include "../../compiler.h"
#include "../../env.h"

/* Bytes that one core owns at a time, and the distance that keeps two words from sharing. */
#define HF_ARCH_CACHE_LINE 64
#define HF_ARCH_NO_SHARING 128

/* Backoff in hints: first wait, and the limit that doubling reaches. */
#define HF_ARCH_BACKOFF_MIN 32
#define HF_ARCH_BACKOFF_MAX 1024

/* The most hints between two looks of the next in line for a queued lock. */
#define HF_ARCH_PENDING_HINTS 128

/* 1 where an atomic read-modify-write is already a full memory barrier. */
#define HF_ARCH_RMW_IS_FULL_BARRIER 0

/* 1 where a compare-and-swap of one byte is worth having beside that of a word. */
#define HF_ARCH_HAS_CMPXCHG8 0

/* How each lock waits here. Not measured on hardware: as on x86-64. */
#define HF_ARCH_WAIT_CAS HF_WAIT_BACKOFF
#define HF_ARCH_WAIT_WFE HF_WAIT_HINT
#define HF_ARCH_WAIT_TICKET HF_WAIT_HINT
#define HF_ARCH_WAIT_MCS HF_WAIT_HINT
#define HF_ARCH_WAIT_QUEUED HF_WAIT_BACKOFF
#define HF_ARCH_WAIT_LOCKREF HF_WAIT_BACKOFF

/* hf_arch_relax - the spin hint: PAUSE, as a number, since older assemblers don't know it. */
HF_INLINE void hf_arch_relax(void)
{
	__asm__ volatile(".4byte 0x0100000f" ::: "memory");
}

/* hf_arch_prefetch_store - bring the line that holds *p here, ready to be written. A hint. */
HF_INLINE void hf_arch_prefetch_store(const void *p)
{
	__builtin_prefetch(p, 1, 3);
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
