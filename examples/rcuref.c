/* SPDX-License-Identifier: MIT */
/*
 * rcuref - a table that is read without a lock: readers find an object, take a reference, and use
 * the object outside of the RCU read-side section, while one thread replaces objects. Uses
 * liburcu.
 *
 * Lookup and put both run under rcu_read_lock(). An object's memory is freed only after a grace
 * period, so its count can be accessed there even if another thread drops the last reference.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <urcu.h>

#include <holdfast/rcuref.h>

#include "must.h"

enum { READERS = 3, SLOTS = 4, REPLACEMENTS = 20000 };

struct object {
	hf_rcuref_t refs;
	unsigned long number, twice; /* written before it is published */
	struct rcu_head rcu;
};

static struct object *table[SLOTS];
static bool stop;
static unsigned long made, freed; /* liburcu's thread writes freed; read after rcu_barrier() */

static void object_free(struct rcu_head *head)
{
	struct object *object = caa_container_of(head, struct object, rcu);

	object->number = object->twice = 0;
	free(object);
	freed++;
}

/* Returns a reference, or NULL. The table's reference is dropped when the object is replaced. */
static struct object *object_find(unsigned int slot)
{
	struct object *object;

	rcu_read_lock();
	object = rcu_dereference(table[slot]);
	if (object && !hf_rcuref_get(&object->refs))
		object = NULL;
	rcu_read_unlock();
	return object;
}

static void object_put(struct object *object)
{
	rcu_read_lock(); /* the contract of put: see holdfast/rcuref.h */
	if (hf_rcuref_put(&object->refs))
		call_rcu(&object->rcu, object_free);
	rcu_read_unlock();
}

static void object_replace(unsigned int slot)
{
	struct object *object = malloc(sizeof(*object)), *old;

	must(object);
	object->number = ++made;
	object->twice = 2 * made;
	hf_rcuref_init(&object->refs, 1); /* the table's */
	old = rcu_xchg_pointer(&table[slot], object);
	if (old)
		object_put(old);
}

static void *reader(void *data)
{
	unsigned long *found = data;

	rcu_register_thread();
	for (unsigned int i = 0; !CMM_LOAD_SHARED(stop); i++) {
		struct object *object = object_find(i % SLOTS);

		if (!object)
			continue;
		must(object->twice == 2 * object->number && object->number);
		++*found;
		object_put(object);
	}
	rcu_unregister_thread();
	return NULL;
}

int main(void)
{
	unsigned long found[READERS] = { 0 }, sum = 0;
	pthread_t threads[READERS];

	rcu_register_thread();
	for (unsigned int i = 0; i < SLOTS; i++)
		object_replace(i);
	for (unsigned int i = 0; i < READERS; i++)
		must(pthread_create(&threads[i], NULL, reader, &found[i]) == 0);
	for (unsigned int i = 0; i < REPLACEMENTS; i++)
		object_replace(i % SLOTS);
	CMM_STORE_SHARED(stop, true);
	for (unsigned int i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		sum += found[i];
	}
	for (unsigned int i = 0; i < SLOTS; i++)
		object_put(rcu_xchg_pointer(&table[i], NULL));
	rcu_barrier();
	rcu_unregister_thread();
	printf("%lu objects made, %lu freed, %lu found and used\n", made, freed, sum);
	return made == freed ? 0 : 1;
}
