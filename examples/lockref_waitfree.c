/* SPDX-License-Identifier: MIT */
/*
 * lockref_waitfree - a cache of sessions in a fixed array: many threads look them up without a
 * lock, and the thread that drops the last reference reuses the slot for a new session.
 *
 * put requires that the memory stays a lockref; the array is never freed, so it does. But a slot
 * may get another session before a reader has its reference, so the reader accesses the session's
 * data only after it has taken the reference.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include <holdfast/lockref_waitfree.h>

#include "must.h"

enum { THREADS = 4, SLOTS = 2, ROUNDS = 100000 };

struct session {
	hf_lockref_waitfree_t ref;
	unsigned long user, twice; /* changed only under the lock while the session is dead */
	unsigned long ended;       /* protected by the lock */
};

static struct session sessions[SLOTS];

/* Takes a reference to the session in the slot; false if it is being replaced. */
static bool session_get(struct session *s, unsigned long *user)
{
	if (!hf_lockref_waitfree_get_not_dead_acquire(&s->ref))
		return false;
	*user = s->user;
	return true;
}

static void session_put(struct session *s)
{
	if (hf_lockref_waitfree_put_or_lock(&s->ref))
		return;
	/*
	 * The count was 0 a moment ago. If it still is, this call makes the object dead, and no
	 * get succeeds from now on.
	 */
	if (hf_lockref_waitfree_mark_dead(&s->ref, 0)) {
		s->user++;
		s->twice = 2 * s->user;
		s->ended++;
		must(hf_lockref_waitfree_revive(&s->ref, 0));
	}
	hf_lockref_waitfree_unlock(&s->ref);
}

static void *reader(void *argument)
{
	unsigned long *used = (unsigned long *)argument;

	for (unsigned long i = 0; i < ROUNDS; i++) {
		struct session *s = &sessions[i % SLOTS];
		unsigned long user;

		if (!session_get(s, &user))
			continue;
		/* With a reference it stays the same session. */
		must(s->user == user && s->twice == 2 * user);
		session_put(s);
		++*used;
	}
	return NULL;
}

int main(void)
{
	unsigned long used[THREADS] = { 0 }, all = 0, ended = 0;
	pthread_t threads[THREADS];

	for (int i = 0; i < SLOTS; i++)
		hf_lockref_waitfree_init(&sessions[i].ref, 0);
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, reader, &used[i]) == 0);
	for (int i = 0; i < THREADS; i++) {
		must(pthread_join(threads[i], NULL) == 0);
		all += used[i];
	}
	for (int i = 0; i < SLOTS; i++) {
		must(hf_lockref_waitfree_read(&sessions[i].ref) == 0);
		must(sessions[i].ended == sessions[i].user);
		ended += sessions[i].ended;
	}
	must(all >= ended && ended > 0);
	printf("%lu uses of %lu sessions\n", all, ended);
	return 0;
}
