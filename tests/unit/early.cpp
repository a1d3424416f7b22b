/* SPDX-License-Identifier: MIT */
/*
 * early - a global lock acquired by an earlier constructor stays held: its own constructor is
 * constexpr, so it does not run later and reset the lock.
 */
#include "unit.h"

#include "holdfast/mutex.h"
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"

namespace
{

extern hf::spinlock early_spinlock;
extern hf::spinlock_ticket early_ticket;
extern hf::mutex early_mutex;

struct Earlier {
	Earlier()
	{
		early_spinlock.lock();
		early_ticket.lock();
		early_mutex.lock();
	}
} earlier;

/* Defined behind it: constructors that are not constexpr would run after its. */
hf::spinlock early_spinlock;
hf::spinlock_ticket early_ticket;
hf::mutex early_mutex;

template <class Lock>
void held_until_released(Lock &lock)
{
	ASSERT_TRUE(lock.is_locked());
	EXPECT_FALSE(lock.try_lock());
	lock.unlock();
	EXPECT_FALSE(lock.is_locked());
	EXPECT_TRUE(lock.try_lock());
	lock.unlock();
	lock.lock(); /* for the next repetition of the test */
}

TEST(Early, LocksThatAreHeld)
{
	held_until_released(early_mutex);
	held_until_released(early_spinlock);
	held_until_released(early_ticket);
}

} // namespace
