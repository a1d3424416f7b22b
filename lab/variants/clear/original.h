/* SPDX-License-Identifier: MIT */
#ifndef HF_VARIANT_CLEAR_ORIGINAL_H
#define HF_VARIANT_CLEAR_ORIGINAL_H
/* clear, original: stores of 8 bytes, then bytes. For x86-64; installed headers only. */
#include "../nofault/words.h"

HF_VARIANT_NO_SANITIZE static size_t hf_variant_clear_original(void *dst, size_t len)
{
	hf_variant_word_t *p = (hf_variant_word_t *)dst;

	for (; len >= 8; len -= 8, p++)
		HF_ARCH_STORE64_OR(p, 0, fault);
	return hf_variant_clear_bytes(p, len);
fault:
	return hf_variant_clear_fault(p, len);
}

#endif
