/* SPDX-License-Identifier: MIT */
/* choose - the implementations for this processor: on x86-64 by arch/x86_64_policy.c. */
#define HF_DETAIL_SANITIZE_WEAK
#include "memory.h"

#include "../cpu/cpu.h"
#include "../env/env.h"
#if HF_ARCH_HAS_REP
#include "arch/x86_64_policy.h"
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the default -------------------------------------------------------------------------- */

#define NEVER HF_ATOMIC_INIT(UINT64_MAX)

HF_USED_BY_ASSEMBLY struct hf_detail_limits hf_detail_clear_limits = { NEVER, NEVER, NEVER };
struct hf_detail_limits hf_detail_copy_limits = { NEVER, NEVER, NEVER };

/* Other threads may briefly see a mix of old and new limits: every mix gives right results. */
static void set_limits(struct hf_detail_limits *limits, uint64_t repeat_from, uint64_t stream_from)
{
	hf_atomic64_store_relaxed(&limits->repeat_from, repeat_from);
	hf_atomic64_store_relaxed(&limits->stream_from, stream_from);
	hf_atomic64_store_relaxed(&limits->other_from,
				  repeat_from < stream_from ? repeat_from : stream_from);
}

#if HF_ARCH_HAS_REP
static struct hf_detail_policy policy_here(void)
{
	struct hf_detail_cpu cpu = hf_detail_cpu_known();

	return hf_detail_policy_of(&cpu);
}
#endif

static const struct {
	const char *name;
	hf_clear_function_t clear;
	hf_copy_function_t copy;
} implementations[] = {
	{ "generic", hf_detail_clear_generic, hf_detail_copy_generic },
#if HF_ARCH_HAS_REP
	{ "fsrm", hf_detail_clear_fsrm, hf_detail_copy_fsrm },
	{ "hand_sse2", hf_detail_clear_hand_sse2, hf_detail_copy_hand_sse2 },
	{ "hand_avx2", hf_detail_clear_hand_avx2, hf_detail_copy_hand_avx2 },
	{ "hand_avx512", hf_detail_clear_hand_avx512, hf_detail_copy_hand_avx512 },
	{ "hand_mixed", hf_detail_clear_hand_avx512, hf_detail_copy_hand_mixed },
#endif
#if HF_ARCH_HAS_PAIR
	{ "stp", hf_detail_clear_stp, hf_detail_copy_stp },
	{ "dc_zva", hf_detail_clear_dc_zva, hf_detail_copy_stp },
#endif
};

/* Rows. The default on x86-64: HAND and an enum hf_detail_vectors. */
enum { GENERIC, HAND = 2, STP = 1, DC_ZVA };

/* ---- choosing ----------------------------------------------------------------------------- */

/* Until hf_detail_nofault_start() has run. */
hf_atomic64_t hf_detail_clear = HF_ATOMIC_INIT((uintptr_t)hf_detail_clear_generic);
hf_atomic64_t hf_detail_copy = HF_ATOMIC_INIT((uintptr_t)hf_detail_copy_generic);

void hf_detail_nofault_choose(void)
{
	unsigned int clear = GENERIC, copy = GENERIC;

#if HF_ARCH_HAS_REP
	struct hf_detail_policy policy = policy_here();

	clear = HAND + policy.clear;
	copy = HAND + policy.copy;
#elif HF_ARCH_HAS_PAIR
	clear = hf_detail_has_dc_zva() ? DC_ZVA : STP;
	copy = STP;
#endif
	hf_atomic64_store_relaxed(&hf_detail_clear, (uintptr_t)implementations[clear].clear);
	hf_atomic64_store_relaxed(&hf_detail_copy, (uintptr_t)implementations[copy].copy);
}

/* ---- names -------------------------------------------------------------------------------- */

uint64_t (*hf_detail_nofault_behind)(uint64_t function);

