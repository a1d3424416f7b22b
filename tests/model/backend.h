/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_BACKEND_H
#define HF_MODEL_BACKEND_H
/*
 * backend - atomic.h, with Relacy in place of the hardware. backend_partial.h is its second half.
 *
 * Use when / not when
 *   -DHF_ATOMIC_HEADER='"backend.h"' (with arch_model.h and env_model.h) explores the shipped
 *   headers under the C11 memory model: all schedules, and the stale values that a load may return.
 *   Run by run.h. C++ only. Atomics are created and destroyed within one interleaving.
 *
 * State
 *   hf_atomic64_t   one Relacy atomic of 64 bits
 *   hf_atomic32_t   one Relacy atomic of 32 bits; or a view of the low half of a hf_atomic64_t,
 *                   each access to which is an access to the whole word: a load, or a
 *                   read-modify-write that leaves the other half as it is
 *   All arithmetic is a read-modify-write of the whole word too.
 *
 * What is added to Relacy
 *   A1  A failed compare-and-swap is a load, and may return a stale value. (Relacy's returns the
 *       latest.)
 *   A2  A store that is not ordered after the latest one may precede it in the modification order;
 *       no thread sees it then: a lost wakeup. (Relacy's modification order is the schedule's.)
 *       This is possible if the storing thread may still load an older value than the latest, and
 *       the latest was not written by a read-modify-write, whose position is fixed.
 *
 * Weaker than C11: bugs that need these behaviours are missed
 *   L1  C11 does not define mixed-size accesses to one word. Here they have a single order.
 *   L2  A load never returns a store that is executed later: no load-buffering cycles.
 *   L3  Stale values: one older than the latest in searches, two in random runs.
 *   L4  Two sequentially consistent fences order plain data as well.
 *   L5  A release sequence includes later stores by the same thread (C11; not in C++20 and C23).
 *   L6  The light fences of two threads order as if both were full fences
 *       (hf_atomic_fence_light()).
 *
 * Mutants
 *   Selected by the environment, so that one program serves all of them:
 *   HF_MUTANT=<one of HF_MODEL_MUTANTS>   one ordering, or the atomicity of one step, is removed
 *   HF_MUTANT_IN=<function>               ... in this function of the headers, else in all
 */
#include "rl.h"

#include "holdfast/internal/compiler.h"
#include "holdfast/internal/env.h"

#define HF_ATOMIC_IS_MODEL 1
#define HF_ATOMIC_PARTIAL_HEADER "backend_partial.h"

