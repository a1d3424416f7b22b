/* SPDX-License-Identifier: MIT */
#ifndef HF_VARIANT_COPY_REP_GOOD_H
#define HF_VARIANT_COPY_REP_GOOD_H
/* copy, rep_good: words repeated, then bytes. For x86-64; installed headers only. */
#include "../nofault/words.h"

HF_VARIANT_NO_SANITIZE static size_t hf_variant_copy_rep_good(void *dst, const void *src,
							      size_t len)
{
	size_t words = len / 8, left = hf_arch_rep_movsq(dst, src, words);
	size_t done = (words - left) * 8;
	char *to = (char *)dst + done;
	const char *from = (const char *)src + done;

	if (HF_UNLIKELY(left))
		return hf_variant_copy_fault(to, from, left * 8 + len % 8);
	return hf_arch_rep_movsb(to, from, len % 8);
}

#endif
