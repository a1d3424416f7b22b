/* SPDX-License-Identifier: MIT */
/*
 * lockref - objects that are found without a lock, and die under their own.
 *
 *   last    objects on the heap; each thread writes its own part of each, and drops it. The one
 *           that drops the last reference sees all of the parts, marks it dead and frees it.
 *   lives   objects whose memory is used again: looked up by get_not_dead, killed by the thread
 *           that drops the last reference, revived under the lock. While a thread has a reference,
 *           it does not see the life change.
 *
 * lockref_spinning.cpp is the same with a lock half that spins, taken after a single failed swap:
 * so both ways of changing the count are mixed.
 */
#include "stress.h"

#include "holdfast/lockref.h"

namespace
{

const int THREADS = 4;
const int MILLISECONDS = 500; /* each of them */

#ifndef STRESS_LOCKREF_NAME
#define STRESS_LOCKREF_NAME "lockref"
#endif
const char *const WHO = STRESS_LOCKREF_NAME;

/*
 * Drops a reference by put_return if it succeeds, else by put_or_lock. True = it was the last: the
 * count is at most 1, and the lock is held.
 */
bool drop(hf_lockref_t *l, bool try_return)
{
	int32_t left = try_return ? hf_lockref_put_return(l) : -1;

	if (left > 0)
		return false;
	if (left == 0) {
		hf_lockref_lock(l);
		if (hf_lockref_read(l) == 0)
			return true;
		hf_lockref_unlock(l); /* found and taken again, or killed, in between */
		return false;
	}
	return !hf_lockref_put_or_lock(l);
}

struct heap_object {
	hf_lockref_t l = HF_LOCKREF_INIT(THREADS);
	uint64_t parts[THREADS] = {};

	unsigned int use(stress::random &random)
	{
		unsigned int operations = 0;

		if (random.below(2)) {
			hf_lockref_get(&l);
			stress::check(hf_lockref_put_or_lock(&l), WHO,
				      "last: reported as the last, and it is not");
			operations += 2;
		}
		if (random.below(4) == 0) {
			hf_lockref_lock(&l);
			hf_lockref_unlock(&l);
			operations++;
		}
		return operations;
	}
	bool drop(stress::random &random) { return ::drop(&l, random.below(2)); }
	void end()
	{
		hf_lockref_mark_dead(&l);
		hf_lockref_unlock(&l);
	}
};

/* ---- lives -------------------------------------------------------------------------------- */

struct HF_ALIGNED(128) pool_object {
	hf_lockref_t l = HF_LOCKREF_INIT(0);
	uint64_t life = 1, visits = 0; /* under the lock */
};

enum { OPERATIONS, GETS, PUTS, VISITS, DEATHS, COUNTS };

struct worker {
	std::vector<pool_object> &objects;
	stress::random &random;
	stress::counts<COUNTS> &n;

	/* A reference, and the life that it belongs to. */
	uint64_t take(pool_object *object)
	{
		uint64_t life;
		bool got = random.below(4) ? hf_lockref_get_not_dead(&object->l)
					   : hf_lockref_get_not_zero(&object->l);

		/* A get orders nothing, and this memory is reused: read `life` under the lock. */
		hf_lockref_lock(&object->l);
		if (!got) {
			if (hf_lockref_is_dead(&object->l)) {
				object->life++;
				hf_lockref_set_count(&object->l, 1);
			} else {
				hf_lockref_set_count(&object->l, hf_lockref_read(&object->l) + 1);
			}
		}
		life = object->life;
		object->visits++;
		hf_lockref_unlock(&object->l);
		n[VISITS]++;
		n[GETS]++;
		return life;
	}

	void release(pool_object *object)
	{
		n[PUTS]++;
		if (!drop(&object->l, random.below(2)))
			return;
		int32_t count = hf_lockref_read(&object->l);

		stress::check(count == 0 || count == 1, WHO,
			      "lives: the last put found a count of %d", count);
		if (count == 1 && random.below(4) == 0) {
			hf_lockref_set_count(&object->l, 0); /* may be found again */
		} else {
			hf_lockref_mark_dead(&object->l);
			n[DEATHS]++;
		}
		hf_lockref_unlock(&object->l);
	}

	void once()
	{
		pool_object *object = &objects[random.below(3)];
		uint64_t life = take(object);

		n[OPERATIONS]++;
		if (random.below(2)) { /* a second one, of this or another object */
			pool_object *other = &objects[random.below(3)];

			(void)take(other);
			release(other);
		}
		if (random.below(2)) {
			hf_lockref_get(&object->l);
			n[GETS]++;
			n[PUTS]++;
			if (hf_lockref_put_return(&object->l) < 0)
				stress::check(hf_lockref_put_or_lock(&object->l), WHO,
					      "lives: reported as the last, and it is not");
		}
		if (random.below(2)) {
			hf_lockref_lock(&object->l);
			stress::check(object->life == life, WHO,
				      "lives: revived while there was a reference");
			object->visits++;
			n[VISITS]++;
			hf_lockref_unlock(&object->l);
		}
		release(object);
		if (random.below(32) == 0)
			sched_yield();
	}
};

void lives()
{
	std::vector<pool_object> objects(3);
	uint64_t visited = 0, lived = 0;
	auto n = stress::run_for<COUNTS>(THREADS, MILLISECONDS, [&](int, auto &random, auto &n) {
		worker{ objects, random, n }.once();
	});

	for (auto &object : objects) {
		int32_t count = hf_lockref_read(&object.l);

		stress::check(count == 0 || count == HF_LOCKREF_DEAD, WHO,
			      "lives: the count ends as %d", count);
		stress::check(hf_lockref_trylock(&object.l), WHO, "lives: locked at the end");
		visited += object.visits;
		lived += object.life - 1 + hf_lockref_is_dead(&object.l);
	}
	stress::same(n[GETS], "gets", n[PUTS], "puts", WHO);
	stress::same(n[VISITS], "visits", visited, "seen", WHO);
	stress::same(n[DEATHS], "deaths", lived, "lives", WHO);
	stress::did(WHO, "lives", n[OPERATIONS], { { "deaths", n[DEATHS] } });
}

} // namespace

int main()
{
	stress::begin();
	stress::last<heap_object>(WHO, THREADS, MILLISECONDS);
	lives();
	stress::no_reports(WHO);
	return stress::result();
}