namespace hf_model
{

/* The flaws that can be injected. */
#define HF_MODEL_MUTANTS(X)                                                                        \
	/* Nothing is missing. */                                                                  \
	X(none)                                                                                    \
	/* This order becomes relaxed. */                                                          \
	X(load_acquire)                                                                            \
	X(load_seq_cst)                                                                            \
	X(fetch_add_seq_cst)                                                                       \
	X(store_release)                                                                           \
	X(store_low8_release)                                                                      \
	X(xchg_acq_rel_loses_acquire)                                                              \
	X(xchg_acq_rel_loses_release)                                                              \
	X(xchg_seq_cst)                                                                            \
	X(cmpxchg_acquire)                                                                         \
	X(cmpxchg_release)                                                                         \
	X(cmpxchg_acq_rel_loses_acquire)                                                           \
	X(cmpxchg_acq_rel_loses_release)                                                           \
	X(cmpxchg_seq_cst)                                                                         \
	X(cmpxchg_low8_acquire)                                                                    \
	X(fetch_sub_release)                                                                       \
	X(wait_change_acquire)                                                                     \
	X(wait_zero_set_acquire)                                                                   \
	X(cmpxchg64_release)                                                                       \
	X(cmpxchg64_acquire)                                                                       \
	X(cmpxchg64_acq_rel_loses_acquire)                                                         \
	X(cmpxchg64_acq_rel_loses_release)                                                         \
	X(fetch_sub64_release)                                                                     \
	X(load64_acquire)                                                                          \
	X(store64_release)                                                                         \
	X(load64_seq_cst)                                                                          \
	X(store64_seq_cst)                                                                         \
	X(cmpxchg64_seq_cst)                                                                       \
	/* This fence is missing. */                                                               \
	X(fence_acquire)                                                                           \
	X(fence_seq_cst)                                                                           \
	X(fence_before_rmw)                                                                        \
	X(fence_after_rmw)                                                                         \
	X(fence_light)                                                                             \
	X(barrier_missing)                                                                         \
	/* Not atomic: other threads may run between its load and its store. */                    \
	X(cmpxchg_torn)                                                                            \
	X(cmpxchg64_torn)                                                                          \
	/* This compare-and-swap changes nothing, and says that it did. */                         \
	X(cmpxchg_missing)                                                                         \
	X(cmpxchg64_missing)                                                                       \
	/* This one adds the difference of the two values, whatever it finds. */                   \
	X(cmpxchg_adds)                                                                            \
	X(fetch64_torn)                                                                            \
	X(fetch_torn)                                                                              \
	/* The store also writes the neighbouring bytes, with values loaded earlier. */            \
	X(store_low8_wide)                                                                         \
	X(store_mid8_wide)                                                                         \
	X(store_high32_wide)                                                                       \
	/* Stores the count beside the lock half unconditionally, and always succeeds. */          \
	X(cmpxchg64_blind)                                                                         \
	/* This store is made twice. */                                                            \
	X(store_release_twice)                                                                     \
	/* The word is read once more after this operation. */                                     \
	X(fetch_sub_reads_again)                                                                   \
	/* This store is missing or keeps a bit; this load finds 1, 0, a bit, or never one. */     \
	X(store_relaxed_missing)                                                                   \
	/* This addition is missing, or comes after the thread's next exchange. */                 \
	X(fetch_add_missing)                                                                       \
	X(fetch_add_late)                                                                          \
	X(store_high32_missing)                                                                    \
	X(load_relaxed_is_1)                                                                       \
	X(load_relaxed_is_0)                                                                       \
	X(store_relaxed_keeps_bit1)                                                                \
	X(load_high16_never_0)                                                                     \
	X(load_high32_is_0)                                                                        \
	/* Parking: other threads may run between the check and the sleep; a wakeup is lost. */    \
	X(park_torn)                                                                               \
	X(unpark_missing)                                                                          \
	/* This wake-up says that it has found a sleeper. */                                       \
	X(unpark_says_one)                                                                         \
	X(requeue_missing)                                                                         \
	/* For the files that name them. */                                                        \
	X(own)

enum class mutant {
#define HF_MODEL_NAME(name) name,
	HF_MODEL_MUTANTS(HF_MODEL_NAME)
#undef HF_MODEL_NAME
};

inline const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

inline mutant chosen_mutant()
{
	static const char *const names[] = {
#define HF_MODEL_NAME(name) #name,
		HF_MODEL_MUTANTS(HF_MODEL_NAME)
#undef HF_MODEL_NAME
	};
	const char *name = environment("HF_MUTANT");

	if (!name[0])
		return mutant::none;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], name) == 0)
			return static_cast<mutant>(i);
	}
	fprintf(stderr, "HF_MUTANT=%s is not a mutant\n", name);
	exit(2);
}

inline const mutant the_mutant = chosen_mutant();
inline const char *const mutant_in = environment("HF_MUTANT_IN");

inline bool is_mutant(mutant m, const where &at)
{
	return the_mutant == m && (!mutant_in[0] || strcmp(mutant_in, at.func_) == 0);
}

inline rl::memory_order order(mutant m, rl::memory_order asked, rl::memory_order weak,
			      const where &at)
{
	return is_mutant(m, at) ? weak : asked;
}

