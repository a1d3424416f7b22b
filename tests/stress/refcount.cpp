/* SPDX-License-Identifier: MIT */
/*
 * refcount - objects with plain data, shared, freed by whoever drops the last reference.
 *
 *   last        objects on the heap; each thread writes its own part of each, and drops it. The one
 *               that drops the last reference sees all of the parts, and frees.
 *   pool        objects whose memory is used again; taken by inc_not_zero_acquire, published by
 *               set_release. Their data changes only between two lives.
 *   saturated   all operations at once, past the maximum: the count ends saturated, nothing is freed.
 *
 * The data has no atomics and no locks: ThreadSanitizer sees what the count orders.
 */
#include "stress.h"

#include "holdfast/refcount.h"

namespace
{

const int THREADS = 4;
const int MILLISECONDS = 400; /* each of them */

const char *const WHO = "refcount";

/* Drops a reference, by one of the verbs that can. True = it was the last. */
bool drop(hf_refcount_t *r, uint32_t way)
{
	switch (way % 3) {
	case 0:
		return hf_refcount_dec_and_test(r);
	case 1:
		return hf_refcount_sub_and_test(1, r);
	default:
		while (!hf_refcount_dec_not_one(r)) {
			if (hf_refcount_dec_if_one(r))
				return true;
		}
		return false;
	}
}

/* ---- last --------------------------------------------------------------------------------- */

struct heap_object {
	hf_refcount_t refs;
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
					object = new heap_object{ HF_REFCOUNT_INIT(THREADS), {} };
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
					hf_refcount_inc(&object->refs);
					hf_refcount_add(2, &object->refs);
					hf_refcount_dec(&object->refs);
					stress::check(!hf_refcount_sub_and_test(2, &object->refs),
						      WHO,
						      "last: reported as the last, and it is not");
					mine += 4;
				}
				mine++;
				if (!drop(&object->refs, random.below(3)))
					continue;
				for (uint64_t part : object->parts)
					stress::check(part == round, WHO, "last: a part is old");
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

/* ---- pool --------------------------------------------------------------------------------- */

struct HF_ALIGNED(128) pool_object {
	hf_refcount_t refs = HF_REFCOUNT_INIT(0);
	std::atomic<int> in_table{ 0 };  /* 1 = the table has a reference */
	uint64_t life = 0, not_life = 0; /* never change during a life */
	uint64_t marks[THREADS] = {};    /* each thread's own: in which life it was here */
};

/* Nobody has a reference: begin the next life, whose first reference is the table's. */
void give_life(pool_object *object)
{
	stress::check(hf_refcount_read(&object->refs) == 0, WHO, "pool: reborn while alive");
	stress::check(object->in_table == 0, WHO, "pool: dead, but in the table");
	for (uint64_t &mark : object->marks) {
		stress::check(mark == 0 || mark == object->life, WHO, "pool: a mark is old");
		mark = 0;
	}
	object->not_life = 0;
	object->life++;
	object->not_life = ~object->life;
	object->in_table = 1;
	hf_refcount_set_release(&object->refs, 1);
}

void pool()
{
	const uint32_t size = 3;
	std::vector<pool_object> objects(size);
	std::atomic<uint64_t> gets(0), puts(0), lives(0), misses(0), operations(0);

	for (auto &object : objects) {
		give_life(&object);
		lives++;
	}
	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS);
		stress::random random(me);
		uint64_t my_gets = 0, my_puts = 0, my_lives = 0, my_misses = 0, mine = 0;

