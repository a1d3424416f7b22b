/* SPDX-License-Identifier: MIT */
#ifndef HF_VALIDATE_H
#define HF_VALIDATE_H
#pragma GCC system_header
/*
 * validate - locks that report their misuse (compile with -DHF_VALIDATE=1).
 *
 * Use when / not when
 *   In test and debug builds. A lock with its unlock takes some 60 ns longer, and some 10 more for
 *   each lock that is held meanwhile (hf-lab validate): not for release builds. Compile every
 *   translation unit that takes a given lock the same way: a lock that is taken without validation
 *   and released with it is reported as not held.
 *
 * State
 *   Each thread has a list of the locks that it holds, and all threads have one table of pairs: a
 *   lock that was taken while another one was held. Nothing is stored in the lock, nor read from it
 *   later: so no lock changes its size, the lock half of a lockref is validated too, and a lock may
 *   be freed while it is held.
 *
 * Behaviour
 *   docs/guide/reports.md lists the kinds of misuse. A recursion is granted, one deeper. A wrong
 *   unlock is not done: by a thread that does not hold the lock, or as a writer by a reader. All
 *   else is done as without validation, also what deadlocks.
 *
 *   Of locks taken in orders that can deadlock, each cycle is reported once, with all its places:
 *   also A before B, B before C, C before A. If a thread ends with a lock, the report has the place
 *   where it was taken (Linux user space; not at the process's end). What is beyond
 *   HF_VALIDATE_HELD or HF_VALIDATE_PAIRS is not watched; the latter is counted
 *   (hf_validate_unwatched_pairs()), and mentioned once in a line of output.
 *
 *   The pairs are the edges of a graph, in which a cycle is a deadlock if as many threads are in it
 *   at once. The order is that of lock and lock_timeout: a trylock does not wait, so it may come in
 *   any order. A pair has up to four gates: other locks that were held each time. No cycle is
 *   reported in which two pairs have a gate in common, since only one thread can be there; a gate
 *   counts by its address, not by its class, and not if a reader holds it. A search looks at 1,024
 *   pairs at most; if that does not suffice, it is counted as a pair that is not watched.
 *
 *   Orders are those of classes. The class of a lock is the place that called its init, or the name
 *   that hf_validate_set_class() gave it (better, if the compiler unrolls the loop of inits): a
 *   cache's thousand entries have one class, and one order against the table's lock. A lock without
 *   init, a static one or one of C++, is a class of its own. The order of two locks of one class is
 *   watched by their addresses.
 *
 *   If two copies of the library in one process validate locks (two plug-ins, each with the static
 *   library), a line of output says so, and from then on nothing is reported, and
 *   hf_validate_is_held() returns false. Link the shared library instead.
 *
 * Context    any thread; a setting applies to all threads
 * Ordering   none
 *
 * Invariants
 *   V1  A signal handler releases the locks that it takes: it leaves this thread's list as it was.
 *   V2  A lock that is on a thread's list but is not locked, or was last taken by another thread,
 *       was released in code without validation: it is removed from the list, and not granted.
 *   V3  If several threads take the pairs of a cycle for the first time at once, at least one of
 *       them finds all others': each first puts its own into a list and then searches the lists,
 *       sequentially consistent.
 *   V4  Pairs are added by compare-and-swap, and never removed: no lock is taken, as in report.h.
 */
#include "report.h"

/* 1 = validate. */
#ifndef HF_VALIDATE
#define HF_VALIDATE 0
#endif

/*
 * At most so many locks of one thread are watched at a time; so many pairs of locks, of which about
 * three quarters always fit; and so many locks have a class.
 */
#define HF_VALIDATE_HELD 32
#define HF_VALIDATE_PAIRS 8192
#define HF_VALIDATE_CLASSED 16384

HF_BEGIN_DECLS

/* Called by init: the lock is new, and of the class of the place that calls init. */
void hf_detail_validate_init(const void *lock) HF_DETAIL_LINKED(hf_detail_validate_init) HF_API;
/* Before taking it: false = this thread holds it already, do not take it again. */
bool hf_detail_validate_lock(const void *lock, bool is_locked)
	HF_DETAIL_LINKED(hf_detail_validate_lock) HF_API;
