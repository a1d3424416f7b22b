/* SPDX-License-Identifier: MIT */
/*
 * rwlock - the slow paths of hf_rwlock_t. lines.h has the readers' lines, src/parking the waiters.
 *
 * State
 *   The word
 *     31            7     6     5   4   3     2        1        0
 *     [ count of readers | BIAS | age      | PHASE | INSIDE | WRITER ]
 *
 *     WRITER   a writer has announced itself (it has the claim): no new reader enters
 *     INSIDE   that writer holds the lock; nobody else changes the word until it unlocks
 *     PHASE    changes with each unlock of a writer, and each downgrade
 *     age      how many samples of readers have found no writer since the last one unlocked
 *     BIAS     carried from age: readers go without a barrier, and a writer needs membarrier()
 *     count    readers that had no slot, or that entered past a waiting writer (for hf-run)
 *
 *   A slot of a thread's line, where L is the lock's address
 *     0             empty
 *     L             the thread reads L, or is trying to
 *     L | 1 | 2p    a mark: it waits for the writer in whose phase p it came
 *
 *   A reader
 *     0 -> L, no WRITER       inside
 *     0 -> L, WRITER -> 0     waits, with an empty slot, for a turn; then
 *     0 -> L, WRITER -> mark  waits;   PHASE has changed -> L, inside
 *                                      WRITER gone, same PHASE (it gave up) -> L, as at first
 *     L -> 0, mark -> 0       leaves; gives up
 *
 *   A writer
 *     no WRITER -> WRITER     the claim: one writer at a time, waiters as those of a mutex
 *     BIAS: membarrier();     waits until no slot has L or a mark of the other phase
 *     count 0 -> INSIDE       inside
 *     WRITER -> 0             gives up: it has timed out; or, while its turn lasts, it waits for a
 *                             reader without the claim, and then competes for the claim again
 *     -> the other PHASE      unlock: the marks of this phase may enter; all other bits 0
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
 *   L2  Phases. A mark counts only if its thread has stored it, executed a fence, and then found
 *       WRITER with the mark's phase. By L1's argument the writer that comes after that one sees
 *       the mark, and waits until the thread has turned it into L and left. So a thread whose mark
 *       counts, and which finds another phase, is inside; and the phase can't change again before
 *       it has left. Two phases therefore suffice. A writer that gives up must not change the
 *       phase: a mark whose thread is inside already would become one that waits.
 *   L3  Waking. Whoever makes a waiter's condition true stores first and then loads `need` of the
 *       address's bucket, without a barrier, as a mutex's unlock does (src/parking/to_lock.c, W1):
 *         writers that want the claim wait at the word;   the next unlock wakes the first one
 *         readers wait at the word + 1, or + 3 if they    an unlock wakes all
 *         have a mark, or go past waiting writers;
 *         a writer waits for a reader at its slot,        that reader wakes it when it leaves
 *         or at the word + 2 for the count;               the reader that is counted out wakes it
 *       The four addresses of the word have one bucket. Those at the word, and those at the word +
 *       1, wait for the same, so they rely on the first one's look (W2), and one that was parked
 *       and enters wakes those behind it. The others wait ALONE.
 *   L4  A reader's unlock does not touch the lock after its store: the slot's bucket tells whether
 *       a writer waits. One that is counted has no slot, and its last access is the subtraction.
 *   L5  A thread that has L in a slot may enter again though there is a writer, by another slot or
 *       counted: the writer waits at the first one. An unlock empties the lowest slot that has L,
 *       and a writer looks at them from the lowest to the highest, so the one that is emptied last
 *       is still before it. The count comes after all slots, for both.
 */
#include "holdfast/rwlock.h"

#include "../mutex/slow.h"
#include "../profile/probe.h"
#include "lines.h"

/* How often a thread's reads that needed a fence are sampled, and how many samples give BIAS. */
#ifndef HF_RWLOCK_SAMPLE
#define HF_RWLOCK_SAMPLE 512
#endif
#ifndef HF_RWLOCK_AGES
#define HF_RWLOCK_AGES 8
#endif

/*
 * A turn: so long a reader waits without a mark, and a writer for readers without the claim. Until
 * then whoever runs takes the lock past those that were woken and do not run yet.
 */
#ifndef HF_RWLOCK_TURN_NS
#define HF_RWLOCK_TURN_NS 1000000
#endif

