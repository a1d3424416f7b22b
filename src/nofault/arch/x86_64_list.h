/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_X86_64_LIST_H
#define HF_SRC_X86_64_LIST_H
/*
 * x86_64_list - the short pieces of a list (list.c), in the registers of SSE2.
 */
#include "../memory.h"

#define SHORT_TRY(instruction) "1:	" instruction "\n" HF_SITE("1b", "%l[fault]")

/*
 * Copies 16 to 64 bytes to one page (E1) without a call. Returns false if not all were copied: the
 * caller then copies them all again by a function that counts.
 */
HF_NO_SANITIZE static inline bool hf_detail_copy_short(char *to, const char *from, size_t len)
{
	if (HF_UNLIKELY(hf_detail_crosses_page(to, 64)))
		return false;
	/* clang-format off */
	/* One block, so that the compiler computes no address twice. */
	__asm__ volatile goto(
		SHORT_TRY("movups	(%1), %%xmm0")
		SHORT_TRY("movups	-16(%1, %2), %%xmm1")
		"	cmp	$32, %2\n"
		"	jbe	2f\n"
		SHORT_TRY("movups	16(%1), %%xmm2")
		SHORT_TRY("movups	-32(%1, %2), %%xmm3")
		SHORT_TRY("movups	%%xmm2, 16(%0)")
		SHORT_TRY("movups	%%xmm3, -32(%0, %2)")
		"2:\n"
		SHORT_TRY("movups	%%xmm0, (%0)")
		SHORT_TRY("movups	%%xmm1, -16(%0, %2)")
		:
		: "r"(to), "r"(from), "r"(len)
		: "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory"
		: fault);
	/* clang-format on */
	return true;
fault:
	return false;
}

#undef SHORT_TRY

#endif
