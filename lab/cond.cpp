/* SPDX-License-Identifier: MIT */
/*
 * The table `cond`: condition variables, each with the mutex of its own library.
 *
 *   ping-pong        2 threads   the threads take turns; an operation is one turn
 *   broadcast to 8   9 threads   one thread wakes 8 and waits until all of them have answered; an
 *                                operation is one such round
 *   queue 1+1, 4+4   2, 8        producers and consumers of a queue of 16 places with a condition
 *                                for "not full" and one for "not empty"; an operation is an item
 *   one slot 4+4     8           a queue of one place with broadcast instead of signal, as in a
 *                                benchmark of parking_lot: most woken threads find nothing to do
 *   hand-over N      2, 4        each thread signals the next one's condition, held: with the mutex
 *                                held, as most programs do; unlocked: after the unlock
 *   meet N           2, 4        the last thread to arrive broadcasts, with the mutex held, to the
 *                                others; an operation is one such meeting
 *
 * The threads do nothing else, and call signal and broadcast under the lock, as most programs do.
 * In addition to the usual fields a row has
 *
 *   cpu_ns            processor time of all threads for an operation
 *   switches_per_op   voluntary context switches for an operation: threads that park need one for a
 *                     turn, and 9 for a round; more is a thundering herd
 *
 * Each run is checked: turns alternate, each waiter takes part in each round, and each item arrives
 * once and in order.
 */
#include "bench.hpp"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <sys/resource.h>

#include "holdfast/cond.h"
#include "locks.hpp"

namespace lab
{
namespace
{

/* ---- the condition variables ----------------------------------------------------------------- */

struct HfMutex {
	hf_mutex_t m = HF_MUTEX_INIT;
	void lock() HF_NO_THREAD_SAFETY_ANALYSIS { hf_mutex_lock(&m); }
	void unlock() HF_NO_THREAD_SAFETY_ANALYSIS { hf_mutex_unlock(&m); }
};

struct HfCond {
	using Lock = HfMutex;
	hf_cond_t c = HF_COND_INIT;
	void wait(Lock &lock, NoNode &) HF_NO_THREAD_SAFETY_ANALYSIS { hf_cond_wait(&c, &lock.m); }
	void signal() { hf_cond_signal(&c); }
	void broadcast() { hf_cond_broadcast(&c); }
};

struct PthreadCond {
	using Lock = PthreadMutex;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	void wait(Lock &lock, NoNode &) { pthread_cond_wait(&c, &lock.m); }
	void signal() { pthread_cond_signal(&c); }
	void broadcast() { pthread_cond_broadcast(&c); }
};

struct StdCond {
	using Lock = std::mutex;
	std::condition_variable c;
	void wait(Lock &lock, NoNode &)
	{
		std::unique_lock<std::mutex> held(lock, std::adopt_lock);

		c.wait(held);
		held.release();
	}
	void signal() { c.notify_one(); }
	void broadcast() { c.notify_all(); }
};

#if HF_LAB_HAVE_ABSL
struct AbslCond {
	using Lock = AbslMutex;
	absl::CondVar c;
	void wait(Lock &lock, NoNode &) { c.Wait(&lock.m); }
	void signal() { c.Signal(); }
	void broadcast() { c.SignalAll(); }
};
#endif

#if HF_LAB_HAVE_NSYNC
struct NsyncCv {
	using Lock = NsyncMu;
	nsync::nsync_cv c = NSYNC_CV_INIT;
	void wait(Lock &lock, NoNode &) { nsync::nsync_cv_wait(&c, &lock.m); }
	void signal() { nsync::nsync_cv_signal(&c); }
	void broadcast() { nsync::nsync_cv_broadcast(&c); }
};
#endif

/* ---- the cases ------------------------------------------------------------------------------- */

enum class What { PING_PONG, BROADCAST, QUEUE, HAND_OVER, MEET };

constexpr uint64_t PLACES = 16;

struct Case {
	const char *name;
	What what;
	int threads;             /* of a queue, half of them are producers */
	uint64_t places = 0;     /* of a queue */
	bool broadcasts = false; /* a queue's threads wake all waiters, not one */
	bool unlocked = false;   /* hand-over: signals after the unlock */
};

constexpr int MOST_IN_TURN = 4;

constexpr Case CASES[] = {
	{ "ping-pong", What::PING_PONG, 2 },         { "broadcast to 8", What::BROADCAST, 9 },
	{ "queue 1+1", What::QUEUE, 2, PLACES },     { "queue 4+4", What::QUEUE, 8, PLACES },
	{ "one slot 4+4", What::QUEUE, 8, 1, true },
};

/* The woken thread and its waker want one processor: measured where processors are shared. */
constexpr Case SHARED_CASES[] = {
	{ "hand-over 2 held", What::HAND_OVER, 2 },
	{ "hand-over 2 unlocked", What::HAND_OVER, 2, 0, false, true },
	{ "hand-over 4 held", What::HAND_OVER, 4 },
	{ "hand-over 4 unlocked", What::HAND_OVER, 4, 0, false, true },
	{ "meet 2", What::MEET, 2 },
	{ "meet 4", What::MEET, 4 },
	CASES[3], /* queue 4+4 */
};

/* What is measured with that placement: hand-overs with each, all else on one processor. */
bool measured_in(const Placement &placement, const Case &one)
{
	bool held = one.what == What::HAND_OVER && !one.unlocked;

	return placement.one || held || (placement.busy && one.threads == 2);
}

std::string name_in(const Placement &placement, const Case &one)
{
	return std::string(placement.name) + ", " + one.name;
}

struct alignas(128) PerThread {
	double cpu_ns = 0, switches = 0;
};

/* The lock protects all members except `of`. over: the run ends, so no thread may wait any more. */
template <class C>
struct alignas(128) Shared {
	typename C::Lock lock;
	C called, answered; /* a queue: not empty, not full */
	C in_turn[MOST_IN_TURN];
	bool over = false, wrong = false;
	uint64_t done = 0;               /* operations: turns, rounds, items taken */
	uint64_t last = 1;               /* ping-pong: the thread that had the last turn */
	uint64_t round = 0, arrived = 0; /* broadcast */
	uint64_t put = 0;                /* queue: items; item n is the number n */
	uint64_t items[PLACES] = {};
	const Case &of_case;
	std::vector<PerThread> of;

