/* SPDX-License-Identifier: MIT */
/* spinlock_locks - the locks that are C: ours, with each way of waiting, pthread's and CK's. */
#include "spinlock_locks.h"

#include <pthread.h>

#include "holdfast/spinlock.h"

#if HF_LAB_HAVE_CK
#include <ck_spinlock.h>
#endif

/* ---- ours ----------------------------------------------------------------------------------- */

#define OURS cas
#include "spinlock_ours.h"
#define OURS cas_release
#include "spinlock_ours.h"
#define OURS cas_prefetch
#include "spinlock_ours.h"
#define OURS wfe
#include "spinlock_ours.h"
#define OURS ticket
#include "spinlock_ours.h"
#define OURS mcs
#include "spinlock_ours.h"
#define OURS queued
#include "spinlock_ours.h"

#define LOCK standard
#define LOCK_T hf_spinlock_t
#define LOCK_NODE char
#define LOCK_INIT(l) hf_spinlock_init(l)
#define LOCK_IN(l, n) ((void)(n), hf_spinlock_lock(l))
#define LOCK_OUT(l, n) ((void)(n), hf_spinlock_unlock(l))
#include "spinlock_loops.h"

/* ---- pthread -------------------------------------------------------------------------------- */

#define LOCK pthread_spin
#define LOCK_T pthread_spinlock_t
#define LOCK_NODE char
#define LOCK_INIT(l) pthread_spin_init(l, PTHREAD_PROCESS_PRIVATE)
#define LOCK_IN(l, n) ((void)(n), pthread_spin_lock(l))
#define LOCK_OUT(l, n) ((void)(n), pthread_spin_unlock(l))
#include "spinlock_loops.h"

#define LOCK pthread_mutex
#define LOCK_T pthread_mutex_t
#define LOCK_NODE char
#define LOCK_INIT(l) pthread_mutex_init(l, NULL)
#define LOCK_IN(l, n) ((void)(n), pthread_mutex_lock(l))
#define LOCK_OUT(l, n) ((void)(n), pthread_mutex_unlock(l))
#include "spinlock_loops.h"

/* ---- ConcurrencyKit ------------------------------------------------------------------------- */

#if HF_LAB_HAVE_CK
#define LOCK ck_fas
#define LOCK_T ck_spinlock_fas_t
#define LOCK_NODE char
#define LOCK_INIT(l) ck_spinlock_fas_init(l)
#define LOCK_IN(l, n) ((void)(n), ck_spinlock_fas_lock(l))
#define LOCK_OUT(l, n) ((void)(n), ck_spinlock_fas_unlock(l))
#include "spinlock_loops.h"

#define LOCK ck_ticket
#define LOCK_T ck_spinlock_ticket_t
#define LOCK_NODE char
#define LOCK_INIT(l) ck_spinlock_ticket_init(l)
#define LOCK_IN(l, n) ((void)(n), ck_spinlock_ticket_lock(l))
#define LOCK_OUT(l, n) ((void)(n), ck_spinlock_ticket_unlock(l))
#include "spinlock_loops.h"

#define LOCK ck_mcs
#define LOCK_T ck_spinlock_mcs_t
#define LOCK_NODE ck_spinlock_mcs_context_t
#define LOCK_INIT(l) ck_spinlock_mcs_init(l)
#define LOCK_IN(l, n) ck_spinlock_mcs_lock(l, n)
#define LOCK_OUT(l, n) ck_spinlock_mcs_unlock(l, n)
#include "spinlock_loops.h"
#endif

/* ---- the list ------------------------------------------------------------------------------- */

#define STRING2(x) #x
#define STRING(x) STRING2(x)
#define LOOPS(name) init_##name, alone_##name, contended_##name, split_##name

#define OURS(name)                                                                                 \
	{                                                                                          \
#name, "ours", NULL, NULL, LOOPS(name)                                             \
	}
#define SWEEP(name, policy)                                                                        \
	{                                                                                          \
#name " wait=" #policy, "sweep", #name, #policy, LOOPS(name##_##policy)            \
	}
#define SWEEPS(name)                                                                               \
	SWEEP(name, none), SWEEP(name, hint), SWEEP(name, backoff), SWEEP(name, monitor)
#define PEER(name)                                                                                 \
	{                                                                                          \
		"peer:" #name, "peer", NULL, NULL, LOOPS(name)                                     \
	}

const struct lab_lock lab_locks_c[] = {
	OURS(cas),
	OURS(cas_release),
	OURS(cas_prefetch),
	OURS(wfe),
	OURS(ticket),
	OURS(mcs),
	OURS(queued),
	{ "default", "default", STRING(HF_SPINLOCK_DEFAULT), NULL, LOOPS(standard) },
	SWEEPS(cas),
	SWEEPS(cas_release),
	SWEEPS(cas_prefetch),
	SWEEPS(wfe),
	SWEEPS(ticket),
	SWEEPS(mcs),
	SWEEPS(queued),
	PEER(pthread_spin),
	PEER(pthread_mutex),
#if HF_LAB_HAVE_CK
	PEER(ck_fas),
	PEER(ck_ticket),
	PEER(ck_mcs),
#endif
	{ NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL },
};
