/* SPDX-License-Identifier: MIT */
/*
 * generic - clear and copy in aligned words of 8 bytes, for any processor with sites. (jump.c has
 * those without sites.)
 */
#include "implementation.h"

#if HF_ARCH_HAS_SITES

HF_NO_SANITIZE HF_IMPLEMENTATION size_t hf_detail_clear_bytes(void *dst, size_t len)
{
	hf_detail_w1 *p = (hf_detail_w1 *)dst;

	for (; len; len--, p++)
		HF_ARCH_STORE8_OR(p, 0, fault);
fault:
	return len;
}

/* Inlined for heads and tails of a few bytes: a call would cost more than the copy. */
HF_NO_SANITIZE static inline __attribute__((always_inline)) size_t
copy_few(void *dst, const void *src, size_t len)
{
	hf_detail_w1 *to = (hf_detail_w1 *)dst;
	const hf_detail_w1 *from = (const hf_detail_w1 *)src;
	uint8_t byte;

	for (; len; len--, to++, from++) {
		HF_ARCH_LOAD8_OR(byte, from, fault);
		HF_ARCH_STORE8_OR(to, byte, fault);
	}
fault:
	return len;
}

HF_NO_SANITIZE HF_IMPLEMENTATION size_t hf_detail_copy_bytes(void *dst, const void *src, size_t len)
{
	return copy_few(dst, src, len);
}

HF_USED_BY_ASSEMBLY HF_IMPLEMENTATION size_t hf_detail_copy_to_page_end(void *dst, const void *src,
									size_t len, size_t reach)
{
	size_t here = hf_detail_to_page_end(src);

	if (here >= reach || here >= len)
		return len; /* the fault was in the frontier's page */
	return len - here + hf_detail_copy_bytes(dst, src, here);
}

HF_NO_SANITIZE HF_IMPLEMENTATION size_t hf_detail_clear_generic(void *dst, size_t len)
{
	return hf_detail_set_words(dst, true, 0, len);
}

HF_NO_SANITIZE HF_IMPLEMENTATION size_t hf_detail_copy_generic(void *dst, const void *src,
							       size_t len)
{
	size_t head = hf_detail_to_multiple(dst, 8, len), left;
	hf_detail_w8 *to = (hf_detail_w8 *)((char *)dst + head);
	const hf_detail_w8 *from = (const hf_detail_w8 *)((const char *)src + head);
	uint64_t a, b;

	left = copy_few(dst, src, head);
	if (left)
		return len - head + left;
	len -= head;
	if (!HF_ARCH_UNALIGNED_FAST && (uintptr_t)from % 8)
		return hf_detail_copy_bytes(to, from, len);
	for (; len >= 16; len -= 16, to += 2, from += 2) {
		HF_ARCH_LOAD64_OR(a, from, load_fault);
		HF_ARCH_LOAD64_OR(b, from + 1, load_fault);
		HF_ARCH_STORE64_OR(to, a, fault);
		HF_ARCH_STORE64_OR(to + 1, b, fault1);
	}
	if (len >= 8) {
		HF_ARCH_LOAD64_OR(a, from, load_fault);
		HF_ARCH_STORE64_OR(to, a, fault);
		len -= 8, to++, from++;
	}
	return copy_few(to, from, len);
load_fault:
	return hf_detail_copy_to_page_end(to, from, len, 16);
fault1:
	len -= 8;
fault:
	return len;
}

#endif