	explicit Shared(const Case &one) : of_case(one), of(static_cast<size_t>(one.threads)) {}
};

template <class C>
struct Loops {
	using State = Shared<C>;
	using Node = typename NodeOf<typename C::Lock>::type;

	static bool stopped(const int *stop) { return __atomic_load_n(stop, __ATOMIC_RELAXED); }

	/* Ends the run; the caller holds the lock. */
	static void end(State *s)
	{
		s->over = true;
		s->called.broadcast();
		s->answered.broadcast();
		for (C &one : s->in_turn)
			one.broadcast();
	}

	/* Does @step under the lock until it returns false; it counts its operations in @ops. */
	template <class Step>
	static uint64_t repeat(State *s, Step step)
	{
		uint64_t ops = 0;

		for (bool running = true; running;) {
			Node node;

			take(&s->lock, node);
			running = step(node, &ops);
			release(&s->lock, node);
		}
		return ops;
	}

	static uint64_t ping_pong(State *s, int thread, const int *stop)
	{
		uint64_t me = static_cast<uint64_t>(thread);

		return repeat(s, [=](Node &node, uint64_t *ops) {
			while (s->last == me && !s->over)
				s->called.wait(s->lock, node);
			bool running = !s->over;

			if (stopped(stop)) {
				end(s);
			} else if (running) {
				s->wrong |= s->done % 2 != me;
				s->last = me;
				s->done++;
				++*ops;
				s->called.signal();
			}
			return running;
		});
	}

