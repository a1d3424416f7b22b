/* SPDX-License-Identifier: MIT */
/*
 * in_place - makes hf_spinlock_t the variant LAB_SPINLOCK, for a program of the lab that uses
 * spinlock.h. Read before any other header (-include).
 */
#define HF_SPINLOCK_H /* spinlock.h is now empty */

#include "holdfast/internal/compiler.h"
#include "holdfast/spinlock_ticket.h"
#include "cas.h"
#include "cas_prefetch.h"
#include "cas_release.h"
#include "mcs.h"
#include "queued.h"
#include "wfe.h"

#define LAB_SPINLOCK_FUNCTION_(lock, operation) hf_spinlock_##lock##_##operation
#define LAB_SPINLOCK_FUNCTION(lock, operation) LAB_SPINLOCK_FUNCTION_(lock, operation)
#define hf_spinlock_t LAB_SPINLOCK_FUNCTION(LAB_SPINLOCK, t)
#define hf_spinlock_init LAB_SPINLOCK_FUNCTION(LAB_SPINLOCK, init)
#define hf_spinlock_lock LAB_SPINLOCK_FUNCTION(LAB_SPINLOCK, lock)
#define hf_spinlock_trylock LAB_SPINLOCK_FUNCTION(LAB_SPINLOCK, trylock)
#define hf_spinlock_unlock LAB_SPINLOCK_FUNCTION(LAB_SPINLOCK, unlock)
#define hf_spinlock_is_locked LAB_SPINLOCK_FUNCTION(LAB_SPINLOCK, is_locked)