/* After taking it. */
void hf_detail_validate_locked(const void *lock) HF_DETAIL_LINKED(hf_detail_validate_locked) HF_API;
/* Before releasing it: false = do not release it. */
bool hf_detail_validate_unlock(const void *lock, bool is_locked)
	HF_DETAIL_LINKED(hf_detail_validate_unlock) HF_API;

/* The same of readers. After a downgrade, too, the thread holds it as a reader. */
bool hf_detail_validate_lock_shared(const void *lock)
	HF_DETAIL_LINKED(hf_detail_validate_lock_shared) HF_API;
void hf_detail_validate_locked_shared(const void *lock)
	HF_DETAIL_LINKED(hf_detail_validate_locked_shared) HF_API;
bool hf_detail_validate_unlock_shared(const void *lock)
	HF_DETAIL_LINKED(hf_detail_validate_unlock_shared) HF_API;

/**
 * hf_validate_set_hold_limit - set after how long a hold is reported
 * @nanoseconds: 0 = no limit; the default is 100 ms
 */
void hf_validate_set_hold_limit(uint64_t nanoseconds) HF_API;

/**
 * hf_validate_is_held - does this thread hold the lock?
 * @lock: the address of a spinlock, a mutex or a lock half
 *
 * Return:   true only if it was taken under HF_VALIDATE and is among the watched ones
 */
bool hf_validate_is_held(const void *lock) HF_API;

/**
 * hf_validate_set_order - report locks that are taken in both orders?
 * @on: the default is true
 *
 * Return:   the previous setting
 */
bool hf_validate_set_order(bool on) HF_API;

/**
 * hf_validate_forget - forget the order of a lock that is gone, or whose memory is a new one
 * @lock: its address, by which it is known
 *
 * Context:  any thread; it is not held. init and C++'s destructors do this themselves, so only code
 *           that frees locks and makes new ones of zeroed memory need call it
 */
void hf_validate_forget(const void *lock) HF_API;

/**
 * hf_validate_set_class - set the class of a lock, by which orders are compared
 * @lock: its address; keeps the class until hf_validate_forget() or another init
 * @name: locks with the same pointer are of one class (the address counts, not the text);
 *        NULL = a class of its own
 *
 * Context:  any thread; it is not held
 */
void hf_validate_set_class(const void *lock, const char *name) HF_API;

/**
 * hf_validate_unwatched_pairs - how often was there no room to watch the order of two locks?
 *
 * Return:   0 = all were watched
 */
uint32_t hf_validate_unwatched_pairs(void) HF_API;

HF_END_DECLS

/* Called by the lock functions. Without validation constants, whose arguments are not evaluated. */
#define HF_DETAIL_VALIDATE_INIT(lock) (HF_VALIDATE ? hf_detail_validate_init(lock) : (void)0)
#define HF_DETAIL_VALIDATE_LOCK(lock, is_locked)                                                   \
	(!HF_VALIDATE || hf_detail_validate_lock(lock, is_locked))
#define HF_DETAIL_VALIDATE_LOCKED(lock) (HF_VALIDATE ? hf_detail_validate_locked(lock) : (void)0)
#define HF_DETAIL_VALIDATE_UNLOCK(lock, is_locked)                                                 \
	(!HF_VALIDATE || hf_detail_validate_unlock(lock, is_locked))
#define HF_DETAIL_VALIDATE_LOCK_SHARED(lock) (!HF_VALIDATE || hf_detail_validate_lock_shared(lock))
#define HF_DETAIL_VALIDATE_LOCKED_SHARED(lock)                                                     \
	(HF_VALIDATE ? hf_detail_validate_locked_shared(lock) : (void)0)
#define HF_DETAIL_VALIDATE_UNLOCK_SHARED(lock)                                                     \
	(!HF_VALIDATE || hf_detail_validate_unlock_shared(lock))

#endif
