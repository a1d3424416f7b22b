/* SPDX-License-Identifier: MIT */
#ifndef HF_NOFAULT_WORD_H
#define HF_NOFAULT_WORD_H
#pragma GCC system_header
/*
 * nofault_word - load, store and atomically change one word that may fault.
 *
 * Use when / not when
 *   As nofault_copy.h, for one word of 8 to 64 bits; inside a Linux kernel for user memory, as
 *   get_user() and put_user(). They are inline: in user space the path without a fault is the plain
 *   instruction.
 *
 * Operations
 *   hf_load8_nofault, hf_load16_, hf_load32_, hf_load64_nofault       0 or -EFAULT
 *   hf_store8_nofault, hf_store16_, hf_store32_, hf_store64_nofault   0 or -EFAULT
 *   hf_cmpxchg32_nofault, hf_exchange32_, hf_fetch_add32_nofault      of 64 bits, too; -EINVAL if
 *                                                                     the word is not aligned
 *
 * Example  examples/nofault.c
 *
 * State
 *   An aligned word is read or written whole, or not at all. After an error nothing that an
 *   argument points to has changed, but a store of a word that lies on two pages may be half done.
 *
 * Arguments
 *   p       the word: any alignment for load and store, else aligned to its size
 *   found   gets the old value; unchanged after an error
 *
 * Context    as hf_copy_nofault()
 * Ordering   load, store: none; compare-and-swap, exchange, fetch-and-add: sequentially consistent
 *
 * Source   docs/design/0009-nofault.md
 */
#include "internal/nofault/sanitize.h"
#include "internal/tsan.h"
#include "nofault_handler.h"

/* One access to a word, of which these bytes are read and these are written. */
#ifdef HF_ENV_TOUCH
#define HF_DETAIL_WORD(p, read, written, access)                                                   \
	HF_ENV_TOUCH(p, (read) | (written), -HF_EFAULT, access)
#else
#define HF_DETAIL_WORD(p, read, written, access)                                                   \
	__extension__({                                                                            \
		int hf_detail_error;                                                               \
                                                                                                   \
		hf_detail_reads(p, read);                                                          \
		hf_detail_writes(p, written);                                                      \
		hf_detail_error = (access);                                                        \
		hf_detail_wrote(p, hf_detail_error ? 0 : (written));                               \
		hf_detail_error;                                                                   \
	})
#endif

/* One atomic operation on a word, which must be aligned. */
#define HF_DETAIL_ATOMIC_WORD(p, len, access)                                                      \
	__extension__({                                                                            \
		int hf_detail_result = -HF_EINVAL;                                                 \
                                                                                                   \
		if (HF_LIKELY((uintptr_t)(p) % (len) == 0)) {                                      \
			HF_DETAIL_TSAN_RELEASE(p);                                                 \
			hf_detail_result = HF_DETAIL_WORD(p, len, len, access);                    \
			HF_DETAIL_TSAN_ACQUIRE(p);                                                 \
		}                                                                                  \
		hf_detail_result;                                                                  \
	})

/**
 * hf_load8_nofault, hf_load16_nofault, hf_load32_nofault, hf_load64_nofault - read one word
 * @value: gets the word
 *
 * Return:   0, or -EFAULT (14)
 */
HF_INLINE HF_MUST_CHECK int hf_load8_nofault(uint8_t *value, const volatile void *p)
{
	return HF_DETAIL_WORD(p, 1, 0, hf_arch_load8_nofault(value, p));
}

HF_INLINE HF_MUST_CHECK int hf_load16_nofault(uint16_t *value, const volatile void *p)
{
	return HF_DETAIL_WORD(p, 2, 0, hf_arch_load16_nofault(value, p));
}

HF_INLINE HF_MUST_CHECK int hf_load32_nofault(uint32_t *value, const volatile void *p)
{
	return HF_DETAIL_WORD(p, 4, 0, hf_arch_load32_nofault(value, p));
}

