/* SPDX-License-Identifier: MIT */
#ifndef HF_WAIT_ADDRESS_H
#define HF_WAIT_ADDRESS_H
#pragma GCC system_header
/*
 * wait_address - wait until a 4-byte word of the program's own has another value, or for a time.
 *
 * Use when / not when
 *   To build what this library has not: a semaphore, an event, a "once" in ten lines. It is
 *   std::atomic's wait() with a time limit, for C too, and between processes. Not where a mutex and
 *   a condition variable do: they spin before they park, are watched by validation and the profile,
 *   and need no proof of their own. Only in Linux user space: elsewhere this header is empty.
 *
 * Operations
 *   hf_wait_address              park until the word differs from a value
 *   hf_wake_address_one, _all    after a change of the word: wake one thread that is parked, or all
 *   hf_wait_address_shared, hf_wake_address_shared_one, _all
 *                                the same by threads of all processes that have mapped the word
 *
 * Example     examples/semaphore.c, examples/once.c
 *
 * Arguments   word   4 bytes, aligned to 4: _Atomic uint32_t, std::atomic<uint32_t>, an enum ...;
 *                    changed by atomic operations only. A waker's may be freed already: at worst a
 *                    thread that is parked at a new word there looks once in vain
 *
 * Context     any thread. errno is kept
 * Ordering    None: load the word again, with acquire, to read what its change published. A change
 *             before a wake is never missed: the waiter sees it, or is woken.
 *
 * Guarantees
 *   A wait returns true only if the word was different at some moment of the call: a wake-up
 *   without a change, or a change back before the thread has looked, does not end it.
 *   Threads are woken in the order of parking, within one priority. A thread does not spin before
 *   it parks: the caller knows whether that pays. A wait with the private form is not woken by the
 *   shared one, nor the reverse. Nothing is stored anywhere but in the kernel: a waiter that is
 *   killed leaves nothing, and in the child of a fork nobody waits.
 *
 * Source      futex(2); why not the parking table: docs/design/0050-wait-address.md
 */
#include "internal/compiler.h"
#include "internal/env.h"

#if HF_ENV_HAS_PARK

HF_BEGIN_DECLS

/**
 * hf_wait_address - wait until a word differs from a value
 * @word:    the word
 * @value:   what it must not be
 * @timeout: in nanoseconds; 0 = only look; HF_ENV_FOREVER = no limit
 *
 * Context:  any thread. Signal handlers run meanwhile, and neither end the wait (no EINTR) nor
 *           lengthen it. Not a cancellation point
 * Errors:   none. If it differs already, true at once (no EAGAIN). Where the kernel refuses futexes
 *           (a sandbox) the wait spins
 * Return:   true = it was different; false = the time has passed, and it still had the value
 */
HF_MUST_CHECK bool hf_wait_address(const volatile void *word, uint32_t value,
				   uint64_t timeout) HF_API;

/**
 * hf_wake_address_one, hf_wake_address_all - wake one of the threads that wait at a word, or all
 * @word: the word, which the caller has changed
 *
 * Context:  any signal handler, too. A system call, also if nobody waits: keep in the word whether
 *           somebody may
 */
void hf_wake_address_one(const volatile void *word) HF_API;
void hf_wake_address_all(const volatile void *word) HF_API;

/* hf_wait_address_shared - as hf_wait_address(), in memory that several processes have mapped. */
HF_MUST_CHECK bool hf_wait_address_shared(const volatile void *word, uint32_t value,
					  uint64_t timeout) HF_API;

/* hf_wake_address_shared_one, hf_wake_address_shared_all - as hf_wake_address_one(), _all(). */
void hf_wake_address_shared_one(const volatile void *word) HF_API;
void hf_wake_address_shared_all(const volatile void *word) HF_API;

HF_END_DECLS

#endif

#endif