		do {
			pool_object *object = &objects[random.below(size)];
			bool two = random.below(4) == 0;

			mine++;
			if (two ? !hf_refcount_add_not_zero_acquire(2, &object->refs)
				: !hf_refcount_inc_not_zero_acquire(&object->refs)) {
				my_misses++;
				sched_yield(); /* the thread that revives it may be descheduled */
				continue;
			}
			my_gets += two ? 2 : 1;
			stress::check(object->not_life == ~object->life, WHO,
				      "pool: life %llu, not %llu",
				      static_cast<unsigned long long>(object->life),
				      static_cast<unsigned long long>(~object->not_life));
			object->marks[me] = object->life;
			if (two) {
				hf_refcount_dec(&object->refs);
				my_puts++;
			}
			if (random.below(4) == 0) {
				hf_refcount_add(3, &object->refs);
				stress::check(!hf_refcount_sub_and_test(3, &object->refs), WHO,
					      "pool: reported as the last, and it is not");
				my_gets += 3;
				my_puts += 3;
			}
			if (random.below(8) == 0 && object->in_table.exchange(0)) {
				hf_refcount_dec(&object->refs); /* the table's; we have ours */
				my_puts++;
			}
			my_puts++;
			if (drop(&object->refs, random.below(3))) {
				give_life(object);
				my_lives++;
			}
		} while (!end.passed());
		gets += my_gets;
		puts += my_puts;
		lives += my_lives;
		misses += my_misses;
		operations += mine;
	});
	for (auto &object : objects) {
		stress::check(object.in_table == 1 || hf_refcount_read(&object.refs) == 0, WHO,
			      "pool: %d references left", hf_refcount_read(&object.refs));
		if (object.in_table) {
			puts++;
			stress::check(hf_refcount_dec_and_test(&object.refs), WHO,
				      "pool: the last reference is not the last");
		}
	}
	stress::check(gets + lives == puts, WHO, "pool: %llu gets, %llu lives, %llu puts",
		      static_cast<unsigned long long>(gets), static_cast<unsigned long long>(lives),
		      static_cast<unsigned long long>(puts));
	char more[80];
	std::snprintf(more, sizeof(more), ", %llu lives, %llu misses",
		      static_cast<unsigned long long>(lives),
		      static_cast<unsigned long long>(misses));
	stress::did(WHO, "pool", operations, more);
}

/* ---- saturated ---------------------------------------------------------------------------- */

void saturated()
{
	hf_refcount_t refs = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX - 1000);
	std::atomic<uint64_t> operations(0), freed(0), refused(0);

	hf_report_reset();
	hf_report_set_mode(HF_REPORT_MODE_COUNT);
	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS / 2);
		stress::random random(me);
		uint64_t mine = 0;

		do {
			switch (random.below(8)) {
			case 0:
			case 1:
				hf_refcount_inc(&refs);
				break;
			case 2:
				hf_refcount_add(int32_t(random.below(1000)) + 1, &refs);
				break;
			case 3:
				refused += !hf_refcount_inc_not_zero_acquire(&refs);
				break;
			case 4:
				hf_refcount_dec(&refs);
				break;
			case 5:
				freed += hf_refcount_dec_and_test(&refs);
				break;
			case 6:
				freed += hf_refcount_sub_and_test(int32_t(random.below(100)) + 1,
								  &refs);
				break;
			case 7:
				freed += !hf_refcount_dec_not_one(&refs);
				break;
			}
			mine++;
		} while (!end.passed());
		operations += mine;
	});
	stress::check(hf_refcount_read(&refs) == HF_REFCOUNT_SATURATED, WHO,
		      "saturated: the count is %d", hf_refcount_read(&refs));
	stress::check(freed == 0, WHO, "saturated: a put returned true");
	stress::check(refused == 0, WHO, "saturated: a get returned false");
	stress::check(
		hf_report_count(HF_REPORT_ADD_OVF) + hf_report_count(HF_REPORT_ADD_NOT_ZERO_OVF) >
			0,
		WHO, "saturated: no overflow was reported");
	stress::check(hf_report_count(HF_REPORT_ADD_UAF) == 0, WHO, "saturated: it was 0");
	hf_report_set_mode(HF_REPORT_MODE_WARN);
	hf_report_reset();
	stress::did(WHO, "saturated", operations);
}

} // namespace

int main()
{
	stress::begin();
	last();
	pool();
	for (int kind = 0; kind < HF_REPORT_KINDS; kind++) {
		uint32_t n = hf_report_count(static_cast<enum hf_report_kind>(kind));

		stress::check(n == 0, WHO, "%u reports of good use: %s", n,
			      hf_report_text(static_cast<enum hf_report_kind>(kind)));
	}
	saturated();
	return stress::result();
}
