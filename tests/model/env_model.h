/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_ENV_H
#define HF_MODEL_ENV_H
/*
 * env, inside the model checker - the threads are Relacy's.
 *
 * Slots        thread t has nodes 1 + t * HF_NODES + n; how many of them it may use, each scenario
 *              says (0: it is anonymous to every queue).
 * Parking      the look at the word and going to sleep are one step. Whoever wakes, wakes any of
 *              those who sleep. A thread that sleeps for ever is a deadlock, and so an error; those
 *              with a deadline may wake at any moment, and others for no reason, as often as each
 *              scenario says.
 * Time         is HF_MODEL_EARLY, or HF_MODEL_LATE, which each thread notices when it will. A deadline before that
 *              is a patrol: it has no end, but there are as many as each scenario says.
 * Invariants   preemption is on again, and all nodes are given back, when a thread ends (run.h).
 */
#include "rl.h"

#include "holdfast/internal/compiler.h"

#if HF_TSAN
#error "Relacy's stacks are not ThreadSanitizer's"
#endif

#define HF_ENV_HAS_NODES 1
#define HF_NODES 2
#define HF_MODEL_THREADS 4

namespace hf_model
{

/* What the environment knows of a thread. No other thread reads it, so the checker need not watch it. */
struct thread_state {
	unsigned int nodes; /* how many it has */
	uint32_t used;      /* one bit a node */
	int preempt_off;
	unsigned int refused; /* asked for a node, and there was none */
	unsigned int fences;  /* hf_atomic_fence_seq_cst_at_rmw(), so far */
	unsigned int naps;    /* how often it may still wake for no reason */
	unsigned int patrols; /* how often it may still wake before HF_MODEL_LATE */
	bool late;            /* it knows that it is HF_MODEL_LATE */
	bool no_barriers;     /* hf_env_barrier_all() is not allowed */
	bool mortal;          /* it may be killed before its next access to shared memory */
	uint64_t turn_ns;     /* of the mutex */
	int32_t spin_credit;  /* the condition variable's */
};

inline thread_state threads[HF_MODEL_THREADS];

inline thread_state &self()
{
	return threads[rl::thread_index()];
}

/* Thrown where a thread that is mortal is killed. */
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

/* Defined in run.h: the nodes are atomics, and made anew for each interleaving. */
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
	return 1;
}

/* A hint lets all others run, so one a nanosecond: 0 is none, 1 is as good as many. */
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

/* There are no signals. */
inline uint64_t hf_env_signals_block(void)
{
	return 0;
}

inline void hf_env_signals_restore(uint64_t)
{
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

/* Two, so that a thread finds both waiters that can run in its place and others. */
inline uint32_t hf_env_processor()
{
	return rl::thread_index() % 2;
}

inline void hf_env_yield(const hf_model::where &at = HF_MODEL_HERE)
{
	rl::yield(1, at);
}

#endif
