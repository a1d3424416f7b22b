/* SPDX-License-Identifier: MIT */
/*
 * refcount - a buffer that several threads use, freed by whoever drops the last reference.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/refcount.h>

struct buffer {
	hf_refcount_t refs;
	char text[32];
};

static int freed;

static struct buffer *buffer_new(const char *text)
{
	struct buffer *b = malloc(sizeof(*b));

	assert(b);
	hf_refcount_set(&b->refs, 1); /* the caller's */
	snprintf(b->text, sizeof(b->text), "%s", text);
	return b;
}

static struct buffer *buffer_get(struct buffer *b)
{
	hf_refcount_inc(&b->refs);
	return b;
}

static void buffer_put(struct buffer *b)
{
	if (!hf_refcount_dec_and_test(&b->refs))
		return;
	/* The last one: it sees all that the others did with their references. */
	__atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
	free(b);
}

static void *reader(void *argument)
{
	struct buffer *b = argument; /* and its reference */

	assert(strcmp(b->text, "shared") == 0);
	buffer_put(b);
	return NULL;
}

int main(void)
{
	struct buffer *b = buffer_new("shared");
	pthread_t threads[4];

	for (int i = 0; i < 4; i++) {
		int error = pthread_create(&threads[i], NULL, reader, buffer_get(b));

		assert(error == 0);
	}
	buffer_put(b); /* not ours any more, whoever is last */
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert(freed == 1);
	printf("five references, freed %d time\n", freed);
	return 0;
}
