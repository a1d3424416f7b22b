/* SPDX-License-Identifier: MIT */
/*
 * refcount_lock - sessions that can be found by name. No lookup may find a session whose count is
 * 0, so the last reference, and only that, is dropped under the table's lock, and the session
 * removed.
 */
#include <stdio.h>
#include <stdlib.h>

#include <holdfast/refcount_lock.h>

#include "must.h"

struct session {
	hf_refcount_t refs;
	int name;
	struct session *next;
};

static struct session *table;
static hf_spinlock_t table_lock = HF_SPINLOCK_INIT; /* protects table and every next */

/* Finds or makes the session. The caller gets a reference. */
static struct session *session_get(int name)
{
	struct session *fresh = malloc(sizeof(*fresh)); /* not under a spinlock */
	struct session *found;

	must(fresh);
	hf_spinlock_lock(&table_lock);
	for (found = table; found && found->name != name; found = found->next)
		;
	if (found) {
		hf_refcount_inc(&found->refs); /* it is in the table, so it is alive */
	} else {
		found = fresh;
		found->name = name;
		found->next = table;
		hf_refcount_set(&found->refs, 1);
		table = found;
		fresh = NULL;
	}
	hf_spinlock_unlock(&table_lock);
	free(fresh);
	return found;
}

/* Returns whether that was the last reference. Most puts don't touch the lock. */
static bool session_put(struct session *session)
{
	struct session **link;

	if (!hf_refcount_dec_and_lock(&session->refs, &table_lock))
		return false;
	for (link = &table; *link != session; link = &(*link)->next)
		;
	*link = session->next;
	hf_spinlock_unlock(&table_lock);
	free(session);
	return true;
}

int main(void)
{
	struct session *one = session_get(1);
	struct session *two = session_get(2);
	struct session *again = session_get(1);

	must(again == one && one != two);
	must(!session_put(one)); /* `again` still has a reference */
	must(session_put(two));
	must(table == one && !one->next);
	must(session_put(again));
	must(!table && !hf_spinlock_is_locked(&table_lock));
	printf("two sessions were shared; the table is empty\n");
	return 0;
}
