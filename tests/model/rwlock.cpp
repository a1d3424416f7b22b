// SPDX-License-Identifier: MIT
/*
 * rwlock - include/holdfast/rwlock.h, src/rwlock and src/parking.
 *
 * A scenario is a script for each thread, a letter an operation:
 *   r  read            w  write            R, W  the same by trylock   a, b  with a time-out
 *   n  read it twice   d  write, then go on as a reader   l  write as the last (hf-run)
 *   m  read, and unlock as another copy of the library does     o, O  another lock of the bucket
 * A reader finds two plain numbers equal; a writer changes both: Relacy reports a race on them.
 *
 * Checked
 *   rwlock        two to four threads; each may find its turn over at any time, so that readers
 *                 are overdue; the lock has BIAS at first, or not, and gets it at once
 *   overdue       each reader that waits is overdue at once
 *   fresh         the threads have no lines yet: they claim them meanwhile
 *   reused        the same, and the first one has the number of a thread that has ended
 *   swept         the same, and another thread has ended: its line is freed once, and is not
 *                 counted as kept, which would let the lines become more with each such race
 *   crowded       a thread has no line, or one slot: the word counts its readers
 *   no barrier    membarrier() is missing: there is no BIAS
 *   forked        the lock has overdue readers of a parent process
 *   freed         the last thread that leaves, as a reader or a writer, frees the lock
 *   stale         a reader that finds BIAS has seen what the writer before it wrote; no thread
 *                 waits, and the writer has no light fences, which order more here than in reality
 * No writer gets the claim before an overdue reader. At the end nobody is inside, no slot is used,
 * and the table is empty: no thread waits for ever.
 */
// MUTANT: read_without_fence HF_MUTANT=fence_light HF_MUTANT_IN=hf_detail_rwlock_read_lock HF_MODEL_ONLY=rwlock
// MUTANT: write_without_barrier HF_MUTANT=barrier_missing HF_MUTANT_IN=hf_detail_bias_revoke HF_MODEL_ONLY=rwlock
// MUTANT: slow_read_without_fence HF_MUTANT=fence_seq_cst HF_MUTANT_IN=try_slot HF_MODEL_ONLY=rwlock
// MUTANT: claim_without_fence HF_MUTANT=fence_before_rmw HF_MUTANT_IN=revoke_bias HF_MODEL_ONLY=rwlock
// MUTANT: read_acquire HF_MUTANT=load_acquire HF_MUTANT_IN=try_slot HF_MODEL_ONLY=rwlock
// MUTANT: fast_read_acquire HF_MUTANT=load_acquire HF_MUTANT_IN=hf_detail_rwlock_read_lock HF_MODEL_ONLY=stale
// MUTANT: read_unlock_release HF_MUTANT=store64_release HF_MUTANT_IN=hf_detail_rwlock_read_unlock HF_MODEL_ONLY=rwlock
// MUTANT: slow_unlock_release HF_MUTANT=store64_release HF_MUTANT_IN=empty_slot HF_MODEL_ONLY=rwlock
// MUTANT: scan_acquire HF_MUTANT=load64_acquire HF_MUTANT_IN=line_has HF_MODEL_ONLY=rwlock
// MUTANT: drained_acquire HF_MUTANT=load_acquire HF_MUTANT_IN=try_drained HF_MODEL_ONLY=crowded
// MUTANT: write_unlock_release HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_detail_rwlock_write_unlock HF_MODEL_ONLY=rwlock
// MUTANT: downgrade_release HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_detail_rwlock_downgrade HF_MODEL_ONLY=rwlock
// MUTANT: need_not_read HF_MUTANT=load_relaxed_is_0 HF_MUTANT_IN=hf_detail_rwlock_needs_wake HF_MODEL_ONLY=rwlock
// MUTANT: need_read_early HF_MUTANT=fence_light HF_MUTANT_IN=hf_detail_rwlock_needs_wake HF_MODEL_ONLY=rwlock
// MUTANT: claim_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=try_claim HF_MODEL_ONLY=rwlock
// MUTANT: line_missed HF_MUTANT=fetch_add_missing HF_MUTANT_IN=hf_detail_rwlock_claim HF_MODEL_ONLY=fresh
// MUTANT: overdue_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=change_overdue HF_MODEL_ONLY=overdue
// MUTANT: count_acquire HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=try_count HF_MODEL_ONLY=crowded
// MUTANT: count_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=try_count HF_MODEL_ONLY=crowded
// MUTANT: uncount_release HF_MUTANT=cmpxchg_release HF_MUTANT_IN=count_out HF_MODEL_ONLY=crowded
#define HF_DETAIL_RWLOCK_SLOTS 2
#define HF_DETAIL_RWLOCK_LINE (*hf_model::my_line())
#define HF_RWLOCK_LINES 4
#define HF_RWLOCK_SWEEP 1
#define HF_RWLOCK_SAMPLE 1
#define HF_RWLOCK_REST 0
#define HF_RWLOCK_TURN_NS hf_model::rwlock_turn()
#define HF_RWLOCK_READS (*hf_model::my_reads())