/* Called for each change of an atomic, in modification order, and for each failed cmpxchg. */
class observer {
public:
	virtual void changed(const void *object, uint64_t before, uint64_t after, const where &at)
	{
		(void)object, (void)before, (void)after, (void)at;
	}
	virtual void refused(const void *object, const where &at) { (void)object, (void)at; }

protected:
	~observer() {}
};

inline observer *watching;

/* One atomic step of a thread: the scheduler may switch before it, but not within it. */
class step {
public:
	step()
	{
		rl::ctx().sched();
		rl::ctx().disable_preemption();
	}
	~step() { rl::ctx().enable_preemption(); }
	step(const step &) = delete;
	step &operator=(const step &) = delete;
};

/* An atomic word, and whether a store or a read-modify-write produced its latest value. */
template <typename T>
class cell {
public:
	T load(rl::memory_order mo, const where &at) const
	{
		T value = atom_.load(mo, at); /* other threads may run before it */

		exists(at);
		return value;
	}

	/*
	 * The scenario's thread has freed the memory, as it may by the primitive's promise: no
	 * thread may touch it from now on.
	 */
	void free() { freed_ = true; }

	void store(T value, rl::memory_order mo, const where &at)
	{
		step one;
		T before = made_ == BY_NOTHING ? T() : atom_.debug_value();

		exists(at);
		if (made_ == BY_STORE && atom_.load(rl::mo_relaxed, at) != before) {
			/* A2: this store is overwritten at once; no thread ever sees it. */
			see_last(at);
			if (rl::ctx().collecting_history())
				rl::ctx().exec_log_msg(at, "comes before the last one; never seen");
			return;
		}
		atom_.store(value, mo, at);
		made_ = BY_STORE;
		watching->changed(this, before, value, at);
	}

	/*
	 * cmpxchg on the bits of @mask. On failure, returns false and sets *old to the value found.
	 */
	bool cmpxchg(T mask, T *old, T value, rl::memory_order mo, const where &at,
		     bool torn = false)
	{
		T expected = *old;

		if (torn) {
			T seen = atom_.load(rl::mo_relaxed, at);

			*old = seen & mask;
			if (*old == expected)
				atom_.store((seen & ~mask) | value, mo, at);
			return *old == expected;
		}

		step one;
		T before = atom_.load(rl::mo_relaxed, at);

		exists(at);
		if ((before & mask) == expected) {
			before = atom_.debug_value();
			if ((before & mask) == expected) {
				(void)swap((before & ~mask) | value, mo, at);
				return true;
			}
			see_last(at);
		} /* else A1 */
		*old = before & mask;
		watching->refused(this, at);
		return false;
	}

	/* Atomically replaces the bits of @mask by f(bits). Returns the old bits. */
	template <typename F>
	T update(T mask, F f, rl::memory_order mo, const where &at, bool torn = false)
	{
		if (torn) {
			T seen = atom_.load(rl::mo_relaxed, at);

			atom_.store((seen & ~mask) | (f(seen & mask) & mask), mo, at);
			return seen & mask;
		}

		step one;
		T before = atom_.debug_value();

		return swap((before & ~mask) | (f(before & mask) & mask), mo, at) & mask;
	}

	/* The latest value; later loads by this thread return nothing older. */
	T last(const where &at)
	{
		see_last(at);
		return atom_.debug_value();
	}

	/* The latest value, without any effect on the threads: for a scenario's own checks. */
	T now() const { return atom_.debug_value(); }

private:
	enum { BY_NOTHING, BY_STORE, BY_RMW };

	rl::atomic<T> atom_;
	int made_ = BY_NOTHING;
	bool freed_ = false;

	void exists(const where &at) const { check(!freed_, "touched after it was freed", at); }

