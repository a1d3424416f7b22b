/* SPDX-License-Identifier: MIT */
/*
 * rwlock - the slow paths of hf_rwlock_t. lines.h has the readers' lines, src/parking the waiters.
 *
 * State
 *   The word
 *     31    26 25      18 17         2      1        0
 *     [ forks | overdue  | count     | BIAS | WRITER ]
 *
 *     WRITER   a writer has announced itself (it has the claim), or is inside: no reader enters
 *     BIAS     readers go without a barrier, and a writer needs membarrier()
 *     count    readers inside that had no slot
 *     overdue  readers that have waited for a turn: no other writer gets the claim before them
 *     forks    of which process `overdue` is: in a child those readers do not exist
 *
 *   A slot of a thread's line: 0, or the lock's address L: the thread reads it, or is trying to
 *
 *   A reader
 *     0 -> L, no WRITER       inside;   L -> 0 leaves
 *     0 -> L, WRITER -> 0     waits; after a turn overdue + 1, until it is inside or gives up
 *   A writer
 *     no WRITER, no overdue -> WRITER    the claim: one at a time, waiters as those of a mutex
 *     BIAS: membarrier(), BIAS -> 0;     then it waits until no slot has L and count is 0
 *     WRITER -> 0                        unlocks, or gives up
 *
 * Invariants
 *   L1  Exclusion. A reader stores L, then loads the word; a writer sets WRITER, then reads the
 *       slots. With a full barrier between the two steps of both, at least one sees the other. The
 *       reader's is a fence, or, if the word that it loads has BIAS, the membarrier() of the writer
 *       that takes BIAS away: if the reader's store precedes the moment when that takes effect in
 *       its thread, the writer sees L; otherwise the reader's load follows it, and sees WRITER.
 *       BIAS is set only by a swap that finds no WRITER, so the next writer finds it, and clears it
 *       only after the barrier. So where a writer finds no BIAS, each reader that went without a
 *       fence is visible since an earlier one's barrier.
 *   L2  Phases. Once a reader is overdue no writer gets the claim, so it enters when the one that
 *       has it unlocks. No reader becomes overdue while there is no WRITER: so `overdue` goes to 0,
 *       and writers do not starve either. The last overdue reader wakes a writer.
 *   L3  Waking. Whoever makes a waiter's condition true stores first and then loads `need` of the
 *       lock's bucket, without a barrier, as a mutex's unlock does (src/parking/to_lock.c, W1).
 *         at the word        writers that want the claim;    the next unlock wakes the first one
 *         at the word + 1    readers;                        an unlock wakes all
 *         at the word + 2    the writer with the claim;      each reader that leaves wakes it
 *       The three have one bucket. Those at one address wait for the same, so they rely on the
 *       first one's look (parking W2). Where more than one may go on, one that was parked wakes
 *       those behind it.
 *   L4  A reader's unlock does not touch the lock after its store: its address tells the bucket.
 *       For one that is counted the last access is the subtraction.
 *   L5  A thread that has L in a slot may enter again though there is a writer, by another slot:
 *       the writer waits for the first one. An unlock empties the lowest slot that has L, and a
 *       writer looks at them from the lowest to the highest, so the one that is emptied last is
 *       still before it. The count comes after all slots, for both.
 */
#include "holdfast/rwlock.h"

#include "../mutex/slow.h"
#include "../profile/probe.h"
#include "lines.h"

/* One of so many reads of a thread with a fence gives the lock BIAS, if that pays. */
#ifndef HF_RWLOCK_SAMPLE
#define HF_RWLOCK_SAMPLE 4096
#endif

/* After a revocation no lock gets BIAS for so many times as long as it took. */
#ifndef HF_RWLOCK_REST
#define HF_RWLOCK_REST 31
#endif

/* A turn: after it a reader is overdue. Until then writers that run may go before it. */
#ifndef HF_RWLOCK_TURN_NS
#define HF_RWLOCK_TURN_NS 1000000
#endif

