// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* strict - Holdfast's queued spinlock without barging: strictly first come, first served. */
#define HF_SPINLOCK_QUEUED_PASSES 0

#include <linux/spinlock.h>

#include "holdfast/spinlock.h"

#include "strict.h"

static hf_spinlock_t lock;

void strict_lock(void)
{
	hf_spinlock_lock(&lock);
}

void strict_unlock(void)
{
	hf_spinlock_unlock(&lock);
}
