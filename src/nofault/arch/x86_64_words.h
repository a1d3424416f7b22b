/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_X86_64_WORDS_H
#define HF_SRC_X86_64_WORDS_H
/*
 * x86_64_words - clear and copy in general registers: for a kernel, which must not use vectors for
 * a user's memory, and for the lab. Accesses of up to 8 bytes may cross pages: see x86_64.c.
 */
#include "../implementation.h"

/* A store of 8 bytes at p faulted, with @len bytes left from there on. */
HF_IMPLEMENTATION_PART size_t clear_word_fault(volatile void *p, size_t len)
{
	size_t here = hf_detail_to_page_end(p);

	return here >= 8 ? len : len - here + hf_arch_rep_stosb(p, here);
}

/* A load or a store of 8 bytes faulted. */
HF_IMPLEMENTATION_PART size_t copy_word_fault(volatile void *to, const volatile void *from,
					      size_t len)
{
	size_t here_to = hf_detail_to_page_end(to), here_from = hf_detail_to_page_end(from),
	       here = 0;

	if (here_to < 8)
		here = here_to;
	if (here_from < 8 && here_from > here)
		here = here_from;
	return len - here + hf_arch_rep_movsb(to, from, here);
}

/* ---- original: 8-byte stores, then bytes -------------------------------------------------- */

HF_NO_SANITIZE HF_IMPLEMENTATION size_t hf_detail_clear_original(void *dst, size_t len)
{
	hf_detail_w8 *p = (hf_detail_w8 *)dst;

	for (; len >= 8; len -= 8, p++)
		HF_ARCH_STORE64_OR(p, 0, fault);
	return hf_detail_clear_bytes(p, len);
fault:
	return clear_word_fault(p, len);
}

HF_NO_SANITIZE HF_IMPLEMENTATION size_t hf_detail_copy_original(void *dst, const void *src,
								size_t len)
{
	hf_detail_w8 *to = (hf_detail_w8 *)dst;
	const hf_detail_w8 *from = (const hf_detail_w8 *)src;
	uint64_t word;

	for (; len >= 8; len -= 8, to++, from++) {
		HF_ARCH_LOAD64_OR(word, from, fault);
		HF_ARCH_STORE64_OR(to, word, fault);
	}
	return hf_detail_copy_bytes(to, from, len);
fault:
	return copy_word_fault(to, from, len);
}

/* ---- rep_good: a repeated instruction for words, then bytes ------------------------------- */

HF_IMPLEMENTATION size_t hf_detail_clear_rep_good(void *dst, size_t len)
{
	size_t words = len / 8, left = hf_arch_rep_stosq(dst, words);
	char *p = (char *)dst + (words - left) * 8;

	if (HF_UNLIKELY(left))
		return clear_word_fault(p, left * 8 + len % 8); /* words are not bytes */
	return hf_arch_rep_stosb(p, len % 8);
}

HF_IMPLEMENTATION size_t hf_detail_copy_rep_good(void *dst, const void *src, size_t len)
{
	size_t words = len / 8, left = hf_arch_rep_movsq(dst, src, words);
	size_t done = (words - left) * 8;
	char *to = (char *)dst + done;
	const char *from = (const char *)src + done;

	if (HF_UNLIKELY(left))
		return copy_word_fault(to, from, left * 8 + len % 8);
	return hf_arch_rep_movsb(to, from, len % 8);
}

/* ---- erms: a repeated instruction from the size of a cache line on ------------------------ */

HF_IMPLEMENTATION size_t hf_detail_clear_erms(void *dst, size_t len)
{
	if (len < 64)
		return hf_detail_clear_original(dst, len);
	return hf_arch_rep_stosb(dst, len);
}

HF_IMPLEMENTATION size_t hf_detail_copy_erms(void *dst, const void *src, size_t len)
{
	if (len < 64)
		return hf_detail_copy_original(dst, src, len);
	return hf_arch_rep_movsb(dst, src, len);
}

#endif