/* This thread's reads with a fence. Models define their own. */
#ifndef HF_RWLOCK_READS
#define HF_RWLOCK_READS fenced_reads
static __thread uint32_t fenced_reads __attribute__((tls_model("initial-exec")));
#endif

/* A thread unlocks a lock that it does not read. */
#ifndef HF_DETAIL_RWLOCK_NOT_MINE
#define HF_DETAIL_RWLOCK_NOT_MINE(word)                                                            \
	hf_report_at(HF_REPORT_LOCK_WRONG_OWNER, word, HF_DETAIL_CALL_SITE)
#endif

/*
 * ThreadSanitizer does not understand fences, and atomic.h leaves them out: but this one is needed,
 * so it is the barrier of a read-modify-write of the thread's own word, which orders no data.
 */
#if HF_TSAN
static __thread hf_atomic32_t fenced_word;
#define FULL_FENCE() ((void)hf_atomic32_fetch_add_relaxed(&fenced_word, 0))
#define FULL_FENCE_AT_RMW() FULL_FENCE()
#else
#define FULL_FENCE() hf_atomic_fence_seq_cst()
#define FULL_FENCE_AT_RMW() hf_atomic_fence_seq_cst_at_rmw()
#endif

enum {
	WRITER = HF_DETAIL_RWLOCK_WRITER,
	BIAS = HF_DETAIL_RWLOCK_BIAS,
	ONE = 1 << 2,
	OVERDUE = 1 << 18,
	FORK = 1 << 26,
};
#define COUNT_MASK ((uint32_t)(OVERDUE - ONE))
#define OVERDUE_MASK ((uint32_t)(FORK - OVERDUE))
#define FORK_MASK (0u - FORK)

/* Where threads wait beside the word (L3). */
enum { READERS = 1, DRAINED = 2 };

static hf_atomic32_t *at_word(const hf_atomic32_t *word, uintptr_t where)
{
	return (hf_atomic32_t *)((uintptr_t)word + where);
}

static hf_atomic32_t *word_at(const hf_atomic32_t *at)
{
	return (hf_atomic32_t *)((uintptr_t)at & ~(uintptr_t)3);
}

/* Waits for what all at this address wait for, who need not wait for each other (L3). */
static bool wait_for(hf_atomic32_t *at, hf_detail_try_lock_t *try_lock, uint64_t deadline)
{
	enum hf_detail_park result = hf_detail_lock_contended(at, try_lock, deadline);

	if (result == HF_DETAIL_PARK_LOCKED && hf_detail_rwlock_needs_wake(at))
		hf_detail_unpark_each(at, 1);
	return result != HF_DETAIL_PARK_TIMED_OUT;
}

/* Is the only waiter of the bucket that needs a wake-up on its way (parking Q6)? */
static bool is_woken(const hf_atomic32_t *word)
{
	return hf_detail_parking_flags(word) & HF_DETAIL_BUCKET_WAKING;
}

/* ---- slots ---------------------------------------------------------------------------------- */

static hf_atomic64_t *find_slot(uint64_t value, const hf_atomic64_t *not_this)
{
	return hf_detail_rwlock_slot_with(HF_DETAIL_RWLOCK_LINE, value, not_this);
}

/* It may have one already, from another copy of the library, with locks that it reads. */
static void get_line(void)
{
	if (HF_UNLIKELY(!HF_DETAIL_RWLOCK_LINE))
		HF_DETAIL_RWLOCK_LINE = hf_detail_rwlock_claim();
}

/* Stores L in a slot that is empty. NULL = there is none. */
static hf_atomic64_t *take_slot(const hf_atomic32_t *word)
{
	hf_atomic64_t *slot;

	get_line();
	slot = find_slot(0, NULL);
	if (slot)
		hf_atomic64_store_relaxed(slot, (uintptr_t)word);
	return slot;
}

