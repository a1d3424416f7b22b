/* SPDX-License-Identifier: MIT */
/* memory - fill and move in words of 8 bytes, for any processor; search.c has the rest. */
#include "memory.h"

/* ---- fill --------------------------------------------------------------------------------- */

HF_NO_SANITIZE size_t hf_detail_fill_bytes(void *dst, uint8_t value, size_t len)
{
	hf_detail_w1 *p = (hf_detail_w1 *)dst;

	for (; len; len--, p++)
		HF_ARCH_STORE8_OR(p, value, fault);
fault:
	return len;
}

HF_NO_SANITIZE size_t hf_detail_fill_generic(void *dst, uint8_t value, size_t len)
{
	return hf_detail_set_words(dst, false, value, len);
}

/* ---- move --------------------------------------------------------------------------------- */

/* A copy goes upwards and loads before it stores: that moves to a lower address, too. */
size_t hf_detail_move_up_generic(void *dst, const void *src, size_t len)
{
#if HF_ARCH_HAS_PAIR
	return hf_detail_copy_stp(dst, src, len);
#else
	return hf_detail_copy_generic(dst, src, len);
#endif
}

HF_NO_SANITIZE size_t hf_detail_move_down_bytes(void *dst, const void *src, size_t len)
{
	hf_detail_w1 *to = (hf_detail_w1 *)dst;
	const hf_detail_w1 *from = (const hf_detail_w1 *)src;
	uint8_t byte;

	for (; len; len--) {
		HF_ARCH_LOAD8_OR(byte, from + len - 1, fault);
		HF_ARCH_STORE8_OR(to + len - 1, byte, fault);
	}
fault:
	return len;
}

HF_NO_SANITIZE size_t hf_detail_move_down_generic(void *dst, const void *src, size_t len)
{
	size_t tail = ((uintptr_t)dst + len) & 7, left;
	const char *from = (const char *)src;
	char *to = (char *)dst;
	uint64_t a, b;

	if (tail > len)
		tail = len;
	len -= tail;
	left = hf_detail_move_down_bytes(to + len, from + len, tail);
	if (left)
		return len + left;
	if (!HF_ARCH_UNALIGNED_FAST && (uintptr_t)(from + len) % 8)
		return hf_detail_move_down_bytes(dst, src, len);
	for (; len >= 16; len -= 16) {
		HF_ARCH_LOAD64_OR(a, (const hf_detail_w8 *)(from + len - 8), fault);
		HF_ARCH_LOAD64_OR(b, (const hf_detail_w8 *)(from + len - 16), fault);
		HF_ARCH_STORE64_OR((hf_detail_w8 *)(to + len - 8), a, fault);
		HF_ARCH_STORE64_OR((hf_detail_w8 *)(to + len - 16), b, fault1);
	}
	goto fault;
fault1:
	len -= 8;
fault: /* or the end: move the rest byte by byte, which finds the first bad byte */
	return hf_detail_move_down_bytes(dst, src, len);
}

size_t hf_detail_move_generic(void *dst, const void *src, size_t len)
{
	return hf_move_is_down(dst, src, len) ? hf_detail_move_down_generic(dst, src, len)
					      : hf_detail_move_up_generic(dst, src, len);
}
