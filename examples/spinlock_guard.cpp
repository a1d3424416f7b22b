/* SPDX-License-Identifier: MIT */
/*
 * spinlock_guard - the locks in C++: they work with std::lock_guard and its relatives.
 */
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include <holdfast/spinlock.h>

class histogram {
public:
	void add(unsigned int value)
	{
		std::lock_guard<hf::spinlock> guard(lock_);

		counts_[value % counts_.size()]++;
	}
	/* False: somebody else was at it. */
	bool try_add(unsigned int value)
	{
		std::unique_lock<hf::spinlock> guard(lock_, std::try_to_lock);

		if (!guard.owns_lock())
			return false;
		counts_[value % counts_.size()]++;
		return true;
	}
	unsigned long total()
	{
		std::lock_guard<hf::spinlock> guard(lock_);
		unsigned long sum = 0;

		for (unsigned long n : counts_)
			sum += n;
		return sum;
	}

private:
	hf::spinlock lock_;
	std::vector<unsigned long> counts_ = std::vector<unsigned long>(16);
};

int main()
{
	histogram all;
	unsigned long tried = 0;
	std::thread other([&] {
		for (unsigned int i = 0; i < 1000; i++)
			all.add(i);
	});

	for (unsigned int i = 0; i < 1000; i++)
		tried += all.try_add(i);
	other.join();
	assert(all.total() == 1000 + tried);

	/* Any of the family, two at once, without a deadlock. */
	hf::spinlock_ticket first;
	hf::spinlock_mcs second;
	{
		std::scoped_lock both(first, second);

		assert(first.is_locked() && second.is_locked());
	}
	assert(!first.is_locked() && !second.is_locked());
	printf("1000 added, and %lu of 1000 without waiting\n", tried);
	return 0;
}