	T swap(T value, rl::memory_order mo, const where &at)
	{
		exists(at);
		T before = atom_.exchange(value, mo, at);

		made_ = BY_RMW;
		if (value != before)
			watching->changed(this, before, value, at);
		return before;
	}

	/* A failing cmpxchg: afterwards this thread can only see the latest value. */
	void see_last(const where &at)
	{
		T not_it = ~atom_.debug_value();

		(void)atom_.compare_exchange_strong(not_it, T(), rl::mo_relaxed, at, rl::mo_relaxed,
						    at);
	}
};

} // namespace hf_model

struct hf_atomic32 {
	hf_model::cell<uint32_t> own;
	hf_model::cell<uint64_t> *whole; /* if not NULL, this is a view of it and `own` is unused */

	explicit hf_atomic32(hf_model::cell<uint64_t> *whole = NULL) : whole(whole) {}
};

struct hf_atomic64 {
	hf_model::cell<uint64_t> word;
	hf_atomic32 low;

	hf_atomic64() : low(&word) {}
};

typedef struct hf_atomic32 hf_atomic32_t;
typedef struct hf_atomic64 hf_atomic64_t;

namespace hf_model
{

/* Called before each access, if not NULL. */
inline void (*before_access)();

inline void access()
{
	if (before_access)
		before_access();
}

/* The same operations on both sizes; those of 32 bits on the bits of mask. */
inline uint32_t load(const hf_atomic32 *p, rl::memory_order mo, const where &at)
{
	access();
	return p->whole ? (uint32_t)p->whole->load(mo, at) : p->own.load(mo, at);
}

inline uint64_t load(const hf_atomic64 *p, rl::memory_order mo, const where &at)
{
	access();
	return p->word.load(mo, at);
}

/* The mutant fetch_add_late: does what the thread has put off. */
inline void late_add(const where &at)
{
	hf_atomic32 *word = self().late_word;

	if (!word)
		return;
	self().late_word = NULL;
	(void)word->own.update(
		~0u, [](uint64_t v) { return (uint32_t)v + self().late_add; }, rl::mo_relaxed, at);
}

inline bool cmpxchg(hf_atomic32 *p, uint32_t *old, uint32_t value, rl::memory_order mo,
		    const where &at, uint32_t mask = ~0u)
{
	bool torn = is_mutant(mutant::cmpxchg_torn, at);

	may_die();
	access();
	if (is_mutant(mutant::cmpxchg_missing, at))
		return true;
	if (is_mutant(mutant::cmpxchg_adds, at)) {
		uint32_t by = value - *old;

		(void)p->own.update(
			~0u, [by](uint64_t v) { return (uint32_t)v + by; }, mo, at);
		return true;
	}
	if (p->whole) {
		uint64_t wide_old = *old;
		bool done = p->whole->cmpxchg(mask, &wide_old, value, mo, at, torn);

		*old = (uint32_t)wide_old;
		return done;
	}
	return p->own.cmpxchg(mask, old, value, mo, at, torn);
}

inline bool cmpxchg(hf_atomic64 *p, uint64_t *old, uint64_t value, rl::memory_order mo,
		    const where &at)
{
	access();
	if (is_mutant(mutant::cmpxchg64_missing, at))
		return true;
	if (is_mutant(mutant::cmpxchg64_blind, at)) {
		(void)p->word.update(
			~0ull << 32, [value](uint64_t) { return value; }, mo, at);
		return true;
	}
	return p->word.cmpxchg(~0ull, old, value, mo, at, is_mutant(mutant::cmpxchg64_torn, at));
}

template <typename F>
uint32_t update(hf_atomic32 *p, F f, rl::memory_order mo, const where &at, bool torn = false,
		uint32_t mask = ~0u)
{
	may_die();
	access();

	uint32_t before = p->whole ? (uint32_t)p->whole->update(mask, f, mo, at, torn)
				   : p->own.update(mask, f, mo, at, torn);

	late_add(at);
	if (is_mutant(mutant::fetch_sub_reads_again, at) && !p->whole)
		(void)p->own.load(rl::mo_relaxed, at);
	return before;
}

template <typename F>
uint64_t update(hf_atomic64 *p, F f, rl::memory_order mo, const where &at, bool torn)
{
	return p->word.update(~0ull, f, mo, at, torn);
}

inline uint32_t last(hf_atomic32 *p, const where &at)
{
	return p->whole ? (uint32_t)p->whole->last(at) : p->own.last(at);
}

inline void store(hf_atomic32 *p, uint32_t value, rl::memory_order mo, const where &at)
{
	access();
	if (p->whole)
		(void)update(
			p, [value](uint64_t) { return value; }, mo, at);
	else
		p->own.store(value, mo, at);
}

inline void store(hf_atomic64 *p, uint64_t value, rl::memory_order mo, const where &at)
{
	access();
	p->word.store(value, mo, at);
}

/* acq_rel, unless a mutant removes the acquire or the release. */
inline rl::memory_order acq_rel(mutant loses_acquire, mutant loses_release, const where &at)
{
	rl::memory_order mo = order(loses_acquire, rl::mo_acq_rel, rl::mo_release, at);

	return order(loses_release, mo, rl::mo_acquire, at);
}

} // namespace hf_model

