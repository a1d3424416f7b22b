/* SPDX-License-Identifier: MIT */
/*
 * paths - one function a verb, whose code run.py looks at.
 *
 * The verbs inline into these and drive.c calls them. The verbs that say true or false come in two
 * forms: one that returns it, and put, which branches on it as a program does.
 */
#include "paths.h"

#define REFCOUNT(name)                                                                             \
	void refcount_##name##_inc(hf_refcount_t *r)                                               \
	{                                                                                          \
		hf_refcount_##name##_inc(r);                                                       \
	}                                                                                          \
	void refcount_##name##_dec(hf_refcount_t *r)                                               \
	{                                                                                          \
		hf_refcount_##name##_dec(r);                                                       \
	}                                                                                          \
	bool refcount_##name##_dec_and_test(hf_refcount_t *r)                                      \
	{                                                                                          \
		return hf_refcount_##name##_dec_and_test(r);                                       \
	}                                                                                          \
	void refcount_##name##_put(hf_refcount_t *r)                                               \
	{                                                                                          \
		if (hf_refcount_##name##_dec_and_test(r))                                          \
			object_free(r);                                                            \
	}                                                                                          \
	bool refcount_##name##_inc_not_zero(hf_refcount_t *r)                                      \
	{                                                                                          \
		return hf_refcount_##name##_inc_not_zero(r);                                       \
	}

REFCOUNT(unchecked)
REFCOUNT(saturating)
REFCOUNT(asm)

void refcount_default_inc(hf_refcount_t *r)
{
	hf_refcount_inc(r);
}

void refcount_default_dec(hf_refcount_t *r)
{
	hf_refcount_dec(r);
}

bool refcount_default_dec_and_test(hf_refcount_t *r)
{
	return hf_refcount_dec_and_test(r);
}

void refcount_default_put(hf_refcount_t *r)
{
	if (hf_refcount_dec_and_test(r))
		object_free(r);
}

bool refcount_default_inc_not_zero(hf_refcount_t *r)
{
	return hf_refcount_inc_not_zero(r);
}

#define SPINLOCK(name)                                                                             \
	void spinlock_##name##_lock(hf_spinlock_##name##_t *lock)                                  \
	{                                                                                          \
		hf_spinlock_##name##_lock(lock);                                                   \
	}                                                                                          \
	bool spinlock_##name##_trylock(hf_spinlock_##name##_t *lock)                               \
	{                                                                                          \
		return hf_spinlock_##name##_trylock(lock);                                         \
	}                                                                                          \
	void spinlock_##name##_unlock(hf_spinlock_##name##_t *lock)                                \
	{                                                                                          \
		hf_spinlock_##name##_unlock(lock);                                                 \
	}

SPINLOCK(cas_release)
SPINLOCK(ticket)
SPINLOCK(queued)
SPINLOCK(wfe)

void spinlock_default_lock(hf_spinlock_t *lock)
{
	hf_spinlock_lock(lock);
}

bool spinlock_default_trylock(hf_spinlock_t *lock)
{
	return hf_spinlock_trylock(lock);
}

void spinlock_default_unlock(hf_spinlock_t *lock)
{
	hf_spinlock_unlock(lock);
}

void mutex_lock(hf_mutex_t *mutex)
{
	hf_mutex_lock(mutex);
}

bool mutex_trylock(hf_mutex_t *mutex)
{
	return hf_mutex_trylock(mutex);
}

void mutex_unlock(hf_mutex_t *mutex)
{
	hf_mutex_unlock(mutex);
}

#define LOCKREF(name)                                                                              \
	void lockref_##name##_get(hf_lockref_t *l)                                                 \
	{                                                                                          \
		hf_lockref_##name##_get(l);                                                        \
	}                                                                                          \
	bool lockref_##name##_get_not_zero(hf_lockref_t *l)                                        \
	{                                                                                          \
		return hf_lockref_##name##_get_not_zero(l);                                        \
	}                                                                                          \
	bool lockref_##name##_get_not_dead(hf_lockref_t *l)                                        \
	{                                                                                          \
		return hf_lockref_##name##_get_not_dead(l);                                        \
	}                                                                                          \
	bool lockref_##name##_put_or_lock(hf_lockref_t *l)                                         \
	{                                                                                          \
		return hf_lockref_##name##_put_or_lock(l);                                         \
	}                                                                                          \
	int32_t lockref_##name##_put_return(hf_lockref_t *l)                                       \
	{                                                                                          \
		return hf_lockref_##name##_put_return(l);                                          \
	}

LOCKREF(bounded)

void lockref_default_get(hf_lockref_t *l)
{
	hf_lockref_get(l);
}

bool lockref_default_get_not_zero(hf_lockref_t *l)
{
	return hf_lockref_get_not_zero(l);
}

bool lockref_default_get_not_dead(hf_lockref_t *l)
{
	return hf_lockref_get_not_dead(l);
}

bool lockref_default_put_or_lock(hf_lockref_t *l)
{
	return hf_lockref_put_or_lock(l);
}

int32_t lockref_default_put_return(hf_lockref_t *l)
{
	return hf_lockref_put_return(l);
}

void lockref_waitfree_get(hf_lockref_waitfree_t *l)
{
	hf_lockref_waitfree_get(l);
}

bool lockref_waitfree_get_not_dead(hf_lockref_waitfree_t *l)
{
	return hf_lockref_waitfree_get_not_dead(l);
}

bool lockref_waitfree_put_or_lock(hf_lockref_waitfree_t *l)
{
	return hf_lockref_waitfree_put_or_lock(l);
}

int32_t lockref_waitfree_put_return(hf_lockref_waitfree_t *l)
{
	return hf_lockref_waitfree_put_return(l);
}
