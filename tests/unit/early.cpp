/* SPDX-License-Identifier: MIT */
/*
 * early - a global lock that an earlier constructor has taken is held until it is released: its own
 * constructor is done at compile time, and does not free it.
 */
#include "unit.h"

#include "holdfast/mutex.h"
#include "holdfast/spinlock.h"

namespace
{

#define DECLARE(name, NAME, bytes, nodes) extern hf::spinlock_##name early_##name;
HF_SPINLOCK_ROSTER(DECLARE)
extern hf::mutex early_mutex;

struct Earlier {
	Earlier()
	{
#define LOCK(name, NAME, bytes, nodes) early_##name.lock();
		HF_SPINLOCK_ROSTER(LOCK)
		early_mutex.lock();
	}
} earlier;

/* Behind it, so that their constructors would run after its. */
#define DEFINE(name, NAME, bytes, nodes) hf::spinlock_##name early_##name;
HF_SPINLOCK_ROSTER(DEFINE)
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
	lock.lock(); /* as it was, for the next repetition */
}

TEST(Early, Mutex)
{
	held_until_released(early_mutex);
}

#define CASE(name, NAME, bytes, nodes)                                                             \
	TEST(Early, name)                                                                          \
	{                                                                                          \
		held_until_released(early_##name);                                                 \
	}
HF_SPINLOCK_ROSTER(CASE)

} // namespace
