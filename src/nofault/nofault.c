/* SPDX-License-Identifier: MIT */
/*
 * nofault - which clear and which copy; strings.
 *
 * The processor's flags say what is legal here, not what is fast: the default is what the table in
 * arch/x86_64/nofault_policy.c says of this kind of processor, and hf_nofault_calibrate() may lower
 * a threshold.
 */
#include "memory.h"

#include "holdfast/internal/cpu.h"

#include "../cpu/cpu.h"
#include "../env/env.h"
#if HF_ARCH_HAS_REP
#include "arch/x86_64_policy.h"
#endif

enum { AGAIN = 11, NOMEM = 12, NOTSUP = 95 }; /* Linux's errors */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool always(void)
{
	return true;
}

/* ---- what there is ------------------------------------------------------------------------ */

static const struct hf_clear_implementation clears[] = {
	{ "generic", hf_detail_clear_generic, always },
#if HF_ARCH_HAS_REP
	{ "original", hf_detail_clear_original, always },
	{ "rep_good", hf_detail_clear_rep_good, hf_cpu_has_rep_good },
	{ "erms", hf_detail_clear_erms, hf_cpu_has_erms },
	{ "fsrm", hf_detail_clear_fsrm, hf_cpu_has_fsrm },
	{ "vector_sse2", hf_detail_clear_vector_sse2, always },
	{ "vector_avx2", hf_detail_clear_vector_avx2, hf_cpu_has_avx2 },
	{ "vector_avx512", hf_detail_clear_vector_avx512, hf_cpu_has_avx512f },
	{ "hand_sse2", hf_detail_clear_hand_sse2, always },
	{ "hand_avx2", hf_detail_clear_hand_avx2, hf_cpu_has_avx2 },
	{ "hand_avx512", hf_detail_clear_hand_avx512, hf_cpu_has_avx512vl },
#endif
#if HF_ARCH_HAS_PAIR
	{ "stp", hf_detail_clear_stp, always },
	{ "dc_zva", hf_detail_clear_dc_zva, hf_detail_has_dc_zva },
#endif
};

static const struct hf_copy_implementation copies[] = {
	{ "generic", hf_detail_copy_generic, always },
#if HF_ARCH_HAS_REP
	{ "original", hf_detail_copy_original, always },
	{ "rep_good", hf_detail_copy_rep_good, hf_cpu_has_rep_good },
	{ "erms", hf_detail_copy_erms, hf_cpu_has_erms },
	{ "fsrm", hf_detail_copy_fsrm, hf_cpu_has_fsrm },
	{ "vector_sse2", hf_detail_copy_vector_sse2, always },
	{ "vector_avx2", hf_detail_copy_vector_avx2, hf_cpu_has_avx2 },
	{ "vector_avx512", hf_detail_copy_vector_avx512, hf_cpu_has_avx512f },
	{ "hand_sse2", hf_detail_copy_hand_sse2, always },
	{ "hand_avx2", hf_detail_copy_hand_avx2, hf_cpu_has_avx2 },
	{ "hand_avx512", hf_detail_copy_hand_avx512, hf_cpu_has_avx512vl },
	{ "hand_mixed", hf_detail_copy_hand_mixed, hf_cpu_has_avx512vl },
#endif
#if HF_ARCH_HAS_PAIR
	{ "stp", hf_detail_copy_stp, always },
#endif
};

const struct hf_clear_implementation *hf_clear_implementations(size_t *count)
{
	*count = COUNT(clears);
	return clears;
}

const struct hf_copy_implementation *hf_copy_implementations(size_t *count)
{
	*count = COUNT(copies);
	return copies;
}

/* ---- the default -------------------------------------------------------------------------- */

#define NEVER HF_ATOMIC_INIT(UINT64_MAX)

struct hf_detail_limits hf_detail_clear_limits = { NEVER, NEVER, NEVER };
struct hf_detail_limits hf_detail_copy_limits = { NEVER, NEVER, NEVER };

/* A thread that reads one before the others finds a mix; any mix is right, and soon gone. */
static void set_limits(struct hf_detail_limits *limits, uint64_t repeat_from, uint64_t stream_from)
{
	hf_atomic64_store_relaxed(&limits->repeat_from, repeat_from);
	hf_atomic64_store_relaxed(&limits->stream_from, stream_from);
	hf_atomic64_store_relaxed(&limits->other_from,
				  repeat_from < stream_from ? repeat_from : stream_from);
}