/* L -> 0 */
static void empty_slot(hf_atomic64_t *slot, const hf_atomic32_t *word)
{
	hf_atomic64_store_release(slot, 0);
	if (hf_detail_rwlock_needs_wake(word)) /* L3 */
		hf_detail_rwlock_wake_writer(word);
}

/* ---- to read -------------------------------------------------------------------------------- */

/* @slot has L. If there is a writer it is emptied again, and the answer is false. */
static bool try_slot(hf_atomic32_t *word, hf_atomic64_t *slot)
{
	FULL_FENCE(); /* L1 */
	if (!(hf_atomic32_load_acquire(word) & WRITER) || find_slot((uintptr_t)word, slot))
		return true; /* L5 */
	empty_slot(slot, word);
	return false;
}

/* With a thread's line full, it may enter again a lock that it has in a slot (L5). */
static bool try_count(hf_atomic32_t *at)
{
	hf_atomic32_t *word = word_at(at);
	uint32_t barred = find_slot((uintptr_t)word, NULL) ? 0 : WRITER;
	uint32_t found = hf_atomic32_load_relaxed(word);

	while (!(found & barred) && (found & COUNT_MASK) != COUNT_MASK) {
		if (hf_atomic32_try_cmpxchg_acquire(word, &found, found + ONE))
			return true;
	}
	return false;
}

static bool try_read(hf_atomic32_t *at)
{
	hf_atomic32_t *word = word_at(at);
	hf_atomic64_t *slot;

	get_line();
	if ((hf_atomic32_load_relaxed(word) & WRITER) && !find_slot((uintptr_t)word, NULL))
		return false;
	slot = take_slot(word);
	return slot ? try_slot(word, slot) : try_count(word);
}

/* The word as it is in this process: without the overdue readers of a parent. */
static uint32_t of_this_process(uint32_t found)
{
	const struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint32_t forks = lines ? hf_atomic32_load_relaxed(&lines->forks) * FORK : 0;

	return (found & FORK_MASK) == forks ? found : (found & (OVERDUE - 1)) | forks;
}

/* overdue + 1, or - 1. Returns the new number; -1 = no change, since there are too many or none. */
static int change_overdue(hf_atomic32_t *word, int by)
{
	uint32_t found = hf_atomic32_load_relaxed(word);

	for (;;) {
		uint32_t mine = of_this_process(found);
		uint32_t limit = by < 0 ? 0 : OVERDUE_MASK;

		if ((mine & OVERDUE_MASK) == limit)
			return -1;
		mine += (uint32_t)by * OVERDUE;
		if (hf_atomic32_try_cmpxchg_relaxed(word, &found, mine))
			return (int)((mine & OVERDUE_MASK) / OVERDUE);
	}
}

/* For a turn as any reader, and then as one that is overdue (L2). */
static bool read_contended(hf_atomic32_t *word, uint64_t deadline)
{
	uint64_t turn = hf_env_deadline(HF_RWLOCK_TURN_NS);
	bool locked = wait_for(at_word(word, READERS), try_read, hf_detail_earlier(turn, deadline));
	bool is_counted;

	if (locked || deadline <= turn)
		return locked;
	is_counted = change_overdue(word, 1) > 0;
	locked = wait_for(at_word(word, READERS), try_read, deadline);
	if (is_counted && change_overdue(word, -1) == 0 && hf_detail_rwlock_needs_wake(word))
		hf_detail_unpark_first(word); /* L3 */
	return locked;
}

static void give_bias(hf_atomic32_t *word)
{
	uint32_t found = hf_atomic32_load_relaxed(word);

	if (!(found & (WRITER | BIAS)) && hf_detail_bias_pays())
		(void)hf_atomic32_try_cmpxchg_relaxed(word, &found, found | BIAS);
}

