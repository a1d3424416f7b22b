/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_CODEGEN_PATHS_H
#define HF_TESTS_CODEGEN_PATHS_H
/* paths - the functions of paths.c, owners.cpp and bad.c, which drive.c calls. */
#include <holdfast/lockref_waitfree.h>
#include <holdfast/mutex.h>
#include <holdfast/refcount.h>
#include <holdfast/spinlock.h>
#include <holdfast/spinlock_ticket.h>

/* What hf_spinlock_t is where processors are owned: the lab has it here, without nodes, for its fast path. */
#define HF_ENV_HAS_NODES 1
struct hf_node;
uint32_t hf_env_node_get(void);
void hf_env_node_put(uint32_t index);
struct hf_node *hf_env_node(uint32_t index);
#include "variants/spinlock/queued.h"

/* What a put of the last reference calls: in drive.c. */
void object_free(void *object);

/*
 * SPINLOCKS expands to SPINLOCK(name, verbs), as the file that uses it defines it: once for each row of
 * the roster and once for the default. `verbs` is the prefix of the implementation's functions, and
 * of its type.
 */
#define SPINLOCKS                                                                                  \
	SPINLOCK(default, hf_spinlock)                                                             \
	SPINLOCK(ticket, hf_spinlock_ticket)                                                       \
	SPINLOCK(queued, hf_spinlock_queued)

#define SPINLOCK(name, verbs)                                                                      \
	void spinlock_##name##_lock(verbs##_t *lock);                                              \
	bool spinlock_##name##_trylock(verbs##_t *lock);                                           \
	void spinlock_##name##_unlock(verbs##_t *lock);
SPINLOCKS
#undef SPINLOCK

void refcount_inc(hf_refcount_t *r);
void refcount_dec(hf_refcount_t *r);
bool refcount_dec_and_test(hf_refcount_t *r);
void refcount_put(hf_refcount_t *r);
bool refcount_inc_not_zero(hf_refcount_t *r);

void lockref_get(hf_lockref_t *l);
bool lockref_get_not_zero(hf_lockref_t *l);
bool lockref_get_not_dead(hf_lockref_t *l);
bool lockref_put_or_lock(hf_lockref_t *l);
bool lockref_put_not_zero(hf_lockref_t *l);
int32_t lockref_put_return(hf_lockref_t *l);

void mutex_lock(hf_mutex_t *mutex);
bool mutex_trylock(hf_mutex_t *mutex);
void mutex_unlock(hf_mutex_t *mutex);

void lockref_waitfree_get(hf_lockref_waitfree_t *l);
bool lockref_waitfree_get_not_dead(hf_lockref_waitfree_t *l);
bool lockref_waitfree_put_or_lock(hf_lockref_waitfree_t *l);
int32_t lockref_waitfree_put_return(hf_lockref_waitfree_t *l);

/* owners.cpp: pointers that own a reference of a struct that begins with a hf_refcount_t. */
void owner_copy(void *to, const void *from);
void owner_move(void *to, void *from);
void owner_drop(void *from);

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
