/* SPDX-License-Identifier: MIT */
/*
 * spinlock - plain data under each lock, by 2, 4 and 8 threads.
 *
 * With more threads than processors a FIFO lock does only a few operations per time slice, because
 * its next waiter may be descheduled. The threads therefore yield now and then outside the lock,
 * and the run time is bounded.
 */
#include "stress.h"

#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"
#include "variants/spinlock/queued.h"

namespace
{

const int MILLISECONDS = 120; /* each lock and number of threads */

struct counters {
	uint64_t count = 0, twice = 0;
	int owner = -1;
	char line[256] = {};
};

void under_lock(counters *c, int me, const char *who)
{
	stress::check(c->owner == -1, who, "thread %d holds it, too", c->owner);
	c->owner = me;
	stress::same(c->twice, "counted in twos", 2 * c->count, "expected", who);
	c->count++;
	c->line[c->count % sizeof(c->line)]++; /* moves between cache lines */
	c->twice += 2;
	c->owner = -1;
}

template <class Lock>
void run(const char *who, int threads)
{
	struct {
		alignas(128) Lock outer;
		alignas(128) Lock inner;
		alignas(128) counters by_outer;
		counters by_inner;
	} shared;
	enum { OUTER, INNER, FAILED, COUNTS };
	auto n = stress::run_for<COUNTS>(threads, MILLISECONDS, [&](int me, auto &random, auto &n) {
		uint32_t way = random.below(8);

		if (way == 0) {
			if (!shared.outer.try_lock()) {
				n[FAILED]++;
				sched_yield();
				return;
			}
		} else {
			shared.outer.lock();
		}
		under_lock(&shared.by_outer, me, who);
		n[OUTER]++;
		if (way != 1) /* else under both */
			shared.outer.unlock();
		if (way == 1 || way == 2) {
			shared.inner.lock();
			under_lock(&shared.by_inner, me, who);
			shared.inner.unlock();
			n[INNER]++;
		}
		if (way == 1)
			shared.outer.unlock();
		if (random.below(32) == 0)
			sched_yield();
	});
	char what[32];

	stress::same(shared.by_outer.count, "counted", n[OUTER], "done", who);
	stress::same(shared.by_inner.count, "counted inside", n[INNER], "done", who);
	stress::check(!shared.outer.is_locked() && !shared.inner.is_locked(), who,
		      "locked at the end");
	std::snprintf(what, sizeof(what), "%d threads", threads);
	stress::did(who, what, n[OUTER] + n[INNER], { { "of trylock failed", n[FAILED] } });
}

template <class Lock>
void all(const char *who)
{
	for (int threads : { 2, 4, 8 })
		run<Lock>(who, threads);
}

/* hf_spinlock_t in kernels and on bare metal. */
struct queued {
	hf_spinlock_queued_t raw = HF_SPINLOCK_QUEUED_INIT;

	void lock() { hf_spinlock_queued_lock(&raw); }
	void unlock() { hf_spinlock_queued_unlock(&raw); }
	bool try_lock() { return hf_spinlock_queued_trylock(&raw); }
	bool is_locked() const { return hf_spinlock_queued_is_locked(&raw); }
};

} // namespace

int main()
{
	stress::begin();
	all<hf::spinlock>("spinlock.default");
	all<hf::spinlock_ticket>("spinlock.ticket");
	all<queued>("spinlock.queued");
	return stress::result();
}
