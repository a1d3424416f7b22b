/* SPDX-License-Identifier: MIT */
#ifndef HF_LOCKREF_LOCKED_H
#define HF_LOCKREF_LOCKED_H
/*
 * locked - always the lock.
 *
 * Use when / not when
 *   As the baseline, and where the object is contended nearly always. put_return never finds the lock
 *   held: it waits for it.
 *
 * State, invariants  core.h
 * Ordering           that of the family (lockref.h)
 */
#include "core.h"

#define HF__LOCKREF locked
#define HF__LOCKREF_LIMIT 0
#include "verbs.h"

#endif
