/* SPDX-License-Identifier: MIT */
/* validated - locks with validation: only this file is compiled with HF_VALIDATE. */
#define HF_VALIDATE 1
#include "holdfast/validate.h"

#include "operations.h"

void validated_lock(hf_mutex_t *mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_mutex_lock(mutex);
}

void validated_unlock(hf_mutex_t *mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_mutex_unlock(mutex);
}

const void *validated_where(void)
{
	bool (*where)(const void *lock) = hf_validate_is_held;

	return (const void *)(uintptr_t)where;
}