__attribute__((__noinline__)) bool
hf_detail_rwlock_read_lock_slow(hf_atomic32_t *word, bool is_stored, uint64_t deadline)
{
	uint64_t start;
	bool locked;

	if (HF_LIKELY(is_stored ? try_slot(word, &HF_DETAIL_RWLOCK_LINE->slot[0])
				: try_read(word))) {
		if (++HF_RWLOCK_READS % HF_RWLOCK_SAMPLE == 0)
			give_bias(word);
		return true;
	}
	if (deadline == HF_DETAIL_RWLOCK_NOW)
		return false;
	start = hf_detail_profile_begin();
	HF_DETAIL_PROBE2(contended, word, 5);
	locked = read_contended(word, deadline);
	HF_DETAIL_PROBE3(acquired, word, 5, locked);
	hf_detail_profile_end(start, HF_DETAIL_PROFILE_RWLOCK_READ, word, HF_DETAIL_CALL_SITE);
	return locked;
}

bool hf_detail_rwlock_read_lock_counted(hf_atomic32_t *word, uint64_t deadline)
{
	return try_count(word) || (deadline != HF_DETAIL_RWLOCK_NOW &&
				   wait_for(at_word(word, READERS), try_count, deadline));
}

/* A reader that is counted, not in a slot, leaves. Returns false if none is. */
static bool count_out(hf_atomic32_t *word)
{
	uint32_t found = hf_atomic32_load_relaxed(word);

	while (found & COUNT_MASK) {
		if (!hf_atomic32_try_cmpxchg_release(word, &found, found - ONE))
			continue;
		if (hf_detail_rwlock_needs_wake(word)) /* L3, L4 */
			hf_detail_rwlock_wake_writer(word);
		return true;
	}
	return false;
}

void hf_detail_rwlock_read_unlock_slow(hf_atomic32_t *word)
{
	hf_atomic64_t *slot = find_slot((uintptr_t)word, NULL);

	if (!slot)
		slot = hf_detail_rwlock_find_slot((uintptr_t)word); /* of another copy's line */
	if (slot)
		empty_slot(slot, word);
	else if (!count_out(word))
		HF_DETAIL_RWLOCK_NOT_MINE(word);
}

void hf_detail_rwlock_wake_writer(const hf_atomic32_t *word)
{
	if (!is_woken(word))
		hf_detail_unpark_first(at_word(word, DRAINED));
}

/* ---- to write ------------------------------------------------------------------------------- */

/*
 * The claim orders nothing by itself: L1 needs it before the writer's barrier, which is in
 * revoke_bias(), and try_drained() acquires.
 */
static bool try_claim(hf_atomic32_t *word)
{
	uint32_t found = hf_atomic32_load_relaxed(word);

	while (!(found & WRITER) &&
	       (HF_LIKELY(!(found & OVERDUE_MASK)) || !(of_this_process(found) & OVERDUE_MASK))) {
		if (hf_atomic32_try_cmpxchg_relaxed(word, &found, found | WRITER))
			return true;
	}
	return false;
}

/* From the lowest slot to the highest (L5). Unrolled: a writer looks at many lines. */
static bool line_has(const struct hf_detail_rwlock_line *line, uint64_t lock)
{
#pragma GCC unroll 7
	for (int i = 0; i < HF_DETAIL_RWLOCK_SLOTS; i++) {
		if (HF_UNLIKELY(hf_atomic64_load_acquire(&line->slot[i]) == lock))
			return true;
	}
	return false;
}

/*
 * Is no reader inside? For a writer that has the claim: L1.
 *
 * A reader that has left L may have stored another lock's address in the slot since, relaxed. A
 * scan that finds that acquires L's section on each processor, whose stores to one word keep their
 * order, but not by the rules of C++20, where only a read-modify-write continues a release.
 */
static bool try_drained(hf_atomic32_t *at)
{
	hf_atomic32_t *word = word_at(at);
	const struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint32_t used = hf_detail_rwlock_lines_used(lines);

	for (uint32_t n = 0; n < used; n++) {
		if (line_has(&lines->line[n], (uintptr_t)word))
			return false;
	}
	return !(hf_atomic32_load_acquire(word) & COUNT_MASK);
}

