/* SPDX-License-Identifier: MIT */
/*
 * spinlock_guard - spinlocks with C++ guards: std::lock_guard for one lock, std::unique_lock for
 * try_lock, std::scoped_lock for two locks without a deadlock, and hf::guard, which clang's
 * -Wthread-safety understands.
 */
#include <cstdio>
#include <mutex>
#include <thread>

#include <holdfast/spinlock.h>

#include "must.h"

namespace
{

/* Aligned, because accounts that share a cache line slow each other down. */
struct alignas(HF_ARCH_NO_SHARING) account {
	mutable hf::spinlock lock;
	long cents = 0;

	long read() const
	{
		std::lock_guard<hf::spinlock> guard(lock);
		return cents;
	}
};

/* scoped_lock avoids a deadlock if two threads name the accounts in opposite orders. */
bool transfer(account &from, account &to, long cents)
{
	std::scoped_lock guard(from.lock, to.lock);

	if (from.cents < cents)
		return false; /* both are released */
	from.cents -= cents;
	to.cents += cents;
	return true;
}

/* HF_GUARDED_BY: clang -Wthread-safety reports an access without the lock. */
class journal {
public:
	void note()
	{
		hf::guard<hf::spinlock> hold(lock_);

		entries_++;
	}
	long entries()
	{
		hf::guard<hf::spinlock> hold(lock_);

		return entries_;
	}

private:
	hf::spinlock lock_;
	long entries_ HF_GUARDED_BY(lock_) = 0;
};

} // namespace

int main()
{
	account alice, bob;
	journal journal;

	alice.cents = bob.cents = 1000;
	std::thread there([&] {
		for (int i = 0; i < 5000; i++)
			transfer(alice, bob, 3), journal.note();
	});
	std::thread back([&] {
		for (int i = 0; i < 5000; i++)
			transfer(bob, alice, 2), journal.note();
	});
	there.join();
	back.join();
	must(alice.read() + bob.read() == 2000);
	must(alice.read() >= 0 && bob.read() >= 0);
	must(journal.entries() == 10000);
	std::printf("10000 transfers; the sum is still 2000 cents\n");

	std::unique_lock<hf::spinlock> first(alice.lock, std::try_to_lock);
	std::unique_lock<hf::spinlock> second(alice.lock, std::try_to_lock);
	must(first.owns_lock() && !second.owns_lock());
	first.unlock();
	must(!alice.lock.is_locked());
	return 0;
}
