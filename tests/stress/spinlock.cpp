/* SPDX-License-Identifier: MIT */
/*
 * spinlock - plain data under each lock, by 2, 4 and 8 threads.
 *
 * With more threads than processors a lock that serves in order gets on by a few operations a time
 * slice, for its next waiter may be descheduled. That is in the nature of such locks; so the
 * threads yield now and then, outside of the lock, and the time is bounded.
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

template <class Lock>
void under_lock(counters *c, int me, const char *who)
{
	stress::check(c->owner == -1, who, "thread %d is inside too", c->owner);
	c->owner = me;
	stress::check(c->twice == 2 * c->count, who, "torn: %llu is not twice %llu",
		      static_cast<unsigned long long>(c->twice),
		      static_cast<unsigned long long>(c->count));
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
	std::atomic<uint64_t> outer_did(0), inner_did(0), try_failed(0);

	stress::run_threads(threads, [&](int me) {
		stress::deadline end(MILLISECONDS);
		stress::random random(me);
		uint64_t my_outer = 0, my_inner = 0, my_failed = 0;

		do {
			uint32_t way = random.below(8);

			if (way == 0) {
				if (!shared.outer.try_lock()) {
					my_failed++;
					sched_yield();
					continue;
				}
			} else {
				shared.outer.lock();
			}
			under_lock<Lock>(&shared.by_outer, me, who);
			my_outer++;
			if (way == 1) {
				shared.inner.lock();
				under_lock<Lock>(&shared.by_inner, me, who);
				shared.inner.unlock();
				my_inner++;
			}
			shared.outer.unlock();
			if (way == 2) { /* and not under the other */
				shared.inner.lock();
				under_lock<Lock>(&shared.by_inner, me, who);
				shared.inner.unlock();
				my_inner++;
			}
			if (random.below(32) == 0)
				sched_yield();
		} while (!end.passed());
		outer_did += my_outer;
		inner_did += my_inner;
		try_failed += my_failed;
	});
	stress::check(shared.by_outer.count == outer_did, who, "count %llu of %llu",
		      static_cast<unsigned long long>(shared.by_outer.count),
		      static_cast<unsigned long long>(outer_did));
	stress::check(shared.by_inner.count == inner_did, who, "inner count %llu of %llu",
		      static_cast<unsigned long long>(shared.by_inner.count),
		      static_cast<unsigned long long>(inner_did));
	stress::check(!shared.outer.is_locked() && !shared.inner.is_locked(), who,
		      "locked by nobody");
	char what[32], more[80];
	std::snprintf(what, sizeof(what), "%d threads", threads);
	std::snprintf(more, sizeof(more), ", %llu of trylock in vain",
		      static_cast<unsigned long long>(try_failed));
	stress::did(who, what, outer_did + inner_did, more);
}

template <class Lock>
void all(const char *who)
{
	for (int threads : { 2, 4, 8 })
		run<Lock>(who, threads);
}

/* What hf_spinlock_t is where processors are owned. */
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
