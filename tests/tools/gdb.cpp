/* SPDX-License-Identifier: MIT */
/*
 * gdb - a program with a lock, count and region in each state, and threads that wait: gdb.py has
 * gdb stop it in stop_here(), and gdb_checks.py looks at it there.
 */
#include <cstdlib>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../asleep.h"

#include "holdfast/cond.h"
#include "holdfast/intrusive_ptr.h"
#include "holdfast/lockref.h"
#include "holdfast/lockref_counted.h"
#include "holdfast/lockref_waitfree.h"
#include "holdfast/nofault.h"
#include "holdfast/rcuref.h"
#include "holdfast/refcount.h"
#include "holdfast/region.h"
#include "holdfast/rwlock.h"
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

/* Named after their states. Not static, else the optimiser replaces some of them by constants. */
hf_mutex_t mutex_free = HF_MUTEX_INIT, mutex_held = { HF_ATOMIC_INIT(1) }, mutex_waited;
hf_mutex_shared_t shared_held = HF_MUTEX_SHARED_INIT;
hf_rwlock_t rw_free, rw_read, rw_written = { HF_ATOMIC_INIT(1) };
hf_mutex_t cond_mutex;
hf_cond_t cond_waited, cond_alone;
hf_mutex_t mutex_in_turn;
hf_cond_t cond_in_turn;
hf_cond_shared_t cond_shared = HF_COND_SHARED_INIT;
hf_spinlock_t spin_free, spin_held;
hf_spinlock_ticket_t ticket_free, ticket_waited;
hf_refcount_t count_live = HF_REFCOUNT_INIT(7), count_dead = HF_REFCOUNT_INIT(0),
	      count_saturated = HF_REFCOUNT_INIT((uint32_t)HF_REFCOUNT_SATURATED),
	      count_immortal = HF_REFCOUNT_INIT((uint32_t)HF_REFCOUNT_IMMORTAL),
	      count_moment = HF_REFCOUNT_INIT(0xffffffffu), count_misused;
hf_rcuref_t rcu_live = HF_RCUREF_INIT(3), rcu_dead = HF_RCUREF_INIT(0),
	    rcu_none = { HF_ATOMIC_INIT(HF_DETAIL_RCUREF_NONE) },
	    rcu_saturated = { HF_ATOMIC_INIT(HF_DETAIL_RCUREF_SATURATED) };
hf_lockref_t ref_free = HF_LOCKREF_INIT(2), ref_dead = HF_LOCKREF_INIT(HF_LOCKREF_DEAD),
	     ref_pinned = HF_LOCKREF_INIT(HF_LOCKREF_MAX), ref_waited = HF_LOCKREF_INIT(1);
hf_lockref_waitfree_t wait_free, wait_free_dead;
hf_region_t region_new, region_lost, region_process;
hf::mutex cxx_mutex;
hf::condition_variable cxx_cond;
hf::spinlock cxx_spinlock;
hf::region cxx_region(nullptr, 0); /* refused */
struct page : hf::refcounted<page> {
	int number = 1;
};
struct entry : hf::lockref_counted<entry> {};
hf::intrusive_ptr<page> cxx_pointer = hf::make_intrusive<page>(), cxx_copy = cxx_pointer, cxx_null;
hf::intrusive_ptr<entry> cxx_entry(new entry, hf::adopt);
/* Members of an object that is reached by a pointer, as in programs. */
struct object {
	hf_refcount_t refs;
	hf_mutex_t lock;
};
struct object the_object = { HF_REFCOUNT_INIT(1), HF_MUTEX_INIT };

enum { WAITERS = 10 };
int lwp[WAITERS]; /* thread IDs, by the argument of wait_for() */
int me;
volatile int done, broadcasts;
static const long order[] = { 8, 9, 0, 1, 2, 3, 4, 6, 7, 5 };

