/* SPDX-License-Identifier: MIT */
/*
 * lockref - a cache of names. A lookup takes a reference without a lock, in one step. The last put
 * decides under the entry's lock whether the entry stays in the cache, unused, or dies.
 *
 * The entries are an array that is never freed, so a lookup may access an entry that has just died;
 * its get then fails.
 */
#include <stdio.h>

#include <holdfast/lockref.h>

#include "must.h"

#define ENTRIES 4

struct entry {
	hf_lockref_t ref; /* 8 bytes: lock and count */
	int name;
	bool forget; /* protected by the lock: don't keep an unused entry */
};

static struct entry cache[ENTRIES];

static void cache_init(void)
{
	for (int i = 0; i < ENTRIES; i++) {
		cache[i].name = 100 + i;
		hf_lockref_init(&cache[i].ref, 0); /* in the cache, unused */
	}
}

/* NULL = not in the cache. An unused entry (count 0) can be used again, a dead one can not. */
static struct entry *cache_get(int name)
{
	for (int i = 0; i < ENTRIES; i++) {
		if (cache[i].name == name && hf_lockref_get_not_dead(&cache[i].ref))
			return &cache[i];
	}
	return NULL;
}

static void cache_put(struct entry *entry)
{
	if (hf_lockref_put_or_lock(&entry->ref))
		return; /* there are other users: no lock was taken */

	/*
	 * This is the last reference, and the lock is held: no thread gets a new reference until
	 * it is released.
	 */
	if (entry->forget)
		hf_lockref_mark_dead(&entry->ref);
	else
		hf_lockref_set_count(&entry->ref, 0);
	hf_lockref_unlock(&entry->ref);
}

/* While the lock is held no other thread can change the count. */
static void cache_forget(struct entry *entry)
{
	hf_lockref_lock(&entry->ref);
	entry->forget = true;
	hf_lockref_unlock(&entry->ref);
}

int main(void)
{
	struct entry *entry, *same;

	cache_init();
	entry = cache_get(102);
	same = cache_get(102);
	must(entry && entry == same);
	must(hf_lockref_read(&entry->ref) == 2);

	cache_put(same);
	cache_put(entry);
	must(hf_lockref_read(&entry->ref) == 0); /* unused, but still in the cache */
	printf("unused: %d references, is dead: %d\n", (int)hf_lockref_read(&entry->ref),
	       hf_lockref_is_dead(&entry->ref));

	entry = cache_get(102);
	must(entry);
	cache_forget(entry);
	cache_put(entry);
	must(hf_lockref_is_dead(&entry->ref));
	must(!cache_get(102));
	must(!cache_get(999));
	printf("forgotten: is dead: %d; a lookup finds nothing\n", hf_lockref_is_dead(&entry->ref));
	return 0;
}
