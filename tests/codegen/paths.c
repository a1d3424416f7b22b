/* SPDX-License-Identifier: MIT */
/*
 * paths - one function a verb, whose code run.py looks at.
 *
 * The verbs inline into these and drive.c calls them. dec_and_test comes in two forms: one that
 * returns its result, and put, which branches on it as a program does.
 */
#include "paths.h"

void refcount_inc(hf_refcount_t *r)
{
	hf_refcount_inc(r);
}

void refcount_dec(hf_refcount_t *r)
{
	hf_refcount_dec(r);
}

bool refcount_dec_and_test(hf_refcount_t *r)
{
	return hf_refcount_dec_and_test(r);
}

void refcount_put(hf_refcount_t *r)
{
	if (hf_refcount_dec_and_test(r))
		object_free(r);
}

bool refcount_inc_not_zero(hf_refcount_t *r)
{
	return hf_refcount_inc_not_zero(r);
}

#define SPINLOCK(name, verbs)                                                                      \
	void spinlock_##name##_lock(verbs##_t *lock)                                               \
	{                                                                                          \
		verbs##_lock(lock);                                                                \
	}                                                                                          \
	bool spinlock_##name##_trylock(verbs##_t *lock)                                            \
	{                                                                                          \
		return verbs##_trylock(lock);                                                      \
	}                                                                                          \
	void spinlock_##name##_unlock(verbs##_t *lock)                                             \
	{                                                                                          \
		verbs##_unlock(lock);                                                              \
	}

SPINLOCKS

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

void lockref_get(hf_lockref_t *l)
{
	hf_lockref_get(l);
}

bool lockref_get_not_zero(hf_lockref_t *l)
{
	return hf_lockref_get_not_zero(l);
}

bool lockref_get_not_dead(hf_lockref_t *l)
{
	return hf_lockref_get_not_dead(l);
}

bool lockref_put_or_lock(hf_lockref_t *l)
{
	return hf_lockref_put_or_lock(l);
}

bool lockref_put_not_zero(hf_lockref_t *l)
{
	return hf_lockref_put_not_zero(l);
}

int32_t lockref_put_return(hf_lockref_t *l)
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
