/* SPDX-License-Identifier: MIT */
/*
 * drive - calls every path as if nobody else were there, and checks what it did.
 *
 * run.py runs this in an emulator that tells of each instruction: what a path executes here is its
 * fast path. Where a function is called twice, the second time is the last reference.
 *
 * No C library: the program is what is here and in paths.c, bad.c. Exit status: 0, or the line that
 * failed (modulo 256, and never 0).
 */
#include "paths.h"

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\tcall drive\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tbl drive\n");
#endif

void drive(void) __attribute__((noreturn));

static __attribute__((noreturn)) void leave(int status)
{
#if defined(__x86_64__)
	__asm__ volatile("syscall" ::"a"(231), "D"(status) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long number __asm__("x8") = 94;
	register long argument __asm__("x0") = status;

	__asm__ volatile("svc #0" ::"r"(number), "r"(argument) : "memory");
#endif
	__builtin_unreachable();
}

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			leave(__LINE__ % 256 ? __LINE__ % 256 : 255);                              \
	} while (0)

/* What the slow paths need; nothing of it may be called. */
__thread volatile struct hf__thread hf__thread;
hf_node_t hf__nodes[1];

bool hf__slot_claim(void)
{
	leave(254);
}

void hf_report(enum hf_report_kind kind, const volatile void *object)
{
	(void)kind;
	(void)object;
	leave(253);
}

bool hf__mutex_lock_slow(hf_atomic32_t *word, uint64_t deadline, enum hf_env_scope scope)
{
	(void)word;
	(void)deadline;
	(void)scope;
	leave(252);
}

bool hf__mutex_trylock_slow(hf_atomic32_t *word)
{
	(void)word;
	leave(251);
}

void hf__mutex_unlock_slow(hf_atomic32_t *word, uint32_t found, enum hf_env_scope scope)
{
	(void)word;
	(void)found;
	(void)scope;
	leave(250);
}

void hf__mutex_unlock_late(const hf_atomic32_t *word, uint32_t found, enum hf_env_scope scope)
{
	(void)word;
	(void)found;
	(void)scope;
	leave(249);
}

static void *freed;

void object_free(void *object)
{
	freed = object;
}

#define REFCOUNT(name)                                                                             \
	do {                                                                                       \
		hf_refcount_t r = HF_REFCOUNT_INIT(1);                                             \
                                                                                                   \
		refcount_##name##_inc(&r);                                                         \
		CHECK(hf_refcount_read(&r) == 2);                                                  \
		refcount_##name##_dec(&r);                                                         \
		CHECK(hf_refcount_read(&r) == 1);                                                  \
		CHECK(refcount_##name##_inc_not_zero(&r));                                         \
		CHECK(hf_refcount_read(&r) == 2);                                                  \
		CHECK(!refcount_##name##_dec_and_test(&r));                                        \
		CHECK(refcount_##name##_dec_and_test(&r));                                         \
		CHECK(hf_refcount_read(&r) == 0);                                                  \
		hf_refcount_set(&r, 2);                                                            \
		freed = NULL;                                                                      \
		refcount_##name##_put(&r);                                                         \
		CHECK(!freed);                                                                     \
		refcount_##name##_put(&r);                                                         \
		CHECK(freed == &r);                                                                \
	} while (0)

#define SPINLOCK(name, type, verbs)                                                                \
	do {                                                                                       \
		static type lock; /* all bytes 0: free */                                          \
                                                                                                   \
		spinlock_##name##_lock(&lock);                                                     \
		CHECK(verbs##_is_locked(&lock));                                                   \
		spinlock_##name##_unlock(&lock);                                                   \
		CHECK(!verbs##_is_locked(&lock));                                                  \
		CHECK(spinlock_##name##_trylock(&lock));                                           \
		CHECK(verbs##_is_locked(&lock));                                                   \
	} while (0)

#define MUTEX()                                                                                    \
	do {                                                                                       \
		static hf_mutex_t mutex; /* all bytes 0: free */                                   \
                                                                                                   \
		mutex_lock(&mutex);                                                                \
		CHECK(hf_mutex_is_locked(&mutex));                                                 \
		mutex_unlock(&mutex);                                                              \
		CHECK(!hf_mutex_is_locked(&mutex));                                                \
		CHECK(mutex_trylock(&mutex));                                                      \
		CHECK(hf_mutex_is_locked(&mutex));                                                 \
	} while (0)

#define LOCKREF(name)                                                                              \
	do {                                                                                       \
		hf_lockref_t l = HF_LOCKREF_INIT(1);                                               \
                                                                                                   \
		lockref_##name##_get(&l);                                                          \
		CHECK(lockref_##name##_get_not_zero(&l));                                          \
		CHECK(lockref_##name##_get_not_dead(&l));                                          \
		CHECK(hf_lockref_read(&l) == 4);                                                   \
		CHECK(lockref_##name##_put_or_lock(&l));                                           \
		CHECK(lockref_##name##_put_return(&l) == 2);                                       \
		CHECK(hf_lockref_read(&l) == 2);                                                   \
	} while (0)

static void waitfree(void)
{
	hf_lockref_waitfree_t l = HF_LOCKREF_WAITFREE_INIT(1);

	lockref_waitfree_get(&l);
	CHECK(lockref_waitfree_get_not_dead(&l));
	CHECK(hf_lockref_waitfree_read(&l) == 3);
	CHECK(lockref_waitfree_put_or_lock(&l));
	CHECK(lockref_waitfree_put_return(&l) == 1);
	CHECK(hf_lockref_waitfree_read(&l) == 1);
}

void drive(void)
{
	static uint32_t word;

	REFCOUNT(unchecked);
	REFCOUNT(saturating);
	REFCOUNT(asm);
	REFCOUNT(default);
	SPINLOCK(cas_release, hf_spinlock_cas_release_t, hf_spinlock_cas_release);
	SPINLOCK(ticket, hf_spinlock_ticket_t, hf_spinlock_ticket);
	SPINLOCK(queued, hf_spinlock_queued_t, hf_spinlock_queued);
	SPINLOCK(wfe, hf_spinlock_wfe_t, hf_spinlock_wfe);
	SPINLOCK(default, hf_spinlock_t, hf_spinlock);
	MUTEX();
	LOCKREF(bounded);
	LOCKREF(default);
	waitfree();

	good(&word);
	bad_call(&word);
	bad_cold(&word);
	bad_straight(&word);
	bad_barrier(&word);
	bad_stack(&word);
	bad_atomics(&word);
	word = 1;
	bad_branches(&word);
	word = 1;
	bad_setcc(&word);
	bad_byte(&word);
	bad_word64(&word);
	bad_store(&word);
	bad_cost(&word);
	leave(0);
}