static void *wait_for(void *argument)
{
	long i = reinterpret_cast<long>(argument);

	lwp[i] = int(syscall(SYS_gettid));
	switch (i) {
	case 0:
	case 1:
	case 2:
		hf_mutex_lock(&mutex_waited);
		hf_mutex_unlock(&mutex_waited);
		break;
	case 3:
	case 4:
		hf_mutex_lock(&cond_mutex);
		while (!done)
			hf_cond_wait(&cond_waited, &cond_mutex);
		hf_mutex_unlock(&cond_mutex);
		break;
	case 5:
		hf_spinlock_ticket_lock(&ticket_waited);
		hf_spinlock_ticket_unlock(&ticket_waited);
		break;
	case 6:
		hf_lockref_lock(&ref_waited);
		hf_lockref_unlock(&ref_waited);
		break;
	case 8:
	case 9:
		hf_mutex_lock(&mutex_in_turn);
		for (int before = 0; before < 2; before++) {
			while (broadcasts == before)
				hf_cond_wait(&cond_in_turn, &mutex_in_turn);
		}
		hf_mutex_unlock(&mutex_in_turn);
		break;
	default: {
		hf_region_t own;

		/* A region of another thread than the one that stops. */
		if (hf_region_begin(&own, &region_new, 100) == 0) {
			lwp[i] = -lwp[i];
			while (!done)
				sched_yield();
			if (hf_region_end(&own, NULL) != 100)
				std::abort();
		}
	}
	}
	return NULL;
}

/* Whether that thread waits. */
static bool waits(long i)
{
	switch (i) {
	case 3:
	case 4:
		return hf_atomic32_load_relaxed(&cond_waited.waiters) == uint32_t(i - 2);
	case 5:
		return hf_atomic32_load_relaxed(&ticket_waited.next) == 2;
	case 7:
		return lwp[i] < 0;
	default:
		return true;
	}
}

/*
 * Broadcasts twice to threads of this processor, and keeps the mutex the second time: the first one
 * is in the mutex's queue then, and the other one behind it. The first time the bucket has not been
 * used yet.
 */
static void broadcast_in_turn()
{
	for (broadcasts = 0; broadcasts < 2;) {
		while (!is_asleep(lwp[8]) || !is_asleep(lwp[9]) ||
		       hf_atomic32_load_relaxed(&cond_in_turn.waiters) != 2)
			sched_yield();
		hf_mutex_lock(&mutex_in_turn);
		broadcasts++;
		hf_cond_broadcast(&cond_in_turn);
		if (broadcasts < 2)
			hf_mutex_unlock(&mutex_in_turn);
	}
}

extern "C" __attribute__((noinline)) void stop_here()
{
	__asm__ volatile("" ::: "memory");
}

int main()
{
	pthread_t thread[WAITERS];
	struct hf_region_fault fault;
	cpu_set_t all, one;
	long page = sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, size_t(page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	alarm(600);
	me = int(syscall(SYS_gettid));
	hf_report_set_mode(HF_REPORT_MODE_COUNT);
	hf_rwlock_read_lock(&rw_read);
	hf_refcount_inc(&count_misused);
	hf_lockref_waitfree_init(&wait_free, 5);
	hf_lockref_waitfree_init(&wait_free_dead, 0);
	hf_lockref_waitfree_lock(&wait_free_dead);
	if (!hf_lockref_waitfree_mark_dead(&wait_free_dead, 0))
		return 1;
	hf_mutex_lock(&mutex_waited);
	hf_mutex_shared_lock(&shared_held);
	cxx_mutex.lock();
	cxx_spinlock.lock();
	hf_spinlock_lock(&spin_held);
	hf_spinlock_ticket_lock(&ticket_waited);
	hf_lockref_lock(&ref_waited);
	if (hf_region_begin(&region_lost, memory, 1000) ||
	    hf_region_begin_process(&region_process, memory, 10))
		return 1;
	hf_atomic64_store_relaxed(&region_lost.lost, region_lost.base + 512);

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	/* Spinning threads slow the others down, so they start last. */
	for (long i : order) {
		if (i == 0) {
			broadcast_in_turn();
			sched_setaffinity(0, sizeof(all), &all);
		}
		if (pthread_create(&thread[i], NULL, wait_for, reinterpret_cast<void *>(i)))
			return 1;
		while (!waits(i))
			sched_yield();
		/* Where threads park: they are in the queue, and their order in it is certain. */
		if (i < 5 || i == 6) {
			while (!is_asleep(lwp[i]))
				sched_yield();
		}
	}
	stop_here();

	done = 1;
	hf_mutex_unlock(&mutex_in_turn);
	hf_mutex_unlock(&mutex_waited);
	hf_spinlock_ticket_unlock(&ticket_waited);
	hf_lockref_unlock(&ref_waited);
	hf_mutex_lock(&cond_mutex);
	hf_cond_broadcast(&cond_waited);
	hf_mutex_unlock(&cond_mutex);
	for (pthread_t one : thread)
		pthread_join(one, NULL);
	hf_atomic64_store_relaxed(&region_lost.lost, HF_DETAIL_REGION_NONE);
	if (!hf_region_end(&region_process, &fault) || !hf_region_end(&region_lost, &fault))
		return 1;
	return 0;
}