#if HF_ARCH_HAS_REP
/* Is "default" the repeated instruction for all sizes? Set by calibration. */
static hf_atomic32_t clear_repeats = HF_ATOMIC_INIT(0), copy_repeats = HF_ATOMIC_INIT(0);

/* The loop of the default: enum hf_detail_vectors. */
static hf_atomic32_t vectors = HF_ATOMIC_INIT(HF_DETAIL_VECTORS_SSE2);
#endif

static hf_clear_function_t default_clear(void)
{
#if HF_ARCH_HAS_REP
	if (hf_atomic32_load_relaxed(&clear_repeats))
		return hf_detail_clear_fsrm;
	switch (hf_atomic32_load_relaxed(&vectors)) {
	case HF_DETAIL_VECTORS_MIXED:
	case HF_DETAIL_VECTORS_AVX512:
		return hf_detail_clear_hand_avx512;
	case HF_DETAIL_VECTORS_AVX2:
		return hf_detail_clear_hand_avx2;
	default:
		return hf_detail_clear_hand_sse2;
	}
#elif HF_ARCH_HAS_PAIR
	return hf_detail_has_dc_zva() ? hf_detail_clear_dc_zva : hf_detail_clear_stp;
#else
	return hf_detail_clear_generic;
#endif
}

static hf_copy_function_t default_copy(void)
{
#if HF_ARCH_HAS_REP
	if (hf_atomic32_load_relaxed(&copy_repeats))
		return hf_detail_copy_fsrm;
	switch (hf_atomic32_load_relaxed(&vectors)) {
	case HF_DETAIL_VECTORS_MIXED:
		return hf_detail_copy_hand_mixed;
	case HF_DETAIL_VECTORS_AVX512:
		return hf_detail_copy_hand_avx512;
	case HF_DETAIL_VECTORS_AVX2:
		return hf_detail_copy_hand_avx2;
	default:
		return hf_detail_copy_hand_sse2;
	}
#elif HF_ARCH_HAS_PAIR
	return hf_detail_copy_stp;
#else
	return hf_detail_copy_generic;
#endif
}

/* ---- choosing ----------------------------------------------------------------------------- */

/* Until hf_detail_nofault_start() has run. */
hf_atomic64_t hf_detail_clear = HF_ATOMIC_INIT((uintptr_t)hf_detail_clear_generic);
hf_atomic64_t hf_detail_copy = HF_ATOMIC_INIT((uintptr_t)hf_detail_copy_generic);

static hf_atomic64_t clear_name = HF_ATOMIC_INIT((uintptr_t) "generic");
static hf_atomic64_t copy_name = HF_ATOMIC_INIT((uintptr_t) "generic");