static const char *name_of(const hf_atomic64_t *pointer)
{
	uint64_t function = hf_atomic64_load_relaxed(pointer);

	if (hf_detail_nofault_behind)
		function = hf_detail_nofault_behind(function);
	for (size_t i = 0; i < COUNT(implementations); i++) {
		if ((uintptr_t)implementations[i].clear == function ||
		    (uintptr_t)implementations[i].copy == function)
			return implementations[i].name;
	}
	return "other"; /* not the library's: the lab's, or a test's */
}

const char *hf_clear_chosen(void)
{
	return name_of(&hf_detail_clear);
}

const char *hf_copy_chosen(void)
{
	return name_of(&hf_detail_copy);
}

/* ---- at the start ------------------------------------------------------------------------- */

static void start_limits(void)
{
	/* Storing more than 3/4 of the last-level cache would evict data that is in use. */
	uint64_t cache = hf_detail_env_cache_bytes(),
		 stream_from = cache ? cache / 4 * 3 : UINT64_MAX;
	uint64_t clear_from = UINT64_MAX, copy_from = UINT64_MAX;

#if HF_ARCH_HAS_REP
	struct hf_detail_policy policy = policy_here();

	clear_from = policy.clear_repeat_from;
	copy_from = policy.copy_repeat_from;
#endif
	set_limits(&hf_detail_clear_limits, clear_from, stream_from);
	set_limits(&hf_detail_copy_limits, copy_from, stream_from);
}

/* ---- fill, move, compare, find, words ----------------------------------------------------- */

struct hf_detail_memory_functions hf_detail_memory = {
	HF_ATOMIC_INIT((uintptr_t)hf_detail_fill_generic),
	HF_ATOMIC_INIT((uintptr_t)hf_detail_move_generic),
	HF_ATOMIC_INIT((uintptr_t)hf_detail_compare_generic),
	HF_ATOMIC_INIT((uintptr_t)hf_detail_find_generic),
};

hf_atomic64_t hf_detail_words = HF_ATOMIC_INIT((uintptr_t)hf_detail_copy_words_checked);

void hf_detail_memory_use(hf_fill_function_t fill, hf_copy_function_t move,
			  hf_compare_function_t compare, hf_find_function_t find)
{
	hf_atomic64_store_relaxed(&hf_detail_memory.fill, (uintptr_t)fill);
	hf_atomic64_store_relaxed(&hf_detail_memory.move, (uintptr_t)move);
	hf_atomic64_store_relaxed(&hf_detail_memory.compare, (uintptr_t)compare);
	hf_atomic64_store_relaxed(&hf_detail_memory.find, (uintptr_t)find);
}

/* By the same policy as clear and copy. */
void hf_detail_memory_start(void)
{
	if (!hf_detail_has_sanitizer())
		hf_atomic64_store_relaxed(&hf_detail_words,
					  (uintptr_t)hf_detail_words_of_this_cpu());
#if HF_ARCH_HAS_REP
	enum hf_detail_vectors vectors = policy_here().clear;

	if (vectors == HF_DETAIL_VECTORS_SSE2)
		hf_detail_memory_use(hf_detail_fill_sse2, hf_detail_move_sse2,
				     hf_detail_compare_sse2, hf_detail_find_sse2);
	else if (vectors == HF_DETAIL_VECTORS_AVX2)
		hf_detail_memory_use(hf_detail_fill_avx2, hf_detail_move_avx2,
				     hf_detail_compare_avx2, hf_detail_find_avx2);
	else /* a move gains nothing from wider stores */
		hf_detail_memory_use(hf_detail_fill_avx512, hf_detail_move_avx2,
				     hf_detail_compare_avx512, hf_detail_find_avx512);
#else
	hf_detail_memory_use(hf_detail_fill_generic, hf_detail_move_generic,
			     hf_detail_compare_generic, hf_detail_find_generic);
#endif
}

void hf_detail_nofault_start(void)
{
	start_limits();
	hf_detail_memory_start();
	hf_detail_nofault_choose();
}