	static uint64_t hand_over(State *s, int thread, const int *stop)
	{
		const uint64_t me = static_cast<uint64_t>(thread);
		const uint64_t threads = static_cast<uint64_t>(s->of_case.threads);
		uint64_t ops = 0;

		for (bool running = true; running;) {
			C *next = nullptr;
			Node node;

			take(&s->lock, node);
			while (s->done % threads != me && !s->over)
				s->in_turn[me].wait(s->lock, node);
			running = !s->over;
			if (stopped(stop)) {
				end(s);
			} else if (running) {
				s->done++;
				ops++;
				next = &s->in_turn[s->done % threads];
				if (!s->of_case.unlocked)
					next->signal();
			}
			release(&s->lock, node);
			if (next && s->of_case.unlocked)
				next->signal();
		}
		return ops;
	}

	static uint64_t meet(State *s, const int *stop)
	{
		const uint64_t threads = static_cast<uint64_t>(s->of_case.threads);

		return repeat(s, [=](Node &node, uint64_t *ops) {
			if (stopped(stop) && !s->over)
				end(s);
			if (s->over)
				return false;
			s->wrong |= s->round != *ops;
			if (++s->arrived == threads) {
				s->arrived = 0;
				s->round++;
				s->done++;
				s->called.broadcast();
			}
			while (s->round == *ops && !s->over)
				s->called.wait(s->lock, node);
			*ops += s->round != *ops;
			return true;
		});
	}

	static uint64_t call(State *s, const int *stop)
	{
		uint64_t waiters = static_cast<uint64_t>(s->of_case.threads) - 1;

		return repeat(s, [=](Node &node, uint64_t *ops) {
			if (stopped(stop)) {
				end(s);
				return false;
			}
			s->arrived = 0;
			s->round++;
			s->called.broadcast();
			while (s->arrived < waiters)
				s->answered.wait(s->lock, node);
			s->done++;
			++*ops;
			return true;
		});
	}

	static uint64_t answer(State *s)
	{
		uint64_t waiters = static_cast<uint64_t>(s->of_case.threads) - 1;

		return repeat(s, [=](Node &node, uint64_t *ops) {
			while (s->round == *ops && !s->over)
				s->called.wait(s->lock, node);
			if (s->round == *ops)
				return false;
			++*ops;
			s->wrong |= s->round != *ops;
			if (++s->arrived == waiters)
				s->answered.signal();
			return true;
		});
	}

	/* Wakes one waiter, or in `one slot` all of them. */
	static void notify(State *s, C *cond)
	{
		if (s->of_case.broadcasts)
			cond->broadcast();
		else
			cond->signal();
	}

	static uint64_t produce(State *s, const int *stop)
	{
		return repeat(s, [=](Node &node, uint64_t *ops) {
			while (s->put - s->done == s->of_case.places && !s->over)
				s->answered.wait(s->lock, node);
			bool running = !s->over;

			if (stopped(stop)) {
				end(s);
			} else if (running) {
				s->items[s->put % PLACES] = s->put;
				s->put++;
				++*ops;
				notify(s, &s->called);
			}
			return running;
		});
	}

	/* Empties the queue before it returns. */
	static uint64_t consume(State *s)
	{
		return repeat(s, [=](Node &node, uint64_t *ops) {
			while (s->put == s->done && !s->over)
				s->called.wait(s->lock, node);
			if (s->put == s->done)
				return false;
			s->wrong |= s->items[s->done % PLACES] != s->done;
			s->done++;
			++*ops;
			notify(s, &s->answered);
			return true;
		});
	}

