/* SPDX-License-Identifier: MIT */
#ifndef HF_VARIANT_COPY_ORIGINAL_H
#define HF_VARIANT_COPY_ORIGINAL_H
/* copy, original: stores of 8 bytes, then bytes. For x86-64; installed headers only. */
#include "../nofault/words.h"

HF_VARIANT_NO_SANITIZE static size_t hf_variant_copy_original(void *dst, const void *src,
							      size_t len)
{
	hf_variant_word_t *to = (hf_variant_word_t *)dst;
	const hf_variant_word_t *from = (const hf_variant_word_t *)src;
	uint64_t word;

	for (; len >= 8; len -= 8, to++, from++) {
		HF_ARCH_LOAD64_OR(word, from, fault);
		HF_ARCH_STORE64_OR(to, word, fault);
	}
	return hf_variant_copy_bytes(to, from, len);
fault:
	return hf_variant_copy_fault(to, from, len);
}

#endif
