/* SPDX-License-Identifier: MIT */
#ifndef HF_VALIDATE_H
#define HF_VALIDATE_H
#pragma GCC system_header
/*
 * validate - spinlocks and mutexes that report their misuse (compile with -DHF_VALIDATE=1).
 *
 * Use when / not when
 *   In test and debug builds. It costs some tens of nanoseconds a lock: not for release builds.
 *   Compile every translation unit that takes a given lock the same way: a lock that is taken
 *   without validation and released with it is reported as not held.
 *
 * State
 *   Beside each thread, not in the lock: the locks that it holds, since when, how deep. So no lock
 *   changes its size, and the lock half of a lockref is validated too.
 *
 *     thread: [ lock A, t=17, depth 1 ] [ lock B, t=21, depth 2 ] ... up to HF_VALIDATE_HELD
 *
 * Behaviour
 *   lock, held by this thread      reported (recursion); granted, one deeper
 *   unlock, held by another thread reported (wrong owner); nothing is done
 *   unlock, not held               reported (unlocked); nothing is done
 *   unlock after the hold limit    reported (held long); unlocked
 *   more than HF_VALIDATE_HELD     the further ones are not watched, and never reported
 *
 * Invariants
 *   V1  A signal handler releases the locks that it takes, so this thread's list is after it
 *       what it was before.
 */
#include "report.h"

#ifndef HF_VALIDATE
#define HF_VALIDATE 0
#endif

/* How many locks of one thread are watched at a time. */
#define HF_VALIDATE_HELD 32

HF_BEGIN_DECLS

/* Before taking: false = this thread holds it already, it is granted, do not take it. */
bool hf__validate_lock(const void *lock) HF_API;
/* After taking it. */
void hf__validate_locked(const void *lock) HF_API;
/* Before releasing: false = do not release it. */
bool hf__validate_unlock(const void *lock, bool is_locked) HF_API;

/**
 * hf_validate_set_hold_limit - from when on is a hold reported as too long?
 * @nanoseconds: 0 = no limit; 100 ms at the start
 *
 * Context:  any thread; holds for all
 * Ordering: none
 */
void hf_validate_set_hold_limit(uint64_t nanoseconds) HF_API;

/**
 * hf_validate_is_held - does this thread hold that lock?
 *
 * Ordering: none
 * Return:   true only if it was taken under HF_VALIDATE and is among the watched ones
 */
bool hf_validate_is_held(const void *lock) HF_API;

HF_END_DECLS

/*
 * What the headers call, before and after taking, before releasing, and where something must hold:
 * constants where validation is off, and then the arguments are not evaluated.
 */
#if HF_VALIDATE
#define HF__VALIDATE_LOCK(lock) hf__validate_lock(lock)
#define HF__VALIDATE_LOCKED(lock) hf__validate_locked(lock)
#define HF__VALIDATE_UNLOCK(lock, is_locked) hf__validate_unlock(lock, is_locked)
#define HF__VALIDATE_THAT(condition) (condition)
#else
#define HF__VALIDATE_LOCK(lock) true
#define HF__VALIDATE_LOCKED(lock) ((void)0)
#define HF__VALIDATE_UNLOCK(lock, is_locked) true
#define HF__VALIDATE_THAT(condition) true
#endif

#endif
