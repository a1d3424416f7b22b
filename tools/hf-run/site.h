/* SPDX-License-Identifier: MIT */
#ifndef HF_RUN_SITE_H
#define HF_RUN_SITE_H
/*
 * site - is included before each of the library's sources when they are compiled for hf-run:
 * reports name the caller of the pthread function, a mutex's class is kept in the mutex, and a
 * thread that waits at a condition variable can be cancelled.
 */
#include "holdfast/internal/profile.h"
#include "holdfast/report.h"

#define HF_RUN_THREAD __thread __attribute__((tls_model("initial-exec")))

/* The call of a pthread function that this thread is in. */
extern HF_RUN_THREAD const void *hf_run_call_site __attribute__((visibility("hidden")));

#undef HF_DETAIL_CALL_SITE
#define HF_DETAIL_CALL_SITE hf_run_call_site

/* The library's profile: hf-run counts in its place, but asks since when a thread relocks. */
#undef hf_detail_profile_begin
#undef hf_detail_profile_end
#define hf_detail_profile_begin() hf_run_profile_begin()
#define hf_detail_profile_end(start, kind, lock, site) hf_run_profile_end(start, kind)
uint64_t hf_run_profile_begin(void);
void hf_run_profile_end(uint64_t start, enum hf_detail_profile_kind kind);

/*
 * src/parking/move.c: a mark in a mutex's word does not say who will unlock it, since programs
 * may let another thread do that.
 */
#define HF_DETAIL_PARKING_TRUSTS_MARKS 0

/* src/rwlock/rwlock.c: a thread unlocks what it does not read, as programs may let it. */
#define HF_DETAIL_RWLOCK_NOT_MINE(word) hf_run_unlock_another(word)
void hf_run_unlock_another(struct hf_atomic32 *word);

/* src/parking/to_wait.c: a waiter is queued and is about to wait: returns the deadline. It ends. */
#define HF_DETAIL_PARKING_QUEUED(waiter, deadline) hf_run_queued(waiter, deadline)
#define HF_DETAIL_PARKING_LEFT() hf_run_left()
struct hf_detail_waiter;
uint64_t hf_run_queued(struct hf_detail_waiter *waiter, uint64_t deadline);
void hf_run_left(void);

/* src/parking/to_wait.c: releases a waiter that is still queued at @at. Returns whether it was. */
#define HF_DETAIL_PARKING_HAS_UNPARK_THIS
bool hf_detail_unpark_this(struct hf_atomic32 *at, struct hf_detail_waiter *waiter);

/*
 * src/validate/validate.c: a mutex's label is the number of its place; its class follows from that,
 * 0 = none; its identity no other mutex has. Reports name places as stacks.
 */
#define HF_DETAIL_VALIDATE_LABEL(lock) hf_run_label(lock)
#define HF_DETAIL_VALIDATE_CLASS(label) hf_run_class(label)
#define HF_DETAIL_VALIDATE_IDENTITY(lock) hf_run_identity(lock)
#define HF_DETAIL_VALIDATE_LOST_CLASS(lock) false
#define HF_DETAIL_VALIDATE_TAKEN_BY_ANOTHER(lock) hf_run_was_taken_by_another(lock)
#define HF_DETAIL_VALIDATE_TAKEN(lock) ((void)0) /* the mutex has its owner */
#define HF_DETAIL_VALIDATE_GRANTS hf_run_grants()
#define HF_DETAIL_VALIDATE_KEEP(site) hf_run_keep_stack(site)
uint32_t hf_run_label(const void *lock);
uint32_t hf_run_class(uint32_t label);
uint64_t hf_run_identity(const void *lock);
/* Has a thread other than this one the mutex, and was it watched when it took it? */
bool hf_run_was_taken_by_another(const void *lock);
/* Is a recursion granted, and not waited for? */
bool hf_run_grants(void);
/* Keeps the present stack, and returns a pointer to it. */
const void *hf_run_keep_stack(const void *site);
/* The label of a lock that this thread holds, as it was when it was taken; 0 = does not hold it. */
uint32_t hf_detail_validate_label(const void *lock);

#endif
