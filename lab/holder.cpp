/* SPDX-License-Identifier: MIT */
/*
 * The table `holder`: one thread holds a lockref's lock for long while the others get and put.
 *
 * Thread 0 works for 1 ms under the lock, as a scan of a directory does, then for 1 ms without it,
 * and repeats that. Work is processor time, so a hold takes longer if thread 0 is preempted. An
 * operation is a get and a put by one of the other threads. In addition to the usual fields a row
 * has
 *
 *   cpu_ns    processor time that the other threads need for an operation, including their spinning
 *   hold_ns   how long a hold takes, of which HOLD_NS are work
 *
 * The lock half either parks its waiters (mutex) or lets them spin (queued). The count is checked
 * at the end.
 */
#include "bench.hpp"

#include <algorithm>
#include <memory>
#include <pthread.h>

#include "holdfast/lockref.h"
#include "lockref_loops.h"

extern "C" {
#define UNIT(name) extern const struct lab_lockref_loops lab_holder_##name;
#include "holder_list.h"
#undef UNIT
}

namespace lab
{
namespace
{

constexpr double HOLD_NS = 1e6;

/* ---- a peer: a mutex, and a count under it --------------------------------------------------- */

struct Peer {
	pthread_mutex_t mutex;
	int32_t count;
};

void peer_init(void *ref)
{
	Peer *peer = static_cast<Peer *>(ref);

	pthread_mutex_init(&peer->mutex, nullptr);
	peer->count = 1;
}

int32_t peer_read(const void *ref)
{
	return static_cast<const Peer *>(ref)->count;
}

void peer_lock(void *ref)
{
	pthread_mutex_lock(&static_cast<Peer *>(ref)->mutex);
}

void peer_unlock(void *ref)
{
	pthread_mutex_unlock(&static_cast<Peer *>(ref)->mutex);
}

void peer_add(void *ref, int32_t n)
{
	peer_lock(ref);
	static_cast<Peer *>(ref)->count += n;
	peer_unlock(ref);
}

uint64_t peer_pairs(void *state, int, const int *stop)
{
	void *ref = static_cast<lab_lockref *>(state)->ref;
	uint64_t n = 0;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		peer_add(ref, 1);
		peer_add(ref, -1);
		if (++n % LAB_LOCKREF_BATCH == 0)
			peer_add(ref, 1);
	}
	return n;
}

static_assert(sizeof(Peer) <= sizeof(lab_lockref::ref), "the peer has room");

const lab_lockref_loops peer = {
	"peer:pthread_mutex", "peer",    nullptr, nullptr, peer_init, peer_read, peer_lock,
	peer_unlock,          peer_pairs
};

const lab_lockref_loops *const kinds[] = {
#define UNIT(name) &lab_holder_##name,
#include "holder_list.h"
#undef UNIT
	&peer,
};

/* ---- one run --------------------------------------------------------------------------------- */

struct alignas(128) PerThread {
	double cpu_ns;
};

struct State {
	lab_lockref hot;
	const lab_lockref_loops *kind;
	std::vector<PerThread> threads;
	double hold_ns = 0; /* all holds together */
	uint64_t holds = 0;
};

/* Uses so much processor time, or less if the stop flag is set. */
void work(double ns, const int *stop)
{
	double end = thread_ns() + ns;

	while (thread_ns() < end && !__atomic_load_n(stop, __ATOMIC_RELAXED))
		;
}

uint64_t loop(void *argument, int thread, const int *stop)
{
	State *state = static_cast<State *>(argument);

	if (thread > 0) {
		double used = thread_ns();
		uint64_t pairs = state->kind->pairs(&state->hot, thread, stop);

		state->threads[static_cast<size_t>(thread)].cpu_ns = thread_ns() - used;
		return pairs;
	}
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		double begin;

		state->kind->lock(state->hot.ref);
		begin = now_ns();
		work(HOLD_NS, stop);
		/* A hold that the end of the run cut short does not count. */
		if (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
			state->hold_ns += now_ns() - begin;
			state->holds++;
		}
		state->kind->unlock(state->hot.ref);
		work(HOLD_NS, stop);
	}
	return 0;
}

std::vector<Sample> run(const lab_lockref_loops &kind, int threads, int window_ms)
{
	std::unique_ptr<State> state(new State{});
	uint64_t total = 0, left = 0;
	double cpu = 0;

	state->kind = &kind;
	state->threads.resize(static_cast<size_t>(threads));
	kind.init(state->hot.ref);
	Window window = run_window(threads, window_ms, loop, { state.get() });

	for (size_t i = 1; i < window.ops.size(); i++) {
		total += window.ops[i];
		left += window.ops[i] / LAB_LOCKREF_BATCH;
		cpu += state->threads[i].cpu_ns;
	}
	bool checked = !state->hot.failed &&
		       static_cast<uint64_t>(kind.read(state->hot.ref) - 1) == left;
	Sample sample = sample_of(window, checked);

	/* Thread 0 does no operation. */
	sample.ns_per_op = window.wall_ns / static_cast<double>(total);
	sample.fairness = least_over_most({ window.ops.begin() + 1, window.ops.end() });
	sample.starved = total == 0;
	sample.more["cpu_ns"] = cpu / static_cast<double>(total);
	if (state->holds)
		sample.more["hold_ns"] = state->hold_ns / static_cast<double>(state->holds);
	return { sample };
}

} // namespace

std::vector<Cell> holder_cells(const Settings &settings)
{
	std::vector<int> counts;
	std::vector<Cell> cells;

	/* One thread alone would never wait. */
	for (int n :
	     settings.threads.empty() ? std::vector<int>{ cpus(), 4 * cpus() } : settings.threads) {
		if (std::find(counts.begin(), counts.end(), std::max(n, 2)) == counts.end())
			counts.push_back(std::max(n, 2));
	}
	for (int threads : counts) {
		for (const lab_lockref_loops *kind : kinds) {
			Row row("holder", kind->name, kind->kind, "get+put", threads);

			/* lockref.h as it is in user space. */
			if (row.variant == "bounded, parks")
				row.kind = "default";
			cells.push_back(
				{ { row },
				  [kind, threads](int ms) { return run(*kind, threads, ms); },
				  60,
				  5 });
		}
	}
	return cells;
}

} // namespace lab
