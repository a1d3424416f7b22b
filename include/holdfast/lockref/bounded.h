/* SPDX-License-Identifier: MIT */
#ifndef HF_LOCKREF_BOUNDED_H
#define HF_LOCKREF_BOUNDED_H
#pragma GCC system_header
/*
 * bounded - swap, and after HF_LOCKREF_RETRIES failures take the lock.
 *
 * Use when / not when
 *   The default: as fast as unbounded while uncontended, and it does not collapse when all compete.
 *   Where memory outlives a put and many cores use one object: waitfree.h, whatever the processor.
 *
 * State, invariants  core.h
 * Ordering           that of the family (lockref.h)
 */
#include "core.h"

/* Failed swaps after which the lock is taken: 15 to 100 were measured alike where it matters. */
#ifndef HF_LOCKREF_RETRIES
#define HF_LOCKREF_RETRIES 100
#endif
HF_STATIC_ASSERT(HF_LOCKREF_RETRIES > 0, "0 would be lockref/locked.h");

/*
 * verbs.h makes hf_lockref_bounded_get, hf_lockref_bounded_get_not_zero,
 * hf_lockref_bounded_get_not_dead, hf_lockref_bounded_put_return,
 * hf_lockref_bounded_put_or_lock.
 */
#define HF_DETAIL_LOCKREF bounded
#define HF_DETAIL_LOCKREF_LIMIT HF_LOCKREF_RETRIES
#include "verbs.h"

#endif
