/* SPDX-License-Identifier: MIT */
/* As main.c, in C++: each spinlock as a class, refcounts and lockrefs by their functions, owners. */
#include <holdfast/intrusive_ptr.h>
#include <holdfast/lockref.h>
#include <holdfast/lockref_counted.h>
#include <holdfast/refcount.h>
#include <holdfast/report.h>
#include <holdfast/spinlock.h>
#include <holdfast/spinlock_ticket.h>

#include <cstdio>
#include <mutex>

static int failures;
static unsigned int misuses;

static void check(bool is_so, const char *who, const char *what)
{
	if (is_so)
		return;
	std::fprintf(stderr, "%s: not so: %s\n", who, what);
	failures++;
}

template <class Lock>
static void spinlock(const char *who)
{
	static Lock lock;

	{
		std::lock_guard<Lock> guard(lock);
		check(lock.is_locked(), who, "it is locked");
		check(!lock.try_lock(), who, "nobody else gets it");
	}
	check(!lock.is_locked(), who, "it is free again");
}

template <class Inc, class DecAndTest>
static void refcount(const char *who, bool checked, Inc inc, DecAndTest dec_and_test)
{
	hf_refcount_t count = HF_REFCOUNT_INIT(1);

	inc(&count);
	check(!dec_and_test(&count), who, "that was not the last");
	check(dec_and_test(&count), who, "that was the last");
	inc(&count); /* use after free */
	misuses += checked;
	check(hf_report_count(HF_REPORT_ADD_UAF) == misuses, who, "its misuse is reported");
}

template <class Get, class GetNotDead, class PutReturn, class PutOrLock>
static void lockref(const char *who, Get get, GetNotDead get_not_dead, PutReturn put_return,
		    PutOrLock put_or_lock)
{
	hf_lockref_t object = HF_LOCKREF_INIT(1);

	get(&object);
	check(put_return(&object) == 1, who, "one is left");
	check(!put_or_lock(&object), who, "that was the last");
	hf_lockref_mark_dead(&object);
	hf_lockref_unlock(&object);
	check(!get_not_dead(&object), who, "it is dead");
}

struct owned : hf::refcounted<owned> {
	explicit owned(bool *flag) : gone(flag) {}
	~owned() { *gone = true; }
	bool *gone;
};

struct entry : hf::lockref_counted<entry> {};

static void owners()
{
	bool gone = false;
	entry object;
	hf::intrusive_ptr<owned> one = hf::make_intrusive<owned>(&gone), two = one;
	hf::intrusive_ptr<entry> found(&object, hf::adopt);

	one.reset();
	check(!gone && two->references() == 1, "owners", "one is left");
	two.reset();
	check(gone, "owners", "it is freed");
	found.reset();
	check(object.read() == 0, "owners", "it rests");
}

int main()
{
	hf_report_set_mode(HF_REPORT_MODE_COUNT);
	spinlock<hf::spinlock_ticket>("spinlock ticket");
	spinlock<hf::spinlock>("spinlock");
	refcount("refcount", true, hf_refcount_inc, hf_refcount_dec_and_test);
	lockref("lockref", hf_lockref_get, hf_lockref_get_not_dead, hf_lockref_put_return,
		hf_lockref_put_or_lock);
	owners();
	return failures ? 1 : 0;
}
