/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_LINES_H
#define HF_SRC_LINES_H
/*
 * lines - where the threads of a process note which locks they read, and the process's share of
 * BIAS.
 *
 * Use when / not when
 *   For hf_rwlock_t. A line is used by one thread, in as many copies of the library as there are.
 *
 * Invariants
 *   N1  `used` only grows, and a line is below it before its thread stores into a slot. So a writer
 *       that has loaded `used` after its barrier looks at each line that matters: that a thread has
 *       raised `used` is to it as that it has stored into the slot (rwlock L1).
 *   N2  No code runs where a thread ends. A thread that needs a line, and finds none free, frees
 *       those of threads that are gone, unless there are less than 16, or than twice as many as
 *       were kept the last time. So there are at most 16 lines, or twice as many as there were
 *       threads at a time, and two at most are examined for each line taken, on average.
 *   N3  The owner is a process and a thread. In the child of a fork the forking thread becomes the
 *       owner of its line; all others are emptied, and free. In the child of a bare clone() they
 *       stay: their process is another one, so nobody takes them over.
 *   N4  A version in the owner changes whenever a thread takes or frees a line, also if that has
 *       its number already: so one that was about to free the line of a thread that is gone does
 *       not free that of a newer thread with the same number.
 */
#include "holdfast/rwlock.h"

#ifndef HF_RWLOCK_LINES
#define HF_RWLOCK_LINES 32768
#endif

struct hf_detail_rwlock_lines {
	hf_atomic32_t used;
	hf_atomic32_t sweep_from;  /* with how many lines to free some again (N2) */
	hf_atomic64_t bias_from;   /* from when on a lock may have BIAS again */
	hf_atomic32_t has_barrier; /* 0: not known; 1; 2: no */
	struct hf_detail_rwlock_line line[HF_RWLOCK_LINES];
};

HF_BEGIN_DECLS

/* NULL if it could not be allocated. */
struct hf_detail_rwlock_lines *hf_detail_rwlock_lines(void);

/*
 * This thread's line, in all copies of the library; if there is none left, one whose slots are all
 * in use, with which it is counted for as long as it lives.
 */
struct hf_detail_rwlock_line *hf_detail_rwlock_claim(void);

/* The slot with this value in a line of this thread; NULL = none has it. */
hf_atomic64_t *hf_detail_rwlock_find_slot(uint64_t value);

/* May a lock get BIAS now: is there a barrier, and was it not used much? */
bool hf_detail_bias_pays(void);

/* The barrier of a writer that found BIAS. None gets it for @rest times as long as that takes. */
void hf_detail_bias_revoke(uint32_t rest);

/*
 * For hf-run: locks to read, counted, and waits only for a writer that is inside, not for one that
 * waits, as glibc's locks of the default kind. Readers may starve writers.
 */
bool hf_detail_rwlock_read_lock_past(hf_atomic32_t *word, uint64_t deadline);

HF_END_DECLS

static inline uint32_t hf_detail_rwlock_lines_used(const struct hf_detail_rwlock_lines *lines)
{
	uint32_t used = hf_atomic32_load_acquire(&lines->used);

	return used < HF_RWLOCK_LINES ? used : HF_RWLOCK_LINES;
}

#endif