struct hf_detail_rwlock_line;
namespace hf_model
{
struct hf_detail_rwlock_line **my_line();
unsigned int *my_reads();
unsigned long long rwlock_turn();
} // namespace hf_model

#include "parking_model.h"

#include "../../src/rwlock/lines.c"
#include "../../src/rwlock/rwlock.c"

static unsigned long reached_bias, reached_overdue, reached_count, reached_give_up, timed_out;

namespace hf_model
{

static struct rwlock_state {
	struct hf_detail_rwlock_line *line;
	unsigned int reads;
	unsigned long long turn;
} rwlock_states[HF_MODEL_THREADS];

struct hf_detail_rwlock_line **my_line()
{
	return &rwlock_states[rl::thread_index()].line;
}

unsigned int *my_reads()
{
	return &rwlock_states[rl::thread_index()].reads;
}

/* A turn that is over at once, or as soon as the thread finds it late. */
unsigned long long rwlock_turn()
{
	unsigned long long *turn = &rwlock_states[rl::thread_index()].turn;

	if (!*turn)
		*turn = rl::rand(2) == 1 ? 1 : HF_MODEL_LATE;
	return *turn;
}

static struct hf_detail_rwlock_lines *the_lines;

} // namespace hf_model

struct hf_detail_rwlock_lines *hf_detail_rwlock_lines(void)
{
	return hf_model::the_lines;
}

enum {
	FRESH = 1,      /* no thread has a line yet */
	CROWDED = 2,    /* thread 0 gets none, and the others have one slot */
	BIASED = 4,     /* the lock has BIAS at first */
	NO_BARRIER = 8, /* there is no membarrier() */
	LATE = 16,      /* each turn is over at once */
	FREED = 32,     /* the last thread frees the lock */
	STALE = 64,     /* the last thread has no light fences */
	REUSED = 128,   /* with FRESH: there is a line with the first thread's number */
	FORKED = 256,   /* the lock has overdue readers of a parent process */
	SWEPT = 512,    /* with FRESH: there is a line of a thread that has ended */
};

struct script {
	int threads;
	const char *text[HF_MODEL_THREADS];
	unsigned int not_with, only_with; /* these features; 0: with any */
};

/* What runs now: of the same type, so that the scenarios are compiled once. */
static const struct script *script;
static unsigned int features;

class runs : public hf_model::parked {
	hf_rwlock_t lock_, other_;
	struct hf_detail_rwlock_lines lines_;
	plain data_[2];
	int written_ = 0, ended_ = 0, left_ = 0;
	unsigned int inside_ = 0, writers_ = 0;

	static bool has(unsigned int feature) { return (features & feature) != 0; }
	static uint64_t overdue_in(uint64_t word)
	{
		return word / FORK == has(FORKED) ? word & OVERDUE_MASK : 0;
	}

