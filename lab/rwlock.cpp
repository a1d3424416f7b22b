/* SPDX-License-Identifier: MIT */
/*
 * The table `rwlock`: read lock, read two words, unlock; one in so many operations writes them.
 *
 *   alone             one thread
 *   contended         one thread per processor, and two threads
 *   oversubscribed    4 and 8 threads per processor
 *   beside busy processes
 *
 * A case's name ends with the writes, and with the time inside if it is not 0. In addition to the
 * usual fields a row has
 *
 *   cpu_ns              processor time of all threads for an operation
 *   read_wait_max_ns    the longest wait of a reader
 *   write_wait_max_ns   the longest wait of a writer
 *
 * Each lock's functions are inline or calls as users of that library have them. hf_mutex is a peer
 * for readers, too: where it is faster a program should take it. The waits come from a second run,
 * of half of the window, with a timestamp before and after each lock.
 */
#include "bench.hpp"

#include <algorithm>
#include <memory>
#include <shared_mutex>

#include "holdfast/mutex.h"
#include "holdfast/rwlock.h"
#include "locks.hpp"
#include "timestamp.h"
#include "work.hpp"

#if HF_LAB_HAVE_TBB
#include <tbb/spin_rw_mutex.h>
#endif

namespace lab
{
namespace
{

/* ---- the locks: lock_shared(), unlock_shared(), lock(), unlock() ----------------------------- */

struct HfMutex : hf::mutex {
	void lock_shared() HF_NO_THREAD_SAFETY_ANALYSIS { lock(); }
	void unlock_shared() HF_NO_THREAD_SAFETY_ANALYSIS { unlock(); }
};

#if !defined(__GLIBC__) /* no other C library has the kind */
#define pthread_rwlockattr_setkind_np(attributes, kind) ((void)(attributes))
#endif

template <bool PrefersWriters>
struct PthreadRwlock {
	pthread_rwlock_t m;
	PthreadRwlock()
	{
		pthread_rwlockattr_t kind;

		pthread_rwlockattr_init(&kind);
		if (PrefersWriters)
			pthread_rwlockattr_setkind_np(&kind,
						      PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
		pthread_rwlock_init(&m, &kind);
	}
	void lock_shared() { pthread_rwlock_rdlock(&m); }
	void unlock_shared() { pthread_rwlock_unlock(&m); }
	void lock() { pthread_rwlock_wrlock(&m); }
	void unlock() { pthread_rwlock_unlock(&m); }
};

#if HF_LAB_HAVE_ABSL
struct AbslShared : AbslMutex {
	void lock_shared() { m.ReaderLock(); }
	void unlock_shared() { m.ReaderUnlock(); }
};
#endif

#if HF_LAB_HAVE_NSYNC
struct NsyncShared : NsyncMu {
	void lock_shared() { nsync::nsync_mu_rlock(&m); }
	void unlock_shared() { nsync::nsync_mu_runlock(&m); }
};
#endif

/* ---- one run -------------------------------------------------------------------------------- */

struct alignas(128) Thread {
	uint64_t writes = 0, differ = 0, read_wait = 0, write_wait = 0;
	double cpu_ns = 0;
};

struct State {
	alignas(128) char lock[128];
	alignas(128) volatile uint64_t first = 0;
	alignas(128) volatile uint64_t second = 0;
	alignas(128) uint64_t each; /* one operation in so many writes; 0: none */
	uint64_t steps;
	std::unique_ptr<Thread[]> threads;
	std::vector<void *> pointers{ this };

	State(int n, uint64_t writes_each, double ns)
		: each(writes_each), steps(steps_of(ns)),
		  threads(new Thread[static_cast<size_t>(n)])
	{
	}
};

template <class L>
struct Loops {
	static L *lock_of(State *s) { return lock_in<L>(s->lock); }
	static void init(State *s) { make_lock<L>(s->lock); }
	static void end(State *s) { lock_of(s)->~L(); }

	template <bool Waits>
	static uint64_t run(void *state, int thread, const int *stop) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		State *s = static_cast<State *>(state);
		Thread *mine = &s->threads[static_cast<size_t>(thread)];
		L *lock = lock_of(s);
		uint64_t each = s->each, steps = s->steps, ops = 0;
		uint64_t left = each ? each / 2 + static_cast<uint64_t>(thread) * 37 % each + 1 : 0;
		uint64_t before = 0, after = 0, differ = 0, writes = 0;
		double used = thread_ns();