#define HF_MODEL_AT const hf_model::where &at = HF_MODEL_HERE
#define HF_MODEL_IS(name) hf_model::is_mutant(hf_model::mutant::name, at)
#define HF_MODEL_ORDER(name, asked, weak)                                                          \
	hf_model::order(hf_model::mutant::name, rl::mo_##asked, rl::mo_##weak, at)
#define HF_MODEL_ACQ_REL(name)                                                                     \
	hf_model::acq_rel(hf_model::mutant::name##_loses_acquire,                                  \
			  hf_model::mutant::name##_loses_release, at)

/* ---- Loads and stores --------------------------------------------------------------------- */

/* (bits, order, the mutant that makes it relaxed) */
#define HF_MODEL_LOAD(bits, mo, mutant)                                                            \
	inline uint##bits##_t hf_atomic##bits##_load_##mo(const hf_atomic##bits##_t *p,            \
							  HF_MODEL_AT)                             \
	{                                                                                          \
		return hf_model::load(p, HF_MODEL_ORDER(mutant, mo, relaxed), at);                 \
	}
#define HF_MODEL_STORE(bits, mo, mutant)                                                           \
	inline void hf_atomic##bits##_store_##mo(hf_atomic##bits##_t *p, uint##bits##_t value,     \
						 HF_MODEL_AT)                                      \
	{                                                                                          \
		hf_model::store(p, value, HF_MODEL_ORDER(mutant, mo, relaxed), at);                \
		if (HF_MODEL_IS(store_release_twice))                                              \
			hf_model::store(p, value, rl::mo_relaxed, at);                             \
	}

HF_MODEL_LOAD(32, acquire, load_acquire)
HF_MODEL_LOAD(32, seq_cst, load_seq_cst)
HF_MODEL_STORE(32, release, store_release)
HF_MODEL_LOAD(64, relaxed, none)
HF_MODEL_LOAD(64, acquire, load64_acquire)
HF_MODEL_LOAD(64, seq_cst, load64_seq_cst)
HF_MODEL_STORE(64, release, store64_release)
HF_MODEL_STORE(64, seq_cst, store64_seq_cst)

inline uint32_t hf_atomic32_load_relaxed(const hf_atomic32_t *p, HF_MODEL_AT)
{
	uint32_t value = hf_model::load(p, rl::mo_relaxed, at);

	if (HF_MODEL_IS(load_relaxed_is_0))
		return 0;
	return HF_MODEL_IS(load_relaxed_is_1) ? 1 : value;
}

