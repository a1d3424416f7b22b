/* SPDX-License-Identifier: MIT */
/*
 * nofault, for AArch64 - the implementations of clear and copy that exist here only.
 *
 * General registers only, so that a kernel and a bare-metal image can use them. Stores of a loop
 * are aligned to their 16 bytes and so lie in one page: E1.
 */
#include "../implementation.h"

#if HF_ARCH_HAS_PAIR

#include "../../cpu/cpu.h"

/* ---- stp: pairs of 8-byte registers ------------------------------------------------------- */

/* From a p that is aligned to 16. */
HF_IMPLEMENTATION_PART size_t clear_pairs(char *p, size_t len)
{
	for (; len >= 64; len -= 64, p += 64) {
		HF_ARCH_STORE_PAIR_OR(p, 0, 0ul, 0ul, fault);
		HF_ARCH_STORE_PAIR_OR(p, 16, 0ul, 0ul, fault1);
		HF_ARCH_STORE_PAIR_OR(p, 32, 0ul, 0ul, fault2);
		HF_ARCH_STORE_PAIR_OR(p, 48, 0ul, 0ul, fault3);
	}
	for (; len >= 16; len -= 16, p += 16)
		HF_ARCH_STORE_PAIR_OR(p, 0, 0ul, 0ul, fault);
	return hf_detail_clear_generic(p, len);
fault3:
	len -= 16;
fault2:
	len -= 16;
fault1:
	len -= 16;
fault:
	return len;
}

/* Bytes below which setting up the loop of pairs costs more than it saves (`make instructions`). */
#define PAIRS_FROM 128

HF_IMPLEMENTATION size_t hf_detail_clear_stp(void *dst, size_t len)
{
	size_t head, left;

	if (len < PAIRS_FROM)
		return hf_detail_clear_generic(dst, len);
	head = hf_detail_to_multiple(dst, 16, len);
	left = hf_detail_clear_generic(dst, head);
	if (left)
		return len - head + left;
	return clear_pairs((char *)dst + head, len - head);
}

HF_IMPLEMENTATION size_t hf_detail_copy_stp(void *dst, const void *src, size_t len)
{
	uint64_t a, b, c, d, e, f, g, h;
	size_t head, left;
	const char *from;
	char *to;

	if (len < PAIRS_FROM)
		return hf_detail_copy_generic(dst, src, len);
	head = hf_detail_to_multiple(dst, 16, len);
	to = (char *)dst + head;
	from = (const char *)src + head;
	left = hf_detail_copy_generic(dst, src, head);
	if (left)
		return len - head + left;
	for (len -= head; len >= 64; len -= 64, to += 64, from += 64) {
		HF_ARCH_LOAD_PAIR_OR(a, b, from, 0, load_fault);
		HF_ARCH_LOAD_PAIR_OR(c, d, from, 16, load_fault);
		HF_ARCH_LOAD_PAIR_OR(e, f, from, 32, load_fault);
		HF_ARCH_LOAD_PAIR_OR(g, h, from, 48, load_fault);
		HF_ARCH_STORE_PAIR_OR(to, 0, a, b, fault);
		HF_ARCH_STORE_PAIR_OR(to, 16, c, d, fault1);
		HF_ARCH_STORE_PAIR_OR(to, 32, e, f, fault2);
		HF_ARCH_STORE_PAIR_OR(to, 48, g, h, fault3);
	}
	for (; len >= 16; len -= 16, to += 16, from += 16) {
		HF_ARCH_LOAD_PAIR_OR(a, b, from, 0, load_fault);
		HF_ARCH_STORE_PAIR_OR(to, 0, a, b, fault);
	}
	return hf_detail_copy_generic(to, from, len);
load_fault:
	return hf_detail_copy_to_page_end(to, from, len, 64);
fault3:
	len -= 16;
fault2:
	len -= 16;
fault1:
	len -= 16;
fault:
	return len;
}

/* ---- dc_zva: whole blocks, without reading them first ------------------------------------- */

bool hf_detail_has_dc_zva(void)
{
	unsigned int block = hf_detail_cpu_zva_size();

	return block >= 16 && block <= HF_PAGE;
}

HF_IMPLEMENTATION size_t hf_detail_clear_dc_zva(void *dst, size_t len)
{
	size_t block, head, left;
	char *p = (char *)dst;

	/* For a few blocks (mostly of 64 bytes) reaching the first one costs more than it saves. */
	if (len < 256)
		return hf_detail_clear_stp(dst, len);
	block = hf_detail_cpu_zva_size();
	if (len < 4 * block || block < 16 || block > HF_PAGE)
		return hf_detail_clear_stp(dst, len);
	head = hf_detail_to_multiple(dst, block, len);
	left = hf_detail_clear_stp(dst, head);
	if (left)
		return len - head + left;
	/* A block is aligned and no larger than a page: E1. One that faults is not touched. */
	for (p += head, len -= head; len >= block; len -= block, p += block)
		HF_ARCH_ZERO_BLOCK_OR(p, fault);
	return hf_detail_clear_stp(p, len);
fault:
	return len;
}

#endif
