/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_LOCKS_HPP
#define HF_LAB_LOCKS_HPP
/*
 * locks - the locks of other libraries for the tables `spinlock`, `mutex`, `cond` and `rwlock`:
 * classes with lock() and unlock(), which are inline as far as users of that library have them
 * inline (the Rust ones are behind a C ABI and are calls). A lock whose holder has to keep some
 * state has a type `node`, and its lock() and unlock() take one.
 */
#include <cstdint>
#include <new>
#include <pthread.h>
#include <type_traits>

#include "holdfast/internal/compiler.h"

#include "bench.hpp"

#if HF_LAB_HAVE_CK
#include <ck_pr.h>

/* CK's header is C: it relies on the conversion of a void pointer to any other. */
namespace lab
{
struct Pointer {
	void *p;
	template <class T>
	operator T *() const
	{
		return static_cast<T *>(p);
	}
};
} // namespace lab
#define ck_pr_fas_ptr(target, value) (lab::Pointer{ ck_pr_fas_ptr(target, value) })
#include <ck_spinlock.h>
#undef ck_pr_fas_ptr
#endif
#if HF_LAB_HAVE_TBB
#include <tbb/queuing_mutex.h>
#include <tbb/spin_mutex.h>
#endif
#if HF_LAB_HAVE_ABSL
#include <absl/synchronization/mutex.h>
#endif
#if HF_LAB_HAVE_NSYNC
#include <nsync.h>
#endif
#if HF_LAB_HAVE_RUST
#include "peers/rust/hf_lab_peers.h"
#endif

namespace lab
{

/* The node of a lock whose holder keeps no state. */
struct NoNode {};

template <class L, class = void>
struct NodeOf {
	using type = NoNode;
};
template <class L>
struct NodeOf<L, std::void_t<typename L::node>> {
	using type = typename L::node;
};

template <class L>
void take(L *lock, typename NodeOf<L>::type &node) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if constexpr (std::is_same_v<typename NodeOf<L>::type, NoNode>)
		(void)node, lock->lock();
	else
		lock->lock(node);
}

template <class L>
void release(L *lock, typename NodeOf<L>::type &node) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if constexpr (std::is_same_v<typename NodeOf<L>::type, NoNode>)
		(void)node, lock->unlock();
	else
		lock->unlock(node);
}

/* A lock and the counter that it protects, in their own cache line. */
struct alignas(128) Guarded {
	char lock[48];
	uint64_t counter = 0;
	uint64_t handoffs = 0; /* acquisitions by another thread than the one before, if counted */
};

template <class L>
L *lock_in(char *room)
{
	return reinterpret_cast<L *>(room);
}

template <class L, size_t Bytes>
void make_lock(char (&room)[Bytes])
{
	static_assert(sizeof(L) <= Bytes, "the lock has room");
	new (room) L;
}

/* A lock of a table whose runs have a State: its loops, and what a waiter does if the lock stays
 * taken: it "parks" or "spins". */
template <class State>
struct LockOf {
	const char *name, *kind, *waiter;
	const char *version; /* of the compiler that built it, if that is not this one; or "" */
	void (*init)(State *);
	void (*end)(State *);
	loop_t alone, total, waits;

	Row row(const char *table, const std::string &case_name, int threads) const
	{
		Row made(table, name, kind, case_name, threads);

		made.labels["waiter"] = waiter;
		if (*version)
			made.labels["version"] = version;
		return made;
	}
};

struct PthreadMutex {
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	void lock() { pthread_mutex_lock(&m); }
	void unlock() { pthread_mutex_unlock(&m); }
};

/* Spins for a while before it parks; glibc recommends it for short critical sections. */
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#define HF_LAB_HAVE_ADAPTIVE 1
struct PthreadAdaptive {
	pthread_mutex_t m = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
	void lock() { pthread_mutex_lock(&m); }
	void unlock() { pthread_mutex_unlock(&m); }
};
#else
#define HF_LAB_HAVE_ADAPTIVE 0
#endif

