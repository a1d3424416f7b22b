/* SPDX-License-Identifier: MIT */
#ifndef HF_LOCKREF_UNBOUNDED_H
#define HF_LOCKREF_UNBOUNDED_H
#pragma GCC system_header
/*
 * unbounded - swap until it succeeds, or the lock is held.
 *
 * Use when / not when
 *   Not on an object that many cores use at once: the retries grow with the cores, about 25 for
 *   each success at 28 threads on one machine. Where the lab shows that few retries are needed.
 *
 * State, invariants  core.h
 * Ordering           that of the family (lockref.h)
 */
#include "core.h"

/*
 * verbs.h makes hf_lockref_unbounded_get, hf_lockref_unbounded_get_not_zero,
 * hf_lockref_unbounded_get_not_dead, hf_lockref_unbounded_put_return,
 * hf_lockref_unbounded_put_or_lock.
 */
#define HF_DETAIL_LOCKREF unbounded
#define HF_DETAIL_LOCKREF_LIMIT HF_DETAIL_LOCKREF_UNBOUNDED
#include "verbs.h"

#endif
