/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_MUTEX_SLOW_H
#define HF_SRC_MUTEX_SLOW_H
/*
 * slow - what a condition variable needs of its mutex. Neither the profile nor the probes see it.
 */
#include "holdfast/mutex.h"

HF_BEGIN_DECLS

/* The slow path of lock. Returns true if it acquired the mutex. */
bool hf_detail_mutex_lock_contended(hf_atomic32_t *word, uint64_t deadline);

/* hf_mutex_shared_t: acquires the mutex, and leaves it marked as one with parked threads. */
bool hf_detail_mutex_shared_lock_parked(hf_atomic32_t *word, uint64_t deadline);

HF_END_DECLS

#endif
