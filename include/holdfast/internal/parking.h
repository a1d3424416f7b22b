/* SPDX-License-Identifier: MIT */
#ifndef HF_PARKING_H
#define HF_PARKING_H
#pragma GCC system_header
/*
 * parking - what an inline lock and unlock read of the table of waiters (src/parking/queue.h).
 *
 *   hf_detail_parking_need[]    for each bucket: does an unlock have to call its slow path?
 *   HF_DETAIL_PARKING_INDEX()   the bucket of an address
 *   HF_DETAIL_PARKING_MARK      what a lock of this thread stores to a mutex's word: 1, or its mark
 *
 * Context   any thread; only where threads can park (HF_ENV_HAS_PARK)
 */
#include "atomic.h"
#include "env.h"

#if HF_ENV_HAS_PARK

#ifndef HF_DETAIL_PARKING_BUCKETS
#define HF_DETAIL_PARKING_BUCKETS 1024
#define HF_DETAIL_PARKING_INDEX(at)                                                                \
	((uint32_t)((uint32_t)((uintptr_t)(at) >> 2) * 0x9e3779b1u) >> 22)
#endif

HF_BEGIN_DECLS

/* Points to zeros until the table is allocated. */
extern const hf_atomic32_t *volatile hf_detail_parking_need
	HF_DETAIL_LINKED(hf_detail_parking_need) HF_API_EACH;

/*
 * 1, until this thread has waited for a condition variable or signalled one: then its mark, a
 * number that no other thread has, by which its signals know that it holds the mutex.
 */
#ifndef HF_DETAIL_PARKING_MARK
#define HF_DETAIL_PARKING_MARK hf_detail_thread_mark
extern __thread __attribute__((tls_model("initial-exec")))
uint32_t hf_detail_thread_mark HF_DETAIL_LINKED(hf_detail_thread_mark) HF_API_EACH;
#endif

HF_END_DECLS

#endif
#endif