inline void hf_atomic32_store_relaxed(hf_atomic32_t *p, uint32_t value, HF_MODEL_AT)
{
	if (HF_MODEL_IS(store_relaxed_keeps_bit1))
		value |= hf_model::load(p, rl::mo_relaxed, at) & 2;
	if (!HF_MODEL_IS(store_relaxed_missing))
		hf_model::store(p, value, rl::mo_relaxed, at);
}

inline void hf_atomic64_store_relaxed(hf_atomic64_t *p, uint64_t value, HF_MODEL_AT)
{
	p->word.store(value, rl::mo_relaxed, at);
}

/* ---- Compare-and-swap --------------------------------------------------------------------- */

/* (bits, order, its expression) */
#define HF_MODEL_CMPXCHG(bits, mo, expression)                                                     \
	inline bool hf_atomic##bits##_try_cmpxchg_##mo(                                            \
		hf_atomic##bits##_t *p, uint##bits##_t *old, uint##bits##_t value, HF_MODEL_AT)    \
	{                                                                                          \
		return hf_model::cmpxchg(p, old, value, expression, at);                           \
	}

HF_MODEL_CMPXCHG(32, relaxed, rl::mo_relaxed)
HF_MODEL_CMPXCHG(32, acquire, HF_MODEL_ORDER(cmpxchg_acquire, acquire, relaxed))
HF_MODEL_CMPXCHG(32, release, HF_MODEL_ORDER(cmpxchg_release, release, relaxed))
HF_MODEL_CMPXCHG(32, acq_rel, HF_MODEL_ACQ_REL(cmpxchg_acq_rel))
HF_MODEL_CMPXCHG(32, seq_cst, HF_MODEL_ORDER(cmpxchg_seq_cst, seq_cst, relaxed))
HF_MODEL_CMPXCHG(64, relaxed, rl::mo_relaxed)
HF_MODEL_CMPXCHG(64, acquire, HF_MODEL_ORDER(cmpxchg64_acquire, acquire, relaxed))
HF_MODEL_CMPXCHG(64, release, HF_MODEL_ORDER(cmpxchg64_release, release, relaxed))
HF_MODEL_CMPXCHG(64, acq_rel, HF_MODEL_ACQ_REL(cmpxchg64_acq_rel))
HF_MODEL_CMPXCHG(64, seq_cst, HF_MODEL_ORDER(cmpxchg64_seq_cst, seq_cst, relaxed))

/* ---- Exchange and arithmetic -------------------------------------------------------------- */

/* (bits, operation, new value in terms of `v` and operand `n`, order, its expression, torn?) */
#define HF_MODEL_UPDATE(bits, operation, becomes, mo, expression, torn)                            \
	inline uint##bits##_t hf_atomic##bits##_##operation##_##mo(hf_atomic##bits##_t *p,         \
								   uint##bits##_t n, HF_MODEL_AT)  \
	{                                                                                          \
		return hf_model::update(                                                           \
			p, [n](uint64_t v) { return (void)v, becomes; }, expression, at, torn);    \
	}

HF_MODEL_UPDATE(32, xchg, n, acq_rel, HF_MODEL_ACQ_REL(xchg_acq_rel), false)
HF_MODEL_UPDATE(32, xchg, n, seq_cst, HF_MODEL_ORDER(xchg_seq_cst, seq_cst, relaxed), false)
HF_MODEL_UPDATE(32, fetch_add, v + n, seq_cst, HF_MODEL_ORDER(fetch_add_seq_cst, seq_cst, relaxed),
		false)
HF_MODEL_UPDATE(32, fetch_sub, v - n, release, HF_MODEL_ORDER(fetch_sub_release, release, relaxed),
		HF_MODEL_IS(fetch_torn))
HF_MODEL_UPDATE(64, fetch_add, v + n, relaxed, rl::mo_relaxed, HF_MODEL_IS(fetch64_torn))
HF_MODEL_UPDATE(64, fetch_sub, v - n, release,
		HF_MODEL_ORDER(fetch_sub64_release, release, relaxed), HF_MODEL_IS(fetch64_torn))

