/* SPDX-License-Identifier: MIT */
/*
 * object_cache - lookup, eviction and freeing: docs/guide/object-cache.md explains it step by
 * step.
 *
 * Lock order: a bucket's mutex, an entry's lock (the lock half of its lockref), the mutex of the
 * list of unused entries. Code that takes locks against this order uses hf_lockref_trylock().
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <holdfast/lockref.h>
#include <holdfast/mutex.h>

#include "must.h"

#define BUCKETS 16
#define LIMIT 32 /* entries that may stay in the cache unused */

struct entry {
	hf_lockref_t ref; /* the entry's lock and its users; 0 users: unused, but in the cache */
	unsigned int key;
	unsigned long hits;          /* protected by the entry's lock */
	struct entry *next;          /* in the bucket; protected by the bucket's mutex */
	struct entry *older, *newer; /* in the list of unused entries; protected by its mutex */
	bool listed;
};

static struct bucket {
	hf_mutex_t lock;
	struct entry *first;
} buckets[BUCKETS];

static struct {
	hf_mutex_t lock;
	struct entry *oldest, *newest;
	unsigned int count;
} unused;

static unsigned long made, freed; /* updated atomically */

static struct bucket *bucket_of(unsigned int key)
{
	return &buckets[key % BUCKETS];
}

/* The caller holds the list's mutex. */
static void unlist(struct entry *e)
{
	*(e->older ? &e->older->newer : &unused.oldest) = e->newer;
	*(e->newer ? &e->newer->older : &unused.newest) = e->older;
	e->older = e->newer = NULL;
	e->listed = false;
	unused.count--;
}

/* The caller holds the entry's lock. An entry that was used again may still be on the list. */
static void list_as_newest(struct entry *e)
{
	hf_mutex_lock(&unused.lock);
	if (e->listed)
		unlist(e);
	e->older = unused.newest;
	*(unused.newest ? &unused.newest->newer : &unused.oldest) = e;
	unused.newest = e;
	e->listed = true;
	unused.count++;
	hf_mutex_unlock(&unused.lock);
}

static struct entry *cache_get(unsigned int key)
{
	struct bucket *b = bucket_of(key);
	struct entry *e;

	hf_mutex_lock(&b->lock);
	for (e = b->first; e; e = e->next) {
		/* A dead entry is about to be removed from the bucket: skip it. */
		if (e->key == key && hf_lockref_get_not_dead(&e->ref))
			break;
	}
	if (!e) {
		e = calloc(1, sizeof(*e));
		must(e);
		hf_lockref_init(&e->ref, 1); /* before others can see it */
		e->key = key;
		e->next = b->first;
		b->first = e;
		__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	}
	hf_mutex_unlock(&b->lock);
	return e;
}

static void cache_put(struct entry *e)
{
	if (hf_lockref_put_or_lock(&e->ref))
		return; /* there are other users: no lock was taken */
	/* This is the last reference, and the lock is held: no thread gets a new one meanwhile. */
	hf_lockref_set_count(&e->ref, 0);
	list_as_newest(e);
	hf_lockref_unlock(&e->ref);
}

/* Takes the oldest unused entry, marked dead; NULL if there is none. */
static struct entry *take_oldest(void)
{
	struct entry *e, *newer;

	hf_mutex_lock(&unused.lock);
	for (e = unused.oldest; e; e = newer) {
		newer = e->newer;
		/*
		 * This is against the lock order, so it must be a trylock. If it fails, the holder
		 * is using the entry.
		 */
		if (!hf_lockref_trylock(&e->ref))
			continue;
		unlist(e);
		if (hf_lockref_read(&e->ref) == 0) {
			hf_lockref_mark_dead(&e->ref);
			hf_lockref_unlock(&e->ref);
			break;
		}
		hf_lockref_unlock(&e->ref); /* in use again: the last put will list it again */
	}
	hf_mutex_unlock(&unused.lock);
	return e;
}

static bool cache_evict(void)
{
	struct entry *e = take_oldest(), **link;
	struct bucket *b;

	if (!e)
		return false;
	b = bucket_of(e->key);
	hf_mutex_lock(&b->lock);
	for (link = &b->first; *link != e; link = &(*link)->next)
		;
	*link = e->next;
	hf_mutex_unlock(&b->lock);
	/* The entry is dead, on no list and in no bucket: no other thread has its address. */
	free(e);
	__atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
	return true;
}

static unsigned int unused_count(void)
{
	unsigned int count;

	hf_mutex_lock(&unused.lock);
	count = unused.count;
	hf_mutex_unlock(&unused.lock);
	return count;
}

#define THREADS 4
#define LOOKUPS 5000

static void *work(void *argument)
{
	unsigned int random = *(unsigned int *)argument;

	for (int i = 0; i < LOOKUPS; i++) {
		struct entry *e;

		random = random * 1103515245u + 12345u;
		e = cache_get(random >> 16 & 127);
		must(e->key == (random >> 16 & 127));
		hf_lockref_lock(&e->ref);
		e->hits++;
		hf_lockref_unlock(&e->ref);
		cache_put(e);
		while (unused_count() > LIMIT && cache_evict())
			;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	unsigned int seeds[THREADS];

	for (unsigned int i = 0; i < THREADS; i++) {
		seeds[i] = i + 1;
		must(pthread_create(&threads[i], NULL, work, &seeds[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	must(unused_count() <= LIMIT);
	while (cache_evict())
		;
	for (int i = 0; i < BUCKETS; i++)
		must(!buckets[i].first);
	must(made == freed && made >= 128);
	printf("every entry that was made was freed\n");
	return 0;
}
