/* SPDX-License-Identifier: MIT */
#ifndef HF_LOCKREF_LOCKED_H
#define HF_LOCKREF_LOCKED_H
#pragma GCC system_header
/*
 * locked - always the lock.
 *
 * Use when / not when
 *   As the baseline, and where the object is contended nearly always. put_return never finds the
 *   lock held: it waits for it.
 *
 * State, invariants  core.h
 * Ordering           that of the family (lockref.h)
 */
#include "core.h"

/*
 * verbs.h makes hf_lockref_locked_get, hf_lockref_locked_get_not_zero,
 * hf_lockref_locked_get_not_dead, hf_lockref_locked_put_return, hf_lockref_locked_put_or_lock.
 */
#define HF_DETAIL_LOCKREF locked
#define HF_DETAIL_LOCKREF_LIMIT 0
#include "verbs.h"

#endif
