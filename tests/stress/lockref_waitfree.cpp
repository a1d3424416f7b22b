/* SPDX-License-Identifier: MIT */
/*
 * lockref_waitfree - objects in type-stable memory: found without a lock, killed by the thread that
 * drops the last reference, given another identity and revived under the lock. While a thread has a
 * reference it does not see the identity change; each death is one thread's; no reference is lost.
 *
 * Some threads are descheduled with the lock held; the others must still make progress.
 */
#include "stress.h"

#include "holdfast/lockref_waitfree.h"

namespace
{

const int THREADS = 4;
const int MILLISECONDS = 600;
const char *const WHO = "lockref.waitfree";

struct HF_ALIGNED(128) object {
	hf_lockref_waitfree_t l = HF_LOCKREF_WAITFREE_INIT(0);
	/* Written while it is dead, under the lock; read by those that have a reference. */
	uint64_t identity = 1, twice = 2;
	uint64_t visits = 0; /* under the lock */
};

enum { OPERATIONS, GETS, PUTS, VISITS, DEATHS, REFUSED, COUNTS };

struct worker {
	std::vector<object> &objects;
	stress::random &random;
	stress::counts<COUNTS> &n;

	void once()
	{
		object *o = &objects[random.below(static_cast<unsigned int>(objects.size()))];

		n[OPERATIONS]++;
		if (!hf_lockref_waitfree_get_not_dead_acquire(&o->l)) {
			n[REFUSED]++;
			sched_yield(); /* lets the thread that kills it run */
			return;
		}
		n[GETS]++;
		uint64_t identity = o->identity;

		stress::check(o->twice == 2 * identity, WHO, "a torn identity");
		if (random.below(2)) {
			hf_lockref_waitfree_get(&o->l);
			n[GETS]++;
			drop(o);
		}
		if (random.below(8) == 0) {
			hf_lockref_waitfree_lock(&o->l);
			stress::check(!hf_lockref_waitfree_is_dead(&o->l), WHO,
				      "dead, with a reference");
			o->visits++;
			n[VISITS]++;
			if (random.below(8) == 0)
				sched_yield(); /* descheduled, with the lock */
			stress::check(!hf_lockref_waitfree_mark_dead(&o->l, 0), WHO,
				      "killed, with a reference");
			hf_lockref_waitfree_unlock(&o->l);
		}
		stress::check(o->identity == identity && o->twice == 2 * identity, WHO,
			      "another identity, with a reference");
		drop(o);
		if (random.below(64) == 0)
			sched_yield();
	}

	void drop(object *o)
	{
		n[PUTS]++;
		if (random.below(4) == 0) {
			int32_t left = hf_lockref_waitfree_put_return(&o->l);

			stress::check(left >= 0, WHO, "put_return: %d", left);
			return; /* at 0 another thread may kill it */
		}
		if (hf_lockref_waitfree_put_or_lock(&o->l))
			return;
		stress::check(!hf_lockref_waitfree_is_dead(&o->l), WHO,
			      "put_or_lock returned false, and it is dead");
		if (hf_lockref_waitfree_mark_dead(&o->l, 0)) {
			n[DEATHS]++;
			o->identity++;
			if (random.below(256) == 0)
				sched_yield(); /* others find it dead, with a torn identity */
			o->twice = 2 * o->identity;
			stress::check(hf_lockref_waitfree_revive(&o->l, 0), WHO, "not revived");
		}
		hf_lockref_waitfree_unlock(&o->l);
	}
};

} // namespace

int main()
{
	std::vector<object> objects(2);
	uint64_t visited = 0, lives = 0;

	stress::begin();
	auto n = stress::run_for<COUNTS>(THREADS, MILLISECONDS, [&](int, auto &random, auto &n) {
		worker{ objects, random, n }.once();
	});
	for (object &o : objects) {
		stress::check(hf_lockref_waitfree_read(&o.l) == 0, WHO, "the count ends as %d",
			      hf_lockref_waitfree_read(&o.l));
		stress::check(hf_lockref_waitfree_trylock(&o.l), WHO, "locked at the end");
		visited += o.visits;
		lives += o.identity - 1;
	}
	stress::same(n[GETS], "gets", n[PUTS], "puts", WHO);
	stress::same(n[VISITS], "visits", visited, "seen", WHO);
	stress::same(n[DEATHS], "deaths", lives, "lives", WHO);
	stress::no_reports(WHO);
	stress::did(WHO, "identities", n[OPERATIONS],
		    { { "deaths", n[DEATHS] }, { "found dead", n[REFUSED] } });
	return stress::result();
}