	static uint64_t loop(void *state, int thread, const int *stop)
	{
		State *s = static_cast<State *>(state);
		PerThread *mine = &s->of[static_cast<size_t>(thread)];
		rusage before, after;
		double used = thread_ns();
		uint64_t ops;

		getrusage(RUSAGE_THREAD, &before);
		if (s->of_case.what == What::PING_PONG)
			ops = ping_pong(s, thread, stop);
		else if (s->of_case.what == What::BROADCAST)
			ops = thread == 0 ? call(s, stop) : answer(s);
		else if (s->of_case.what == What::HAND_OVER)
			ops = hand_over(s, thread, stop);
		else if (s->of_case.what == What::MEET)
			ops = meet(s, stop);
		else
			ops = thread < s->of_case.threads / 2 ? produce(s, stop) : consume(s);
		getrusage(RUSAGE_THREAD, &after);
		mine->cpu_ns = thread_ns() - used;
		mine->switches = static_cast<double>(after.ru_nvcsw - before.ru_nvcsw);
		return ops;
	}
};

/* Compares what each thread did with the counts that the lock protects. */
template <class C>
bool right(const Shared<C> &shared, What what, const Window &window)
{
	uint64_t half = 0;

	if (shared.wrong)
		return false;
	if (what == What::PING_PONG || what == What::HAND_OVER)
		return window.total() == shared.done;
	if (what == What::BROADCAST || what == What::MEET)
		return std::all_of(window.ops.begin(), window.ops.end(),
				   [&](uint64_t ops) { return ops == shared.done; });
	for (size_t i = 0; i < window.ops.size() / 2; i++)
		half += window.ops[i];
	return half == shared.put && shared.put == shared.done && window.total() == 2 * shared.done;
}

template <class C>
std::vector<Sample> run(const Case &one, const Placement &placement, int window_ms)
{
	BusyProcesses busy(placement.busy);
	std::unique_ptr<Shared<C>> shared(new Shared<C>(one));
	Window window = run_window(one.threads, window_ms, Loops<C>::loop, { shared.get() },
				   placement.where());
	Sample sample = sample_of(window, right(*shared, one.what, window));
	double done = static_cast<double>(shared->done), cpu = 0, switches = 0;

	for (const PerThread &mine : shared->of) {
		cpu += mine.cpu_ns;
		switches += mine.switches;
	}
	sample.ns_per_op = window.wall_ns / done;
	sample.starved = shared->done == 0;
	sample.more["cpu_ns"] = cpu / done;
	sample.more["switches_per_op"] = switches / done;
	return { sample };
}

struct Variant {
	const char *name, *kind;
	std::vector<Sample> (*run)(const Case &, const Placement &, int window_ms);
	const char *version = ""; /* of the compiler that built it, if that is not this one */
};

constexpr char OURS[] = "hf_cond";

const Variant VARIANTS[] = {
	{ OURS, "ours", run<HfCond> },
	{ "peer:pthread_cond", "peer", run<PthreadCond> },
	{ "peer:std_condition_variable", "peer", run<StdCond> },
#if HF_LAB_HAVE_ABSL
	{ "peer:absl_cond_var", "peer", run<AbslCond> },
#endif
#if HF_LAB_HAVE_NSYNC
	{ "peer:nsync_cv", "peer", run<NsyncCv> },
#endif
#if HF_LAB_HAVE_RUST
	{ "peer:parking_lot_condvar", "peer", run<ParkingLotCond>, HF_LAB_RUST_VERSION },
	{ "peer:rust_std_condvar", "peer", run<RustStdCond>, HF_LAB_RUST_VERSION },
#endif
};

} // namespace

/* Each case has its own number of threads, whatever --threads says. */
std::vector<Cell> cond_cells(const Settings &)
{
	std::vector<Cell> cells;
	auto add = [&](const Placement &placement, const Case &one, const std::string &name) {
		for (const Variant &variant : VARIANTS) {
			Row row("cond", variant.name, variant.kind, name, one.threads);

			if (*variant.version)
				row.labels["version"] = variant.version;
			cells.push_back({ { row },
					  [&variant, &one, &placement](int ms) {
						  return variant.run(one, placement, ms);
					  },
					  placement.busy ? 100 : 50,
					  5 });
			cells.back().pinned = !*placement.name;
		}
	};

	for (const Case &one : CASES)
		add(ALONE, one, one.name);
	for (const Placement &placement : PLACEMENTS) {
		for (const Case &one : SHARED_CASES) {
			if (measured_in(placement, one))
				add(placement, one, name_in(placement, one));
		}
	}
	return cells;
}

} // namespace lab
