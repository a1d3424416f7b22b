/* SPDX-License-Identifier: MIT */
#ifndef HF_RUN_SITE_H
#define HF_RUN_SITE_H
/*
 * site - is included before each of the library's sources when they are compiled for hf-run: reports
 * name the caller of the pthread function, a mutex's class is kept in the mutex, and a thread that
 * waits at a condition variable can be cancelled.
 */
#include "holdfast/internal/profile.h"
#include "holdfast/report.h"

#define HF_RUN_THREAD __thread __attribute__((tls_model("initial-exec")))

/* The call of a pthread function that this thread is in. */
extern HF_RUN_THREAD const void *hf_run_call_site __attribute__((visibility("hidden")));

#undef HF_DETAIL_CALL_SITE
#define HF_DETAIL_CALL_SITE hf_run_call_site

/* The library's own profile: hf-run counts in its place, but asks it since when a thread relocks. */
#undef hf_detail_profile_begin
#undef hf_detail_profile_end
#define hf_detail_profile_begin() hf_run_profile_begin()
#define hf_detail_profile_end(start, kind, lock, site) hf_run_profile_end(start, kind)
uint64_t hf_run_profile_begin(void);
void hf_run_profile_end(uint64_t start, enum hf_detail_profile_kind kind);

/* src/parking/parking.c: a waiter is queued, and is about to wait. Returns the deadline. */
#define HF_DETAIL_PARKING_QUEUED(waiter, deadline) hf_run_queued(waiter, deadline)
uint64_t hf_run_queued(const void *waiter, uint64_t deadline);

/* src/parking/parking.c: releases this waiter, if it is queued at @at. Returns whether it was. */
#define HF_DETAIL_PARKING_HAS_UNPARK_THIS
struct hf_detail_waiter;
struct hf_atomic32;
bool hf_detail_unpark_this(struct hf_atomic32 *at, const struct hf_detail_waiter *which);

/* src/validate/validate.c: a mutex's class, 0 = none; what no other mutex has; places as stacks. */
#define HF_DETAIL_VALIDATE_CLASS(lock) hf_run_class(lock)
#define HF_DETAIL_VALIDATE_IDENTITY(lock) hf_run_identity(lock)
#define HF_DETAIL_VALIDATE_LOST_CLASS(lock) false
#define HF_DETAIL_VALIDATE_KEEP(site) hf_run_keep_stack(site)
uint32_t hf_run_class(const void *lock);
uint64_t hf_run_identity(const void *lock);
/* Keeps the present stack, and returns a pointer to it. */
const void *hf_run_keep_stack(const void *site);

#endif
