/* SPDX-License-Identifier: MIT */
/*
 * nofault - which clear and which copy; strings.
 *
 * The processor's flags show what is legal here, not what is good: the default is a
 * loop of vectors, which is good everywhere, and a repeated instruction only for sizes where that
 * was measured to be better: here, by hf_nofault_calibrate(), or by us, for the processors in
 * repeat_known[]. docs/design/0010-choosing-clear-and-copy.md has the measurements.
 */
#include "nofault.h"

#include "holdfast/cpu.h"

#include "env.h"

enum { AGAIN = 11, NOMEM = 12, NOTSUP = 95 }; /* Linux's errors */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool always(void)
{
	return true;
}

/* ---- what there is ------------------------------------------------------------------------ */

static const struct hf_clear_implementation clears[] = {
	{ "generic", hf__clear_generic, always },
#if HF_ARCH_HAS_REP
	{ "original", hf__clear_original, always },
	{ "rep_good", hf__clear_rep_good, hf_cpu_has_rep_good },
	{ "erms", hf__clear_erms, hf_cpu_has_erms },
	{ "fsrm", hf__clear_fsrm, hf_cpu_has_fsrm },
	{ "vector_sse2", hf__clear_vector_sse2, always },
	{ "vector_avx2", hf__clear_vector_avx2, hf_cpu_has_avx2 },
	{ "vector_avx512", hf__clear_vector_avx512, hf_cpu_has_avx512f },
#endif
#if HF_ARCH_HAS_PAIR
	{ "stp", hf__clear_stp, always },
	{ "dc_zva", hf__clear_dc_zva, hf__has_dc_zva },
#endif
};

static const struct hf_copy_implementation copies[] = {
	{ "generic", hf__copy_generic, always },
#if HF_ARCH_HAS_REP
	{ "original", hf__copy_original, always },
	{ "rep_good", hf__copy_rep_good, hf_cpu_has_rep_good },
	{ "erms", hf__copy_erms, hf_cpu_has_erms },
	{ "fsrm", hf__copy_fsrm, hf_cpu_has_fsrm },
	{ "vector_sse2", hf__copy_vector_sse2, always },
	{ "vector_avx2", hf__copy_vector_avx2, hf_cpu_has_avx2 },
	{ "vector_avx512", hf__copy_vector_avx512, hf_cpu_has_avx512f },
#endif
#if HF_ARCH_HAS_PAIR
	{ "stp", hf__copy_stp, always },
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

struct hf__limits hf__clear_limits = { NEVER, NEVER, NEVER, NEVER };
struct hf__limits hf__copy_limits = { NEVER, NEVER, NEVER, NEVER };

/* A call that reads one before the others finds a mix; any mix is right, and soon gone. */
static void set_limits(struct hf__limits *limits, uint64_t repeat_from, uint64_t repeat_below,
		       uint64_t stream_from)
{
	hf_atomic64_store_relaxed(&limits->repeat_from, repeat_from);
	hf_atomic64_store_relaxed(&limits->repeat_below, repeat_below);
	hf_atomic64_store_relaxed(&limits->stream_from, stream_from);
	hf_atomic64_store_relaxed(&limits->other_from,
				  repeat_from < stream_from ? repeat_from : stream_from);
}

#if HF_ARCH_HAS_REP
/* Is "default" the instruction at the call site? Set by calibration and by FSRS. */
static hf_atomic32_t clear_inline = HF_ATOMIC_INIT(0), copy_inline = HF_ATOMIC_INIT(0);
#endif

static hf_clear_function_t default_clear(void)
{
#if HF_ARCH_HAS_REP
	if (hf_atomic32_load_relaxed(&clear_inline))
		return hf__clear_fsrm;
	return hf_cpu_has_avx2() ? hf__clear_default_avx2 : hf__clear_default_sse2;
#elif HF_ARCH_HAS_PAIR
	return hf__has_dc_zva() ? hf__clear_dc_zva : hf__clear_stp;
#else
	return hf__clear_generic;
#endif
}

static hf_copy_function_t default_copy(void)
{
#if HF_ARCH_HAS_REP
	if (hf_atomic32_load_relaxed(&copy_inline))
		return hf__copy_fsrm;
	return hf_cpu_has_avx2() ? hf__copy_default_avx2 : hf__copy_default_sse2;
#elif HF_ARCH_HAS_PAIR
	return hf__copy_stp;
#else
	return hf__copy_generic;
#endif
}

/* ---- choosing ----------------------------------------------------------------------------- */

/* Until hf__nofault_start() has run. */
hf_atomic64_t hf__clear = HF_ATOMIC_INIT((uintptr_t)hf__clear_generic);
hf_atomic64_t hf__copy = HF_ATOMIC_INIT((uintptr_t)hf__copy_generic);

static hf_atomic64_t clear_name = HF_ATOMIC_INIT((uintptr_t) "generic");
static hf_atomic64_t copy_name = HF_ATOMIC_INIT((uintptr_t) "generic");

static bool same(const char *a, const char *b)
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

	if (!same(wanted, "vector"))
		return same(wanted, name);
	for (unsigned int i = 0; i < sizeof(prefix) - 1; i++) {
		if (name[i] != prefix[i])
			return false;
	}
	return true;
}

