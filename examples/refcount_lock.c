/* SPDX-License-Identifier: MIT */
/*
 * refcount_lock - sessions in a table: the last user takes a session out, under the table's lock.
 *
 * A session is found by its number as long as it is in the table. If its last reference were dropped
 * first and the table locked afterwards, somebody could find it in between, at 0.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <holdfast/refcount_lock.h>
#include <holdfast/refcount_mutex.h>

#define SESSIONS 8

struct session {
	hf_refcount_t refs;
	int number;
};

static struct session *table[SESSIONS];
static hf_spinlock_t table_lock = HF_SPINLOCK_INIT;

/* Finds or makes it; the caller has a reference. */
static struct session *session_get(int number)
{
	HF_SPINLOCK_GUARD(&table_lock);
	struct session *s = table[number];

	if (s) {
		hf_refcount_inc(&s->refs); /* it is in the table, so it is alive */
		return s;
	}
	s = malloc(sizeof(*s));
	assert(s);
	hf_refcount_set(&s->refs, 1);
	s->number = number;
	table[number] = s;
	return s;
}

static void session_put(struct session *s)
{
	if (!hf_refcount_dec_and_lock(&s->refs, &table_lock))
		return;
	table[s->number] = NULL;
	hf_spinlock_unlock(&table_lock);
	free(s);
}

int main(void)
{
	struct session *a = session_get(3);
	struct session *b = session_get(3);

	assert(a == b);
	session_put(a);
	assert(table[3]);
	session_put(b);
	assert(!table[3]);

	/* The same where the section may sleep: with a pthread mutex. */
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	hf_refcount_t refs = HF_REFCOUNT_INIT(2);

	assert(!hf_refcount_dec_and_mutex_lock(&refs, &mutex));
	assert(hf_refcount_dec_and_mutex_lock(&refs, &mutex));
	pthread_mutex_unlock(&mutex);
	printf("the last user took the session out of the table\n");
	return 0;
}