struct PthreadSpin {
	pthread_spinlock_t m;
	PthreadSpin() { pthread_spin_init(&m, PTHREAD_PROCESS_PRIVATE); }
	void lock() { pthread_spin_lock(&m); }
	void unlock() { pthread_spin_unlock(&m); }
};

#if HF_LAB_HAVE_ABSL
struct AbslMutex {
	absl::Mutex m;
	void lock() { m.Lock(); }
	void unlock() { m.Unlock(); }
};
#endif

#if HF_LAB_HAVE_NSYNC
struct NsyncMu {
	nsync::nsync_mu m = NSYNC_MU_INIT;
	void lock() { nsync::nsync_mu_lock(&m); }
	void unlock() { nsync::nsync_mu_unlock(&m); }
};
#endif

#if HF_LAB_HAVE_RUST
/* A guard is a local variable in Rust; of a reader-writer lock a thread has one at a time here. */
#define HF_LAB_RUST(name, prefix)                                                                  \
	struct name {                                                                              \
		using node = hf_lab_rust_guard;                                                    \
		hf_lab_rust_object m;                                                              \
		name() { prefix##_init(&m); }                                                      \
		void lock(node &n) { prefix##_lock(&m, &n); }                                      \
		void unlock(node &n) { prefix##_unlock(&n); }                                      \
	};                                                                                         \
	struct name##Cond {                                                                        \
		using Lock = name;                                                                 \
		hf_lab_rust_object c;                                                              \
		name##Cond() { prefix##_cond_init(&c); }                                           \
		void wait(Lock &, Lock::node &held) { prefix##_cond_wait(&c, &held); }             \
		void signal() { prefix##_cond_signal(&c); }                                        \
		void broadcast() { prefix##_cond_broadcast(&c); }                                  \
	};                                                                                         \
	struct name##Rwlock {                                                                      \
		hf_lab_rust_object m;                                                              \
		name##Rwlock() { prefix##_rwlock_init(&m); }                                       \
		void lock_shared() { prefix##_rwlock_read(&m, &guard()); }                         \
		void unlock_shared() { prefix##_rwlock_read_unlock(&guard()); }                    \
		void lock() { prefix##_rwlock_write(&m, &guard()); }                               \
		void unlock() { prefix##_rwlock_write_unlock(&guard()); }                          \
		static hf_lab_rust_guard &guard()                                                  \
		{                                                                                  \
			static thread_local hf_lab_rust_guard mine;                                \
			return mine;                                                               \
		}                                                                                  \
	};
HF_LAB_RUST(RustStd, hf_lab_rust_std)
HF_LAB_RUST(ParkingLot, hf_lab_parking_lot)
#endif

#if HF_LAB_HAVE_CK
struct CkFas {
	ck_spinlock_fas_t m;
	CkFas() { ck_spinlock_fas_init(&m); }
	void lock() { ck_spinlock_fas_lock(&m); }
	void unlock() { ck_spinlock_fas_unlock(&m); }
};

struct CkTicket {
	ck_spinlock_ticket_t m;
	CkTicket() { ck_spinlock_ticket_init(&m); }
	void lock() { ck_spinlock_ticket_lock(&m); }
	void unlock() { ck_spinlock_ticket_unlock(&m); }
};

struct CkMcs {
	using node = ck_spinlock_mcs_context_t;
	ck_spinlock_mcs_t m;
	CkMcs() { ck_spinlock_mcs_init(&m); }
	void lock(node &n) { ck_spinlock_mcs_lock(&m, &n); }
	void unlock(node &n) { ck_spinlock_mcs_unlock(&m, &n); }
};
#endif

#if HF_LAB_HAVE_TBB
struct TbbQueuing {
	using node = tbb::queuing_mutex::scoped_lock;
	tbb::queuing_mutex m;
	void lock(node &n) { n.acquire(m); }
	void unlock(node &n) { n.release(); }
};
#endif

} // namespace lab

#endif
