/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_CODEGEN_PATHS_H
#define HF_TESTS_CODEGEN_PATHS_H
/* paths - the functions of paths.c and bad.c, which drive.c calls. */
#include <holdfast/lockref.h>
#include <holdfast/mutex.h>
#include <holdfast/refcount.h>
#include <holdfast/spinlock.h>

/* What a put calls when it was the last: in drive.c. */
void object_free(void *object);

#define REFCOUNT_PATHS(name)                                                                       \
	void refcount_##name##_inc(hf_refcount_t *r);                                              \
	void refcount_##name##_dec(hf_refcount_t *r);                                              \
	bool refcount_##name##_dec_and_test(hf_refcount_t *r);                                     \
	void refcount_##name##_put(hf_refcount_t *r);                                              \
	bool refcount_##name##_inc_not_zero(hf_refcount_t *r);

REFCOUNT_PATHS(unchecked)
REFCOUNT_PATHS(saturating)
REFCOUNT_PATHS(asm)
REFCOUNT_PATHS(default)

#define SPINLOCK_PATHS(name, type)                                                                 \
	void spinlock_##name##_lock(type *lock);                                                   \
	bool spinlock_##name##_trylock(type *lock);                                                \
	void spinlock_##name##_unlock(type *lock);

SPINLOCK_PATHS(cas_release, hf_spinlock_cas_release_t)
SPINLOCK_PATHS(ticket, hf_spinlock_ticket_t)
SPINLOCK_PATHS(queued, hf_spinlock_queued_t)
SPINLOCK_PATHS(wfe, hf_spinlock_wfe_t)
SPINLOCK_PATHS(default, hf_spinlock_t)

void mutex_lock(hf_mutex_t *mutex);
bool mutex_trylock(hf_mutex_t *mutex);
void mutex_unlock(hf_mutex_t *mutex);

#define LOCKREF_PATHS(name)                                                                        \
	void lockref_##name##_get(hf_lockref_t *l);                                                \
	bool lockref_##name##_get_not_zero(hf_lockref_t *l);                                       \
	bool lockref_##name##_get_not_dead(hf_lockref_t *l);                                       \
	bool lockref_##name##_put_or_lock(hf_lockref_t *l);                                        \
	int32_t lockref_##name##_put_return(hf_lockref_t *l);

LOCKREF_PATHS(bounded)
LOCKREF_PATHS(default)

void lockref_waitfree_get(hf_lockref_waitfree_t *l);
bool lockref_waitfree_get_not_dead(hf_lockref_waitfree_t *l);
bool lockref_waitfree_put_or_lock(hf_lockref_waitfree_t *l);
int32_t lockref_waitfree_put_return(hf_lockref_waitfree_t *l);

/* bad.c: bad_<rule> breaks that rule; good breaks none. */
void good(uint32_t *word);
void bad_call(uint32_t *word);
void bad_cold(uint32_t *word);
void bad_straight(uint32_t *word);
void bad_barrier(uint32_t *word);
void bad_stack(uint32_t *word);
void bad_atomics(uint32_t *word);
void bad_branches(uint32_t *word);
void bad_setcc(uint32_t *word);
void bad_byte(uint32_t *word);
void bad_word64(uint32_t *word);
void bad_store(uint32_t *word);
void bad_cost(uint32_t *word);

#endif
