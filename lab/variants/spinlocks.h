/* SPDX-License-Identifier: MIT */
#ifndef LAB_VARIANTS_SPINLOCKS_H
#define LAB_VARIANTS_SPINLOCKS_H
/*
 * spinlocks - lists the spinlocks that the lab measures beside Holdfast's own.
 *
 *   X(name, functions, initialiser, bytes)   the name of the rows; the prefix of the functions
 */
#include "spinlock/cas.h"
#include "spinlock/cas_prefetch.h"
#include "spinlock/cas_release.h"
#include "spinlock/mcs.h"
#include "spinlock/queued.h"
#include "spinlock/wfe.h"

#define LAB_SPINLOCKS(X)                                                                           \
	X(cas, hf_spinlock_cas, HF_SPINLOCK_CAS_INIT, 4)                                           \
	X(cas_release, hf_spinlock_cas_release, HF_SPINLOCK_CAS_RELEASE_INIT, 4)                   \
	X(cas_prefetch, hf_spinlock_cas_prefetch, HF_SPINLOCK_CAS_PREFETCH_INIT, 4)                \
	X(wfe, hf_spinlock_wfe, HF_SPINLOCK_WFE_INIT, 4)                                           \
	X(mcs, hf_spinlock_mcs, HF_SPINLOCK_MCS_INIT, 12)                                          \
	X(queued, hf_spinlock_queued, HF_SPINLOCK_QUEUED_INIT, 4)

#endif
