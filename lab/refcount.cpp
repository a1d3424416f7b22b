/* SPDX-License-Identifier: MIT */
/*
 * The table `refcount`: taking and dropping a reference, on a count that never reaches 0.
 *
 * Each thread does pairs in batches, and leaves one reference behind for each batch. So the final
 * count tells how many batches were done, which is the check of a run.
 */
#include "bench.hpp"

#include <climits>
#include <memory>

#include "holdfast/rcuref.h"
#include "holdfast/refcount.h"
#include "counts.h"

#if HF_LAB_HAVE_GLIB
#include <glib.h>
#endif

namespace lab
{
namespace
{

constexpr uint64_t BATCH = 256; /* pairs for each reference that is left behind */

struct alignas(128) Count {
	hf_refcount_t count;
	hf_rcuref_t rcuref;
#if HF_LAB_HAVE_GLIB
	gatomicrefcount glib;
#endif
	std::shared_ptr<int> shared;
	std::weak_ptr<int> weak;
	/* References left behind that are objects; their memory is allocated before the run. */
	std::vector<std::vector<std::shared_ptr<int>>> kept;
	bool failed = false; /* a pair ended with the count at 0, or found it dead */
};

/* The loop of every implementation: Ops::pair(c) takes and drops, Ops::keep(c) only takes. */
template <class Ops>
uint64_t pairs(void *state, int thread, const int *stop)
{
	Count *c = static_cast<Count *>(state);
	uint64_t batches = 0;
	bool failed = false;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		for (uint64_t i = 0; i < BATCH; i++)
			failed |= Ops::pair(c);
		Ops::keep(c, thread);
		batches++;
	}
	if (failed)
		__atomic_store_n(&c->failed, true, __ATOMIC_RELAXED);
	return batches * BATCH;
}

/* Both kinds of pairs of one implementation, whose operations begin with @prefix. */
#define OURS(name, prefix)                                                                         \
	struct name##_inc {                                                                        \
		static bool pair(Count *c)                                                         \
		{                                                                                  \
			prefix##_inc(&c->count);                                                   \
			return prefix##_dec_and_test(&c->count);                                   \
		}                                                                                  \
		static void keep(Count *c, int) { prefix##_inc(&c->count); }                       \
	};                                                                                         \
	struct name##_inc_not_zero {                                                               \
		static bool pair(Count *c)                                                         \
		{                                                                                  \
			return !prefix##_inc_not_zero(&c->count) ||                                \
			       prefix##_dec_and_test(&c->count);                                   \
		}                                                                                  \
		static void keep(Count *c, int) { prefix##_inc(&c->count); }                       \
	};
LAB_REFCOUNTS(OURS)
OURS(default, hf_refcount)

struct rcuref_get {
	static bool pair(Count *c)
	{
		return !hf_rcuref_get(&c->rcuref) || hf_rcuref_put(&c->rcuref);
	}
	static void keep(Count *c, int)
	{
		if (!hf_rcuref_get(&c->rcuref))
			__atomic_store_n(&c->failed, true, __ATOMIC_RELAXED);
	}
};

#if HF_LAB_HAVE_GLIB
struct glib_inc {
	static bool pair(Count *c)
	{
		g_atomic_ref_count_inc(&c->glib);
		return g_atomic_ref_count_dec(&c->glib);
	}
	static void keep(Count *c, int) { g_atomic_ref_count_inc(&c->glib); }
};
#endif

struct shared_ptr_copy {
	static bool pair(Count *c)
	{
		std::shared_ptr<int> copy = c->shared;

		return !copy;
	}
	static void keep(Count *c, int thread)
	{
		c->kept[static_cast<size_t>(thread)].push_back(c->shared);
	}
};

struct weak_ptr_lock {
	static bool pair(Count *c)
	{
		std::shared_ptr<int> copy = c->weak.lock();

		return !copy;
	}
	static void keep(Count *c, int thread) { shared_ptr_copy::keep(c, thread); }
};

enum class What { OURS, RCUREF, GLIB, SHARED };

struct Variant {
	const char *name, *kind, *is;
	What what;
	loop_t inc, inc_not_zero; /* NULL = the peer does not have it */
};

std::vector<Sample> run(const Variant &variant, loop_t loop, int threads, int window_ms)
{
	std::unique_ptr<Count> c(new Count);

	hf_refcount_set(&c->count, 1);
	hf_rcuref_init(&c->rcuref, 1);
#if HF_LAB_HAVE_GLIB
	g_atomic_ref_count_init(&c->glib);
#endif
	if (variant.what == What::SHARED) {
		c->shared = std::make_shared<int>(0);
		c->weak = c->shared;
		c->kept.resize(static_cast<size_t>(threads));
		/* A batch takes at least 500 ns, so 4000 for each ms are more than enough. */
		for (auto &list : c->kept)
			list.reserve(static_cast<size_t>(window_ms) * 4000);
	}
	Window window = run_window(threads, window_ms, loop, { c.get() });
	uint64_t left = 0;

	if (variant.what == What::OURS)
		left = static_cast<uint64_t>(hf_refcount_read(&c->count)) - 1;
	else if (variant.what == What::RCUREF)
		left = hf_rcuref_read(&c->rcuref) - 1;
	else if (variant.what == What::SHARED)
		left = static_cast<uint64_t>(c->shared.use_count()) - 1;
#if HF_LAB_HAVE_GLIB
	else
		left = static_cast<uint64_t>(g_atomic_int_get(&c->glib)) - 1;
#endif
	return { sample_of(window, !c->failed && left * BATCH == window.total()) };
}

#define VARIANT(name, functions)                                                                   \
	{ #name, "ours", nullptr, What::OURS, pairs<name##_inc>, pairs<name##_inc_not_zero> },

const Variant variants[] = {
	LAB_REFCOUNTS(VARIANT){ "default", "default", "saturating", What::OURS, pairs<default_inc>,
				pairs<default_inc_not_zero> },
	/* It has another contract: the memory outlives the count. Its get serves both cases. */
	{ "rcuref", "ours", nullptr, What::RCUREF, pairs<rcuref_get>, pairs<rcuref_get> },
#if HF_LAB_HAVE_GLIB
	{ "peer:glib_atomic_ref_count", "peer", nullptr, What::GLIB, pairs<glib_inc>, nullptr },
#endif
	{ "peer:shared_ptr", "peer", nullptr, What::SHARED, pairs<shared_ptr_copy>,
	  pairs<weak_ptr_lock> },
};

} // namespace

std::vector<Cell> refcount_cells(const Settings &settings)
{
	std::vector<Cell> cells;

	for (int threads : thread_counts(settings)) {
		for (const Variant &variant : variants) {
			for (bool not_zero : { false, true }) {
				loop_t loop = not_zero ? variant.inc_not_zero : variant.inc;
				Row row("refcount", variant.name, variant.kind,
					not_zero ? "inc_not_zero+put" : "inc+dec_and_test",
					threads);

				if (!loop)
					continue;
				if (variant.is)
					row.labels["is"] = variant.is;
				auto run_once = [&variant, loop, threads](int ms) {
					return run(variant, loop, threads, ms);
				};
				/* Many short runs show differences of a few per cent. */
				cells.push_back({ { row }, run_once, 5, 101 });
			}
		}
	}
	return cells;
}

} // namespace lab
