/* SPDX-License-Identifier: MIT */
/* words - copy words of 8 bytes, each by one access. */
#define HF_DETAIL_SANITIZE_WEAK
#include "memory.h"

#if HF_ARCH_HAS_REP
#include "../cpu/cpu.h"
#endif

HF_NO_SANITIZE size_t hf_detail_copy_words_generic(void *dst, const void *src, size_t words)
{
	hf_detail_w8 *to = (hf_detail_w8 *)dst;
	const hf_detail_w8 *from = (const hf_detail_w8 *)src;
	uint64_t a, b, c, d;

	for (; words >= 4; words -= 4, to += 4, from += 4) {
		HF_ARCH_LOAD64_OR(a, from, one_by_one);
		HF_ARCH_LOAD64_OR(b, from + 1, one_by_one);
		HF_ARCH_LOAD64_OR(c, from + 2, one_by_one);
		HF_ARCH_LOAD64_OR(d, from + 3, one_by_one);
		HF_ARCH_STORE64_OR(to, a, fault);
		HF_ARCH_STORE64_OR(to + 1, b, fault1);
		HF_ARCH_STORE64_OR(to + 2, c, fault2);
		HF_ARCH_STORE64_OR(to + 3, d, fault3);
	}
one_by_one:
	for (; words; words--, to++, from++) {
		HF_ARCH_LOAD64_OR(a, from, fault);
		HF_ARCH_STORE64_OR(to, a, fault);
	}
	return 0;
fault3:
	words--;
fault2:
	words--;
fault1:
	words--;
fault:
	return words;
}

hf_copy_function_t hf_detail_words_of_this_cpu(void)
{
#if HF_ARCH_HAS_REP && HF_HAS_VECTORS
	struct hf_detail_cpu cpu = hf_detail_cpu_known();

	/* AVX2 implies AVX. */
	if (cpu.features & HF_DETAIL_CPU_AVX2)
		return hf_detail_copy_pairs_avx;
#endif
	return hf_detail_copy_words_generic;
}

size_t hf_detail_copy_words_checked(void *dst, const void *src, size_t words)
{
	size_t len = words > SIZE_MAX / 8 ? SIZE_MAX : words * 8, left;

	hf_detail_reads(src, len);
	hf_detail_writes(dst, len);
	left = hf_detail_words_of_this_cpu()(dst, src, words);
	hf_detail_wrote(dst, (words - left) * 8);
	return left;
}

size_t hf_copy_nofault_words(void *dst, const void *src, size_t words)
{
	uint64_t function = hf_atomic64_load_relaxed(&hf_detail_words);

	if (HF_UNLIKELY(((uintptr_t)dst | (uintptr_t)src) % 8))
		return words;
	return ((hf_copy_function_t)(uintptr_t)function)(dst, src, words);
}
