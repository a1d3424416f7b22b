/* SPDX-License-Identifier: MIT */
/*
 * lockref_waitfree - objects in type-stable memory: found without a lock, killed by the thread that
 * drops the last reference, given another identity and revived under the lock. While a thread has a
 * reference it does not see the identity change; each death is one thread's; no reference is lost.
 *
 * Some threads hold the lock for long, and the others go on meanwhile.
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

struct totals {
	std::atomic<uint64_t> operations{ 0 }, gets{ 0 }, puts{ 0 }, visits{ 0 }, deaths{ 0 },
		refused{ 0 };
};

class worker {
public:
	worker(std::vector<object> *objects, int me) : objects_(*objects), random_(me) {}

	void once()
	{
		object *o = &objects_[random_.below(static_cast<unsigned int>(objects_.size()))];

		operations_++;
		if (!hf_lockref_waitfree_get_not_dead_acquire(&o->l)) {
			refused_++;
			sched_yield(); /* its killer may want this processor */
			return;
		}
		gets_++;
		uint64_t identity = o->identity;

		stress::check(o->twice == 2 * identity, WHO, "half of an identity");
		if (random_.below(2)) {
			hf_lockref_waitfree_get(&o->l);
			gets_++;
			drop(o);
		}
		if (random_.below(8) == 0) {
			hf_lockref_waitfree_lock(&o->l);
			stress::check(!hf_lockref_waitfree_is_dead(&o->l), WHO,
				      "dead, with a reference");
			o->visits++;
			visits_++;
			if (random_.below(8) == 0)
				sched_yield(); /* descheduled, with the lock */
			stress::check(!hf_lockref_waitfree_mark_dead(&o->l, 0), WHO,
				      "killed, with a reference");
			hf_lockref_waitfree_unlock(&o->l);
		}
		stress::check(o->identity == identity && o->twice == 2 * identity, WHO,
			      "another identity, with a reference");
		drop(o);
		if (random_.below(64) == 0)
			sched_yield();
	}

	void add_to(totals *all) const
	{
		all->operations += operations_;
		all->gets += gets_;
		all->puts += puts_;
		all->visits += visits_;
		all->deaths += deaths_;
		all->refused += refused_;
	}

private:
	std::vector<object> &objects_;
	stress::random random_;
	uint64_t operations_ = 0, gets_ = 0, puts_ = 0, visits_ = 0, deaths_ = 0, refused_ = 0;

	void drop(object *o)
	{
		puts_++;
		if (random_.below(4) == 0) {
			int32_t left = hf_lockref_waitfree_put_return(&o->l);

			stress::check(left >= 0, WHO, "put_return: %d", left);
			return; /* with none left somebody else may reap it */
		}
		if (hf_lockref_waitfree_put_or_lock(&o->l))
			return;
		stress::check(!hf_lockref_waitfree_is_dead(&o->l), WHO,
			      "put_or_lock returned false, and it is dead");
		if (hf_lockref_waitfree_mark_dead(&o->l, 0)) {
			deaths_++;
			o->identity++;
			if (random_.below(256) == 0)
				sched_yield(); /* half of an identity, and dead: for others to find */
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
	totals all;

	stress::begin();
	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS);
		worker worker(&objects, me);

		do {
			worker.once();
		} while (!end.passed());
		worker.add_to(&all);
	});
	for (object &o : objects) {
		stress::check(hf_lockref_waitfree_read(&o.l) == 0, WHO, "the count ends as %d",
			      hf_lockref_waitfree_read(&o.l));
		stress::check(hf_lockref_waitfree_trylock(&o.l), WHO, "locked by nobody");
		visited += o.visits;
		lives += o.identity - 1;
	}
	stress::check(all.gets == all.puts, WHO, "not as many gets as puts");
	stress::check(visited == all.visits, WHO, "a visit under the lock is lost");
	stress::check(lives == all.deaths, WHO, "not as many lives as deaths");
	for (int kind = 0; kind < HF_REPORT_KINDS; kind++)
		stress::check(hf_report_count(static_cast<enum hf_report_kind>(kind)) == 0, WHO,
			      "reports of good use: %s",
			      hf_report_text(static_cast<enum hf_report_kind>(kind)));

	char more[80];
	std::snprintf(more, sizeof(more), ", %llu deaths, %llu found dead",
		      static_cast<unsigned long long>(all.deaths),
		      static_cast<unsigned long long>(all.refused));
	stress::did(WHO, "identities", all.operations, more);
	return stress::result();
}