inline uint32_t hf_atomic32_fetch_add_relaxed(hf_atomic32_t *p, uint32_t n, HF_MODEL_AT)
{
	bool torn = HF_MODEL_IS(fetch_torn);

	if (HF_MODEL_IS(fetch_add_missing))
		n = 0;
	if (HF_MODEL_IS(fetch_add_late)) {
		hf_model::self().late_word = p;
		hf_model::self().late_add = n;
		return 0;
	}
	return hf_model::update(
		p, [n](uint64_t v) { return v + n; }, rl::mo_relaxed, at, torn);
}

inline void hf_atomic32_add_relaxed(hf_atomic32_t *p, uint32_t n, HF_MODEL_AT)
{
	(void)hf_atomic32_fetch_add_relaxed(p, n, at);
}

/* ---- Waiting ------------------------------------------------------------------------------ */

inline uint32_t hf_atomic32_wait_change_acquire(hf_atomic32_t *p, uint32_t old, HF_MODEL_AT)
{
	uint32_t value =
		hf_model::load(p, HF_MODEL_ORDER(wait_change_acquire, acquire, relaxed), at);

	if (value == old)
		rl::yield(1, at);
	return value;
}

inline void hf_atomic32_wait_zero_set_acquire(hf_atomic32_t *p, HF_MODEL_AT)
{
	uint32_t zero = 0;

	while (!hf_model::cmpxchg(p, &zero, 1,
				  HF_MODEL_ORDER(wait_zero_set_acquire, acquire, relaxed), at)) {
		rl::yield(1, at);
		zero = 0;
	}
}

inline void hf_atomic32_prefetch_store(const hf_atomic32_t *p)
{
	(void)p;
}

/* ---- Fences ------------------------------------------------------------------------------- */

inline void hf_atomic32_fence_acquire(const hf_atomic32_t *p, HF_MODEL_AT)
{
	(void)p;
	if (!HF_MODEL_IS(fence_acquire))
		rl::atomic_thread_fence(rl::mo_acquire, at);
}

inline void hf_atomic64_fence_acquire(const hf_atomic64_t *p, HF_MODEL_AT)
{
	hf_atomic32_fence_acquire(&p->low, at);
}

inline void hf_atomic_fence_seq_cst(HF_MODEL_AT)
{
	if (!HF_MODEL_IS(fence_seq_cst))
		rl::atomic_thread_fence(rl::mo_seq_cst, at);
}

/*
 * The two halves of an asymmetric barrier. The model makes both full fences. For a heavy fence
 * (hf_env_barrier_all()) paired with a light one this is exact: the heavy fence forces a full fence
 * in every thread at some point, and only the position of that point relative to the accesses
 * around the light fence matters (C++ proposal P1202R4). Two light fences of different threads,
 * however, order more here than in reality (L6): one that follows a load acquires, and what a
 * thread did before its unlock is seen by the loads of another thread's later unlock. A scenario
 * that looks for such a load, and races with no heavy fence, has a thread without light fences.
 */
inline void hf_atomic_fence_light(HF_MODEL_AT)
{
	if (!HF_MODEL_IS(fence_light) && !hf_model::self().light_fences_missing)
		rl::atomic_thread_fence(rl::mo_seq_cst, at);
}

/* Callers need it twice: before and after the read-modify-write. */
inline void hf_atomic_fence_seq_cst_at_rmw(HF_MODEL_AT)
{
	bool before = hf_model::self().fences++ % 2 == 0;

	if (!hf_model::is_mutant(before ? hf_model::mutant::fence_before_rmw
					: hf_model::mutant::fence_after_rmw,
				 at))
		rl::atomic_thread_fence(rl::mo_seq_cst, at);
}

#include "holdfast/internal/arch.h"

#endif
