/* SPDX-License-Identifier: MIT */
/*
 * in_place - hf_spinlock_t is the variant LAB_SPINLOCK, for a program of the lab that knows only
 * spinlock.h. Given by -include, before any other header.
 */
#define HF_SPINLOCK_H /* spinlock.h is empty then */

#include "holdfast/internal/compiler.h"
#include "holdfast/spinlock_ticket.h"
#include "cas.h"
#include "cas_prefetch.h"
#include "cas_release.h"
#include "mcs.h"
#include "queued.h"
#include "wfe.h"

#define hf_spinlock_t HF_DETAIL_PASTE4(hf_spinlock_, LAB_SPINLOCK, _, t)
#define hf_spinlock_init HF_DETAIL_PASTE4(hf_spinlock_, LAB_SPINLOCK, _, init)
#define hf_spinlock_lock HF_DETAIL_PASTE4(hf_spinlock_, LAB_SPINLOCK, _, lock)
#define hf_spinlock_trylock HF_DETAIL_PASTE4(hf_spinlock_, LAB_SPINLOCK, _, trylock)
#define hf_spinlock_unlock HF_DETAIL_PASTE4(hf_spinlock_, LAB_SPINLOCK, _, unlock)
#define hf_spinlock_is_locked HF_DETAIL_PASTE4(hf_spinlock_, LAB_SPINLOCK, _, is_locked)
