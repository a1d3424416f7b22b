/* SPDX-License-Identifier: MIT */
#ifndef HF_VALIDATE_H
#define HF_VALIDATE_H
#pragma GCC system_header
/*
 * validate - spinlocks and mutexes that report their misuse (compile with -DHF_VALIDATE=1).
 *
 * Use when / not when
 *   In test and debug builds. A lock with its unlock takes some 60 ns longer, and some 10 more for
 *   each lock that is held meanwhile (hf-lab validate): not for release builds. Compile every
 *   translation unit that takes a given lock the same way: a lock that is taken without validation
 *   and released with it is reported as not held.
 *
 * State
 *   Each thread has a list of the locks that it holds, since when, and how deep. Nothing is stored
 *   in the lock, nor read from it later: so no lock changes its size, the lock half of a lockref is
 *   validated too, and a lock may be freed while it is held.
 *
 *     thread: [ lock A, t=17, depth 1 ] [ lock B, t=21, depth 2 ] ... up to HF_VALIDATE_HELD
 *
 *   One table for all threads has the pairs of classes of which some thread has taken one while it
 *   held the other, with the place where it did so first, and up to four gates: the other locks
 *   that it held, each time. The pairs are the edges of a graph, in which a cycle is a deadlock if
 *   as many threads are in it at once.
 *
 *     pairs:  [ B under A at parse.c:12, gates: none ] ... up to HF_VALIDATE_PAIRS
 *
 *   The class of a lock is the place that called its init, or the name that hf_validate_set_class()
 *   gave it: a cache's thousand entries have one class, so their order against the table's lock is
 *   one pair. (If the compiler unrolls a loop, its call of init is several places; give a name
 *   then.) A lock without init, a static one or one of C++, is a class of its own. The order of two
 *   locks of one class is watched by their addresses.
 *
 * Behaviour
 *   lock, held by this thread      reported (recursion); granted, one deeper
 *   lock B while A is held, after  reported (order) once a cycle, with all its places: threads that
 *     A was taken under B, or      do so at once, with the same locks, deadlock; taken
 *     under C, and C under B,
 *     and so on, or locks of
 *     their classes
 *   unlock, held by another thread reported (wrong owner); nothing is done
 *   unlock, not held               reported (unlocked); nothing is done
 *   write-lock, and this thread    reported (upgrade); it then waits for itself: a deadlock, or a
 *     reads the lock               time-out
 *   read-lock, and it is the       reported (recursion); granted, one deeper. (To read a lock again
 *     writer                       is no misuse: rwlock.h)
 *   unlock of the wrong kind       reported (wrong kind); nothing is done
 *   unlock after the hold limit    reported (held long); unlocked
 *   a thread ends with a lock      reported (held at exit), with the place where it was taken; the
 *                                  lock stays locked. In Linux user space; not at the process's end
 *   more than HF_VALIDATE_HELD     the locks beyond that are not watched, and never reported
 *   more pairs than there is       counted (hf_validate_unwatched_pairs()), mentioned once in a
 *     room for                     line of output, and their order is not watched
 *
 *   The order is that of lock and lock_timeout. A trylock does not wait, so it may come in any
 *   order; what is locked while its lock is held counts. A cycle is harmless, and not reported, if
 *   one lock is always held around two of its pairs: only one thread can be there. That lock counts
 *   by its address, not by its class, and not if a reader holds it. A pair that closes several
 *   cycles is reported with the shortest one. A search looks at 1,024 pairs at most; if that does
 *   not suffice, it is counted with the pairs without room.
 *
 *   A lock is identified by its address. It is forgotten when init makes a new lock of the memory,
 *   or, in C++, when it is destroyed; C code that frees locks and makes new ones of zeroed memory
 *   calls hf_validate_forget().
 *
 *   Each copy of the library knows the locks that were taken through it. If two copies in one
 *   process validate locks (two plug-ins, each with the static library), a line of output says so,
 *   and from then on nothing is reported, and hf_validate_is_held() returns false. Link the shared
 *   library instead.
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

/* How many locks of one thread are watched at a time. */
#define HF_VALIDATE_HELD 32

/* How many pairs of locks are watched at most. At least about three quarters of them always fit. */
#define HF_VALIDATE_PAIRS 8192

/* The entries of the table of classes: at most so many locks have a class at a time. */
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
 * @lock: its address
 *
 * Context:  any thread; it is not held. init and C++'s destructors do this themselves
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

/*
 * Called by the lock functions. Without validation they are constants, and do not evaluate their
 * arguments.
 */
#if HF_VALIDATE
#define HF_DETAIL_VALIDATE_INIT(lock) hf_detail_validate_init(lock)
#define HF_DETAIL_VALIDATE_LOCK(lock, is_locked) hf_detail_validate_lock(lock, is_locked)
#define HF_DETAIL_VALIDATE_LOCKED(lock) hf_detail_validate_locked(lock)
#define HF_DETAIL_VALIDATE_UNLOCK(lock, is_locked) hf_detail_validate_unlock(lock, is_locked)
#define HF_DETAIL_VALIDATE_LOCK_SHARED(lock) hf_detail_validate_lock_shared(lock)
#define HF_DETAIL_VALIDATE_LOCKED_SHARED(lock) hf_detail_validate_locked_shared(lock)
#define HF_DETAIL_VALIDATE_UNLOCK_SHARED(lock) hf_detail_validate_unlock_shared(lock)
#define HF_DETAIL_VALIDATE_FORGET(lock) hf_validate_forget(lock)
#define HF_DETAIL_VALIDATE_THAT(condition) (condition)
#else
#define HF_DETAIL_VALIDATE_INIT(lock) ((void)0)
#define HF_DETAIL_VALIDATE_LOCK(lock, is_locked) true
#define HF_DETAIL_VALIDATE_LOCKED(lock) ((void)0)
#define HF_DETAIL_VALIDATE_UNLOCK(lock, is_locked) true
#define HF_DETAIL_VALIDATE_LOCK_SHARED(lock) true
#define HF_DETAIL_VALIDATE_LOCKED_SHARED(lock) ((void)0)
#define HF_DETAIL_VALIDATE_UNLOCK_SHARED(lock) true
#define HF_DETAIL_VALIDATE_FORGET(lock) ((void)0)
#define HF_DETAIL_VALIDATE_THAT(condition) true
#endif

#endif
