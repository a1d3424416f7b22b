/* SPDX-License-Identifier: MIT */
/*
 * references - refcounts and lockrefs in type-stable memory, by threads that find the objects
 * without a lock.
 *
 * The thread that drops the last reference has the object for itself: it changes the object's life
 * and publishes it again. While a thread has a reference, it does not see the life change; the one
 * that drops the last sees the marks that the others have left. The data has no atomics, and locks
 * do not protect it: ThreadSanitizer sees what the count orders.
 *
 * references_spinning.cpp is the same with a lock half that spins.
 */
#include "stress.h"

#include "holdfast/lockref.h"
#include "holdfast/lockref_waitfree.h"
#include "holdfast/refcount.h"

namespace
{

const int THREADS = 4;
const int MILLISECONDS = 600; /* each type */

/*
 * What each type has:
 *
 *   find     a reference of an object that may be dead
 *   get      one more
 *   drop     true = it was the last, and no other thread can have one until revive()
 *   visit    takes the lock half; a thread may be descheduled there
 *   revive   the first reference of the next life
 */
struct refcount {
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	bool find(stress::random &random)
	{
		if (random.below(4))
			return hf_refcount_inc_not_zero_acquire(&r);
		if (!hf_refcount_add_not_zero_acquire(2, &r))
			return false;
		hf_refcount_dec(&r);
		return true;
	}
	void get() { hf_refcount_inc(&r); }
	bool drop(stress::random &random)
	{
		switch (random.below(3)) {
		case 0:
			return hf_refcount_dec_and_test(&r);
		case 1:
			return hf_refcount_sub_and_test(1, &r);
		default:
			while (!hf_refcount_dec_not_one(&r)) {
				if (hf_refcount_dec_if_one(&r))
					return true;
			}
			return false;
		}
	}
	void visit(stress::random &) {}
	void revive() { hf_refcount_set_release(&r, 1); }
	int32_t read() const { return hf_refcount_read(&r); }
};

struct lockref {
	hf_lockref_t l = HF_LOCKREF_INIT(1);

	bool find(stress::random &random)
	{
		if (!(random.below(4) ? hf_lockref_get_not_dead(&l) : hf_lockref_get_not_zero(&l)))
			return false;
		/* A get orders nothing, and this memory is reused: the lock does. */
		hf_lockref_lock(&l);
		hf_lockref_unlock(&l);
		return true;
	}
	void get() { hf_lockref_get(&l); }
	bool drop(stress::random &random)
	{
		int32_t left = random.below(2) ? hf_lockref_put_return(&l) : -1;

		if (left > 0 || (left < 0 && hf_lockref_put_or_lock(&l)))
			return false;
		if (left == 0)
			hf_lockref_lock(&l);
		/* After put_return another thread may have found it, or killed it. */
		bool dies = left < 0 || hf_lockref_read(&l) == 0;

		if (dies && random.below(4) == 0) {
			hf_lockref_set_count(&l, 0); /* may be found again */
			dies = false;
		}
		if (dies)
			hf_lockref_mark_dead(&l);
		hf_lockref_unlock(&l);
		return dies;
	}
	void visit(stress::random &random)
	{
		hf_lockref_lock(&l);
		if (random.below(8) == 0)
			sched_yield();
		hf_lockref_unlock(&l);
	}
	void revive()
	{
		hf_lockref_lock(&l);
		hf_lockref_set_count(&l, 1);
		hf_lockref_unlock(&l);
	}
	int32_t read() const { return hf_lockref_read(&l); }
};

struct waitfree {
	hf_lockref_waitfree_t l = HF_LOCKREF_WAITFREE_INIT(1);

	bool find(stress::random &) { return hf_lockref_waitfree_get_not_dead_acquire(&l); }
	void get() { hf_lockref_waitfree_get(&l); }
	bool drop(stress::random &random)
	{
		if (random.below(4) == 0) {
			int32_t left = hf_lockref_waitfree_put_return(&l);

			stress::check(left >= 0, "lockref_waitfree", "put_return: %d", left);
			return false; /* at 0 the next thread that drops one kills it */
		}
		if (hf_lockref_waitfree_put_or_lock(&l))
			return false;
		bool dies = hf_lockref_waitfree_mark_dead(&l, 0);

		if (!dies)
			hf_lockref_waitfree_unlock(&l);
		return dies;
	}
	void visit(stress::random &random)
	{
		hf_lockref_waitfree_lock(&l);
		if (random.below(8) == 0)
			sched_yield();
		stress::check(!hf_lockref_waitfree_mark_dead(&l, 0), "lockref_waitfree",
			      "killed, with a reference");
		hf_lockref_waitfree_unlock(&l);
	}
	void revive()
	{
		stress::check(hf_lockref_waitfree_revive(&l, 1), "lockref_waitfree", "not revived");
		hf_lockref_waitfree_unlock(&l);
	}
	int32_t read() const { return hf_lockref_waitfree_read(&l); }
};

template <class Count>
struct HF_ALIGNED(128) object {
	Count count;
	std::atomic<int> in_table{ 1 }; /* 1 = the table has a reference */
	uint64_t life = 1, not_life = ~uint64_t(1);
	uint64_t marks[THREADS] = {}; /* each thread's own: in which life it was here */
};

/* No other thread has a reference: begin the next life, whose first reference is the table's. */
template <class Count>
void next_life(object<Count> *o, const char *who)
{
	stress::check(o->in_table == 0, who, "dead, but in the table");
	for (uint64_t &mark : o->marks) {
		stress::check(mark == 0 || mark == o->life, who, "a mark of an earlier life");
		mark = 0;
	}
	o->life++;
	sched_yield(); /* others find it dead, with a torn identity */
	o->not_life = ~o->life;
	o->in_table = 1;
	o->count.revive();
}

template <class Count>
void run(const char *who)
{
	enum { OPERATIONS, LIVES, DEAD, COUNTS };
	std::vector<object<Count>> objects(3);
	auto n = stress::run_for<COUNTS>(THREADS, MILLISECONDS, [&](int me, auto &random, auto &n) {
		object<Count> *o = &objects[random.below(3)];

		n[OPERATIONS]++;
		if (!o->count.find(random)) {
			n[DEAD]++;
			sched_yield(); /* the thread that revives it may be descheduled */
			return;
		}
		uint64_t life = o->life;

		o->marks[me] = life;
		if (random.below(4) == 0) {
			o->count.get();
			stress::check(!o->count.drop(random), who, "the last, and it is not");
		}
		if (random.below(8) == 0)
			o->count.visit(random);
		if (random.below(8) == 0 && o->in_table.exchange(0))
			stress::check(!o->count.drop(random), who, "the table's is not the last");
		stress::check(o->life == life && o->not_life == ~life, who,
			      "another life, with a reference");
		if (o->count.drop(random)) {
			next_life(o, who);
			n[LIVES]++;
		}
		if (random.below(64) == 0)
			sched_yield();
	});

	for (object<Count> &o : objects)
		stress::check(o.count.read() == o.in_table, who, "the count ends as %d, not %d",
			      o.count.read(), o.in_table.load());
	stress::check(n[LIVES] > 0, who, "no object died");
	stress::no_reports(who);
	stress::did(who, "lives", n[OPERATIONS],
		    { { "lives", n[LIVES] }, { "found dead", n[DEAD] } });
}

} // namespace

int main()
{
	stress::begin();
	run<refcount>("refcount");
	run<lockref>("lockref");
	run<waitfree>("lockref_waitfree");
	return stress::result();
}
