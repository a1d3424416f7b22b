/* SPDX-License-Identifier: MIT */
/*
 * lockref - directory entries: looked up without the lock, killed under it.
 *
 * An entry with no reference stays in the cache and can be taken again, until somebody prunes it.
 */
#include <assert.h>
#include <stdio.h>

#include <holdfast/lockref.h>

struct entry {
	hf_lockref_t ref;
	const char *name;
	bool in_cache;
};

/* Found in the cache: take it, unless it is being killed. */
static bool entry_get(struct entry *e)
{
	return hf_lockref_get_not_dead(&e->ref);
}

static void entry_put(struct entry *e)
{
	if (hf_lockref_put_or_lock(&e->ref))
		return;
	/* The last reference, and the lock is held: it stays in the cache, with none. */
	hf_lockref_set_count(&e->ref, 0);
	hf_lockref_unlock(&e->ref);
}

/* Takes an entry that nobody uses out of the cache. */
static bool entry_prune(struct entry *e)
{
	bool unused;

	hf_lockref_lock(&e->ref);
	unused = hf_lockref_read(&e->ref) == 0;
	if (unused) {
		hf_lockref_mark_dead(&e->ref);
		e->in_cache = false;
	}
	hf_lockref_unlock(&e->ref);
	return unused;
}

int main(void)
{
	struct entry e = { .ref = HF_LOCKREF_INIT(1), .name = "etc", .in_cache = true };

	assert(entry_get(&e));
	assert(hf_lockref_read(&e.ref) == 2);
	entry_put(&e);
	assert(!entry_prune(&e)); /* in use */
	entry_put(&e);
	assert(hf_lockref_read(&e.ref) == 0);
	assert(entry_get(&e)); /* revived */
	entry_put(&e);
	assert(entry_prune(&e));
	assert(!entry_get(&e)); /* too late */
	assert(hf_lockref_is_dead(&e.ref));
	printf("%s: taken, dropped, revived, pruned; then nobody gets it\n", e.name);
	return 0;
}
