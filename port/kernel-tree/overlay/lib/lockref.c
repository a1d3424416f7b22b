// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* lockref - <linux/lockref.h> with Holdfast's lockref, or under the lock if that is too large. */
#include <linux/export.h>
#include <linux/lockref.h>

#if LOCKREF_IS_ONE_WORD

#define HF_LOCKREF_LOCK_HEADER "linux/holdfast_lock.h"
#include <holdfast/lockref.h>

static_assert(sizeof(struct lockref) == sizeof(hf_lockref_t));
static_assert(!IS_ENABLED(CONFIG_CPU_BIG_ENDIAN)); /* the lock is the word's low half */

static __always_inline hf_lockref_t *hf(struct lockref *l)
{
	return (hf_lockref_t *)&l->lock_count;
}

void lockref_get(struct lockref *l)
{
	hf_lockref_get(hf(l));
}

int lockref_get_not_zero(struct lockref *l)
{
	return hf_lockref_get_not_zero(hf(l));
}

int lockref_get_not_dead(struct lockref *l)
{
	return hf_lockref_get_not_dead(hf(l));
}

int lockref_put_return(struct lockref *l)
{
	return hf_lockref_put_return(hf(l));
}

int lockref_put_or_lock(struct lockref *l)
{
	return hf_lockref_put_or_lock(hf(l));
}

int lockref_put_not_zero(struct lockref *l)
{
	return hf_lockref_put_not_zero(hf(l));
}

void lockref_mark_dead(struct lockref *l)
{
	hf_lockref_mark_dead(hf(l));
}

#else

/* Adds `change` if the count is at least `least`. Returns whether it has done so. */
static bool change_under_lock(struct lockref *l, int change, int least)
{
	bool is_done;

	spin_lock(&l->lock);
	is_done = l->count >= least;
	if (is_done)
		l->count += change;
	spin_unlock(&l->lock);
	return is_done;
}

void lockref_get(struct lockref *l)
{
	change_under_lock(l, 1, INT_MIN);
}

int lockref_get_not_zero(struct lockref *l)
{
	return change_under_lock(l, 1, 1);
}

int lockref_get_not_dead(struct lockref *l)
{
	return change_under_lock(l, 1, 0);
}

/* Must not take the lock. Its callers handle the failure. */
int lockref_put_return(struct lockref *l)
{
	return -1;
}

int lockref_put_not_zero(struct lockref *l)
{
	return change_under_lock(l, -1, 2);
}

int lockref_put_or_lock(struct lockref *l)
{
	spin_lock(&l->lock);
	if (l->count <= 1)
		return 0;
	l->count--;
	spin_unlock(&l->lock);
	return 1;
}

void lockref_mark_dead(struct lockref *l)
{
	lockdep_assert_held(&l->lock);
	l->count = -128;
}

#endif

EXPORT_SYMBOL(lockref_get);
EXPORT_SYMBOL(lockref_get_not_zero);
EXPORT_SYMBOL(lockref_get_not_dead);
EXPORT_SYMBOL(lockref_put_return);
EXPORT_SYMBOL(lockref_put_or_lock);
EXPORT_SYMBOL(lockref_put_not_zero);
EXPORT_SYMBOL(lockref_mark_dead);
