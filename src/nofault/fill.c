/* SPDX-License-Identifier: MIT */
/* fill - in words of 8 bytes, for any processor. */
#include "memory.h"

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
	size_t head = hf_detail_to_multiple(dst, 8, len), left;
	hf_detail_w8 *p = (hf_detail_w8 *)((char *)dst + head);
	uint64_t word = value * HF_DETAIL_ONES;

	left = hf_detail_fill_bytes(dst, value, head);
	if (left)
		return len - head + left;
	len -= head;
	/* Aligned: in one page, E1. */
	for (; len >= 32; len -= 32, p += 4) {
		HF_ARCH_STORE64_OR(p, word, fault);
		HF_ARCH_STORE64_OR(p + 1, word, fault1);
		HF_ARCH_STORE64_OR(p + 2, word, fault2);
		HF_ARCH_STORE64_OR(p + 3, word, fault3);
	}
	for (; len >= 8; len -= 8, p++)
		HF_ARCH_STORE64_OR(p, word, fault);
	return hf_detail_fill_bytes(p, value, len);
fault3:
	len -= 8;
fault2:
	len -= 8;
fault1:
	len -= 8;
fault:
	return len;
}
