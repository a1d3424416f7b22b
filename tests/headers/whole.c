/* SPDX-License-Identifier: MIT */
/*
 * whole - the primitives with accesses of one size (-DHF_ATOMIC_WHOLE=1), used by one thread and by several.
 *
 * Each access to a part of a word is then a compare-and-swap of the whole word, which must preserve the rest:
 * the count next to a lock, the waiters next to a locked byte. Exits with 1 at the first failed check.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <holdfast/lockref_waitfree.h>
#include <holdfast/mutex.h>
#include <holdfast/rcuref.h>
#include <holdfast/refcount.h>
#include <holdfast/spinlock.h>
#include "variants/spinlock/mcs.h"
#include "variants/spinlock/queued.h"

#if !HF_ATOMIC_WHOLE
#error "compile with -DHF_ATOMIC_WHOLE=1"
#endif

#define THREADS 3
#define ROUNDS 2000

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void parts(void)
{
	hf_atomic64_t wide = HF_ATOMIC_INIT(0x8877665544332211u);
	hf_atomic32_t *low = hf_atomic64_low32(&wide);
	uint32_t old = 0x44332211u;

	CHECK(hf_atomic32_load_low8_relaxed(low) == 0x11);
	CHECK(hf_atomic32_load_mid8_relaxed(low) == 0x22);
	CHECK(hf_atomic32_load_high16_relaxed(low) == 0x4433);
	CHECK(hf_atomic64_load_high32_relaxed(&wide) == 0x88776655u);
	hf_atomic32_store_low8_release(low, 0xaa);
	CHECK(hf_atomic64_load_relaxed(&wide) == 0x88776655443322aau);
	hf_atomic32_store_mid8_relaxed(low, 0xbb);
	CHECK(hf_atomic64_load_relaxed(&wide) == 0x887766554433bbaau);
	hf_atomic64_store_high32_relaxed(&wide, 0x12345678u);
	CHECK(hf_atomic64_load_relaxed(&wide) == 0x123456784433bbaau);
	CHECK(!hf_atomic32_try_cmpxchg_low8_acquire(low, 0, 1));
	CHECK(hf_atomic32_try_cmpxchg_low8_acquire(low, 0xaa, 1));
	CHECK(!hf_atomic32_try_cmpxchg_relaxed(low, &old, 0) && old == 0x4433bb01u);
	CHECK(hf_atomic32_try_cmpxchg_relaxed(low, &old, 0xffffffffu));
	/* An addition's carry must not reach the other half. */
	CHECK(hf_atomic32_fetch_add_relaxed(low, 2) == 0xffffffffu);
	CHECK(hf_atomic64_load_relaxed(&wide) == 0x1234567800000001u);
	CHECK(hf_atomic32_fetch_sub_release(low, 2) == 1);
	CHECK(hf_atomic64_load_relaxed(&wide) == 0x12345678ffffffffu);
	CHECK(hf_atomic32_xchg_acq_rel(low, 7) == 0xffffffffu);
	hf_atomic32_store_release(low, 0);
	CHECK(hf_atomic64_load_relaxed(&wide) == 0x1234567800000000u);
}

static hf_spinlock_queued_t queued = HF_SPINLOCK_QUEUED_INIT;
static hf_spinlock_mcs_t mcs = HF_SPINLOCK_MCS_INIT;
static hf_mutex_t mutex = HF_MUTEX_INIT;
static hf_lockref_t lockref = HF_LOCKREF_INIT(1);
static hf_lockref_waitfree_t waitfree = HF_LOCKREF_WAITFREE_INIT(1);
static hf_refcount_t refcount = HF_REFCOUNT_INIT(1);
static hf_rcuref_t rcuref = HF_RCUREF_INIT(1);
static unsigned int under_queued, under_mcs, under_mutex, under_lockref, under_waitfree;

/* Changes a plain variable under a lock. */
#define LOCKED(type, object)                                                                       \
	do {                                                                                       \
		type##_lock(&object);                                                              \
		under_##object++;                                                                  \
		type##_unlock(&object);                                                            \
	} while (0)

static void *use(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		LOCKED(hf_spinlock_queued, queued);
		LOCKED(hf_spinlock_mcs, mcs);
		LOCKED(hf_mutex, mutex);
		hf_lockref_get(&lockref);
		LOCKED(hf_lockref, lockref);
		CHECK(hf_lockref_put_or_lock(&lockref));
		hf_lockref_waitfree_get(&waitfree);
		LOCKED(hf_lockref_waitfree, waitfree);
		CHECK(hf_lockref_waitfree_put_or_lock(&waitfree));
		hf_refcount_inc(&refcount);
		CHECK(!hf_refcount_dec_and_test(&refcount));
		CHECK(hf_rcuref_get(&rcuref));
		CHECK(!hf_rcuref_put(&rcuref));
	}
	return unused;
}

static void idle(unsigned int rounds)
{
	CHECK(under_queued == rounds && under_mcs == rounds && under_mutex == rounds);
	CHECK(under_lockref == rounds && under_waitfree == rounds);
	CHECK(!hf_spinlock_queued_is_locked(&queued) && !hf_spinlock_mcs_is_locked(&mcs));
	CHECK(!hf_mutex_is_locked(&mutex));
	CHECK(hf_atomic64_load_relaxed(&lockref.word) == (uint64_t)1 << 32);
	CHECK(hf_atomic64_load_relaxed(&waitfree.word) == (uint64_t)1 << 32);
	CHECK(hf_refcount_read(&refcount) == 1 && hf_rcuref_read(&rcuref) == 1);
}

int main(void)
{
	pthread_t threads[THREADS];

	parts();
	(void)use(NULL);
	idle(ROUNDS);
	for (int t = 0; t < THREADS; t++)
		CHECK(pthread_create(&threads[t], NULL, use, NULL) == 0);
	for (int t = 0; t < THREADS; t++)
		CHECK(pthread_join(threads[t], NULL) == 0);
	idle((1 + THREADS) * ROUNDS);
	CHECK(!hf_lockref_put_or_lock(&lockref));
	hf_lockref_mark_dead(&lockref);
	hf_lockref_unlock(&lockref);
	CHECK(hf_lockref_is_dead(&lockref));
	CHECK(hf_refcount_dec_and_test(&refcount) && hf_rcuref_put(&rcuref));
	puts("every access to a part preserved the rest");
	return 0;
}
