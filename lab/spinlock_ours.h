/* SPDX-License-Identifier: MIT */
/*
 * spinlock_ours - the loops of one of our spinlocks: as it is, and with every way of waiting.
 *
 * Before including, define OURS, its name. No include guard: this is meant to be included again and
 * again.
 */
#define OURS_VERB(prefix, verb) HF__PASTE4(prefix, OURS, _, verb)

#define LOCK OURS
#define LOCK_T OURS_VERB(hf_spinlock_, t)
#define LOCK_NODE char
#define LOCK_INIT(l) OURS_VERB(hf_spinlock_, init)(l)
#define LOCK_IN(l, n) ((void)(n), OURS_VERB(hf_spinlock_, lock)(l))
#define LOCK_OUT(l, n) ((void)(n), OURS_VERB(hf_spinlock_, unlock)(l))
#include "spinlock_loops.h"

#define LOCK HF__PASTE(OURS, _none)
#define LOCK_T OURS_VERB(hf_spinlock_, t)
#define LOCK_NODE char
#define LOCK_INIT(l) OURS_VERB(hf_spinlock_, init)(l)
#define LOCK_IN(l, n) ((void)(n), OURS_VERB(hf__spinlock_, lock)(l, HF_WAIT_NONE))
#define LOCK_OUT(l, n) ((void)(n), OURS_VERB(hf__spinlock_, unlock)(l))
#include "spinlock_loops.h"

#define LOCK HF__PASTE(OURS, _hint)
#define LOCK_T OURS_VERB(hf_spinlock_, t)
#define LOCK_NODE char
#define LOCK_INIT(l) OURS_VERB(hf_spinlock_, init)(l)
#define LOCK_IN(l, n) ((void)(n), OURS_VERB(hf__spinlock_, lock)(l, HF_WAIT_HINT))
#define LOCK_OUT(l, n) ((void)(n), OURS_VERB(hf__spinlock_, unlock)(l))
#include "spinlock_loops.h"

#define LOCK HF__PASTE(OURS, _backoff)
#define LOCK_T OURS_VERB(hf_spinlock_, t)
#define LOCK_NODE char
#define LOCK_INIT(l) OURS_VERB(hf_spinlock_, init)(l)
#define LOCK_IN(l, n) ((void)(n), OURS_VERB(hf__spinlock_, lock)(l, HF_WAIT_BACKOFF))
#define LOCK_OUT(l, n) ((void)(n), OURS_VERB(hf__spinlock_, unlock)(l))
#include "spinlock_loops.h"

#define LOCK HF__PASTE(OURS, _monitor)
#define LOCK_T OURS_VERB(hf_spinlock_, t)
#define LOCK_NODE char
#define LOCK_INIT(l) OURS_VERB(hf_spinlock_, init)(l)
#define LOCK_IN(l, n) ((void)(n), OURS_VERB(hf__spinlock_, lock)(l, HF_WAIT_MONITOR))
#define LOCK_OUT(l, n) ((void)(n), OURS_VERB(hf__spinlock_, unlock)(l))
#include "spinlock_loops.h"

#undef OURS_VERB
#undef OURS
