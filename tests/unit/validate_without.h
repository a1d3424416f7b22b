/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_VALIDATE_WITHOUT_H
#define HF_TESTS_VALIDATE_WITHOUT_H
/* validate_without - unlock, as a unit does it that is compiled without validation. */
#include "holdfast/mutex.h"
#include "holdfast/spinlock.h"

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

#define UNLOCK(name, NAME, bytes, nodes) void unlock_without(hf_spinlock_##name##_t *lock);
HF_SPINLOCK_ROSTER(UNLOCK)
#undef UNLOCK
void unlock_without(hf_mutex_t *lock);

#endif