static bool same_name(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static const char default_name[] = "default";

/* "vector" is the widest that is legal here: the last of the list, for it is in that order. */
static bool matches(const char *wanted, const char *name)
{
	static const char prefix[] = "vector_";

	if (!same_name(wanted, "vector"))
		return same_name(wanted, name);
	for (unsigned int i = 0; i < sizeof(prefix) - 1; i++) {
		if (name[i] != prefix[i])
			return false;
	}
	return true;
}

static bool is_default_name(const char *name)
{
	return !name || same_name(name, default_name);
}

static void use_clear(const char *name, hf_clear_function_t function)
{
	hf_atomic64_store_relaxed(&hf_detail_clear, (uintptr_t)function);
	hf_atomic64_store_relaxed(&clear_name, (uintptr_t)name);
}

static void use_copy(const char *name, hf_copy_function_t function)
{
	hf_atomic64_store_relaxed(&hf_detail_copy, (uintptr_t)function);
	hf_atomic64_store_relaxed(&copy_name, (uintptr_t)name);
}

int hf_clear_choose(const char *name)
{
	const struct hf_clear_implementation *found = NULL;
	int error = -HF_EINVAL;

	if (is_default_name(name)) {
		use_clear(default_name, default_clear());
		return 0;
	}
	for (size_t i = 0; i < COUNT(clears); i++) {
		if (!matches(name, clears[i].name))
			continue;
		error = -NOTSUP;
		if (clears[i].is_legal())
			found = &clears[i];
	}
	if (!found)
		return error;
	use_clear(found->name, found->function);
	return 0;
}

int hf_copy_choose(const char *name)
{
	const struct hf_copy_implementation *found = NULL;
	int error = -HF_EINVAL;

	if (is_default_name(name)) {
		use_copy(default_name, default_copy());
		return 0;
	}
	for (size_t i = 0; i < COUNT(copies); i++) {
		if (!matches(name, copies[i].name))
			continue;
		error = -NOTSUP;
		if (copies[i].is_legal())
			found = &copies[i];
	}
	if (!found)
		return error;
	use_copy(found->name, found->function);
	return 0;
}

const char *hf_clear_chosen(void)
{
	return (const char *)(uintptr_t)hf_atomic64_load_relaxed(&clear_name);
}

const char *hf_copy_chosen(void)
{
	return (const char *)(uintptr_t)hf_atomic64_load_relaxed(&copy_name);
}

/* ---- at the start ------------------------------------------------------------------------- */

/* One line on standard error, in pieces. */
static void print(const char *text)
{
	size_t len = 0;

	while (text[len])
		len++;
	hf_detail_env_print(text, len);
}

static void complain(const char *variable, const char *name, int error, const char *chosen)
{
	print("holdfast: ");
	print(variable);
	print("=");
	print(name);
	print(error == -NOTSUP ? " can't run on this processor; using " : " is not known; using ");
	print(chosen);
	print(". There are:");
}

static void start_limits(void)
{
	/* Beyond three quarters of the last cache, what is stored pushes out what is used. */
	uint64_t cache = hf_detail_env_cache_bytes(),
		 stream_from = cache ? cache / 4 * 3 : UINT64_MAX;
	uint64_t clear_from = UINT64_MAX, copy_from = UINT64_MAX;

#if HF_ARCH_HAS_REP
	struct hf_detail_cpu cpu = hf_detail_cpu_known();
	struct hf_detail_policy policy = hf_detail_policy_of(&cpu);

	clear_from = policy.clear_repeat_from;
	copy_from = policy.copy_repeat_from;
	hf_atomic32_store_relaxed(&vectors, policy.vectors);
#endif
	set_limits(&hf_detail_clear_limits, clear_from, stream_from);
	set_limits(&hf_detail_copy_limits, copy_from, stream_from);
}

void hf_detail_nofault_start(const char *clear, const char *copy)
{
	int error;

	start_limits();
	hf_detail_memory_start();
	(void)hf_clear_choose(NULL);
	(void)hf_copy_choose(NULL);
	error = clear && *clear ? hf_clear_choose(clear) : 0;
	if (error) {
		complain("HOLDFAST_CLEAR", clear, error, hf_clear_chosen());
		for (size_t i = 0; i < COUNT(clears); i++) {
			print(" ");
			print(clears[i].name);
		}
		print(HF_ARCH_HAS_REP ? " vector default\n" : " default\n");
	}
	error = copy && *copy ? hf_copy_choose(copy) : 0;
	if (error) {
		complain("HOLDFAST_COPY", copy, error, hf_copy_chosen());
		for (size_t i = 0; i < COUNT(copies); i++) {
			print(" ");
			print(copies[i].name);
		}
		print(HF_ARCH_HAS_REP ? " vector default\n" : " default\n");
	}
}

/* ---- calibration -------------------------------------------------------------------------- */

#if HF_ARCH_HAS_REP

enum {
	BATCH_NS = 3000,
	ROUNDS = 2,
	BUDGET_NS = 1800000,
	BUFFER = HF_DETAIL_POLICY_CALIBRATE_MOST + 64,
};

struct calibration {
	char *to, *from;
	uint64_t deadline;
	bool copies;
};

/* An hf_detail_policy_time_t: the least of a few batches, in nanoseconds / 256. */
static uint64_t measure(void *state, bool repeat, size_t size, size_t offset)
{
	const struct calibration *c = (const struct calibration *)state;
	hf_clear_function_t clear = repeat ? hf_detail_clear_fsrm : default_clear();
	hf_copy_function_t copy = repeat ? hf_detail_copy_fsrm : default_copy();
	uint64_t least = UINT64_MAX;
	size_t left = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = hf_detail_env_now(), end, n = 0;

		do {
			for (int i = 0; i < 8 && (i == 0 || size <= 16384); i++, n++)
				left |= c->copies ? copy(c->to + offset, c->from + 3 * offset, size)
						  : clear(c->to + offset, size);
			end = hf_detail_env_now();
		} while (end - start < BATCH_NS);
		if (left || end > c->deadline)
			return 0; /* the memory went away, or time is up */
		if ((end - start) * 256 / n < least)
			least = (end - start) * 256 / n;
	}
	return least;
}

