/* SPDX-License-Identifier: MIT */
#ifndef HF_VARIANT_WORDS_H
#define HF_VARIANT_WORDS_H
/*
 * words - what the variants of clear and copy in general registers share. For x86-64; installed headers
 * only.
 *
 * A store of up to 8 bytes that faults has written nothing, on two pages neither (Intel SDM vol. 3,
 * 9.1.1, leaves parts to larger ones only); so these may cross pages, and what a faulting one would
 * have done on the first page is done afterwards, byte by byte.
 */
#include "holdfast/nofault.h"

#define HF_VARIANT_NO_SANITIZE __attribute__((no_sanitize("address", "undefined"), unused))

typedef uint64_t hf_variant_word_t __attribute__((may_alias, aligned(1)));

static inline size_t hf_variant_to_page_end(const volatile void *p)
{
	return 4096 - ((uintptr_t)p & 4095);
}

/* Byte by byte: exact wherever the fault is. Return the bytes not done. */
HF_VARIANT_NO_SANITIZE static size_t hf_variant_clear_bytes(void *dst, size_t len)
{
	uint8_t *p = (uint8_t *)dst;

	for (; len; len--, p++)
		HF_ARCH_STORE8_OR(p, 0, fault);
fault:
	return len;
}

HF_VARIANT_NO_SANITIZE static size_t hf_variant_copy_bytes(void *dst, const void *src, size_t len)
{
	uint8_t *to = (uint8_t *)dst;
	const uint8_t *from = (const uint8_t *)src;
	uint8_t byte;

	for (; len; len--, to++, from++) {
		HF_ARCH_LOAD8_OR(byte, from, fault);
		HF_ARCH_STORE8_OR(to, byte, fault);
	}
fault:
	return len;
}

/* A store of 8 bytes at p faulted; `len` is what is left from there on. */
static inline size_t hf_variant_clear_fault(volatile void *p, size_t len)
{
	size_t here = hf_variant_to_page_end(p);

	return here >= 8 ? len : len - here + hf_arch_rep_stosb(p, here);
}

/* A load or a store of 8 bytes faulted. */
static inline size_t hf_variant_copy_fault(volatile void *to, const volatile void *from, size_t len)
{
	size_t here_to = hf_variant_to_page_end(to), here_from = hf_variant_to_page_end(from),
	       here = 0;

	if (here_to < 8)
		here = here_to;
	if (here_from < 8 && here_from > here)
		here = here_from;
	return len - here + hf_arch_rep_movsb(to, from, here);
}

#endif
