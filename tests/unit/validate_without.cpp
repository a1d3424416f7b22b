/* SPDX-License-Identifier: MIT */
/* validate_without - a unit of the same program that is compiled without validation: C verbs only. */
#undef HF_VALIDATE
#define HF_VALIDATE 0
#include "validate_without.h"

#define UNLOCK(name, NAME, bytes, nodes)                                                           \
	void unlock_without(hf_spinlock_##name##_t *lock)                                          \
	{                                                                                          \
		hf_spinlock_##name##_unlock(lock);                                                 \
	}
HF_SPINLOCK_ROSTER(UNLOCK)

void unlock_without(hf_mutex_t *lock)
{
	hf_mutex_unlock(lock);
}