static bool is_default(const char *name)
{
	return !name || same(name, default_name);
}

static void use_clear(const char *name, hf_clear_function_t function)
{
	bool here = false;

#if HF_ARCH_HAS_REP
	here = function == hf__clear_fsrm;
#endif
	hf_atomic64_store_relaxed(&hf__clear, here ? 0 : (uintptr_t)function);
	hf_atomic64_store_relaxed(&clear_name, (uintptr_t)name);
}

static void use_copy(const char *name, hf_copy_function_t function)
{
	bool here = false;

#if HF_ARCH_HAS_REP
	here = function == hf__copy_fsrm;
#endif
	hf_atomic64_store_relaxed(&hf__copy, here ? 0 : (uintptr_t)function);
	hf_atomic64_store_relaxed(&copy_name, (uintptr_t)name);
}

int hf_clear_choose(const char *name)
{
	const struct hf_clear_implementation *found = NULL;
	int error = -HF_EINVAL;

	if (is_default(name)) {
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

	if (is_default(name)) {
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
	hf__env_print(text, len);
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

#if HF_ARCH_HAS_REP
/*
 * Where a repeated instruction was measured to be at least as good as the vector loop, at any
 * alignment: from, below (bytes). Everything that isn't here is taken to be slow.
 */
static const struct {
	const char *vendor;
	unsigned int family_from, family_to;
	uint64_t clear_from, clear_below, copy_from, copy_below;
} repeat_known[] = {
	/* Zen 3: above half of a core complex's cache. */
	{ "AuthenticAMD", 0x19, 0x19, 16 << 20, UINT64_MAX, 16 << 20, UINT64_MAX },
};
#endif

static void start_limits(void)
{
	/* Beyond three quarters of the last cache, what is stored pushes out what is used. */
	uint64_t cache = hf__env_cache_bytes(), stream_from = cache ? cache / 4 * 3 : UINT64_MAX;
	uint64_t clear_from = UINT64_MAX, clear_below = UINT64_MAX;
	uint64_t copy_from = UINT64_MAX, copy_below = UINT64_MAX;

#if HF_ARCH_HAS_REP
	for (size_t i = 0; i < COUNT(repeat_known); i++) {
		if (!same(repeat_known[i].vendor, hf_cpu_vendor()) ||
		    hf_cpu_family() < repeat_known[i].family_from ||
		    hf_cpu_family() > repeat_known[i].family_to)
			continue;
		clear_from = repeat_known[i].clear_from;
		clear_below = repeat_known[i].clear_below;
		copy_from = repeat_known[i].copy_from;
		copy_below = repeat_known[i].copy_below;
	}
	hf_atomic32_store_relaxed(&clear_inline, hf_cpu_has_fsrs());
#endif
	set_limits(&hf__clear_limits, clear_from, clear_below, stream_from);
	set_limits(&hf__copy_limits, copy_from, copy_below, stream_from);
}

void hf__nofault_start(const char *clear, const char *copy)
{
	int error;

	start_limits();
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
	FROM_SHIFT = 4, /* 16 bytes */
	TO_SHIFT = 20,  /* 1 MiB */
	BATCH_NS = 6000,
	ROUNDS = 3,
	BUDGET_NS = 4500000,
	BUFFER = (1 << TO_SHIFT) + 64,
};

struct buffers {
	char *to, *from;
	uint64_t deadline;
};

/* Nanoseconds for one operation of that size, the least of a few batches. */
static uint64_t measure(const struct buffers *b, bool copies_too, bool repeat, size_t size,
			size_t offset)
{
	bool avx2 = hf_cpu_has_avx2();
	hf_clear_function_t clear_loop = avx2 ? hf__clear_vector_avx2 : hf__clear_vector_sse2;
	hf_copy_function_t copy_loop = avx2 ? hf__copy_vector_avx2 : hf__copy_vector_sse2;
	hf_clear_function_t clear = repeat ? hf__clear_fsrm : clear_loop;
	hf_copy_function_t copy = repeat ? hf__copy_fsrm : copy_loop;
	uint64_t least = UINT64_MAX;
	size_t left = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = hf__env_now(), end, n = 0;

		do {
			for (int i = 0; i < 8 && (i == 0 || size <= 16384); i++, n++)
				left |= copies_too
						? copy(b->to + offset, b->from + 3 * offset, size)
						: clear(b->to + offset, size);
			end = hf__env_now();
		} while (end - start < BATCH_NS);
		if (left)
			return UINT64_MAX; /* the memory went away: don't trust it */
		if ((end - start) * 256 / n < least)
			least = (end - start) * 256 / n;
		if (end > b->deadline)
			return 0;
	}
	return least;
}

/*
 * The least size from which on, up to the largest that is measured, the repeated instruction is
 * better than the loop by 1/32, aligned and misaligned. Returns false if there was no time.
 */
static bool find_from(const struct buffers *b, bool copies_too, uint64_t *from)
{
	*from = UINT64_MAX;
	for (int shift = TO_SHIFT; shift >= FROM_SHIFT; shift--) {
		size_t size = (size_t)1 << shift;

		for (size_t offset = 0; offset <= 1; offset++) {
			uint64_t loop = measure(b, copies_too, false, size, offset);
			uint64_t repeat = measure(b, copies_too, true, size, offset);

			if (!loop || !repeat)
				return false;
			if (repeat > loop - loop / 32)
				return true;
		}
		*from = size;
	}
	return true;
}

/* From the size where the repeated instruction won, or else where it did before (above TO_SHIFT). */
static void use_calibration(struct hf__limits *limits, uint64_t from)
{
	uint64_t before = hf_atomic64_load_relaxed(&limits->repeat_from);

	if (from == UINT64_MAX && before > (uint64_t)1 << TO_SHIFT)
		from = before;
	set_limits(limits, from, UINT64_MAX, hf_atomic64_load_relaxed(&limits->stream_from));
}

int hf_nofault_calibrate(void)
{
	struct buffers b;
	uint64_t clear_from, copy_from;
	bool have_time;

	b.deadline = hf__env_now() + BUDGET_NS;
	b.to = (char *)hf__env_memory_get(2 * BUFFER);
	if (!b.to)
		return -NOMEM;
	b.from = b.to + BUFFER;
	have_time = find_from(&b, false, &clear_from) && find_from(&b, true, &copy_from);
	hf__env_memory_put(b.to, 2 * BUFFER);
	if (!have_time)
		return -AGAIN;
	use_calibration(&hf__clear_limits, clear_from);
	use_calibration(&hf__copy_limits, copy_from);
	hf_atomic32_store_relaxed(&clear_inline, clear_from <= (1u << FROM_SHIFT));
	hf_atomic32_store_relaxed(&copy_inline, copy_from <= (1u << FROM_SHIFT));
	if (same(hf_clear_chosen(), default_name))
		(void)hf_clear_choose(NULL);
	if (same(hf_copy_chosen(), default_name))
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

HF_NO_SANITIZE long hf_strncpy_nofault(char *dst, const char *src, size_t size)
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
		}
		if (done == size)
			break;
		if (hf_arch_load8_nofault(&byte, src + done) ||
		    hf_arch_store8_nofault(dst + done, byte))
			return -HF_EFAULT;
		if (!byte)
			return (long)done;
	}
	return (long)size;
}