		for (; !__atomic_load_n(stop, __ATOMIC_RELAXED); ops++) {
			if (Waits)
				before = hf_lab_timestamp();
			if (left && --left == 0) {
				lock->lock();
				if (Waits)
					after = hf_lab_timestamp();
				s->first = s->first + 1;
				work(steps);
				s->second = s->second + 1;
				lock->unlock();
				left = each;
				writes++;
				if (Waits && after > before)
					mine->write_wait =
						std::max(mine->write_wait, after - before);
			} else {
				lock->lock_shared();
				if (Waits)
					after = hf_lab_timestamp();
				uint64_t first = s->first;

				work(steps);
				differ += s->second != first;
				lock->unlock_shared();
				if (Waits && after > before)
					mine->read_wait = std::max(mine->read_wait, after - before);
			}
		}
		mine->cpu_ns = thread_ns() - used;
		mine->writes = writes;
		mine->differ = differ;
		return ops;
	}
};

using Lock = LockOf<State>;

template <class L>
Lock entry(const char *name, const char *kind, const char *waiter = "parks",
	   const char *version = "")
{
	using Of = Loops<L>;
	const loop_t total = Of::template run<false>;

	return { name,    kind,     waiter,
		 version, Of::init, Of::end,
		 total,   total,    Of::template run<true> };
}

const std::vector<Lock> &locks()
{
	static const std::vector<Lock> list = {
		entry<hf::shared_mutex>("hf_rwlock", "ours"),
		entry<HfMutex>("hf_mutex", "ours"),
		entry<PthreadRwlock<false>>("peer:pthread_rwlock", "peer"),
		entry<PthreadRwlock<true>>("peer:pthread_rwlock_writers", "peer"),
		entry<std::shared_mutex>("peer:std_shared_mutex", "peer"),
#if HF_LAB_HAVE_ABSL
		entry<AbslShared>("peer:absl_mutex", "peer"),
#endif
#if HF_LAB_HAVE_NSYNC
		entry<NsyncShared>("peer:nsync_mu", "peer"),
#endif
#if HF_LAB_HAVE_RUST
		entry<ParkingLotRwlock>("peer:parking_lot_rwlock", "peer", "parks",
					HF_LAB_RUST_VERSION),
		entry<RustStdRwlock>("peer:rust_std_rwlock", "peer", "parks", HF_LAB_RUST_VERSION),
#endif
#if HF_LAB_HAVE_TBB
		entry<tbb::spin_rw_mutex>("peer:tbb_spin_rw_mutex", "peer", "spins"),
#endif
	};

	return list;
}

struct Mix {
	const char *name;
	uint64_t each;
	double ns;
};

constexpr Mix MIXES[] = {
	{ "no write", 0, 0 },
	{ "a write in 10,000", 10000, 0 },
	{ "a write in 1,000", 1000, 0 },
	{ "a write in 100", 100, 0 },
	{ "a write in 10", 10, 0 },
	{ "no write, 50 ns", 0, 50 },
	{ "a write in 100, 50 ns", 100, 50 },
	{ "a write in 100, 1 µs", 100, 1000 },
};

std::vector<Sample> run_lock(const Lock &lock, const Mix &mix, const Placement &placement,
			     int threads, int window_ms)
{
	int ms = std::max(1, window_ms / 2);
	BusyProcesses busy(placement.busy);
	Sample sample;

	for (bool waits : { false, true }) {
		State state(threads, mix.each, mix.ns);
		uint64_t writes = 0, differ = 0, read_wait = 0, write_wait = 0;
		double cpu = 0;

		lock.init(&state);
		Window window = run_window(threads, ms, waits ? lock.waits : lock.total,
					   state.pointers, placement.where());

		lock.end(&state);
		for (int t = 0; t < threads; t++) {
			const Thread &thread = state.threads[static_cast<size_t>(t)];

			writes += thread.writes;
			differ += thread.differ;
			cpu += thread.cpu_ns;
			read_wait = std::max(read_wait, thread.read_wait);
			write_wait = std::max(write_wait, thread.write_wait);
		}
		bool right = differ == 0 && state.first == writes && state.second == writes;

		if (!waits) {
			sample = sample_of(window, right);
			sample.more["cpu_ns"] = cpu / static_cast<double>(window.total());
			continue;
		}
		sample.checked &= right;
		sample.more["read_wait_max_ns"] = static_cast<double>(read_wait) * ns_per_tick();
		if (mix.each)
			sample.more["write_wait_max_ns"] =
				static_cast<double>(write_wait) * ns_per_tick();
	}
	return { sample };
}

} // namespace

std::vector<Cell> rwlock_cells(const Settings &settings)
{
	std::vector<int> counts = settings.threads;
	std::vector<Cell> cells;

	if (counts.empty()) {
		counts = { 1, 2 };
		for (int a_processor : { 1, 4, 8 }) {
			if (a_processor * cpus() > counts.back())
				counts.push_back(a_processor * cpus());
		}
	}
	auto add = [&cells](const Placement &placement, int threads, const Mix &mix) {
		std::string name = placement.case_of(threads) + ", " + mix.name;

		for (const Lock &lock : locks()) {
			cells.push_back({ { lock.row("rwlock", name, threads) },
					  [&lock, &mix, &placement, threads](int ms) {
						  return run_lock(lock, mix, placement, threads,
								  ms);
					  },
					  threads == 1 ? 8 : 60,
					  threads == 1 ? 15 : 3 });
			cells.back().pinned = !*placement.name;
		}
	};

	for (int threads : counts) {
		for (const Mix &mix : MIXES) {
			if (threads > 1 || mix.ns == 0)
				add(ALONE, threads, mix);
		}
	}
	for (const Placement &placement : PLACEMENTS) {
		if (placement.busy && settings.threads.empty()) {
			for (const Mix &mix : MIXES) {
				if (mix.ns == 0)
					add(placement, std::max(2, cpus()), mix);
			}
		}
	}
	return cells;
}

} // namespace lab
