/* SPDX-License-Identifier: MIT */
/*
 * The table `mutex`: one lock and one counter, used by 1 thread, and by 1, 2 and 8 for each
 * processor.
 *
 * Cases: alone, contended (no more threads than processors), oversubscribed. An operation is lock,
 * increment, unlock. Servers share processors, so some cases have all threads on one processor, or
 * unpinned, or beside busy processes (bench.hpp, Placement). A case whose name ends in
 * ", 0.1/0.2 µs" has 0.1 us of work in the critical section and 0.2 us between two operations;
 * without that ending it has none. In addition to the usual fields a row has
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
 * is exact. The beginning of a run, before all threads have started, belongs to no slice.
 *
 * Where threads share one processor or are not pinned, waits are measured with work only. Beside
 * busy processes there are none: they would be waits for a processor.
 */
#include "bench.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <pthread.h>
#include <thread>

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

/* A lock and the counter that it protects, in their own cache line. */
struct alignas(128) Guarded {
	char lock[48];
	uint64_t counter;
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
		guarded.counter = 0;
	}
};

/* The loops of a lock. They read the stop flag after each operation: one may take milliseconds. */
template <class L>
struct Loops {
	static L *lock_of(State *s) { return reinterpret_cast<L *>(s->guarded.lock); }

	static void init(State *s)
	{
		static_assert(sizeof(L) <= sizeof(s->guarded.lock), "the lock has room");
		new (s->guarded.lock) L;
	}
	static void end(State *s) { lock_of(s)->~L(); }

	using Node = typename NodeOf<L>::type;

	static void one(L *lock, State *s, uint64_t steps)
	{
		Node node;

		take(lock, node);
		work(steps);
		s->guarded.counter++;
		__asm__ volatile("" ::: "memory"); /* the increment stays in memory */
		release(lock, node);
	}

	/* For one thread: the bare operation, without slices or work. */
	static uint64_t alone(void *state, int, const int *stop)
	{
		State *s = static_cast<State *>(state);
		L *lock = lock_of(s);
		double used = thread_ns();
		uint64_t ops = 0;

		for (; !__atomic_load_n(stop, __ATOMIC_RELAXED); ops++)
			one(lock, s, 0);
		s->threads[0].cpu_ns = thread_ns() - used;
		return ops;
	}

	/* Counts the operations of each slice. */
	static uint64_t total(void *state, int thread, const int *stop)
	{
		State *s = static_cast<State *>(state);
		Thread *mine = &s->threads[static_cast<size_t>(thread)];
		L *lock = lock_of(s);
		uint64_t steps = s->steps, between = s->between;
		double used = thread_ns(), switched = thread_switches();
		uint64_t ops = 0;

		for (; !__atomic_load_n(stop, __ATOMIC_RELAXED); ops++) {
			one(lock, s, steps);
			work(between);
			mine->in_slice[s->slice.load(std::memory_order_relaxed)]++;
		}
		mine->switches = thread_switches() - switched;
		mine->cpu_ns = thread_ns() - used;
		return ops;
	}

	static uint64_t waits(void *state, int thread, const int *stop)
	{
		State *s = static_cast<State *>(state);
		Waits *mine = &s->threads[static_cast<size_t>(thread)].waits;
		L *lock = lock_of(s);
		uint64_t steps = s->steps, between = s->between;
		uint64_t ops = 0;

		for (; !__atomic_load_n(stop, __ATOMIC_RELAXED); ops++) {
			Node node;
			uint64_t before = hf_lab_timestamp();

			take(lock, node);
			uint64_t after = hf_lab_timestamp();

			work(steps);
			s->guarded.counter++;
			__asm__ volatile("" ::: "memory");
			release(lock, node);
			/* Another processor's counter may be a little behind. */
			mine->add(after > before ? after - before : 0);
			work(between);
		}
		return ops;
	}
};

/* What a waiter does if the lock stays taken. */
enum class Waiter { PARKS, SPINS };

struct Lock {
	const char *name, *kind;
	Waiter waiter;
	const char *version; /* of the compiler that built it, if that is not this one; or "" */
	void (*init)(State *);
	void (*end)(State *);
	loop_t alone, total, waits;
};

template <class L>
Lock entry(const char *name, const char *kind, Waiter waiter = Waiter::PARKS,
	   const char *version = "")
{
	return { name,           kind,          waiter,          version,
		 Loops<L>::init, Loops<L>::end, Loops<L>::alone, Loops<L>::total,
		 Loops<L>::waits };
}

constexpr char OURS[] = "hf_mutex";

const std::vector<Lock> &locks()
{
	static const std::vector<Lock> list = {
		entry<hf::mutex>(OURS, "ours"),
		entry<PthreadMutex>("peer:pthread_mutex", "peer"),
		entry<std::mutex>("peer:std_mutex", "peer"),
		entry<PthreadSpin>("peer:pthread_spin", "peer", Waiter::SPINS),
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
		entry<ParkingLot>("peer:parking_lot", "peer", Waiter::PARKS, HF_LAB_RUST_VERSION),
		entry<RustStd>("peer:rust_std_mutex", "peer", Waiter::PARKS, HF_LAB_RUST_VERSION),
#endif
#if HF_LAB_HAVE_TBB
		entry<tbb::spin_mutex>("peer:tbb_spin_mutex", "peer", Waiter::SPINS),
#endif
	};

	return list;
}

/* A thread that advances State::slice at the end of each slice, until it is destroyed. */
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

/* The mean of least over most operations in each slice, without the partial first and last ones. */
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
		std::unique_ptr<Slicer> slicer;

		lock.init(&state);
		if (threads > 1)
			slicer.reset(new Slicer(&state, first_ms, slice_ms));
		Window window = run_window(threads, ms, threads > 1 ? lock.total : lock.alone,
					   state.pointers, placement.where());
		double total = static_cast<double>(window.total()), cpu = 0, switches = 0;

		slicer.reset();
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
	struct Case {
		const Placement &placement;
		int threads;
		const Section &section;
	};
	std::vector<Case> cases;

	for (int threads : counts) {
		for (const Section &section : SECTIONS) {
			if (threads > 1 || section.ns == 0)
				cases.push_back({ ALONE, threads, section });
		}
	}
	if (settings.threads.empty()) {
		for (const Placement &placement : PLACEMENTS) {
			int threads = placement.one
					      ? 4
					      : std::max(2, placement.busy ? cpus() : 2 * cpus());

			for (const Section &section : SECTIONS) {
				if (section.judged_busy)
					cases.push_back({ placement, threads, section });
			}
		}
	}
	for (const Case &one : cases) {
		const Placement &placement = one.placement;
		const Section &section = one.section;
		int threads = one.threads;

		for (const Lock &lock : locks()) {
			Row row("mutex", lock.name, lock.kind,
				placement.case_of(threads) + section.name, threads);

			row.labels["waiter"] = lock.waiter == Waiter::PARKS ? "parks" : "spins";
			if (*lock.version)
				row.labels["version"] = lock.version;
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
	}
	return cells;
}

} // namespace lab
