/* SPDX-License-Identifier: MIT */
/*
 * run_cancel - pthread_cancel(), for threads that wait at a condition variable of ours.
 *
 * State
 *   A record for each thread that has waited, in a table by the thread's number. `lock` guards the
 *   waiter of the thread's present wait, and whether pthread_cancel() took it out of its queue. A
 *   thread frees its record when it ends, but may wait once more afterwards, in a destructor of the
 *   last round: that record stays, until the next thread with that number takes it.
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
#include <string.h>
#include <sys/mman.h>

#include "run.h"

struct record {
	struct record *next_made; /* in a list that only grows */
	struct record *next;      /* in the table, or of the free ones; guarded by records_lock */
	pthread_t thread;
	hf_mutex_t lock;
	hf_atomic32_t *cond;
	struct hf_detail_waiter *waiter; /* NULL = none */
	hf_atomic32_t is_cancelled;
	bool was_taken_out; /* of a queue, by pthread_cancel(): it was not signalled */
};

enum { ROWS = 1024, AT_ONCE = 64 };

static hf_mutex_t records_lock;
static struct record *made, *unused, *rows[ROWS];
static pthread_key_t at_end;
static bool has_at_end;
static HF_RUN_THREAD struct record *mine;
static HF_RUN_THREAD hf_atomic32_t *waits_at;

/* The pointer to the thread's record, in the table, or the NULL at the end of its row. */
static struct record **find(pthread_t thread)
{
	struct record **at = &rows[(uint32_t)(thread >> 12) * 0x9e3779b1u >> 22];

	while (*at && !pthread_equal((*at)->thread, thread))
		at = &(*at)->next;
	return at;
}

static void make_unused(struct record *record)
{
	record->next = unused;
	unused = record;
}

static void end_of_thread(void *record)
{
	struct record **at;

	hf_mutex_lock(&records_lock);
	at = find(((struct record *)record)->thread);
	*at = (*at)->next;
	make_unused(record);
	hf_mutex_unlock(&records_lock);
	mine = NULL;
}

/* Not from malloc(): its locks may be the ones that this thread waits with. */
static void make_more(void)
{
	struct record *more = mmap(NULL, AT_ONCE * sizeof(*more), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < AT_ONCE && more != MAP_FAILED; i++) {
		more[i].next_made = made;
		made = &more[i];
		make_unused(made);
	}
}

/* Puts a record for this thread at the end of its row. Returns NULL = no memory. */
static struct record *add_mine(struct record **at)
{
	struct record *record;

	if (!unused)
		make_more();
	record = unused;
	if (record) {
		unused = record->next;
		record->next = NULL;
		record->thread = pthread_self();
		*at = record;
	}
	return record;
}

static HF_RUN_COLD struct record *find_mine(void)
{
	struct record *record, **at;

	hf_mutex_lock(&records_lock);
	at = find(pthread_self());
	record = *at ? *at : add_mine(at); /* *at: of a thread that has ended */
	if (record) {
		hf_mutex_lock(&record->lock);
		record->waiter = NULL;
		hf_atomic32_store_relaxed(&record->is_cancelled, 0);
		hf_mutex_unlock(&record->lock);
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

uint64_t hf_run_queued(struct hf_detail_waiter *waiter, uint64_t deadline)
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

void hf_run_left(void)
{
	struct record *record = mine;

	if (!record)
		return;
	hf_mutex_lock(&record->lock);
	record->waiter = NULL;
	hf_mutex_unlock(&record->lock);
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
	record = *find(thread);
	if (record)
		hf_mutex_lock(&record->lock); /* from here on no other thread takes the record */
	hf_mutex_unlock(&records_lock);
	if (record) {
		hf_atomic32_store_relaxed(&record->is_cancelled, 1);
		record->was_taken_out = record->waiter &&
					hf_detail_unpark_this(record->cond, record->waiter);
		hf_mutex_unlock(&record->lock);
	}
	return 0;
}

/* The child has one thread, and nobody holds a lock. */
void hf_run_cancel_forked(void)
{
	hf_mutex_init(&records_lock);
	if (!made)
		return;
	memset(rows, 0, sizeof(rows));
	unused = NULL;
	for (struct record *record = made; record; record = record->next_made) {
		hf_mutex_init(&record->lock);
		record->waiter = NULL;
		if (record != mine)
			make_unused(record);
	}
	if (mine) {
		mine->next = NULL;
		*find(mine->thread) = mine;
	}
}

__attribute__((constructor)) static void start(void)
{
	has_at_end = pthread_key_create(&at_end, end_of_thread) == 0;
}
