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
 * lockref_spinning.cpp is the same with a lock half that spins, taken after a single failed swap: so
 * both ways of changing the count are mixed.
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
 * Drops a reference by put_return where that can be done, else by put_or_lock. True = it was the
 * last: the count is at most 1, and the lock is held.
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

/* ---- last --------------------------------------------------------------------------------- */

struct heap_object {
	hf_lockref_t l;
	uint64_t parts[THREADS];
};

void last()
{
	const size_t batch = 256;
	std::vector<heap_object *> objects(batch);
	stress::barrier barrier(THREADS);
	stress::deadline end(MILLISECONDS);
	std::atomic<uint64_t> freed(0), made(0), operations(0);
	std::atomic<bool> stop(false);

	stress::run_threads(THREADS, [&](int me) {
		stress::random random(me);
		uint64_t mine = 0, my_frees = 0;

		for (uint64_t round = 1;; round++) {
			if (me == 0) {
				stop = end.passed();
				for (auto &object : objects) {
					if (stop)
						break;
					object = new heap_object{ HF_LOCKREF_INIT(THREADS), {} };
					made++;
				}
			}
			barrier.wait();
			if (stop)
				break;
			for (size_t i = 0; i < batch; i++) {
				heap_object *object = objects[(i + size_t(me) * 3) % batch];

				object->parts[me] = round;
				if (random.below(2)) {
					hf_lockref_get(&object->l);
					stress::check(hf_lockref_put_or_lock(&object->l), WHO,
						      "last: reported as the last, and it is not");
					mine += 2;
				}
				if (random.below(4) == 0) {
					hf_lockref_lock(&object->l);
					hf_lockref_unlock(&object->l);
					mine++;
				}
				mine++;
				if (!drop(&object->l, random.below(2)))
					continue;
				for (uint64_t part : object->parts)
					stress::check(part == round, WHO, "last: a part is old");
				hf_lockref_mark_dead(&object->l);
				hf_lockref_unlock(&object->l);
				delete object;
				my_frees++;
			}
			barrier.wait();
		}
		operations += mine;
		freed += my_frees;
	});
	stress::check(freed == made, WHO, "last: made %llu, freed %llu",
		      static_cast<unsigned long long>(made),
		      static_cast<unsigned long long>(freed));
	stress::did(WHO, "last", operations);
}

/* ---- lives -------------------------------------------------------------------------------- */

struct HF_ALIGNED(128) pool_object {
	hf_lockref_t l = HF_LOCKREF_INIT(0);
	uint64_t life = 1, visits = 0; /* under the lock */
};

class lives {
public:
	lives() : objects_(3) {}

	void run()
	{
		std::atomic<uint64_t> operations(0), gets(0), puts(0), visits(0), deaths(0);
		uint64_t visited = 0, lived = 0;

		stress::run_threads(THREADS, [&](int me) {
			stress::deadline end(MILLISECONDS);
			worker worker{ *this, stress::random(me) };
			uint64_t mine = 0;

			do {
				worker.once();
				mine++;
			} while (!end.passed());
			operations += mine;
			gets += worker.gets;
			puts += worker.puts;
			visits += worker.visits;
			deaths += worker.deaths;
		});
		for (auto &object : objects_) {
			int32_t count = hf_lockref_read(&object.l);

			stress::check(count == 0 || count == HF_LOCKREF_DEAD, WHO,
				      "lives: the count ends as %d", count);
			stress::check(hf_lockref_trylock(&object.l), WHO,
				      "lives: locked by nobody");
			visited += object.visits;
			lived += object.life - 1 + hf_lockref_is_dead(&object.l);
		}
		stress::check(gets == puts, WHO, "lives: %llu gets, %llu puts",
			      static_cast<unsigned long long>(gets),
			      static_cast<unsigned long long>(puts));
		stress::check(visited == visits, WHO, "lives: %llu of %llu visits",
			      static_cast<unsigned long long>(visited),
			      static_cast<unsigned long long>(visits));
		stress::check(lived == deaths, WHO, "lives: %llu lives, %llu deaths",
			      static_cast<unsigned long long>(lived),
			      static_cast<unsigned long long>(deaths));
		char more[40];
		std::snprintf(more, sizeof(more), ", %llu deaths",
			      static_cast<unsigned long long>(deaths));
		stress::did(WHO, "lives", operations, more);
	}

private:
	struct worker {
		lives &all;
		stress::random random;
		uint64_t gets = 0, puts = 0, visits = 0, deaths = 0;

		/* A reference, and the life that it belongs to. */
		uint64_t take(pool_object *object)
		{
			uint64_t life;
			bool got = random.below(4) ? hf_lockref_get_not_dead(&object->l)
						   : hf_lockref_get_not_zero(&object->l);

			/*
			 * A swap orders nothing, and this memory has had lives before: so look under
			 * the lock.
			 */
			hf_lockref_lock(&object->l);
			if (!got) {
				if (hf_lockref_is_dead(&object->l)) {
					object->life++;
					hf_lockref_set_count(&object->l, 1);
				} else {
					hf_lockref_set_count(&object->l,
							     hf_lockref_read(&object->l) + 1);
				}
			}
			life = object->life;
			object->visits++;
			hf_lockref_unlock(&object->l);
			visits++;
			gets++;
			return life;
		}

		void release(pool_object *object)
		{
			puts++;
			if (!drop(&object->l, random.below(2)))
				return;
			int32_t count = hf_lockref_read(&object->l);
			stress::check(count == 0 || count == 1, WHO,
				      "lives: it is the last, and the count is %d", count);
			if (count == 1 && random.below(4) == 0) {
				hf_lockref_set_count(&object->l, 0); /* may be found again */
			} else {
				hf_lockref_mark_dead(&object->l);
				deaths++;
			}
			hf_lockref_unlock(&object->l);
		}

		void once()
		{
			pool_object *object = &all.objects_[random.below(3)];
			uint64_t life = take(object);

			if (random.below(2)) { /* a second one, of this or another object */
				pool_object *other = &all.objects_[random.below(3)];

				(void)take(other);
				release(other);
			}
			if (random.below(2)) {
				hf_lockref_get(&object->l);
				gets++;
				puts++;
				if (hf_lockref_put_return(&object->l) < 0)
					stress::check(hf_lockref_put_or_lock(&object->l), WHO,
						      "lives: reported as the last, and it is not");
			}
			if (random.below(2)) {
				hf_lockref_lock(&object->l);
				stress::check(object->life == life, WHO,
					      "lives: reborn while there was a reference");
				object->visits++;
				visits++;
				hf_lockref_unlock(&object->l);
			}
			release(object);
			if (random.below(32) == 0)
				sched_yield();
		}
	};

	std::vector<pool_object> objects_;
};

} // namespace

int main()
{
	stress::begin();
	last();
	lives().run();
	for (int kind = 0; kind < HF_REPORT_KINDS; kind++) {
		uint32_t n = hf_report_count(static_cast<enum hf_report_kind>(kind));

		stress::check(n == 0, WHO, "%u reports of good use: %s", n,
			      hf_report_text(static_cast<enum hf_report_kind>(kind)));
	}
	return stress::result();
}
