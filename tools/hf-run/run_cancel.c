/* SPDX-License-Identifier: MIT */
/*
 * run_cancel - pthread_cancel(), for threads that wait at a condition variable of ours.
 *
 * State
 *   A record in each thread's static thread-local memory, which is as far from the thread's
 *   pthread_t as it is in every other thread. `lock` guards the waiter of the thread's present
 *   wait, and whether pthread_cancel() took it out of its queue.
 *
 * Invariant
 *   A cancelled thread does not stay parked. pthread_cancel() first cancels, then sets
 *   `is_cancelled`, and then looks, under `lock`, for a queued waiter. The thread queues its
 *   waiter, stores it under `lock`, and then loads `is_cancelled`. So either pthread_cancel() finds
 *   the waiter and takes it out of the queue, or the thread sees the flag, and its wait ends at
 *   once.
 *
 *   The thread clears `waiter` under `lock` before it reuses that memory, so pthread_cancel() may
 *   read what it finds there.
 */
#include "run.h"

struct record {
	hf_mutex_t lock;
	hf_atomic32_t is_cancelled;
	hf_atomic32_t *cond;
	struct hf_detail_waiter *waiter; /* NULL = none */
	bool was_taken_out;              /* of a queue, by pthread_cancel(): it was not signalled */
};

static HF_RUN_THREAD struct record mine;

static struct record *record_of(pthread_t thread)
{
	return (struct record *)((uintptr_t)thread +
				 ((uintptr_t)&mine - (uintptr_t)pthread_self()));
}

static bool may_be_cancelled(void)
{
	int state, ignored;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	(void)pthread_setcancelstate(state, &ignored);
	return state == PTHREAD_CANCEL_ENABLE;
}

void hf_run_wait_begins(hf_atomic32_t *cond)
{
	pthread_testcancel();
	mine.cond = cond;
}

uint64_t hf_run_queued(struct hf_detail_waiter *waiter, uint64_t deadline)
{
	HF_RUN_PAUSE();
	hf_mutex_lock(&mine.lock);
	mine.waiter = waiter;
	mine.was_taken_out = false;
	hf_mutex_unlock(&mine.lock);
	return hf_atomic32_load_relaxed(&mine.is_cancelled) && may_be_cancelled() ? 0 : deadline;
}

void hf_run_left(void)
{
	hf_mutex_lock(&mine.lock);
	mine.waiter = NULL;
	hf_mutex_unlock(&mine.lock);
}

/* Has pthread_cancel() ended this thread's wait? */
static bool was_taken_out(void)
{
	bool was;

	if (HF_LIKELY(!hf_atomic32_load_relaxed(&mine.is_cancelled)))
		return false;
	hf_mutex_lock(&mine.lock); /* it notes that after the thread may run */
	was = mine.was_taken_out;
	hf_mutex_unlock(&mine.lock);
	return was;
}

void hf_run_wait_ended(bool signalled)
{
	if (!signalled || was_taken_out()) /* one that was signalled must not lose the signal */
		pthread_testcancel();
}

HF_RUN_EXPORT int pthread_cancel(pthread_t thread)
{
	struct record *record = record_of(thread);
	int type, error;

	/* First, and without the lock: a thread that cancels itself may end here. */
	error = hf_run_real()->pthread_cancel(thread);
	if (error)
		return error;
	/*
	 * A caller that is cancelled asynchronously must not end with the lock. To disable
	 * cancellation is not enough: glibc's handler (2.36) looks at the type alone, if the
	 * request came while cancellation was enabled.
	 */
	(void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	hf_mutex_lock(&record->lock);
	hf_atomic32_store_relaxed(&record->is_cancelled, 1);
	HF_RUN_PAUSE();
	record->was_taken_out = record->waiter &&
				hf_detail_unpark_this(record->cond, record->waiter);
	hf_mutex_unlock(&record->lock);
	(void)pthread_setcanceltype(type, &type);
	return 0;
}

/* The child has one thread, and nobody holds a lock. */
void hf_run_cancel_forked(void)
{
	hf_mutex_init(&mine.lock);
	mine.waiter = NULL;
}
