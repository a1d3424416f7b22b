/* SPDX-License-Identifier: MIT */
/* choose - the implementations for this processor: on x86-64 by arch/x86_64_policy.c. */
#define HF_DETAIL_SANITIZE_WEAK
#include "memory.h"

#include "../cpu/cpu.h"
#include "../env/env.h"
#if HF_ARCH_HAS_REP
#include "arch/x86_64_policy.h"
#endif

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

/* The functions of one name, and those of the other operations by the same vectors. */
#define VECTORS(name, move)                                                                        \
	hf_detail_clear_##name, hf_detail_copy_##name, hf_detail_fill_##name, move,                \
		hf_detail_compare_##name, hf_detail_find_##name

static const struct {
	const char *name;
	hf_clear_function_t clear;
	hf_copy_function_t copy;
	hf_fill_function_t fill;
	hf_copy_function_t move;
	hf_compare_function_t compare;
	hf_find_function_t find;
} implementations[] = {
	{ "generic", VECTORS(generic, hf_detail_move_generic) },
#if HF_ARCH_HAS_REP
	{ "hand_sse2", VECTORS(sse2, hf_detail_move_sse2) },
	{ "hand_avx2", VECTORS(avx2, hf_detail_move_avx2) },
	/* A move gains nothing from wider stores. */
	{ "hand_avx512", VECTORS(avx512, hf_detail_move_avx2) },
	{ "hand_mixed", NULL, hf_detail_copy_mixed, NULL, NULL, NULL, NULL },
#endif
#if HF_ARCH_HAS_PAIR
	{ "stp", hf_detail_clear_stp, hf_detail_copy_stp, NULL, NULL, NULL, NULL },
	{ "dc_zva", hf_detail_clear_dc_zva, NULL, NULL, NULL, NULL, NULL },
#endif
};

/* Rows. The default on x86-64: HAND and an enum hf_detail_vectors. */
enum { GENERIC, HAND = 1, STP = 1, DC_ZVA };

static unsigned int clear_row = GENERIC, copy_row = GENERIC;

const char *hf_clear_chosen(void)
{
	return implementations[clear_row].name;
}

const char *hf_copy_chosen(void)
{
	return implementations[copy_row].name;
}

/* ---- choosing ----------------------------------------------------------------------------- */

/* Until hf_detail_nofault_start() has run. */
hf_atomic64_t hf_detail_clear = HF_ATOMIC_INIT((uintptr_t)hf_detail_clear_generic);
hf_atomic64_t hf_detail_copy = HF_ATOMIC_INIT((uintptr_t)hf_detail_copy_generic);
hf_atomic64_t hf_detail_words = HF_ATOMIC_INIT((uintptr_t)hf_detail_copy_words_checked);

struct hf_detail_memory_functions hf_detail_memory = {
	HF_ATOMIC_INIT((uintptr_t)hf_detail_fill_generic),
	HF_ATOMIC_INIT((uintptr_t)hf_detail_move_generic),
	HF_ATOMIC_INIT((uintptr_t)hf_detail_compare_generic),
	HF_ATOMIC_INIT((uintptr_t)hf_detail_find_generic),
};

void hf_detail_nofault_choose(void)
{
#if HF_ARCH_HAS_REP
	struct hf_detail_policy policy = policy_here();

	clear_row = HAND + policy.clear;
	copy_row = HAND + policy.copy;
#elif HF_ARCH_HAS_PAIR
	clear_row = hf_detail_has_dc_zva() ? DC_ZVA : STP;
	copy_row = STP;
#endif
	hf_atomic64_store_relaxed(&hf_detail_clear, (uintptr_t)implementations[clear_row].clear);
	hf_atomic64_store_relaxed(&hf_detail_copy, (uintptr_t)implementations[copy_row].copy);
}

void hf_detail_memory_use(hf_fill_function_t fill, hf_copy_function_t move,
			  hf_compare_function_t compare, hf_find_function_t find)
{
	hf_atomic64_store_relaxed(&hf_detail_memory.fill, (uintptr_t)fill);
	hf_atomic64_store_relaxed(&hf_detail_memory.move, (uintptr_t)move);
	hf_atomic64_store_relaxed(&hf_detail_memory.compare, (uintptr_t)compare);
	hf_atomic64_store_relaxed(&hf_detail_memory.find, (uintptr_t)find);
}

void hf_detail_memory_start(void)
{
	unsigned int row = GENERIC;

#if HF_ARCH_HAS_REP
	row = HAND + policy_here().clear;
#endif
	hf_detail_memory_use(implementations[row].fill, implementations[row].move,
			     implementations[row].compare, implementations[row].find);
	if (!hf_detail_has_sanitizer())
		hf_atomic64_store_relaxed(&hf_detail_words,
					  (uintptr_t)hf_detail_words_of_this_cpu());
}

void hf_detail_nofault_start(void)
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
	hf_detail_memory_start();
	hf_detail_nofault_choose();
}
