/* SPDX-License-Identifier: MIT */
/*
 * The table `lockref`: get and put of one hot object, against the number of threads.
 *
 * As in the table `refcount`, each thread leaves one reference behind for each batch of pairs, and a
 * run is checked against the count at the end. The throughput comes from runs without counters of
 * retries, the retries from runs of their own. waitfree never retries, and falls back to nothing.
 */
#include "bench.hpp"

#include <algorithm>
#include <memory>

#include "lockref_stats.h"

/* Where this thread counts; NULL, in the runs that are timed. */
static thread_local lockref_stats *counting;

#define HF__LOCKREF_NOTE(retries, fallback)                                                        \
	((void)(counting && (lockref_stats_add(counting, retries, fallback), true)))

#include "holdfast/lockref.h"

namespace lab
{
namespace
{

constexpr uint64_t BATCH = 64; /* pairs for each reference that is left behind */

struct alignas(128) Stats {
	lockref_stats stats;
};

struct alignas(128) Hot {
	hf_lockref_t ref;
	hf_lockref_waitfree_t waitfree; /* one of the two is used */
	Stats *stats;                   /* one a thread */
	bool failed;                    /* a put found the last reference */
};

/* The limit is a constant in each, as it is for users. */
template <uint32_t limit, hf_wait_policy policy, bool counted>
uint64_t pairs(void *state, int thread, const int *stop)
{
	Hot *hot = static_cast<Hot *>(state);
	uint64_t batches = 0;
	bool failed = false;

	counting = counted ? &hot->stats[thread].stats : nullptr;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		for (uint64_t i = 0; i < BATCH; i++) {
			hf__lockref_get(&hot->ref, INT32_MIN, limit, policy);
			if (hf__lockref_put(&hot->ref, 1, true, limit, policy) < 0) {
				hf_lockref_unlock(&hot->ref);
				failed = true;
			}
		}
		hf__lockref_get(&hot->ref, INT32_MIN, limit, policy);
		batches++;
	}
	if (failed)
		__atomic_store_n(&hot->failed, true, __ATOMIC_RELAXED);
	return batches * BATCH;
}

uint64_t waitfree_pairs(void *state, int, const int *stop)
{
	Hot *hot = static_cast<Hot *>(state);
	uint64_t batches = 0;
	bool failed = false;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		for (uint64_t i = 0; i < BATCH; i++) {
			hf_lockref_waitfree_get(&hot->waitfree);
			if (!hf_lockref_waitfree_put_or_lock(&hot->waitfree)) {
				hf_lockref_waitfree_unlock(&hot->waitfree);
				failed = true;
			}
		}
		hf_lockref_waitfree_get(&hot->waitfree);
		batches++;
	}
	if (failed)
		__atomic_store_n(&hot->failed, true, __ATOMIC_RELAXED);
	return batches * BATCH;
}

uint64_t default_pairs(void *state, int, const int *stop)
{
	Hot *hot = static_cast<Hot *>(state);
	uint64_t batches = 0;
	bool failed = false;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		for (uint64_t i = 0; i < BATCH; i++) {
			hf_lockref_get(&hot->ref);
			if (!hf_lockref_put_or_lock(&hot->ref)) {
				hf_lockref_unlock(&hot->ref);
				failed = true;
			}
		}
		hf_lockref_get(&hot->ref);
		batches++;
	}
	if (failed)
		__atomic_store_n(&hot->failed, true, __ATOMIC_RELAXED);
	return batches * BATCH;
}

struct Variant {
	const char *name, *kind, *is, *wait;
	loop_t loop, counted;
};

#define STRING2(x) #x
#define STRING(x) STRING2(x)
#define LOOPS(limit, policy) pairs<limit, policy, false>, pairs<limit, policy, true>
#define OURS(name, limit)                                                                          \
	{                                                                                          \
		name, "ours", nullptr, nullptr, LOOPS(limit, HF_ARCH_WAIT_COUNT_SWAP)              \
	}
