/* SPDX-License-Identifier: MIT */
/*
 * The table `mutex`: one lock and one counter, taken by 1 thread, and by 1, 2, 4 and 8 a processor.
 *
 * Cases: alone, contended (no more threads than processors), oversubscribed. An operation is lock,
 * increment, unlock, and nothing in between two of them. Beside the usual fields a row has
 *
 *   cpu_ns       processor time that an operation costs, over all threads, waiters included
 *   fairness_100ms   least over most, within a slice of 100 ms; the mean of the slices
 *   wait_p50_ns, wait_p99_ns, wait_p999_ns, wait_max_ns   how long lock() takes
 *
 * and `fairness` is that of the whole run. The waits are from a run of their own, with a timestamp
 * before and after each lock(): the second is taken by the holder, so the section is longer there.
 * Quantiles are over operations, each in a bucket that is at most 1/16 wide; the longest is exact.
 * The first moments of a run, when not all threads are there, belong to no slice.
 */
#include "bench.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <pthread.h>
#include <thread>

#include "holdfast/arch.h"
#include "holdfast/mutex.h"
#include "locks.hpp"

namespace lab
{
namespace
{

/* ---- one run -------------------------------------------------------------------------------- */

/* A lock and what it protects, in a line of their own. */
struct alignas(128) Room {
	char lock[48];
	uint64_t counter;
};

constexpr size_t SLICES = 128;

/* How many waits were how long: 16 buckets for each power of two. */
struct Waits {
	uint32_t count[64 * 16] = {};
	uint64_t longest = 0;

	static size_t bucket(uint64_t ticks)
	{
		if (ticks < 16)
			return static_cast<size_t>(ticks);
		unsigned int log = 63 - static_cast<unsigned int>(__builtin_clzll(ticks));

		return (log - 3) * size_t(16) + static_cast<size_t>(ticks >> (log - 4) & 15);
	}
	/* The middle of a bucket. */
	static double ticks(size_t bucket)
	{
		if (bucket < 16)
			return static_cast<double>(bucket);
		return std::ldexp(static_cast<double>(16 + bucket % 16) + 0.5,
				  static_cast<int>(bucket / 16) - 1);
	}
	void add(uint64_t ticks)
	{
		count[bucket(ticks)]++;
		longest = std::max(longest, ticks);
	}
};

struct alignas(128) Thread {
	uint64_t in_slice[SLICES] = {};
	double cpu_ns = 0;
	Waits waits;
};

struct State {
	Room room;
	alignas(128) std::atomic<unsigned int> slice{ 0 }; /* written once in a slice */
	std::unique_ptr<Thread[]> threads;
	std::vector<void *> pointers{ this };

	explicit State(int n) : threads(new Thread[static_cast<size_t>(n)]) { room.counter = 0; }
};

/* Each lock's loops. They read the stop flag after every operation: one may take milliseconds. */
template <class L>
struct Loops {
	static L *lock_of(State *s) { return reinterpret_cast<L *>(s->room.lock); }

	static void init(State *s)
	{
		static_assert(sizeof(L) <= sizeof(s->room.lock), "the lock has room");
		new (s->room.lock) L;
	}
	static void end(State *s) { lock_of(s)->~L(); }

	static void one(L *lock, State *s)
	{
		lock->lock();
		s->room.counter++;
		__asm__ volatile("" ::: "memory"); /* the increment stays in memory */
		lock->unlock();
	}

	/* Thread 0 only, and nothing but the operation. */
	static uint64_t alone(void *state, int, const int *stop)
	{
		State *s = static_cast<State *>(state);
		L *lock = lock_of(s);
		double used = thread_ns();
		uint64_t ops = 0;

		for (; !__atomic_load_n(stop, __ATOMIC_RELAXED); ops++)
			one(lock, s);
		s->threads[0].cpu_ns = thread_ns() - used;
		return ops;
	}

	/* Counts by slice. */
	static uint64_t total(void *state, int thread, const int *stop)
	{
		State *s = static_cast<State *>(state);
		Thread *mine = &s->threads[static_cast<size_t>(thread)];
		L *lock = lock_of(s);
		double used = thread_ns();
		uint64_t ops = 0;

		for (; !__atomic_load_n(stop, __ATOMIC_RELAXED); ops++) {
			one(lock, s);
			mine->in_slice[s->slice.load(std::memory_order_relaxed)]++;
		}
		mine->cpu_ns = thread_ns() - used;
		return ops;
	}