	void reads()
	{
		inside_++;
		check(writers_ == 0, "a reader beside a writer");
		check(get(data_[0]) == get(data_[1]), "both are as one writer left them");
		check(writers_ == 0, "a writer beside a reader");
		inside_--;
	}
	void writes()
	{
		check(writers_++ == 0, "two writers");
		check(inside_ == 0, "a writer beside a reader");
		increment(data_[0]);
		increment(data_[1]);
		written_++;
		check(inside_ == 0, "a reader beside a writer");
		writers_--;
	}
	/* Lines of threads that live. */
	uint64_t owned_lines()
	{
		uint64_t owned = 0;

		for (struct hf_detail_rwlock_line &line : lines_.line) {
			uint64_t thread = thread_of(line.owner.word.now());

			owned += thread && thread != hf_model::gone_thread;
		}
		return owned;
	}
	void read_if(bool locked)
	{
		timed_out += !locked;
		if (!locked)
			return;
		reads();
		hf_rwlock_read_unlock(&lock_);
	}
	void write_if(bool locked)
	{
		timed_out += !locked;
		if (!locked)
			return;
		writes();
		hf_rwlock_write_unlock(&lock_);
	}
	void step_of(char what)
	{
		struct hf_detail_rwlock_line **mine = hf_model::my_line(), *line;
		hf_rwlock_t *lock = &lock_;

		switch (what) {
		case 'r':
			hf_rwlock_read_lock(lock);
			return read_if(true);
		case 'R':
			return read_if(hf_rwlock_read_trylock(lock));
		case 'a':
			return read_if(hf_rwlock_read_lock_timeout(lock, HF_MODEL_LATE));
		case 'n':
			hf_rwlock_read_lock(lock);
			hf_rwlock_read_lock(lock);
			read_if(true);
			return read_if(true);
		case 'm':
			hf_rwlock_read_lock(lock);
			reads();
			line = *mine;
			*mine = NULL;
			hf_rwlock_read_unlock(lock);
			*mine = line;
			return;
		case 'w':
			hf_rwlock_write_lock(lock);
			return write_if(true);
		case 'W':
			return write_if(hf_rwlock_write_trylock(lock));
		case 'b':
			return write_if(hf_rwlock_write_lock_timeout(lock, HF_MODEL_LATE));
		case 'l':
			check(hf_detail_rwlock_write_lock_last(&lock->word, HF_ENV_FOREVER),
			      "the last");
			return write_if(true);
		case 'd':
			hf_rwlock_write_lock(lock);
			writes();
			hf_rwlock_downgrade(lock);
			return read_if(true);
		case 'o':
			hf_rwlock_read_lock(&other_);
			hf_rwlock_read_unlock(&other_);
			return;
		case 'O':
			hf_rwlock_write_lock(&other_);
			hf_rwlock_write_unlock(&other_);
		}
	}

public:
	runs()
	{
		hf_rwlock_init(&lock_);
		hf_rwlock_init(&other_);
		set(data_[0], 0);
		set(data_[1], 0);
		if (has(BIASED))
			hf_atomic32_store_relaxed(&lock_.word, BIAS);
		if (has(FORKED))
			hf_atomic32_store_relaxed(&lock_.word, 2 * OVERDUE);
		hf_atomic32_store_relaxed(&lines_.forks, has(FORKED) ? 1 : 0);
		hf_model::the_lines = &lines_;
		hf_model::gone_thread = has(REUSED)  ? (uint64_t)1 << 32 | 1
					: has(SWEPT) ? (uint64_t)1 << 32 | 99
						     : 0;
		hf_atomic32_store_relaxed(&lines_.used, has(FRESH) ? hf_model::gone_thread != 0
								   : HF_MODEL_THREADS);
		hf_atomic32_store_relaxed(&lines_.sweep_from, 0);
		hf_atomic64_store_relaxed(&lines_.bias_from, !has(NO_BARRIER));
		for (unsigned int t = 0; t < HF_MODEL_THREADS; t++) {
			hf_model::rwlock_state *mine = &hf_model::rwlock_states[t];
			struct hf_detail_rwlock_line *line = &lines_.line[t];

			*mine = hf_model::rwlock_state();
			mine->turn = has(LATE) ? 1 : 0;
			mine->line = has(FRESH) || (has(CROWDED) && t == 0) ? NULL : line;
			hf_atomic64_store_relaxed(&line->owner,
						  has(FRESH) ? 0 : (uint64_t)1 << 32 | (t + 1));
			if (has(CROWDED) && t == 0)
				hf_atomic64_store_relaxed(&line->owner, (uint64_t)1 << 32 | 99);
			if (hf_model::gone_thread && t == 0)
				hf_atomic64_store_relaxed(&line->owner, hf_model::gone_thread);
			for (hf_atomic64_t &slot : line->slot)
				hf_atomic64_store_relaxed(&slot, 0);
			if (has(CROWDED))
				hf_atomic64_store_relaxed(&line->slot[1], 4);
			threads[t].light_fences_missing = has(STALE) &&
							  (int)t == script->threads - 1;
			threads[t].no_barriers = has(NO_BARRIER);
			threads[t].patrols = has(NO_BARRIER) ? UINT_MAX : 0;
		}
	}
	void thread(unsigned int index)
	{
		if (index == 0 && !has(SWEPT))
			hf_model::gone_thread = 0;
		for (const char *next = script->text[index]; *next; next++)
			step_of(*next);
		for (unsigned int t = 0; has(REUSED) && t < index; t++)
			check(!*hf_model::my_line() ||
				      *hf_model::my_line() != hf_model::rwlock_states[t].line,
			      "two threads have one line");
		if (has(FREED)) {
			hf_rwlock_write_lock(&lock_);
			bool frees = ++left_ == script->threads;
			hf_rwlock_write_unlock(&lock_);
			if (frees)
				lock_.word.own.free();
		}
	}
	void changed(const void *object, uint64_t before, uint64_t after, const where &at)
	{
		if (has(SWEPT) && object == &lines_.sweep_from.own && after)
			check(after <= 2 * owned_lines(), "a line that another frees is kept", at);
		if (object != &lock_.word.own)
			return;
		check(!(~before & after & WRITER) || !overdue_in(before),
		      "a writer gets the claim before an overdue reader");
		ended_ += (before & ~after & WRITER) != 0;
		reached_give_up += ended_ > written_;
		reached_bias += (~before & after & BIAS) != 0;
		reached_count += (after & COUNT_MASK) != 0;
		reached_overdue += overdue_in(after) != 0;
	}
	void end()
	{
		uint32_t word = lock_.word.own.now();

		check(get(data_[0]) == written_ && get(data_[1]) == written_, "no write is lost");
		check(!(word & (WRITER | COUNT_MASK)) && !overdue_in(word), "nobody is inside");
		for (struct hf_detail_rwlock_line &line : lines_.line)
			check(line.slot[0].word.now() == 0, "a slot is left");
		parked::end();
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

/*
 * Thread 0 is counted if there is no line for it, and must not read the lock again then. The first
 * one is searched; but without a barrier a search would let a thread recheck for ever.
 */
static const struct script scripts[] = {
	{ 2, { "r", "w" }, NO_BARRIER, 0 }, { 2, { "r", "w" }, 0, NO_BARRIER },
	{ 2, { "rr", "ww" }, 0, 0 },        { 2, { "rw", "wr" }, 0, 0 },
	{ 2, { "RW", "WR" }, 0, 0 },        { 2, { "ab", "ba" }, 0, 0 },
	{ 2, { "m", "w" }, 0, 0 },          { 2, { "d", "d" }, 0, 0 },
	{ 2, { "lr", "rl" }, 0, 0 },        { 2, { "w", "n" }, 0, CROWDED },
	{ 2, { "n", "w" }, CROWDED, 0 },    { 3, { "n", "n", "w" }, CROWDED, 0 },
	{ 3, { "r", "r", "w" }, 0, 0 },     { 3, { "r", "w", "w" }, 0, 0 },
	{ 3, { "rr", "rw", "wr" }, 0, 0 },  { 3, { "a", "b", "w" }, 0, 0 },
	{ 3, { "rO", "or", "wo" }, 0, 0 },  { 3, { "d", "r", "w" }, 0, 0 },
	{ 3, { "l", "r", "l" }, 0, 0 },     { 4, { "r", "r", "w", "w" }, 0, 0 },
};
static const struct script only_tries = { 3, { "R", "R", "W" }, 0, 0 };
static const struct script two_readers = { 2, { "r", "r" }, 0, 0 };
static const struct script readers = { 3, { "rr", "r", "r" }, 0, 0 };

static void one(hf_model::run *run, const char *name, const struct script &what, unsigned int with,
		unsigned int count)
{
	char text[100];
	int length = snprintf(text, sizeof(text), "%s", name);

	script = &what;
	features = with;
	for (int i = 0; i < what.threads; i++)
		length +=
			snprintf(text + length, sizeof(text) - (size_t)length, " %s", what.text[i]);
	if (&what == scripts)
		run->search<runs, 2>(text, 1);
	else if (what.threads == 2)
		run->random<runs, 2>(text, count);
	else if (what.threads == 3)
		run->random<runs, 3>(text, count);
	else
		run->random<runs, 4>(text, count / 2);
}

static void all(hf_model::run *run, const char *name, unsigned int with, unsigned int count)
{
	for (const struct script &what : scripts) {
		if (!(what.not_with & with) && (!what.only_with || what.only_with & with))
			one(run, name, what, with, count);
	}
}

int main(int argc, char **argv)
{
	hf_model::run run("rwlock", argc, argv);

	all(&run, "rwlock", 0, 20000);
	all(&run, "rwlock", BIASED, 20000);
	all(&run, "overdue", LATE, 20000);
	all(&run, "overdue", LATE | BIASED, 20000);
	all(&run, "fresh", FRESH, 10000);
	one(&run, "reused", two_readers, FRESH | REUSED, 20000);
	one(&run, "reused", readers, FRESH | REUSED, 20000);
	one(&run, "swept", two_readers, FRESH | SWEPT, 20000);
	one(&run, "swept", readers, FRESH | SWEPT, 20000);
	all(&run, "crowded", CROWDED, 10000);
	all(&run, "crowded", CROWDED | BIASED | LATE, 10000);
	all(&run, "no barrier", NO_BARRIER, 10000);
	all(&run, "forked", FORKED | LATE, 5000);
	all(&run, "freed", FREED, 10000);
	one(&run, "stale", only_tries, STALE, 400000);

	run.must_reach("the lock gets BIAS", reached_bias);
	run.must_reach("a reader is overdue", reached_overdue);
	run.must_reach("a reader is counted", reached_count);
	run.must_reach("a writer gives up its claim", reached_give_up);
	run.must_reach("a thread does not get it", timed_out);
	return run.end();
}