#define SWEEPS(name, limit)                                                                        \
	{ name " wait=none", "sweep", name, "none", LOOPS(limit, HF_WAIT_NONE) },                  \
		{ name " wait=hint", "sweep", name, "hint", LOOPS(limit, HF_WAIT_HINT) },          \
	{                                                                                          \
		name " wait=backoff", "sweep", name, "backoff", LOOPS(limit, HF_WAIT_BACKOFF)      \
	}

const Variant variants[] = {
	OURS("unbounded", HF__LOCKREF_UNBOUNDED),
	OURS("bounded-15", 15),
	OURS("bounded-50", 50),
	OURS("bounded-100", 100),
	OURS("bounded-200", 200),
	OURS("bounded-500", 500),
	OURS("locked", 0),
	{ "waitfree", "ours", nullptr, nullptr, waitfree_pairs, waitfree_pairs },
	{ "default", "default", STRING(HF_LOCKREF_DEFAULT), nullptr, default_pairs,
	  pairs<HF_LOCKREF_RETRIES, HF_ARCH_WAIT_COUNT_SWAP, true> },
	SWEEPS("unbounded", HF__LOCKREF_UNBOUNDED),
	SWEEPS("bounded-15", 15),
	SWEEPS("bounded-100", 100),
};

/* One run; the window it took, and whether the count came out right. */
bool window_of(loop_t loop, int threads, int window_ms, std::vector<Stats> *stats, Window *window)
{
	std::unique_ptr<Hot> hot(new Hot);

	hf_lockref_init(&hot->ref, 1);
	hf_lockref_waitfree_init(&hot->waitfree, 1);
	hot->stats = stats->data();
	hot->failed = false;
	*window = run_window(threads, window_ms, loop, { hot.get() });
	int left = hf_lockref_read(&hot->ref) - 1 + hf_lockref_waitfree_read(&hot->waitfree) - 1;

	return !hot->failed && static_cast<uint64_t>(left) * BATCH == window->total();
}

std::vector<Sample> run(const Variant &variant, int threads, int window_ms)
{
	std::vector<Stats> stats(static_cast<size_t>(threads));
	lockref_stats all = {};
	Window window, counted;
	bool checked = window_of(variant.loop, threads, window_ms, &stats, &window);
	Sample sample = { window.wall_ns / static_cast<double>(window.total()),
			  window.fairness(),
			  checked,
			  window.disturbed,
			  {} };

	sample.checked &=
		window_of(variant.counted, threads, std::max(window_ms / 4, 1), &stats, &counted);
	for (const Stats &s : stats) {
		all.retries += s.stats.retries;
		all.fallbacks += s.stats.fallbacks;
		all.most = std::max(all.most, s.stats.most);
	}
	double operations = 2 * static_cast<double>(counted.total());

	sample.more["retries_mean"] = static_cast<double>(all.retries) / operations;
	sample.more["retries_max"] = all.most;
	sample.more["fallback_share"] = static_cast<double>(all.fallbacks) / operations;
	return { sample };
}

} // namespace

std::vector<Cell> lockref_cells(const Settings &settings)
{
	std::vector<int> counts = thread_counts(settings);
	std::vector<Cell> cells;

	if (settings.threads.empty())
		counts.push_back(4 * cpus());
	for (int threads : counts) {
		for (const Variant &variant : variants) {
			Cell cell;
			Row row;

			row.table = "lockref";
			row.variant = variant.name;
			row.kind = variant.kind;
			row.case_name = "get+put";
			row.threads = threads;
			if (variant.is)
				row.labels[row.kind == "sweep" ? "base_variant" : "is"] =
					variant.is;
			if (variant.wait)
				row.labels["wait"] = variant.wait;
			cell.rows = { row };
			if (threads == 1) {
				/* Differences of a few per cent: many short runs. */
				cell.window_ms = 5;
				cell.rounds = 51;
			} else if (threads > cpus()) {
				cell.rounds = 7;
				cell.window_ms = 40;
			}
			cell.run = [&variant, threads](int ms) {
				return run(variant, threads, ms);
			};
			cells.push_back(cell);
		}
	}
	return cells;
}

} // namespace lab
