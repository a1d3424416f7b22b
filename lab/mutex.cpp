/* SPDX-License-Identifier: MIT */
/*
 * The table `mutex`: one lock and one counter, used by 1 thread, and by 1, 2 and 8 for each
 * processor.
 *
 * Cases: alone, contended (no more threads than processors), oversubscribed; and, since servers
 * share processors, all threads on one processor, unpinned, and beside busy processes (bench.hpp,
 * Placement). An operation is lock, increment, unlock. A name that ends in ", 0.1/0.2 µs" means
 * 0.1 us of work in the critical section, 0.2 us between two operations. A row's own fields:
 *
 *   cpu_ns       processor time of all threads for an operation: work, waiting, kernel
 *   switches_per_op  context switches for an operation, voluntary or not
 *   fairness_100ms   least over most operations within 100 ms; the mean over such slices
 *   wait_p999_ns   how long lock() takes: a quantile over operations
 *   wait_weighted_p50_ns   half of all time waited was in waits longer than this
 *   wait_max_ns, wait_max_mean_ns   the threads' longest waits: their maximum and their mean
 *
 * and `fairness` is that of the whole run. Quantiles over operations flatter a lock that starves
 * threads: a thread that waits for the whole run is one operation among millions. So the tail is
 * judged by the longest waits.
 *
 * The waits come from a separate run, with a timestamp before and after each lock(); the holder
 * takes the second one, so the critical section is longer there. Each of the two runs has half of
 * the window. A wait that lasts beyond the end of the run counts in full; a thread that never got
 * the lock waited for the whole run. Quantiles are of buckets at most 1/16 wide; the longest wait
 * is exact.
 *
 * Where threads share one processor or are not pinned, waits are measured with work only. Beside
 * busy processes there are none: they would be waits for a processor.
 */
#include "bench.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>

#include "holdfast/mutex.h"
#include "locks.hpp"
#include "timestamp.h"
#include "work.hpp"

namespace lab
{
namespace
{

/* ---- one run -------------------------------------------------------------------------------- */

struct Section {
	const char *name; /* appended to the case's name */
	double ns, between_ns;
	bool judged_busy = false; /* also measured on shared processors */
	bool two_levels = false;  /* its runs may alternate between two */
};

constexpr Section SECTIONS[] = {
	{ "", 0, 0, true },
	{ ", 0.1/0.2 µs", 100, 200 },
	{ ", 0.2/0.2 µs", 200, 200, true, true },
	{ ", 2/2 µs", 2000, 2000 },
};

constexpr size_t SLICES = 128;

/* A histogram of waits: 16 buckets for each power of two. */
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
	double cpu_ns = 0, switches = 0;
	Waits waits;
};

struct State {
	Guarded guarded;
	alignas(128) std::atomic<unsigned int> slice{ 0 }; /* the current one */
	uint64_t steps, between; /* steps of work in a critical section, and between two */
	std::unique_ptr<Thread[]> threads;
	std::vector<void *> pointers{ this };

	State(int n, const Section &section)
		: steps(steps_of(section.ns)), between(steps_of(section.between_ns)),
		  threads(new Thread[static_cast<size_t>(n)])
	{
	}
	void next_slice()
	{
		if (slice + 1 < SLICES)
			slice.fetch_add(1, std::memory_order_relaxed);
	}
};

/* The loops of a lock. They read the stop flag after each operation: one may take milliseconds. */
template <class L>
struct Loops {
	static L *lock_of(State *s) { return lock_in<L>(s->guarded.lock); }
	static void init(State *s) { make_lock<L>(s->guarded.lock); }
	static void end(State *s) { lock_of(s)->~L(); }

	using Node = typename NodeOf<L>::type;

	/* For one thread: the bare operation, without slices or work. */
	static uint64_t alone(void *state, int, const int *stop)
	{
		State *s = static_cast<State *>(state);
		L *lock = lock_of(s);
		double used = thread_ns();
		uint64_t ops = 0;

		for (; !__atomic_load_n(stop, __ATOMIC_RELAXED); ops++) {
			Node node;

			take(lock, node);
			s->guarded.counter++;
			__asm__ volatile("" ::: "memory"); /* the increment stays in memory */
			release(lock, node);
		}
		s->threads[0].cpu_ns = thread_ns() - used;
		return ops;
	}