/* After a revocation no lock gets BIAS for so many times as long as it took. */
#ifndef HF_RWLOCK_REST
#define HF_RWLOCK_REST 31
#endif

/*
 * This thread's reads with a fence; and the lock that it waits to write, for try_slot(), which gets
 * only the slot's address. Models define their own.
 */
#ifndef HF_RWLOCK_READS
#define HF_RWLOCK_READS fenced_reads
#define HF_RWLOCK_DRAINED drained_lock
static __thread uint32_t fenced_reads __attribute__((tls_model("initial-exec")));
static __thread const hf_atomic32_t *drained_lock __attribute__((tls_model("initial-exec")));
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
	INSIDE = HF_DETAIL_RWLOCK_INSIDE,
	PHASE = HF_DETAIL_RWLOCK_PHASE,
	BIAS = HF_DETAIL_RWLOCK_BIAS,
	AGE_ONE = BIAS / HF_RWLOCK_AGES,
	AGE_MASK = BIAS - AGE_ONE,
	ONE = HF_DETAIL_RWLOCK_ONE,
};
HF_STATIC_ASSERT(BIAS / 8 == 2 * PHASE && HF_RWLOCK_AGES <= 8, "age is between PHASE and BIAS");

/* Where threads wait (L3). */
static hf_atomic32_t *readers_of(hf_atomic32_t *word)
{
	return (hf_atomic32_t *)(void *)((char *)word + 1);
}

static hf_atomic32_t *count_of(hf_atomic32_t *word)
{
	return (hf_atomic32_t *)(void *)((char *)word + 2);
}

static hf_atomic32_t *marked_of(hf_atomic32_t *word)
{
	return (hf_atomic32_t *)(void *)((char *)word + 3);
}

static hf_atomic32_t *word_at(hf_atomic32_t *at)
{
	return (hf_atomic32_t *)((uintptr_t)at & ~(uintptr_t)3);
}

/* ---- slots ---------------------------------------------------------------------------------- */

static uint64_t mark_of(const hf_atomic32_t *word, uint32_t phase)
{
	return (uint64_t)(uintptr_t)word | 1 | (phase & PHASE) / (PHASE / 2);
}

static bool is_mark(uint64_t value)
{
	return value & 1;
}

static uint32_t phase_of(uint64_t mark)
{
	return (mark & 2) * (PHASE / 2);
}