	static uint64_t waits(void *state, int thread, const int *stop)
	{
		State *s = static_cast<State *>(state);
		Waits *mine = &s->threads[static_cast<size_t>(thread)].waits;
		L *lock = lock_of(s);
		uint64_t ops = 0;

		for (; !__atomic_load_n(stop, __ATOMIC_RELAXED); ops++) {
			uint64_t before = hf_arch_timestamp();

			lock->lock();
			uint64_t after = hf_arch_timestamp();

			s->room.counter++;
			__asm__ volatile("" ::: "memory");
			lock->unlock();
			/* Another processor's counter may be a little behind. */
			mine->add(after > before ? after - before : 0);
		}
		return ops;
	}
};

struct Lock {
	const char *name, *kind;
	void (*init)(State *);
	void (*end)(State *);
	loop_t alone, total, waits;
};

template <class L>
Lock entry(const char *name, const char *kind)
{
	return { name,
		 kind,
		 Loops<L>::init,
		 Loops<L>::end,
		 Loops<L>::alone,
		 Loops<L>::total,
		 Loops<L>::waits };
}

const std::vector<Lock> &locks()
{
	static const std::vector<Lock> list = {
		entry<hf::mutex>("hf_mutex", "ours"),
		entry<PthreadMutex>("peer:pthread_mutex", "peer"),
		entry<PthreadSpin>("peer:pthread_spin", "peer"),
		entry<std::mutex>("peer:std_mutex", "peer"),
#if HF_LAB_HAVE_ABSL
		entry<AbslMutex>("peer:absl_mutex", "peer"),
#endif
#if HF_LAB_HAVE_TBB
		entry<tbb::spin_mutex>("peer:tbb_spin_mutex", "peer"),
#endif
	};

	return list;
}

/* Goes to the next slice each time that one is over, until it is destroyed. */
class Slicer {
public:
	Slicer(State *state, double first_ms, double each_ms)
		: thread_([this, state, first_ms, each_ms] {
			  double end = now_ns() + first_ms * 1e6;
			  std::unique_lock<std::mutex> guard(mutex_);

			  for (unsigned int i = 1; i < SLICES; i++, end += each_ms * 1e6) {
				  double left = end - now_ns();

				  if (left > 0 &&
				      changed_.wait_for(
					      guard,
					      std::chrono::nanoseconds(static_cast<int64_t>(left)),
					      [this] { return stop_; }))
					  return;
				  state->slice.store(i, std::memory_order_relaxed);
			  }
		  })
	{
	}
	~Slicer()
	{
		{
			std::lock_guard<std::mutex> guard(mutex_);

			stop_ = true;
		}
		changed_.notify_one();
		thread_.join();
	}

private:
	std::mutex mutex_;
	std::condition_variable changed_;
	bool stop_ = false;
	std::thread thread_;
};

/* Least over most in each slice but the first and the last, which are not whole; their mean. */
double slices_fairness(const State &state, int threads, double whole)
{
	unsigned int last = state.slice.load();
	double sum = 0;
	int n = 0;

	for (unsigned int i = 1; i < last; i++, n++) {
		uint64_t least = UINT64_MAX, most = 0;

		for (int t = 0; t < threads; t++) {
			uint64_t ops = state.threads[static_cast<size_t>(t)].in_slice[i];

			least = std::min(least, ops);
			most = std::max(most, ops);
		}
		sum += most ? static_cast<double>(least) / static_cast<double>(most) : 0;
	}
	return n ? sum / n : whole;
}

void add_quantiles(Sample *sample, const State &state, int threads)
{
	static const std::pair<const char *, double> wanted[] = { { "wait_p50_ns", 0.5 },
								  { "wait_p99_ns", 0.99 },
								  { "wait_p999_ns", 0.999 } };
	std::vector<uint64_t> count(64 * 16);
	uint64_t all = 0, longest = 0;

	for (int t = 0; t < threads; t++) {
		const Waits &waits = state.threads[static_cast<size_t>(t)].waits;

		for (size_t i = 0; i < count.size(); i++) {
			count[i] += waits.count[i];
			all += waits.count[i];
		}
		longest = std::max(longest, waits.longest);
	}
	for (const auto &one : wanted) {
		double rank = one.second * static_cast<double>(all);
		uint64_t seen = 0;
		size_t i = 0;

		while (i + 1 < count.size() && static_cast<double>(seen += count[i]) < rank)
			i++;
		sample->more[one.first] = Waits::ticks(i) * ns_per_tick();
	}
	sample->more["wait_max_ns"] = static_cast<double>(longest) * ns_per_tick();
}

/* The window is shared out: three parts for the throughput, one for the waits. */
std::vector<Sample> run_lock(const Lock &lock, int threads, int window_ms)
{
	Sample sample;

	{
		State state(threads);
		int ms = threads == 1 ? window_ms : std::max(1, window_ms * 3 / 4);
		double slice_ms = std::min(100.0, ms * 0.7);
		double first_ms = (ms - std::floor(ms / slice_ms) * slice_ms) * 0.9;
		std::unique_ptr<Slicer> slicer;

		lock.init(&state);
		if (threads > 1)
			slicer.reset(new Slicer(&state, first_ms, slice_ms));
		Window window = run_window(threads, ms, threads > 1 ? lock.total : lock.alone,
					   state.pointers);
		double total = static_cast<double>(window.total()), cpu = 0;

		slicer.reset();
		lock.end(&state);
		for (int t = 0; t < threads; t++)
			cpu += state.threads[static_cast<size_t>(t)].cpu_ns;
		sample = sample_of(window, state.room.counter == window.total());
		sample.more["cpu_ns"] = cpu / total;
		sample.more["fairness_100ms"] = slices_fairness(state, threads, window.fairness());
	}
	if (ns_per_tick() > 0) {
		State state(threads);

		lock.init(&state);
		Window window =
			run_window(threads, std::max(1, window_ms / 4), lock.waits, state.pointers);

		lock.end(&state);
		sample.checked &= state.room.counter == window.total();
		sample.starved |= window.total() == 0;
		add_quantiles(&sample, state, threads);
	}
	return { sample };
}

} // namespace

std::vector<Cell> mutex_cells(const Settings &settings)
{
	std::vector<int> counts = settings.threads;
	std::vector<Cell> cells;

	if (counts.empty()) {
		counts.push_back(1);
		for (int a_processor : { 1, 2, 4, 8 }) {
			if (a_processor * cpus() > 1)
				counts.push_back(a_processor * cpus());
		}
	}
	for (int threads : counts) {
		for (const Lock &lock : locks()) {
			Cell cell;
			Row row("mutex", lock.name, lock.kind,
				threads == 1       ? "alone"
				: threads > cpus() ? "oversubscribed"
						   : "contended",
				threads);

			cell.rows = { row };
			cell.run = [&lock, threads](int ms) { return run_lock(lock, threads, ms); };
			/* Alone, differences of a few per cent: many short runs. */
			cell.window_ms = threads == 1 ? 5 : 190;
			cell.rounds = threads == 1 ? 31 : 3;
			cells.push_back(cell);
		}
	}
	return cells;
}

std::vector<Aim> mutex_aims(const std::vector<Row> &rows)
{
	std::vector<Aim> aims;

	for (int threads : threads_of(rows)) {
		const std::string group = threads_name(threads);
		const Row *ours = nullptr, *pthread = nullptr, *spin = nullptr, *best = nullptr;

		for (const Row &row : rows) {
			if (row.threads != threads)
				continue;
			if (row.variant == "hf_mutex")
				ours = &row;
			if (row.variant == "peer:pthread_mutex")
				pthread = &row;
			if (row.variant == "peer:pthread_spin")
				spin = &row;
			if (row.kind == "peer" && valid(&row) &&
			    (!best || row.ns_per_op() < best->ns_per_op()))
				best = &row;
		}
		if (threads == 1) {
			aims.push_back(
				at_most(1.05, group, "time, of pthread_spin's", times(ours, spin)));
			aims.push_back(at_most(0.7, group, "time, of pthread_mutex's",
					       times(ours, pthread)));
			aims.push_back(figure(group, "throughput, of the best peer",
					      1 / times(ours, best), best ? best->variant : ""));
			continue;
		}
		double fairness = valid(ours) ? ours->more("fairness_100ms") : NAN;
		double wait = valid(ours) && valid(pthread)
				      ? ours->more("wait_p999_ns") / pthread->more("wait_p999_ns")
				      : NAN;

		aims.push_back(at_least(0.9, group, "throughput, of the best peer",
					1 / times(ours, best), best ? best->variant : ""));
		aims.push_back(at_least(threads > cpus() ? 0.8 : 0.9, group, "fairness over 100 ms",
					fairness));
		aims.push_back(at_most(1, group, "p99.9 of the wait, of pthread_mutex's", wait));
	}
	return aims;
}

} // namespace lab
