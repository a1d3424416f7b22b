/* SPDX-License-Identifier: MIT */
/*
 * The table `holder`: one thread holds a lockref's lock for long, the others get and put.
 *
 * Thread 0 works for 1 ms under the lock, as a scan of a directory does, and then for 1 ms without it,
 * again and again; work is processor time, so a hold takes longer if others take the processor away. An
 * operation is a get and a put by one of the others. Beside the usual fields a row has
 *
 *   cpu_ns    processor time that an operation costs the others, what they burn while they wait too
 *   hold_ns   how long a hold takes, of which HOLD_NS are work
 *
 * A lock half either parks who waits (mutex) or has it spin (queued). The count is checked at the end.
 */
#include "bench.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>
#include <pthread.h>

#include "holder.h"

namespace lab
{
namespace
{

constexpr double HOLD_NS = 1e6;

/* ---- a peer: a mutex, and a count under it ---------------------------------------------------- */

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

int32_t peer_read(void *ref)
{
	return static_cast<Peer *>(ref)->count;
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

uint64_t peer_pairs(void *ref, const int *stop)
{
	uint64_t n = 0;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		peer_add(ref, 1);
		peer_add(ref, -1);
		if (++n % HOLDER_BATCH == 0)
			peer_add(ref, 1);
	}
	return n;
}

const holder_kind peer = { "peer:pthread_mutex", peer_init, peer_read, peer_lock,
			   peer_unlock,          peer_pairs };

/* ---- one run ---------------------------------------------------------------------------------- */

struct alignas(128) Mine {
	double cpu_ns;
};

struct State {
	alignas(128) char ref[128];
	const holder_kind *kind;
	std::vector<Mine> threads;
	double hold_ns = 0; /* all holds together */
	uint64_t holds = 0;
};

double thread_ns()
{
	timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/* Computes for so long, or until it is told to stop. */
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
		uint64_t pairs = state->kind->pairs(state->ref, stop);

		state->threads[static_cast<size_t>(thread)].cpu_ns = thread_ns() - used;
		return pairs;
	}
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		double begin;

		state->kind->lock(state->ref);
		begin = now_ns();
		work(HOLD_NS, stop);
		/* One that was cut short tells nothing of how long they take. */
		if (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
			state->hold_ns += now_ns() - begin;
			state->holds++;
		}
		state->kind->unlock(state->ref);
		work(HOLD_NS, stop);
	}
	return 0;
}

std::vector<Sample> run(const holder_kind &kind, int threads, int window_ms)
{
	std::unique_ptr<State> state(new State);
	uint64_t total = 0, left = 0, least = UINT64_MAX, most = 0;
	double cpu = 0;

	state->kind = &kind;
	state->threads.resize(static_cast<size_t>(threads));
	kind.init(state->ref);
	Window window = run_window(threads, window_ms, loop, { state.get() });

	for (size_t i = 1; i < window.ops.size(); i++) {
		total += window.ops[i];
		left += window.ops[i] / HOLDER_BATCH;
		least = std::min(least, window.ops[i]);
		most = std::max(most, window.ops[i]);
		cpu += state->threads[i].cpu_ns;
	}
	Sample sample = { window.wall_ns / static_cast<double>(total),
			  most ? static_cast<double>(least) / static_cast<double>(most) : 0,
			  static_cast<uint64_t>(kind.read(state->ref) - 1) == left && total > 0,
			  window.disturbed,
			  {} };

	sample.more["cpu_ns"] = cpu / static_cast<double>(total);
	if (state->holds)
		sample.more["hold_ns"] = state->hold_ns / static_cast<double>(state->holds);
	return { sample };
}

std::vector<const holder_kind *> kinds()
{
	std::vector<const holder_kind *> list;

	for (const holder_half *half : { &lab_holder_queued, &lab_holder_mutex }) {
		for (unsigned int i = 0; i < half->count; i++)
			list.push_back(&half->kinds[i]);
	}
	list.push_back(&peer);
	return list;
}

const Row *find(const std::vector<Row> &rows, const char *table, const std::string &variant,
		int threads)
{
	for (const Row &row : rows) {
		if (row.table == table && row.variant == variant && row.threads == threads)
			return &row;
	}
	return nullptr;
}

} // namespace

std::vector<Cell> holder_cells(const Settings &settings)
{
	std::vector<int> counts;
	std::vector<Cell> cells;

	/* One thread alone would wait for nobody. */
	for (int n :
	     settings.threads.empty() ? std::vector<int>{ cpus(), 4 * cpus() } : settings.threads) {
		if (std::find(counts.begin(), counts.end(), std::max(n, 2)) == counts.end())
			counts.push_back(std::max(n, 2));
	}
	for (int threads : counts) {
		for (const holder_kind *kind : kinds()) {
			Cell cell;
			Row row;

			row.table = "holder";
			row.variant = kind->name;
			/* What user space has by default: lockref.h, lockref/lock.h. */
			row.kind = kind == &peer                     ? "peer"
				   : row.variant == "bounded, parks" ? "default"
								     : "ours";
			row.case_name = "get+put";
			row.threads = threads;
			cell.rows = { row };
			cell.run = [kind, threads](int ms) { return run(*kind, threads, ms); };
			cell.window_ms = 60;
			cell.rounds = 5;
			cells.push_back(cell);
		}
	}
	return cells;
}

void print_lockref_verdict(const std::vector<Row> &rows)
{
	for (const Row &row : rows) {
		const Row *bounded = find(rows, "lockref", "bounded-100", row.threads);
		const Row *inlined = find(rows, "lockref", "default", row.threads);

		if (row.table == "lockref" && row.variant == "waitfree" && row.threads == 2 &&
		    bounded && inlined) {
			/* Of the two forms of one implementation the faster. */
			double times = 1 / std::max(row.ratio_to(*bounded), row.ratio_to(*inlined));

			printf("lockref, 2 threads: waitfree is %.2f times as fast as bounded"
			       " (aim: at least 1.30: %s)\n",
			       times, times >= 1.3 ? "reached" : "missed");
		}
		const Row *parks = find(rows, "holder", "bounded, parks", row.threads);
		const Row *free = find(rows, "holder", "waitfree, parks", row.threads);

		if (row.table != "holder" || row.variant != "bounded, spins" || !parks || !free)
			continue;
		printf("holder, %d threads: a lock half that parks takes %.2f of the processor"
		       " time of one that spins, and %.2f of the time; waitfree %.2f and %.2f\n",
		       row.threads, parks->more("cpu_ns") / row.more("cpu_ns"),
		       parks->ratio_to(row), free->more("cpu_ns") / row.more("cpu_ns"),
		       free->ratio_to(row));
	}
}

} // namespace lab