/* A slot of this thread's line with this value, except @not; NULL = it has none. */
static hf_atomic64_t *find_slot(uint64_t value, const hf_atomic64_t *not_this)
{
	struct hf_detail_rwlock_line *line = HF_DETAIL_RWLOCK_LINE;

	for (int i = 0; line && i < HF_DETAIL_RWLOCK_SLOTS; i++) {
		if (&line->slot[i] != not_this && hf_atomic64_load_relaxed(&line->slot[i]) == value)
			return &line->slot[i];
	}
	return NULL;
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

/* L -> mark or 0, mark -> 0. A writer that waits at this slot must look again. */
static void change_slot(hf_atomic64_t *slot, uint64_t value)
{
	hf_atomic64_store_release(slot, value);
	if (hf_detail_rwlock_needs_wake(slot))
		hf_detail_rwlock_wake_writer(slot);
}

/* ---- to read -------------------------------------------------------------------------------- */

/*
 * @slot has L, or a mark that counts (L2). Returns true with L in it if this thread is inside;
 * otherwise it has a mark that counts.
 */
static bool try_enter(hf_atomic32_t *word, hf_atomic64_t *slot)
{
	uint64_t lock = (uintptr_t)word, mine = hf_atomic64_load_relaxed(slot);
	uint32_t found;

	if (is_mark(mine)) {
		found = hf_atomic32_load_acquire(word);
		if ((found & PHASE) == phase_of(mine) && (found & WRITER))
			return false;
		hf_atomic64_store_relaxed(slot, lock);
		if ((found & PHASE) != phase_of(mine))
			return true;
		mine = lock; /* the writer gave up */
	}
	for (;;) {
		FULL_FENCE(); /* L1 */
		found = hf_atomic32_load_acquire(word);
		if (!is_mark(mine)) {
			if (!(found & WRITER) || find_slot(lock, slot)) /* L5 */
				return true;
		} else if ((found & WRITER) && (found & PHASE) == phase_of(mine)) {
			return false; /* L2 */
		}
		mine = found & WRITER ? mark_of(word, found) : lock;
		change_slot(slot, mine);
	}
}

/* For a reader with a mark that counts, at marked_of(). */
static bool try_enter_marked(hf_atomic32_t *at)
{
	hf_atomic32_t *word = word_at(at);
	hf_atomic64_t *slot = find_slot(mark_of(word, 0), NULL);

	return try_enter(word, slot ? slot : find_slot(mark_of(word, PHASE), NULL));
}

static bool try_count(hf_atomic32_t *word, uint32_t barred)
{
	uint32_t found = hf_atomic32_load_relaxed(word);

	while (!(found & barred)) {
		if (hf_atomic32_try_cmpxchg_acquire(word, &found, found + ONE))
			return true;
	}
	return false;
}

/* @slot has L. If there is a writer it is emptied again, and the answer is false. */
static bool try_slot_of(hf_atomic32_t *word, hf_atomic64_t *slot)
{
	FULL_FENCE(); /* L1 */
	if (!(hf_atomic32_load_acquire(word) & WRITER) || find_slot((uintptr_t)word, slot))
		return true; /* L5 */
	change_slot(slot, 0);
	return false;
}

/* One attempt of a reader without a mark. */
static bool try_read(hf_atomic32_t *word)
{
	hf_atomic64_t *slot;

	get_line();
	if ((hf_atomic32_load_relaxed(word) & WRITER) && !find_slot((uintptr_t)word, NULL))
		return false;
	slot = take_slot(word);
	if (slot)
		return try_slot_of(word, slot);
	return try_count(word, find_slot((uintptr_t)word, NULL) ? 0 : WRITER); /* L5 */
}

static bool try_read_at(hf_atomic32_t *at)
{
	return try_read(word_at(at));
}

static bool try_count_past(hf_atomic32_t *at)
{
	return try_count(word_at(at), INSIDE);
}

/* Waits with all readers that wait until there is no writer. */
static bool wait_for_no_writer(hf_atomic32_t *word, uint64_t deadline)
{
	enum hf_detail_park result = hf_detail_lock_contended(readers_of(word), try_read_at,
							      deadline, HF_DETAIL_PARK_QUEUED);

	if (result == HF_DETAIL_PARK_LOCKED && hf_detail_rwlock_needs_wake(word))
		hf_detail_unpark_each(readers_of(word), 1); /* L3 */
	return result != HF_DETAIL_PARK_TIMED_OUT;
}

/* Waits at an address where others wait for something else. */
static bool wait_alone(hf_atomic32_t *at, hf_detail_try_lock_t *try_lock, uint64_t deadline)
{
	enum hf_detail_park result =
		hf_detail_lock_contended(at, try_lock, deadline, HF_DETAIL_PARK_ALONE);

	if (result != HF_DETAIL_PARK_NONE && hf_detail_rwlock_needs_wake(at))
		hf_detail_unpark_each(at, 1); /* L3 */
	return result != HF_DETAIL_PARK_TIMED_OUT;
}

/* For a turn without a mark, and then with one. A thread without a slot never gets one. */
static bool read_contended(hf_atomic32_t *word, uint64_t deadline)
{
	uint64_t turn = hf_env_deadline(HF_RWLOCK_TURN_NS);
	hf_atomic64_t *slot;

	if (wait_for_no_writer(word, hf_detail_earlier(turn, deadline)))
		return true;
	if (deadline <= turn)
		return false;
	slot = take_slot(word);
	if (!slot)
		return wait_for_no_writer(word, deadline);
	if (try_enter(word, slot) || wait_alone(marked_of(word), try_enter_marked, deadline))
		return true;
	change_slot(slot, 0);
	return false;
}

/* A sample of the reads with a fence: age + 1, and BIAS after the last. */
static void add_age(hf_atomic32_t *word)
{
	uint32_t found = hf_atomic32_load_relaxed(word);

	if ((found & (WRITER | BIAS)) || ((found & AGE_MASK) == AGE_MASK && !hf_detail_bias_pays()))
		return;
	(void)hf_atomic32_try_cmpxchg_relaxed(word, &found, found + AGE_ONE);
}

__attribute__((__noinline__)) bool
hf_detail_rwlock_read_lock_slow(hf_atomic32_t *word, bool is_stored, uint64_t deadline)
{
	uint64_t start;
	bool locked;

	if (HF_LIKELY(is_stored ? try_slot_of(word, &HF_DETAIL_RWLOCK_LINE->slot[0])
				: try_read(word))) {
		if (++HF_RWLOCK_READS % HF_RWLOCK_SAMPLE == 0)
			add_age(word);
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

bool hf_detail_rwlock_read_lock_past(hf_atomic32_t *word, uint64_t deadline)
{
	return try_count(word, INSIDE) || (deadline != HF_DETAIL_RWLOCK_NOW &&
					   wait_alone(marked_of(word), try_count_past, deadline));
}

/* A reader that is counted, not in a slot, leaves. Returns false if none is. */
static bool count_out(hf_atomic32_t *word)
{
	uint32_t found = hf_atomic32_load_relaxed(word);

	while (found >= ONE) {
		if (!hf_atomic32_try_cmpxchg_release(word, &found, found - ONE))
			continue;
		if (hf_detail_rwlock_needs_wake(word)) /* L3, L4 */
			hf_detail_unpark_each(count_of(word), 1);
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
		change_slot(slot, 0);
	else if (!count_out(word))
		HF_DETAIL_RWLOCK_NOT_MINE(word);
}

/* Is the only waiter of the bucket that needs a wake-up on its way (parking Q6)? */
static bool is_woken(const hf_atomic32_t *at)
{
	return hf_detail_parking_flags(at) & HF_DETAIL_BUCKET_WAKING;
}

/* After a slot was emptied: wakes the writer that waits for that. */
void hf_detail_rwlock_wake_writer(hf_atomic64_t *slot)
{
	hf_atomic32_t *at = (hf_atomic32_t *)(void *)slot;

	if (!is_woken(at))
		hf_detail_unpark_each(at, 1);
}

/* ---- to write ------------------------------------------------------------------------------- */

/*
 * The claim orders nothing by itself: L1 needs it before the writer's barrier, which is in
 * revoke_bias(), and try_inside() acquires.
 */
static bool try_claim(hf_atomic32_t *word)
{
	uint32_t found = hf_atomic32_load_relaxed(word);

	while (!(found & WRITER)) {
		if (hf_atomic32_try_cmpxchg_relaxed(word, &found, found | WRITER))
			return true;
	}
	return false;
}

/* Has this slot's reader left, or is it one that waits for this writer? */
static bool try_slot(hf_atomic32_t *at)
{
	const hf_atomic32_t *word = HF_RWLOCK_DRAINED;
	uint64_t value = hf_atomic64_load_acquire((hf_atomic64_t *)(void *)at);

	return value != (uintptr_t)word && value != mark_of(word, ~hf_atomic32_load_relaxed(word));
}

/* For the writer with the claim: no count -> INSIDE. */
static bool try_inside(hf_atomic32_t *at)
{
	hf_atomic32_t *word = word_at(at);
	uint32_t found = hf_atomic32_load_relaxed(word);

	while (found < ONE) {
		if (hf_atomic32_try_cmpxchg_acquire(word, &found, found | INSIDE))
			return true;
	}
	return false;
}

/* A writer waits for one reader, or the counted ones. */
static bool wait_to_write(hf_atomic32_t *at, hf_detail_try_lock_t *try_lock, uint64_t deadline)
{
	return HF_LIKELY(try_lock(at)) ||
	       (deadline != HF_DETAIL_RWLOCK_NOW && wait_alone(at, try_lock, deadline));
}

static bool wait_for_slot(const hf_atomic32_t *word, hf_atomic64_t *slot, uint64_t deadline)
{
	HF_RWLOCK_DRAINED = word;
	return wait_to_write((hf_atomic32_t *)(void *)slot, try_slot, deadline);
}

/*
 * With the claim: L1, and then each slot that has L or a mark. Returns true if this writer is
 * inside; if it has timed out, *@awaited is the slot that it waited for, or NULL.
 *
 * A reader that has left L may have stored another lock's address in the slot since, relaxed. A scan
 * that finds that acquires L's section on each processor, whose stores to one word keep their
 * order, but not by the rules of C++20, where only a read-modify-write continues a release.
 */
static bool wait_for_readers(hf_atomic32_t *word, uint64_t deadline, hf_atomic64_t **awaited)
{
	struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint32_t used = lines ? hf_detail_rwlock_lines_used(lines) : 0;
	uint64_t lock = (uintptr_t)word;

	for (uint32_t n = 0; n < used; n++) {
		for (int i = 0; i < HF_DETAIL_RWLOCK_SLOTS; i++) {
			*awaited = &lines->line[n].slot[i];
			if (HF_UNLIKELY((hf_atomic64_load_acquire(*awaited) & ~(uint64_t)3) ==
					lock) &&
			    !wait_for_slot(word, *awaited, deadline))
				return false;
		}
	}
	*awaited = NULL;
	return wait_to_write(count_of(word), try_inside, deadline);
}

/* These bits -> 0: as a compare-and-swap, since readers may be counted out meanwhile. */
static void clear_bits(hf_atomic32_t *word, uint32_t bits)
{
	uint32_t found = hf_atomic32_load_relaxed(word);

	while (!hf_atomic32_try_cmpxchg_release(word, &found, found & ~bits))
		;
}

/* L1: no reader that has entered without a barrier stays unseen. */
static void revoke_bias(hf_atomic32_t *word)
{
	if (HF_LIKELY(!(hf_atomic32_load_relaxed(word) & BIAS))) {
		FULL_FENCE_AT_RMW(); /* after the claim */
		return;
	}
	hf_detail_bias_revoke(HF_RWLOCK_REST);
	clear_bits(word, BIAS | AGE_MASK);
}

/* WRITER -> 0, and the same PHASE (L2). */
static void give_up(hf_atomic32_t *word)
{
	clear_bits(word, WRITER);
	if (hf_detail_rwlock_needs_wake(word)) /* L3 */
		hf_detail_rwlock_wake_all(word);
}

/*
 * @is_claimed: this writer has the claim. While its turn lasts it waits for a reader that does not
 * leave soon, and may have no processor, without the claim, so that others enter; then with it.
 */
static bool write_contended(hf_atomic32_t *word, bool is_claimed, uint64_t deadline)
{
	uint64_t turn = hf_env_deadline(HF_RWLOCK_TURN_NS);

	for (;;) {
		hf_atomic64_t *awaited = NULL;
		bool is_late;

		if (!is_claimed) {
			if (hf_detail_lock_contended(word, try_claim, deadline,
						     HF_DETAIL_PARK_QUEUED) ==
			    HF_DETAIL_PARK_TIMED_OUT)
				return false;
			revoke_bias(word);
		}
		is_late = hf_detail_is_past(turn);
		if (wait_for_readers(word, is_late ? deadline : hf_env_deadline(0), &awaited))
			return true;
		if (!is_late && !awaited && wait_for_readers(word, deadline, &awaited))
			return true;
		give_up(word);
		if (hf_detail_is_past(deadline))
			return false;
		if (awaited)
			(void)wait_for_slot(word, awaited, hf_detail_earlier(turn, deadline));
		is_claimed = false;
	}
}

__attribute__((__noinline__)) bool hf_detail_rwlock_write_lock(hf_atomic32_t *word,
							       uint64_t deadline)
{
	bool is_claimed = try_claim(word), locked;
	hf_atomic64_t *awaited;
	uint64_t start;

	if (HF_LIKELY(is_claimed)) {
		revoke_bias(word);
		if (wait_for_readers(word, HF_DETAIL_RWLOCK_NOW, &awaited))
			return true;
	}
	if (deadline == HF_DETAIL_RWLOCK_NOW) {
		if (is_claimed)
			give_up(word);
		return false;
	}
	start = hf_detail_profile_begin();
	HF_DETAIL_PROBE2(contended, word, 6);
	locked = write_contended(word, is_claimed, deadline);
	HF_DETAIL_PROBE3(acquired, word, 6, locked);
	hf_detail_profile_end(start, HF_DETAIL_PROFILE_RWLOCK_WRITE, word, HF_DETAIL_CALL_SITE);
	return locked;
}

/* After WRITER was taken away. */
void hf_detail_rwlock_wake_all(hf_atomic32_t *word)
{
	if (is_woken(word))
		return;
	hf_detail_unpark_each(readers_of(word), 3); /* and those with a mark, and for the count */
	hf_detail_unpark_first(word);
}

void hf_detail_rwlock_downgrade(hf_atomic32_t *word)
{
	uint32_t next = (hf_atomic32_load_relaxed(word) ^ PHASE) & PHASE;

	if (!take_slot(word))
		next += ONE;
	hf_atomic32_store_release(word, next);
	if (hf_detail_rwlock_needs_wake(word))
		hf_detail_rwlock_wake_all(word);
}
