/* SPDX-License-Identifier: MIT */
/* implementations - see implementations.h. */
#include "implementations.h"

#if __STDC_HOSTED__
#include <stdlib.h>
#endif

#include "../../../src/nofault/memory.h"
#include "../../../src/cpu/cpu.h"

#if HF_ARCH_HAS_REP
#include "../../../src/nofault/arch/x86_64_words.h"
#include "vectors.h"
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool always(void)
{
	return true;
}

#if HF_ARCH_HAS_REP
#define HAS(name, feature)                                                                         \
	static bool has_##name(void)                                                               \
	{                                                                                          \
		return hf_detail_cpu_has(feature);                                                 \
	}
HAS(rep_good, HF_DETAIL_CPU_REP_GOOD)
HAS(erms, HF_DETAIL_CPU_ERMS)
HAS(fsrm, HF_DETAIL_CPU_FSRM)
HAS(avx2, HF_DETAIL_CPU_AVX2)
HAS(avx512f, HF_DETAIL_CPU_AVX512F)
HAS(avx512vl, HF_DETAIL_CPU_AVX512VL)
#endif

/* ---- lists -------------------------------------------------------------------------------- */

static const struct hf_variant_clear clears[] = {
	{ "generic", hf_detail_clear_generic, always },
#if HF_ARCH_HAS_REP
	{ "original", hf_detail_clear_original, always },
	{ "rep_good", hf_detail_clear_rep_good, has_rep_good },
	{ "erms", hf_detail_clear_erms, has_erms },
	{ "fsrm", hf_detail_clear_fsrm, has_fsrm },
	{ "vector_sse2", hf_detail_clear_vector_sse2, always },
	{ "vector_avx2", hf_detail_clear_vector_avx2, has_avx2 },
	{ "vector_avx512", hf_detail_clear_vector_avx512, has_avx512f },
	{ "hand_sse2", hf_detail_clear_sse2, always },
	{ "hand_avx2", hf_detail_clear_avx2, has_avx2 },
	{ "hand_avx512", hf_detail_clear_avx512, has_avx512vl },
#endif
#if HF_ARCH_HAS_PAIR
	{ "stp", hf_detail_clear_stp, always },
	{ "dc_zva", hf_detail_clear_dc_zva, hf_detail_has_dc_zva },
#endif
};

static const struct hf_variant_copy copies[] = {
	{ "generic", hf_detail_copy_generic, always },
#if HF_ARCH_HAS_REP
	{ "original", hf_detail_copy_original, always },
	{ "rep_good", hf_detail_copy_rep_good, has_rep_good },
	{ "erms", hf_detail_copy_erms, has_erms },
	{ "fsrm", hf_detail_copy_fsrm, has_fsrm },
	{ "vector_sse2", hf_detail_copy_vector_sse2, always },
	{ "vector_avx2", hf_detail_copy_vector_avx2, has_avx2 },
	{ "vector_avx512", hf_detail_copy_vector_avx512, has_avx512f },
	{ "hand_sse2", hf_detail_copy_sse2, always },
	{ "hand_avx2", hf_detail_copy_avx2, has_avx2 },
	{ "hand_avx512", hf_detail_copy_avx512, has_avx512vl },
	{ "hand_mixed", hf_detail_copy_mixed, has_avx512vl },
#endif
#if HF_ARCH_HAS_PAIR
	{ "stp", hf_detail_copy_stp, always },
#endif
};

static const struct hf_variant_memory memories[] = {
	{ "generic", hf_detail_fill_generic, hf_detail_move_generic, hf_detail_compare_generic,
	  hf_detail_find_generic, always },
#if HF_ARCH_HAS_REP
	{ "sse2", hf_detail_fill_sse2, hf_detail_move_sse2, hf_detail_compare_sse2,
	  hf_detail_find_sse2, always },
	{ "avx2", hf_detail_fill_avx2, hf_detail_move_avx2, hf_detail_compare_avx2,
	  hf_detail_find_avx2, has_avx2 },
	{ "avx512", hf_detail_fill_avx512, hf_detail_move_avx2, hf_detail_compare_avx512,
	  hf_detail_find_avx512, has_avx512vl },
#endif
};

const struct hf_variant_clear *hf_variant_clears(size_t *count)
{
	*count = COUNT(clears);
	return clears;
}

const struct hf_variant_copy *hf_variant_copies(size_t *count)
{
	*count = COUNT(copies);
	return copies;
}

const struct hf_variant_memory *hf_variant_memories(size_t *count)
{
	*count = COUNT(memories);
	return memories;
}

/* ---- choosing ----------------------------------------------------------------------------- */

/* strcmp() == 0, which bare metal does not have. */
static bool same_name(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return *a == *b;
}

static bool is_default(const char *name)
{
	return !name || same_name(name, "default");
}

int hf_variant_clear_choose(const char *name)
{
	uint64_t copy = hf_atomic64_load_relaxed(&hf_detail_copy);

	if (is_default(name)) {
		hf_detail_nofault_choose();
		hf_atomic64_store_relaxed(&hf_detail_copy, copy);
		return 0;
	}
	for (size_t i = 0; i < COUNT(clears); i++) {
		if (same_name(name, clears[i].name) && clears[i].is_legal()) {
			hf_atomic64_store_relaxed(&hf_detail_clear, (uintptr_t)clears[i].function);
			return 0;
		}
	}
	return -HF_EINVAL;
}

int hf_variant_copy_choose(const char *name)
{
	uint64_t clear = hf_atomic64_load_relaxed(&hf_detail_clear);

	if (is_default(name)) {
		hf_detail_nofault_choose();
		hf_atomic64_store_relaxed(&hf_detail_clear, clear);
		return 0;
	}
	for (size_t i = 0; i < COUNT(copies); i++) {
		if (same_name(name, copies[i].name) && copies[i].is_legal()) {
			hf_atomic64_store_relaxed(&hf_detail_copy, (uintptr_t)copies[i].function);
			return 0;
		}
	}
	return -HF_EINVAL;
}

#if __STDC_HOSTED__
/* Runs after the library's own choice, whose constructor has a priority. */
__attribute__((constructor)) static void force(void)
{
	const char *clear = getenv("HOLDFAST_CLEAR"), *copy = getenv("HOLDFAST_COPY");

	if (clear && *clear && hf_variant_clear_choose(clear))
		abort();
	if (copy && *copy && hf_variant_copy_choose(copy))
		abort();
}
#endif
