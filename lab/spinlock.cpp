/* SPDX-License-Identifier: MIT */
/*
 * The table `spinlock`: the published experiment (k cores lock, increment and unlock) on this
 * machine.
 *
 * Cases, named as the columns of the published table:
 *
 *   1         one thread                               lock, unlock, total
 *   nNC       n threads, each its own lock and counter lock, unlock, total
 *   nC        n threads, one lock and counter          lock, unlock, total
 *   oversubscribed   more threads than processors      total
 *
 * total comes from a loop without timestamps; lock and unlock come from a separate run with them.
 * Where threads do not contend, that run takes BULK locks between two timestamps, because a
 * timestamp takes longer than a lock; where they contend, it takes one. The cost of two timestamps
 * with only the increments between them is subtracted; 0 means too short to measure. The times are
 * summed over all operations and divided by the number of threads, so that lock and unlock are in
 * the unit of total.
 *
 * The rows: those of lab/variants/spinlock, `ticket` of spinlock_ticket.h, and hf_spinlock_t as
 * `small` and again as the default. Outside user space hf_spinlock_t is `queued`.
 *
 * Rows `<lock> wait=<policy>` (kind `sweep`) call the inner lock function with another wait policy.
 * No aim is computed from them.
 */
#include "bench.hpp"

#include <string>

#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"
#include "locks.hpp"
#include "timestamp.h"
#include "variants/spinlocks.h"

namespace lab
{
namespace
{

/* ---- the loops ------------------------------------------------------------------------------ */

/* The sums of one thread in the split loop, in ticks of hf_lab_timestamp(). */
struct alignas(128) Split {
	uint64_t rounds = 0, lock_ticks = 0, empty_ticks = 0, unlock_ticks = 0;
};

/* Uncontended locks that the split loop takes between two timestamps. */
constexpr size_t BULK = 8;

struct State {
	Guarded *spin; /* @bulk of them */
	size_t bulk;   /* 1 to BULK */
	Split *split;  /* one for each thread */
};

/* The loops of a lock. They read the stop flag after every operation: with more threads than
 * processors one operation can take milliseconds. */
template <class L>
struct Loops {
	using Node = typename NodeOf<L>::type;

	static L *lock_of(Guarded *s) { return lock_in<L>(s->lock); }
	static void init(Guarded *s) { make_lock<L>(s->lock); }

	/* Only lock, increment, unlock; contended: also counts how often the lock changes hands. */
	template <bool Contended>
	static uint64_t total(void *state, int, const int *stop)
	{
		Guarded *s = static_cast<State *>(state)->spin;
		L *lock = lock_of(s);
		uint64_t mine = 0; /* the counter as this thread left it */
		uint64_t ops = 0;

		for (; !__atomic_load_n(stop, __ATOMIC_RELAXED); ops++) {
			Node node;

			take(lock, node);
			if (Contended && s->counter != mine)
				s->handoffs++;
			mine = ++s->counter;
			__asm__ volatile("" ::: "memory"); /* the increment stays in memory */
			release(lock, node);
		}
		return ops;
	}

