/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_ENV_H
#define HF_MODEL_ENV_H
/*
 * env, inside the model checker - the threads are Relacy's.
 *
 * Slots        thread t has nodes 1 + t * HF_NODES + n; each scenario sets how many of them it may
 *              use (0: the thread queues without a node).
 * Parking      checking the word and going to sleep are one atomic step, as with a futex. A wakeup
 *              wakes any one of the sleepers. A thread that sleeps for ever is a deadlock, which is
 *              an error. A thread with a deadline may wake at any point; each scenario limits the
 *              number of spurious wakeups.
 * Time         HF_MODEL_EARLY, until each thread, at a point of its own, sees HF_MODEL_LATE. A wait
 *              with a deadline before HF_MODEL_LATE is a periodic recheck; each scenario limits
 *              their number.
 * Invariants   preemption is enabled and all nodes are released when a thread ends (run.h).
 */
#include "rl.h"

#include "holdfast/internal/compiler.h"

#if HF_TSAN
#error "Relacy's stacks are not ThreadSanitizer's"
#endif

#define HF_ENV_HAS_NODES 1
#define HF_NODES 2
#define HF_MODEL_THREADS 4

struct hf_atomic32;

namespace hf_model
{

/* The environment's state of a thread. Plain data: no other thread reads it. */
struct thread_state {
	unsigned int nodes; /* number it may use */
	uint32_t used;      /* one bit per node */
	int preempt_off;
	unsigned int refused; /* node allocations that failed */
	unsigned int fences;  /* hf_atomic_fence_seq_cst_at_rmw(), so far */
	unsigned int naps;    /* spurious wakeups left */
	unsigned int patrols; /* wakeups before HF_MODEL_LATE left */
	bool late;            /* the thread has seen HF_MODEL_LATE */
	bool no_barriers;     /* hf_env_barrier_all() fails */
	bool mortal;          /* may be killed before any access to shared memory */
	uint64_t turn_ns;     /* of the mutex */
	int spins;     /* before it parks at a condition variable: 1 yes, -1 no, 0 undecided */
	uint32_t mark; /* of this thread's locks; 0: none yet */
	struct hf_atomic32 *late_word; /* of the mutant fetch_add_late */
	uint32_t late_add;
	uint32_t processor; /* where it runs */
	uint64_t signals_blocked;
	bool light_fences_missing;
	bool is_real_time;
	uint64_t longest_sleep; /* of those that end: longer ones don't in this scenario; 0: any */
};

inline thread_state threads[HF_MODEL_THREADS];

inline thread_state &self()
{
	return threads[rl::thread_index()];
}

/* Thrown to kill a mortal thread. */
struct death {};

inline void may_die()
{
	if (self().mortal && rl::rand(8) == 0) {
		self().mortal = false;
		throw death();
	}
}

} // namespace hf_model

inline uint32_t hf_env_node_get(void)
{
	hf_model::thread_state &self = hf_model::self();

	for (unsigned int n = 0; n < self.nodes; n++) {
		if (!(self.used & 1u << n)) {
			self.used |= 1u << n;
			return 1 + rl::thread_index() * HF_NODES + n;
		}
	}
	self.refused++;
	return 0;
}

/* Defined in run.h: nodes contain atomics, which are recreated for each interleaving. */
typedef struct hf_node hf_node_t;
hf_node_t *hf_env_node(uint32_t index);

inline void hf_env_node_put(uint32_t index)
{
	uint32_t n = index - 1 - rl::thread_index() * HF_NODES;

	hf_model::check(n < HF_NODES && (hf_model::self().used & 1u << n),
			"a node is given back that its thread has not taken");
	hf_model::self().used &= ~(1u << n);
}

inline void hf_env_preempt_disable(void)
{
	hf_model::self().preempt_off++;
}

inline void hf_env_preempt_enable(void)
{
	hf_model::check(--hf_model::self().preempt_off >= 0, "preemption is switched on twice");
}

#define HF_ENV_HAS_IRQ 0

inline uint32_t hf_env_processors()
{
	return 2;
}

/* One hint per nanosecond. A hint lets all other threads run, so a second one adds nothing. */
inline uint32_t hf_env_spin_hints(uint32_t ns)
{
	return ns;
}

/* ---- Parking: defined in run.h ------------------------------------------------------------ */

/* Without parking hf_spinlock_t is the lock with a queue. */
#ifndef HF_ENV_HAS_PARK
#define HF_ENV_HAS_PARK 1
#endif
#define HF_ENV_FOREVER UINT64_MAX
#define HF_MODEL_EARLY 2
#define HF_MODEL_LATE 1000

enum hf_env_scope { HF_ENV_PRIVATE, HF_ENV_SHARED };
enum hf_env_parked { HF_ENV_WOKEN, HF_ENV_CHANGED, HF_ENV_TIMEOUT };

struct hf_atomic32;

enum hf_env_parked hf_env_park(const struct hf_atomic32 *word, uint32_t expected, uint64_t deadline,
			       enum hf_env_scope scope, const hf_model::where &at = HF_MODEL_HERE);
uint32_t hf_env_unpark(const struct hf_atomic32 *word, uint32_t n, enum hf_env_scope scope,
		       const hf_model::where &at = HF_MODEL_HERE);

bool hf_env_barrier_all(const hf_model::where &at = HF_MODEL_HERE);
bool hf_env_barrier_now(const hf_model::where &at = HF_MODEL_HERE);

inline uint64_t hf_env_signals_block(void)
{
	uint64_t before = hf_model::self().signals_blocked;

	hf_model::self().signals_blocked = 1;
	return before;
}

inline void hf_env_signals_restore(uint64_t before)
{
	hf_model::self().signals_blocked = before;
}

void hf_env_requeue(const struct hf_atomic32 *word, uint32_t expected, const struct hf_atomic32 *to,
		    enum hf_env_scope scope, const hf_model::where &at = HF_MODEL_HERE);

inline uint64_t hf_env_deadline(uint64_t nanoseconds)
{
	hf_model::thread_state &self = hf_model::self();

	if (nanoseconds == 0) {
		self.late = self.late || rl::rand(2) == 1;
		return self.late ? HF_MODEL_LATE : HF_MODEL_EARLY;
	}
	return nanoseconds;
}

/* By default two: a waiter may or may not share the caller's. */
inline uint32_t hf_env_processor()
{
	return hf_model::self().processor;
}

inline bool hf_env_is_real_time()
{
	return hf_model::self().is_real_time;
}

inline void hf_env_yield(const hf_model::where &at = HF_MODEL_HERE)
{
	rl::yield(1, at);
}

namespace hf_model
{
inline uint64_t gone_thread; /* one that has ended, whose number no new one has got yet; or 0 */
}

extern "C" {

/* src/env/env.h: the process, which is 1, and the thread. */
inline uint64_t hf_detail_env_thread()
{
	return (uint64_t)1 << 32 | (rl::thread_index() + 1);
}

inline bool hf_detail_env_thread_is_gone(uint64_t thread)
{
	return thread == hf_model::gone_thread;
}

/* src/env/env.h: a pause lets all other threads run, whether it yields or sleeps. */
inline void hf_detail_env_pause(uint32_t)
{
	rl::yield(1, HF_MODEL_HERE);
}
}

#endif