int hf_nofault_calibrate(void)
{
	struct calibration c;
	uint64_t clear_from = hf_atomic64_load_relaxed(&hf_detail_clear_limits.repeat_from);
	uint64_t copy_from = hf_atomic64_load_relaxed(&hf_detail_copy_limits.repeat_from);
	uint64_t clear_stream = hf_atomic64_load_relaxed(&hf_detail_clear_limits.stream_from);
	uint64_t copy_stream = hf_atomic64_load_relaxed(&hf_detail_copy_limits.stream_from);
	bool have_time;

	c.deadline = hf_detail_env_now() + BUDGET_NS;
	c.to = (char *)hf_detail_env_memory_get(2 * BUFFER);
	if (!c.to)
		return -NOMEM;
	c.from = c.to + BUFFER;
	c.copies = false;
	have_time = hf_detail_policy_calibrate(&clear_from, measure, &c);
	c.copies = true;
	have_time = have_time && hf_detail_policy_calibrate(&copy_from, measure, &c);
	hf_detail_env_memory_put(c.to, 2 * BUFFER);
	if (!have_time)
		return -AGAIN;
	set_limits(&hf_detail_clear_limits, clear_from, clear_stream);
	set_limits(&hf_detail_copy_limits, copy_from, copy_stream);
	hf_atomic32_store_relaxed(&clear_repeats, clear_from <= HF_DETAIL_POLICY_CALIBRATE_LEAST);
	hf_atomic32_store_relaxed(&copy_repeats, copy_from <= HF_DETAIL_POLICY_CALIBRATE_LEAST);
	if (same_name(hf_clear_chosen(), default_name))
		(void)hf_clear_choose(NULL);
	if (same_name(hf_copy_chosen(), default_name))
		(void)hf_copy_choose(NULL);
	return 0;
}

#else

int hf_nofault_calibrate(void)
{
	return -NOTSUP;
}

#endif

/* ---- strings ------------------------------------------------------------------------------ */

/* There if the program is built with MemorySanitizer, which does not see what the library writes. */
void __msan_unpoison(const volatile void *p, size_t len) __attribute__((weak));

HF_NO_SANITIZE static long copy_string(size_t *copied, char *dst, const char *src, size_t size)
{
	const uint64_t ones = 0x0101010101010101u;
	size_t done = 0;
	uint64_t word;
	uint8_t byte = 0;

	for (; done < size; done++) {
		/* Aligned words: one that has the string's end in it doesn't leave its page. */
		while (((uintptr_t)(src + done)) % 8 == 0 && size - done >= 8) {
			if (hf_arch_load64_nofault(&word, src + done))
				return -HF_EFAULT;
			if (((word - ones) & ~word & ones << 7) != 0)
				break;                             /* there is a 0 in it */
			if (hf_copy_nofault(dst + done, &word, 8)) /* exact, on two pages too */
				return -HF_EFAULT;
			done += 8;
			*copied = done;
		}
		if (done == size)
			break;
		if (hf_arch_load8_nofault(&byte, src + done) ||
		    hf_arch_store8_nofault(dst + done, byte))
			return -HF_EFAULT;
		*copied = done + 1;
		if (!byte)
			return (long)done;
	}
	return (long)size;
}

long hf_strncpy_nofault(char *dst, const char *src, size_t size)
{
	size_t copied = 0;
	long result = copy_string(&copied, dst, src, size);

	if (__msan_unpoison)
		__msan_unpoison(dst, copied);
	return result;
}