HF_INLINE HF_MUST_CHECK int hf_load64_nofault(uint64_t *value, const volatile void *p)
{
	return HF_DETAIL_WORD(p, 8, 0, hf_arch_load64_nofault(value, p));
}

/**
 * hf_store8_nofault, hf_store16_nofault, hf_store32_nofault, hf_store64_nofault - write one word
 * @value: the new value
 *
 * Return:   0, or -EFAULT (14)
 */
HF_INLINE HF_MUST_CHECK int hf_store8_nofault(volatile void *p, uint8_t value)
{
	return HF_DETAIL_WORD(p, 0, 1, hf_arch_store8_nofault(p, value));
}

HF_INLINE HF_MUST_CHECK int hf_store16_nofault(volatile void *p, uint16_t value)
{
	return HF_DETAIL_WORD(p, 0, 2, hf_arch_store16_nofault(p, value));
}

HF_INLINE HF_MUST_CHECK int hf_store32_nofault(volatile void *p, uint32_t value)
{
	return HF_DETAIL_WORD(p, 0, 4, hf_arch_store32_nofault(p, value));
}

HF_INLINE HF_MUST_CHECK int hf_store64_nofault(volatile void *p, uint64_t value)
{
	return HF_DETAIL_WORD(p, 0, 8, hf_arch_store64_nofault(p, value));
}

/**
 * hf_cmpxchg32_nofault, hf_cmpxchg64_nofault - compare and swap one word
 * @expected: the value that *p must have: the swap was made if, and only if, *found equals it
 * @desired:  its new value
 *
 * Errors:   read-only memory always faults on x86-64, elsewhere only if *p has the expected value
 * Return:   0, -EFAULT (14), or -EINVAL (22) if p is not aligned
 */
HF_INLINE HF_MUST_CHECK int hf_cmpxchg32_nofault(volatile void *p, uint32_t expected,
						 uint32_t desired, uint32_t *found)
{
	return HF_DETAIL_ATOMIC_WORD(p, 4, hf_arch_cmpxchg32_nofault(p, expected, desired, found));
}

HF_INLINE HF_MUST_CHECK int hf_cmpxchg64_nofault(volatile void *p, uint64_t expected,
						 uint64_t desired, uint64_t *found)
{
	return HF_DETAIL_ATOMIC_WORD(p, 8, hf_arch_cmpxchg64_nofault(p, expected, desired, found));
}

/**
 * hf_exchange32_nofault, hf_exchange64_nofault - *found = *p, *p = value, as one step
 * hf_fetch_add32_nofault, hf_fetch_add64_nofault - *found = *p, *p += value, as one step
 * @value: the new value, or what is added (it wraps around)
 *
 * Errors:   read-only memory faults
 * Return:   0, -EFAULT (14), or -EINVAL (22) if p is not aligned
 */
HF_INLINE HF_MUST_CHECK int hf_exchange32_nofault(volatile void *p, uint32_t value, uint32_t *found)
{
	return HF_DETAIL_ATOMIC_WORD(p, 4, hf_arch_exchange32_nofault(p, value, found));
}

HF_INLINE HF_MUST_CHECK int hf_exchange64_nofault(volatile void *p, uint64_t value, uint64_t *found)
{
	return HF_DETAIL_ATOMIC_WORD(p, 8, hf_arch_exchange64_nofault(p, value, found));
}

HF_INLINE HF_MUST_CHECK int hf_fetch_add32_nofault(volatile void *p, uint32_t value,
						   uint32_t *found)
{
	return HF_DETAIL_ATOMIC_WORD(p, 4, hf_arch_fetch_add32_nofault(p, value, found));
}

HF_INLINE HF_MUST_CHECK int hf_fetch_add64_nofault(volatile void *p, uint64_t value,
						   uint64_t *found)
{
	return HF_DETAIL_ATOMIC_WORD(p, 8, hf_arch_fetch_add64_nofault(p, value, found));
}

#endif
