/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_LINES_H
#define HF_SRC_LINES_H
/*
 * lines - where the threads of a process note which locks they read, and the process's share of
 * BIAS. For hf_rwlock_t.
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
	hf_atomic32_t sweep_from; /* with how many lines to free some again (N2) */
	hf_atomic64_t bias_from;  /* from when on a lock may have BIAS; 0: not known */
	hf_atomic32_t forks;      /* how many lie between the first process and this one */
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

/* The slot with this value in a line of this thread, of any copy; NULL = none has it. */
hf_atomic64_t *hf_detail_rwlock_find_slot(uint64_t value);

/* May a lock get BIAS now: is there a barrier, and was it not used much? */
bool hf_detail_bias_pays(void);

/* The barrier of a writer that found BIAS. None gets it for @rest times as long as that takes. */
void hf_detail_bias_revoke(uint32_t rest);

/*
 * For hf-run: a writer that keeps no reader out while it waits for those inside, as with glibc's
 * default kind. Readers may starve it.
 */
bool hf_detail_rwlock_write_lock_last(hf_atomic32_t *word, uint64_t deadline);

/* For hf-run: locks to read, and is counted: any thread may unlock it. */
bool hf_detail_rwlock_read_lock_counted(hf_atomic32_t *word, uint64_t deadline);

HF_END_DECLS

/* A slot with this value, except @not_this; NULL = there is none. */
static inline hf_atomic64_t *hf_detail_rwlock_slot_with(struct hf_detail_rwlock_line *line,
							uint64_t value,
							const hf_atomic64_t *not_this)
{
	for (int i = 0; line && i < HF_DETAIL_RWLOCK_SLOTS; i++) {
		if (&line->slot[i] != not_this && hf_atomic64_load_relaxed(&line->slot[i]) == value)
			return &line->slot[i];
	}
	return NULL;
}

static inline uint32_t hf_detail_rwlock_lines_used(const struct hf_detail_rwlock_lines *lines)
{
	uint32_t used = lines ? hf_atomic32_load_acquire(&lines->used) : 0;

	return used < HF_RWLOCK_LINES ? used : HF_RWLOCK_LINES;
}

#endif