	/* Takes `bulk` locks, increments their counters, and releases them, with a timestamp before
	 * and after each of the three steps. */
	static uint64_t split(void *argument, int thread, const int *stop)
	{
		State *state = static_cast<State *>(argument);
		Split *found = &state->split[thread];
		size_t bulk = state->bulk;

		while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
			uint64_t before, locked, done, after;
			Node nodes[BULK];

			before = hf_lab_timestamp();
			for (size_t i = 0; i < bulk; i++)
				take(lock_of(&state->spin[i]), nodes[i]);
			locked = hf_lab_timestamp();
			for (size_t i = 0; i < bulk; i++)
				state->spin[i].counter++;
			done = hf_lab_timestamp();
			for (size_t i = 0; i < bulk; i++)
				release(lock_of(&state->spin[i]), nodes[i]);
			after = hf_lab_timestamp();
			found->lock_ticks += locked - before;
			found->empty_ticks += done - locked;
			found->unlock_ticks += after - done;
			found->rounds++;
		}
		return found->rounds * bulk;
	}
};

/* ---- the locks ------------------------------------------------------------------------------ */

struct Lock {
	std::string name, kind;
	std::string is;   /* of the default: the same lock's row; of a sweep: the row it varies */
	std::string wait; /* of a sweep: the policy */
	void (*init)(Guarded *);
	loop_t alone, contended, split;
};

template <class L>
Lock entry(const std::string &name, const char *kind, const char *is = "", const char *wait = "")
{
	return { name,
		 kind,
		 is,
		 wait,
		 Loops<L>::init,
		 Loops<L>::template total<false>,
		 Loops<L>::template total<true>,
		 Loops<L>::split };
}

/* X(name, NAME): measured with its own wait policy, and with each other one. */
#define SPINLOCKS(X)                                                                               \
	X(cas, CAS)                                                                                \
	X(cas_release, CAS_RELEASE)                                                                \
	X(cas_prefetch, CAS_PREFETCH)                                                              \
	X(wfe, WFE)                                                                                \
	X(ticket, TICKET)                                                                          \
	X(mcs, MCS)                                                                                \
	X(queued, QUEUED)

#define LOCK(name, NAME)                                                                           \
	struct name##_lock {                                                                       \
		hf_spinlock_##name##_t l = HF_SPINLOCK_##NAME##_INIT;                              \
		void lock() HF_NO_THREAD_SAFETY_ANALYSIS { hf_spinlock_##name##_lock(&l); }        \
		void unlock() HF_NO_THREAD_SAFETY_ANALYSIS { hf_spinlock_##name##_unlock(&l); }    \
	};                                                                                         \
	template <hf_wait_policy policy>                                                           \
	struct swept_##name : name##_lock {                                                        \
		void lock() { hf_detail_spinlock_##name##_lock(&this->l, policy); }                \
	};
SPINLOCKS(LOCK)

#define OURS(name, NAME) list.push_back(entry<name##_lock>(#name, "ours"));
#define SWEEP(name, POLICY, policy)                                                                \
	list.push_back(entry<swept_##name<HF_WAIT_##POLICY>>(#name " wait=" policy, "sweep",       \
							     #name, policy));
#define SWEEPS(name, NAME)                                                                         \
	SWEEP(name, NONE, "none")                                                                  \
	SWEEP(name, HINT, "hint")                                                                  \
	SWEEP(name, BACKOFF, "backoff")                                                            \
	SWEEP(name, MONITOR, "monitor")

std::vector<Lock> all_locks()
{
	std::vector<Lock> list;

	SPINLOCKS(OURS)
	list.push_back(entry<hf::spinlock>("small", "ours"));
	list.push_back(entry<hf::spinlock>("default", "default", "small"));
	SPINLOCKS(SWEEPS)
	list.push_back(entry<PthreadSpin>("peer:pthread_spin", "peer"));
	list.push_back(entry<PthreadMutex>("peer:pthread_mutex", "peer"));
#if HF_LAB_HAVE_CK
	list.push_back(entry<CkFas>("peer:ck_fas", "peer"));
	list.push_back(entry<CkTicket>("peer:ck_ticket", "peer"));
	list.push_back(entry<CkMcs>("peer:ck_mcs", "peer"));
#endif
#if HF_LAB_HAVE_TBB
	list.push_back(entry<tbb::spin_mutex>("peer:tbb_spin_mutex", "peer"));
	list.push_back(entry<TbbQueuing>("peer:tbb_queuing_mutex", "peer"));
#endif
#if HF_LAB_HAVE_ABSL
	list.push_back(entry<AbslMutex>("peer:absl_mutex", "peer"));
#endif
	return list;
}

const std::vector<Lock> &locks()
{
	static const std::vector<Lock> list = all_locks();

	return list;
}

/* ---- one run -------------------------------------------------------------------------------- */

/* The locks, counters and times of a run: a set of `bulk` locks for each thread, or one for all. */
struct Run {
	size_t bulk;
	std::vector<Guarded> spins;
	std::vector<Split> splits;
	std::vector<State> states;
	std::vector<void *> pointers;

	Run(const Lock &lock, int threads, bool shared, size_t bulk_of_each)
		: bulk(bulk_of_each), spins(bulk * static_cast<size_t>(shared ? 1 : threads)),
		  splits(static_cast<size_t>(threads)), states(spins.size() / bulk)
	{
		for (Guarded &spin : spins)
			lock.init(&spin);
		for (size_t i = 0; i < states.size(); i++) {
			states[i] = { &spins[i * bulk], bulk, splits.data() };
			pointers.push_back(&states[i]);
		}
	}

	/* Compares the counters of each set with the operations of its threads. */
	bool check(const Window &window) const
	{
		for (size_t i = 0; i < states.size(); i++) {
			uint64_t counted = 0;

			for (size_t j = 0; j < bulk; j++)
				counted += states[i].spin[j].counter;
			if (counted != (states.size() == 1 ? window.total() : window.ops[i]))
				return false;
		}
		return true;
	}
};

std::vector<Sample> run_total(const Lock &lock, int threads, bool shared, int window_ms)
{
	Run run(lock, threads, shared, 1);
	bool contended = shared && threads > 1;
	Window window = run_window(threads, window_ms, contended ? lock.contended : lock.alone,
				   run.pointers);
	Sample sample = sample_of(window, run.check(window));

	if (contended)
		sample.more["handoff_share"] = static_cast<double>(run.spins[0].handoffs) /
					       static_cast<double>(window.total());
	return { sample };
}

/* A difference of two times; below 0.1 ns, which is less than an instruction, it becomes 0. */
double measurable(double ns)
{
	return ns < 0.1 ? 0 : ns;
}

std::vector<Sample> run_split(const Lock &lock, int threads, bool shared, int window_ms)
{
	bool contended = shared && threads > 1;
	Run run(lock, threads, shared, contended ? 1 : BULK);
	Window window = run_window(threads, window_ms, lock.split, run.pointers);
	double lock_ticks = 0, unlock_ticks = 0;

	for (const Split &split : run.splits) {
		double empty = static_cast<double>(split.empty_ticks);

		lock_ticks += static_cast<double>(split.lock_ticks) - empty;
		unlock_ticks += static_cast<double>(split.unlock_ticks) - empty;
	}
	double scale = ns_per_tick() / static_cast<double>(window.total()) / threads;

	Sample lock_sample = sample_of(window, run.check(window)), unlock_sample = lock_sample;

	lock_sample.ns_per_op = measurable(lock_ticks * scale);
	unlock_sample.ns_per_op = measurable(unlock_ticks * scale);
	return { lock_sample, unlock_sample };
}

Row row_of(const Lock &lock, const std::string &case_name, int threads)
{
	Row row("spinlock", lock.name, lock.kind, case_name, threads);

	if (!lock.is.empty())
		row.labels[lock.wait.empty() ? "is" : "base_variant"] = lock.is;
	if (!lock.wait.empty())
		row.labels["wait"] = lock.wait;
	return row;
}

void add_cells(std::vector<Cell> *cells, const Lock &lock, const std::string &name, int threads,
	       bool shared, bool oversubscribed)
{
	/* Alone, many short runs show differences of a few per cent. */
	cells->push_back(
		{ { row_of(lock, name + " total", threads) },
		  [&lock, threads, shared](int ms) { return run_total(lock, threads, shared, ms); },
		  oversubscribed ? 60
		  : threads == 1 ? 5
				 : 20,
		  oversubscribed ? 5
		  : threads == 1 ? 51
				 : 15 });
	if (oversubscribed || lock.kind == "sweep" || ns_per_tick() == 0)
		return;

	cells->push_back(
		{ { row_of(lock, name + " lock", threads),
		    row_of(lock, name + " unlock", threads) },
		  [&lock, threads, shared](int ms) { return run_split(lock, threads, shared, ms); },
		  20,
		  7 });
}

} // namespace

std::vector<Cell> spinlock_cells(const Settings &settings)
{
	std::vector<int> counts = thread_counts(settings);
	std::vector<Cell> cells;

	if (settings.threads.empty())
		counts.push_back(4 * cpus());
	for (int threads : counts) {
		for (const Lock &lock : locks()) {
			bool sweep = lock.kind == "sweep";
			std::string n = std::to_string(threads);

			if (threads == 1) {
				if (!sweep)
					add_cells(&cells, lock, "1", 1, true, false);
			} else if (threads > cpus()) {
				add_cells(&cells, lock, "oversubscribed", threads, true, true);
			} else {
				if (!sweep && threads == cpus())
					add_cells(&cells, lock, n + "NC", threads, false, false);
				add_cells(&cells, lock, n + "C", threads, true, false);
			}
		}
	}
	return cells;
}

} // namespace lab