	/* Counts the operations of each slice, or times the waits. */
	template <bool Timed>
	static uint64_t run(void *state, int thread, const int *stop)
	{
		State *s = static_cast<State *>(state);
		Thread *mine = &s->threads[static_cast<size_t>(thread)];
		L *lock = lock_of(s);
		uint64_t steps = s->steps, between = s->between, ops = 0;
		double used = thread_ns(), switched = thread_switches();

		for (; !__atomic_load_n(stop, __ATOMIC_RELAXED); ops++) {
			uint64_t before = Timed ? hf_lab_timestamp() : 0;
			Node node;

			take(lock, node);
			uint64_t after = Timed ? hf_lab_timestamp() : 0;

			work(steps);
			s->guarded.counter++;
			__asm__ volatile("" ::: "memory");
			release(lock, node);
			if (Timed) /* another processor's counter may be a little behind */
				mine->waits.add(after > before ? after - before : 0);
			work(between);
			if (!Timed)
				mine->in_slice[s->slice.load(std::memory_order_relaxed)]++;
		}
		mine->switches = thread_switches() - switched;
		mine->cpu_ns = thread_ns() - used;
		return ops;
	}
};

using Lock = LockOf<State>;

template <class L>
Lock entry(const char *name, const char *kind, const char *waiter = "parks",
	   const char *version = "")
{
	using Of = Loops<L>;

	return { name,
		 kind,
		 waiter,
		 version,
		 Of::init,
		 Of::end,
		 Of::alone,
		 Of::template run<false>,
		 Of::template run<true> };
}

constexpr char OURS[] = "hf_mutex";

const std::vector<Lock> &locks()
{
	static const std::vector<Lock> list = {
		entry<hf::mutex>(OURS, "ours"),
		entry<PthreadMutex>("peer:pthread_mutex", "peer"),
		entry<std::mutex>("peer:std_mutex", "peer"),
		entry<PthreadSpin>("peer:pthread_spin", "peer", "spins"),
#if HF_LAB_HAVE_ADAPTIVE
		entry<PthreadAdaptive>("peer:pthread_adaptive", "peer"),
#endif
#if HF_LAB_HAVE_ABSL
		entry<AbslMutex>("peer:absl_mutex", "peer"),
#endif
#if HF_LAB_HAVE_NSYNC
		entry<NsyncMu>("peer:nsync_mu", "peer"),
#endif
#if HF_LAB_HAVE_RUST
		entry<ParkingLot>("peer:parking_lot", "peer", "parks", HF_LAB_RUST_VERSION),
		entry<RustStd>("peer:rust_std_mutex", "peer", "parks", HF_LAB_RUST_VERSION),
#endif
#if HF_LAB_HAVE_TBB
		entry<tbb::spin_mutex>("peer:tbb_spin_mutex", "peer", "spins"),
#endif
	};

	return list;
}

/* The mean of least over most operations in each slice, without the partial first and last ones. */
double slices_fairness(const State &state, int threads, double whole)
{
	unsigned int last = state.slice.load();
	double sum = 0;
	int n = 0;

	for (unsigned int i = 1; i < last; i++, n++) {
		std::vector<uint64_t> ops;

		for (int t = 0; t < threads; t++)
			ops.push_back(state.threads[static_cast<size_t>(t)].in_slice[i]);
		sum += least_over_most(ops);
	}
	return n ? sum / n : whole;
}

void add_waits(Sample *sample, const State &state, const Window &window)
{
	static const struct {
		const char *name;
		double share;
		bool weighted; /* each operation by its waiting time */
	} wanted[] = { { "wait_p999_ns", 0.999, false }, { "wait_weighted_p50_ns", 0.5, true } };
	std::vector<double> count(64 * 16);
	double all = 0, all_ticks = 0, longest = 0, sum = 0;

	for (size_t t = 0; t < window.ops.size(); t++) {
		const Waits &waits = state.threads[t].waits;
		double its_longest = window.ops[t]
					     ? static_cast<double>(waits.longest) * ns_per_tick()
					     : window.wall_ns;

		for (size_t i = 0; i < count.size(); i++) {
			count[i] += waits.count[i];
			all += waits.count[i];
			all_ticks += waits.count[i] * Waits::ticks(i);
		}
		longest = std::max(longest, its_longest);
		sum += its_longest;
	}
	for (const auto &one : wanted) {
		double rank = one.share * (one.weighted ? all_ticks : all), seen = 0;
		size_t i = 0;

		for (; i + 1 < count.size(); i++) {
			seen += count[i] * (one.weighted ? Waits::ticks(i) : 1);
			if (seen >= rank)
				break;
		}
		if (all > 0)
			sample->more[one.name] = Waits::ticks(i) * ns_per_tick();
	}
	sample->more["wait_max_ns"] = longest;
	sample->more["wait_max_mean_ns"] = sum / static_cast<double>(window.ops.size());
}

bool has_waits(const Placement &placement, const Section &section)
{
	return !*placement.name || (!placement.busy && section.ns > 0);
}

/* Half of the window measures the throughput, the other half the waits, if there are any. */
std::vector<Sample> run_lock(const Lock &lock, const Section &section, const Placement &placement,
			     int threads, int window_ms)
{
	bool waits = has_waits(placement, section);
	int ms = std::max(1, waits ? window_ms / 2 : window_ms);
	BusyProcesses busy(placement.busy);
	Sample sample;

	{
		State state(threads, section);
		double slice_ms = std::min(100.0, ms * 0.8);
		double first_ms = (ms - std::floor(ms / slice_ms) * slice_ms) * 0.9;

		Ticks slices;

		if (threads > 1)
			slices = { first_ms, slice_ms, [&state] { state.next_slice(); } };
		lock.init(&state);
		Window window = run_window(threads, ms, threads > 1 ? lock.total : lock.alone,
					   state.pointers, placement.where(), slices);
		double total = static_cast<double>(window.total()), cpu = 0, switches = 0;

		lock.end(&state);
		for (int t = 0; t < threads; t++) {
			cpu += state.threads[static_cast<size_t>(t)].cpu_ns;
			switches += state.threads[static_cast<size_t>(t)].switches;
		}
		sample = sample_of(window, state.guarded.counter == window.total());
		sample.more["cpu_ns"] = cpu / total;
		sample.more["switches_per_op"] = switches / total;
		sample.more["fairness_100ms"] = slices_fairness(state, threads, window.fairness());
	}
	if (waits && ns_per_tick() > 0) {
		State state(threads, section);

		lock.init(&state);
		Window window =
			run_window(threads, ms, lock.waits, state.pointers, placement.where());

		lock.end(&state);
		sample.checked &= state.guarded.counter == window.total();
		sample.starved |= window.total() == 0;
		add_waits(&sample, state, window);
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
		for (int a_processor : { 1, 2, 8 }) {
			if (a_processor * cpus() > 1)
				counts.push_back(a_processor * cpus());
		}
	}
	auto add = [&cells](const Placement &placement, int threads, const Section &section) {
		for (const Lock &lock : locks()) {
			Row row = lock.row("mutex", placement.case_of(threads) + section.name,
					   threads);
			auto run_once = [&lock, &section, &placement, threads](int ms) {
				return run_lock(lock, section, placement, threads, ms);
			};
			/* Alone, many short runs show differences of a few per cent. */
			cells.push_back({ { row },
					  run_once,
					  threads == 1                    ? 8
					  : has_waits(placement, section) ? 250
									  : 125,
					  threads == 1 ? 31 : 3 });
			cells.back().pinned = !*placement.name;
			if (section.two_levels && !*placement.name && threads > 2 * cpus())
				cells.back().rounds = cells.back().least = ROUNDS_OF_LEVELS;
		}
	};

	for (int threads : counts) {
		for (const Section &section : SECTIONS) {
			if (threads > 1 || section.ns == 0)
				add(ALONE, threads, section);
		}
	}
	for (const Placement &placement : PLACEMENTS) {
		int threads = placement.one ? 4 : std::max(2, placement.busy ? cpus() : 2 * cpus());

		for (const Section &section : SECTIONS) {
			if (section.judged_busy && settings.threads.empty())
				add(placement, threads, section);
		}
	}
	return cells;
}

} // namespace lab
