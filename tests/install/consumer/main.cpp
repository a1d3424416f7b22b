/* SPDX-License-Identifier: MIT */
/* As main.c, in C++: the classes of spinlocks and owners, and the functions of C. */
#include <holdfast/intrusive_ptr.h>
#include <holdfast/lockref_counted.h>
#include <holdfast/refcount.h>
#include <holdfast/report.h>
#include <holdfast/spinlock.h>
#include <holdfast/spinlock_ticket.h>

#include <cstdio>
#include <mutex>

static int failures;

static void check(bool is_so, const char *what)
{
	if (is_so)
		return;
	std::fprintf(stderr, "not so: %s\n", what);
	failures++;
}

template <class Lock>
static void spinlock()
{
	static Lock lock;

	{
		std::lock_guard<Lock> guard(lock);
		check(lock.is_locked() && !lock.try_lock(), "the lock is held");
	}
	check(!lock.is_locked(), "the lock is free");
}

struct owned : hf::refcounted<owned> {
	explicit owned(bool *flag) : gone(flag) {}
	~owned() { *gone = true; }
	bool *gone;
};

struct entry : hf::lockref_counted<entry> {};

int main()
{
	hf_refcount_t count = HF_REFCOUNT_INIT(1);
	bool gone = false;
	entry object;
	hf::intrusive_ptr<owned> one = hf::make_intrusive<owned>(&gone), two = one;
	hf::intrusive_ptr<entry> found(&object, hf::adopt);

	hf_report_set_mode(HF_REPORT_MODE_COUNT);
	spinlock<hf::spinlock_ticket>();
	spinlock<hf::spinlock>();
	check(hf_refcount_dec_and_test(&count), "the last reference was dropped");
	hf_refcount_inc(&count); /* use after free */
	check(hf_report_count(HF_REPORT_ADD_UAF) == 1, "the misuse is reported");
	one.reset();
	check(!gone && two->references() == 1, "one reference is left");
	two.reset();
	check(gone, "the object is freed");
	found.reset();
	check(object.read() == 0, "the entry has no references");
	return failures ? 1 : 0;
}
