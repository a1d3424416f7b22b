/* SPDX-License-Identifier: MIT */
/*
 * run_cancel - pthread_cancel(), for threads that wait at a condition variable of ours.
 *
 * State
 *   A record for each thread that has waited. `lock` guards the waiter that the thread has queued in
 *   its present or last wait, and whether pthread_cancel() took it out.
 *
 * Invariant
 *   A cancelled thread does not stay parked. pthread_cancel() first cancels, then sets
 *   `is_cancelled`, and then looks, under `lock`, for a queued waiter. The thread queues its waiter,
 *   stores it under `lock`, and then loads `is_cancelled`. So either pthread_cancel() finds the waiter
 *   and takes it out of the queue, or the thread sees the flag, and its wait ends at once.
 *
 *   `waiter` may be stale, since the thread does not clear it when it is signalled. So it is only
 *   compared with the waiters in the queue, and not read unless it is one of them.
 */
#include <string.h>
#include <sys/mman.h>

#include "run.h"

struct record {
	struct record *next; /* in a list that only grows */
	pthread_t thread;
	bool is_free; /* its thread has ended; guarded by records_lock */
	hf_mutex_t lock;
	hf_atomic32_t *cond;
	const struct hf_detail_waiter *waiter;
	hf_atomic32_t is_cancelled;
	bool was_taken_out; /* of a queue, by pthread_cancel(): it was not signalled */
};

static hf_mutex_t records_lock;
static struct record *records;
static pthread_key_t at_end;
static bool has_at_end;
static HF_RUN_THREAD struct record *mine;
static HF_RUN_THREAD hf_atomic32_t *waits_at;

static void end_of_thread(void *record)
{
	hf_mutex_lock(&records_lock);
	((struct record *)record)->is_free = true;
	hf_mutex_unlock(&records_lock);
	mine = NULL;
}

/* Not from malloc(): its locks may be the ones that this thread waits with. Returns NULL = no memory. */
static struct record *allocate(void)
{
	enum { AT_ONCE = 64 };
	struct record *more = mmap(NULL, AT_ONCE * sizeof(*more), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (more == MAP_FAILED)
		return NULL;
	for (int i = 0; i < AT_ONCE; i++) {
		more[i].is_free = true;
		more[i].next = i ? &more[i - 1] : records;
	}
	return records = &more[AT_ONCE - 1];
}

static HF_RUN_COLD struct record *find_mine(void)
{
	struct record *record;

	hf_mutex_lock(&records_lock);
	for (record = records; record && !record->is_free; record = record->next)
		;
	if (!record)
		record = allocate();
	if (record) {
		record->is_free = false;
		record->thread = pthread_self();
		record->waiter = NULL;
		hf_mutex_init(&record->lock);
		hf_atomic32_store_relaxed(&record->is_cancelled, 0);
	}
	hf_mutex_unlock(&records_lock);
	if (record && has_at_end)
		(void)pthread_setspecific(at_end, record);
	return mine = record;
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
	if (!mine)
		(void)find_mine();
	pthread_testcancel();
	waits_at = cond;
}

uint64_t hf_run_queued(const void *waiter, uint64_t deadline)
{
	struct record *record = mine;

	if (!record)
		return deadline;
	HF_RUN_PAUSE();
	hf_mutex_lock(&record->lock);
	record->waiter = waiter;
	record->cond = waits_at;
	hf_mutex_unlock(&record->lock);
	return hf_atomic32_load_relaxed(&record->is_cancelled) && may_be_cancelled() ? 0 : deadline;
}

/* Has pthread_cancel() ended this thread's wait? */
static bool was_taken_out(struct record *record)
{
	bool was;

	if (HF_LIKELY(!record || !hf_atomic32_load_relaxed(&record->is_cancelled)))
		return false;
	hf_mutex_lock(&record->lock); /* it notes that after the thread may run */
	was = record->was_taken_out;
	hf_mutex_unlock(&record->lock);
	return was;
}

void hf_run_wait_ended(bool signalled)
{
	struct record *record = mine;

	if (signalled && !was_taken_out(record))
		return; /* a thread that was signalled must not lose the signal */
	pthread_testcancel();
	/* It was meant for a thread that had this one's number before. */
	if (record && hf_atomic32_load_relaxed(&record->is_cancelled) && may_be_cancelled())
		hf_atomic32_store_relaxed(&record->is_cancelled, 0);
}

HF_RUN_EXPORT int pthread_cancel(pthread_t thread)
{
	struct record *record;
	int error;

	/* First, and without the lock: a thread that cancels itself may end here. */
	error = hf_run_real()->cancel(thread);
	if (error)
		return error;
	hf_mutex_lock(&records_lock);
	for (record = records; record; record = record->next) {
		if (!record->is_free && pthread_equal(record->thread, thread))
			break;
	}
	if (record) {
		hf_atomic32_store_relaxed(&record->is_cancelled, 1);
		hf_mutex_lock(&record->lock);
		record->was_taken_out = record->waiter &&
					hf_detail_unpark_this(record->cond, record->waiter);
		hf_mutex_unlock(&record->lock);
	}
	hf_mutex_unlock(&records_lock);
	return 0;
}

/* The child has one thread, and nobody holds a lock. */
void hf_run_cancel_forked(void)
{
	hf_mutex_init(&records_lock);
	for (struct record *record = records; record; record = record->next) {
		hf_mutex_init(&record->lock);
		record->waiter = NULL;
		record->is_free = record != mine;
	}
}

__attribute__((constructor)) static void start(void)
{
	has_at_end = pthread_key_create(&at_end, end_of_thread) == 0;
}
