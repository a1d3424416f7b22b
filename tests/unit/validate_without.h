/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_VALIDATE_WITHOUT_H
#define HF_TESTS_VALIDATE_WITHOUT_H
/* validate_without - unlock, as a unit does it that is compiled without validation. */
#include "holdfast/mutex.h"
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

void unlock_without(hf_spinlock_t *lock);
void unlock_without(hf_spinlock_ticket_t *lock);
void unlock_without(hf_mutex_t *lock);

#endif