/* L1: no reader that has entered without a barrier stays unseen. */
static void revoke_bias(hf_atomic32_t *word)
{
	if (HF_LIKELY(!(hf_atomic32_load_relaxed(word) & BIAS))) {
		FULL_FENCE_AT_RMW(); /* after the claim */
		return;
	}
	hf_detail_bias_revoke(HF_RWLOCK_REST);
	(void)hf_atomic32_fetch_sub_release(word, BIAS);
}

static bool claim(hf_atomic32_t *word, uint64_t deadline)
{
	if (hf_detail_lock_contended(word, try_claim, deadline) == HF_DETAIL_PARK_TIMED_OUT)
		return false;
	revoke_bias(word);
	return true;
}

/* Keeps readers out while it waits for those inside. */
static bool write_contended(hf_atomic32_t *word, bool is_claimed, uint64_t deadline)
{
	if (!is_claimed && !claim(word, deadline))
		return false;
	if (wait_for(at_word(word, DRAINED), try_drained, deadline))
		return true;
	hf_detail_rwlock_write_unlock(word); /* gives up */
	return false;
}

/* Keeps them out only while it spins, and waits without the claim: readers pass it. */
static bool write_contended_last(hf_atomic32_t *word, bool is_claimed, uint64_t deadline)
{
	do {
		if (!is_claimed && !claim(word, deadline))
			return false;
		if (wait_for(at_word(word, DRAINED), try_drained, HF_DETAIL_RWLOCK_NOW))
			return true;
		hf_detail_rwlock_write_unlock(word); /* gives up */
		is_claimed = false;
	} while (wait_for(at_word(word, DRAINED), try_drained, deadline));
	return false;
}

static bool write_lock(hf_atomic32_t *word, bool is_last, uint64_t deadline, const void *site)
{
	bool is_claimed = try_claim(word), locked;
	uint64_t start;

	if (HF_LIKELY(is_claimed)) {
		revoke_bias(word);
		if (HF_LIKELY(try_drained(at_word(word, DRAINED))))
			return true;
	}
	if (deadline == HF_DETAIL_RWLOCK_NOW) {
		if (is_claimed)
			hf_detail_rwlock_write_unlock(word);
		return false;
	}
	start = hf_detail_profile_begin();
	HF_DETAIL_PROBE2(contended, word, 6);
	locked = is_last ? write_contended_last(word, is_claimed, deadline)
			 : write_contended(word, is_claimed, deadline);
	HF_DETAIL_PROBE3(acquired, word, 6, locked);
	hf_detail_profile_end(start, HF_DETAIL_PROFILE_RWLOCK_WRITE, word, site);
	(void)site; /* without a profile */
	return locked;
}

__attribute__((__noinline__)) bool hf_detail_rwlock_write_lock(hf_atomic32_t *word,
							       uint64_t deadline)
{
	return write_lock(word, false, deadline, HF_DETAIL_CALL_SITE);
}

__attribute__((__noinline__)) bool hf_detail_rwlock_write_lock_last(hf_atomic32_t *word,
								    uint64_t deadline)
{
	return write_lock(word, true, deadline, HF_DETAIL_CALL_SITE);
}

/* After WRITER was taken away. */
void hf_detail_rwlock_wake_all(hf_atomic32_t *word)
{
	if (is_woken(word))
		return;
	hf_detail_unpark_each(at_word(word, READERS), 1);
	hf_detail_unpark_first(word);
}

/* The writer becomes a reader before it lets others in. */
void hf_detail_rwlock_downgrade(hf_atomic32_t *word)
{
	uint32_t change = WRITER;

	if (!take_slot(word))
		change -= ONE;
	(void)hf_atomic32_fetch_sub_release(word, change);
	if (hf_detail_rwlock_needs_wake(word))
		hf_detail_rwlock_wake_all(word);
}
