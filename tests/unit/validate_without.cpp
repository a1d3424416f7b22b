/* SPDX-License-Identifier: MIT */
/*
 * validate_without - a unit of the same program that is compiled without validation: C operations
 * only.
 */
#undef HF_VALIDATE
#define HF_VALIDATE 0
#include "validate_without.h"

void unlock_without(hf_spinlock_t *lock)
{
	hf_spinlock_unlock(lock);
}

void unlock_without(hf_spinlock_ticket_t *lock)
{
	hf_spinlock_ticket_unlock(lock);
}

void unlock_without(hf_mutex_t *lock)
{
	hf_mutex_unlock(lock);
}
