/* SPDX-License-Identifier: MIT */
/*
 * refcount - objects with plain data, shared, freed by whoever drops the last reference.
 *
 *   last        objects on the heap; each thread writes its own part of each, and drops it. The one
 *               that drops the last reference sees all of the parts, and frees.
 *   pool        objects whose memory is used again; taken by inc_not_zero_acquire, published by
 *               set_release. Their data changes only between two lives of an object.
 *   saturated   all operations at once, past the maximum: the count ends saturated, nothing is
 *               freed.
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

/* Drops a reference by one of three operations. True = it was the last. */
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

struct heap_object {
	hf_refcount_t refs = HF_REFCOUNT_INIT(THREADS);
	uint64_t parts[THREADS] = {};

	unsigned int use(stress::random &random)
	{
		if (random.below(2))
			return 0;
		hf_refcount_inc(&refs);
		hf_refcount_add(2, &refs);
		hf_refcount_dec(&refs);
		stress::check(!hf_refcount_sub_and_test(2, &refs), WHO,
			      "last: reported as the last, and it is not");
		return 4;
	}
	bool drop(stress::random &random) { return ::drop(&refs, random.below(3)); }
	void end() {}
};

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
	stress::check(hf_refcount_read(&object->refs) == 0, WHO, "pool: revived while alive");
	stress::check(object->in_table == 0, WHO, "pool: dead, but in the table");
	for (uint64_t &mark : object->marks) {
		stress::check(mark == 0 || mark == object->life, WHO,
			      "pool: a mark of an earlier life");
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
	enum { OPERATIONS, GETS, PUTS, LIVES, MISSES, COUNTS };
	const uint32_t size = 3;
	std::vector<pool_object> objects(size);

	for (auto &object : objects)
		give_life(&object);
	auto n = stress::run_for<COUNTS>(THREADS, MILLISECONDS, [&](int me, auto &random, auto &n) {
		pool_object *object = &objects[random.below(size)];
		bool two = random.below(4) == 0;

		n[OPERATIONS]++;
		if (two ? !hf_refcount_add_not_zero_acquire(2, &object->refs)
			: !hf_refcount_inc_not_zero_acquire(&object->refs)) {
			n[MISSES]++;
			sched_yield(); /* the thread that revives it may be descheduled */
			return;
		}
		n[GETS] += two ? 2 : 1;
		stress::same(object->life, "life", ~object->not_life, "its copy", WHO);
		object->marks[me] = object->life;
		if (two) {
			hf_refcount_dec(&object->refs);
			n[PUTS]++;
		}
		if (random.below(4) == 0) {
			hf_refcount_add(3, &object->refs);
			stress::check(!hf_refcount_sub_and_test(3, &object->refs), WHO,
				      "pool: reported as the last, and it is not");
			n[GETS] += 3;
			n[PUTS] += 3;
		}
		if (random.below(8) == 0 && object->in_table.exchange(0)) {
			hf_refcount_dec(&object->refs); /* the table's; this thread has its own */
			n[PUTS]++;
		}
		n[PUTS]++;
		if (drop(&object->refs, random.below(3))) {
			give_life(object);
			n[LIVES]++;
		}
	});

	for (auto &object : objects) {
		stress::check(object.in_table == 1 || hf_refcount_read(&object.refs) == 0, WHO,
			      "pool: %d references left", hf_refcount_read(&object.refs));
		if (object.in_table) {
			n[PUTS]++;
			stress::check(hf_refcount_dec_and_test(&object.refs), WHO,
				      "pool: the last reference is not the last");
		}
	}
	stress::same(n[GETS] + n[LIVES] + size, "gets and lives", n[PUTS], "puts", WHO);
	stress::did(WHO, "pool", n[OPERATIONS],
		    { { "lives", n[LIVES] + size }, { "misses", n[MISSES] } });
}

/* ---- saturated ---------------------------------------------------------------------------- */

void saturated()
{
	enum { OPERATIONS, FREED, REFUSED, COUNTS };
	hf_refcount_t refs = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX - 1000);

	hf_report_reset();
	hf_report_set_mode(HF_REPORT_MODE_COUNT);
	auto once = [&](auto &random, auto &n) {
		switch (random.below(8)) {
		case 0:
		case 1:
			hf_refcount_inc(&refs);
			break;
		case 2:
			hf_refcount_add(int32_t(random.below(1000)) + 1, &refs);
			break;
		case 3:
			n[REFUSED] += !hf_refcount_inc_not_zero_acquire(&refs);
			break;
		case 4:
			hf_refcount_dec(&refs);
			break;
		case 5:
			n[FREED] += hf_refcount_dec_and_test(&refs);
			break;
		case 6:
			n[FREED] += hf_refcount_sub_and_test(int32_t(random.below(100)) + 1, &refs);
			break;
		case 7:
			n[FREED] += !hf_refcount_dec_not_one(&refs);
			break;
		}
		n[OPERATIONS]++;
	};
	auto n =
		stress::run_for<COUNTS>(THREADS, MILLISECONDS / 2, [&](int, auto &random, auto &n) {
			/* Enough to overflow, however soon the time is over. */
			for (int i = 0; i < 100; i++)
				once(random, n);
		});

	stress::check(hf_refcount_read(&refs) == HF_REFCOUNT_SATURATED, WHO,
		      "saturated: the count is %d", hf_refcount_read(&refs));
	stress::check(n[FREED] == 0, WHO, "saturated: a put returned true");
	stress::check(n[REFUSED] == 0, WHO, "saturated: a get returned false");
	stress::check(
		hf_report_count(HF_REPORT_ADD_OVF) + hf_report_count(HF_REPORT_ADD_NOT_ZERO_OVF) >
			0,
		WHO, "saturated: no overflow was reported");
	stress::check(hf_report_count(HF_REPORT_ADD_UAF) == 0, WHO, "saturated: it was 0");
	hf_report_set_mode(HF_REPORT_MODE_WARN);
	hf_report_reset();
	stress::did(WHO, "saturated", n[OPERATIONS]);
}

} // namespace

int main()
{
	stress::begin();
	stress::last<heap_object>(WHO, THREADS, MILLISECONDS);
	pool();
	stress::no_reports(WHO);
	saturated();
	return stress::result();
}
