/* SPDX-License-Identifier: MIT */
#ifndef HF_VARIANT_CLEAR_REP_GOOD_H
#define HF_VARIANT_CLEAR_REP_GOOD_H
/* clear, rep_good: words repeated, then bytes. For x86-64; installed headers only. */
#include "../nofault/words.h"

HF_VARIANT_NO_SANITIZE static size_t hf_variant_clear_rep_good(void *dst, size_t len)
{
	size_t words = len / 8, left = hf_arch_rep_stosq(dst, words);
	char *p = (char *)dst + (words - left) * 8;

	if (HF_UNLIKELY(left))
		return hf_variant_clear_fault(p, left * 8 + len % 8); /* words are not bytes */
	return hf_arch_rep_stosb(p, len % 8);
}

#endif
