/* SPDX-License-Identifier: MIT */
/* spinlock - the C++ classes, guards, FIFO order, the child of a fork. */
#include "unit.h"

#include <mutex>

#include "holdfast/mutex.h"
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"

namespace
{

using Locks = testing::Types<hf::spinlock, hf::spinlock_ticket>;

template <class Lock>
class Spinlock : public testing::Test {
};

TYPED_TEST_SUITE(Spinlock, Locks, unit::type_names);

TYPED_TEST(Spinlock, IsLockable)
{
	TypeParam lock;

	try {
		std::lock_guard<TypeParam> guard(lock);
		EXPECT_TRUE(lock.is_locked());
		EXPECT_FALSE(lock.try_lock());
		throw 1;
	} catch (int) {
	}
	EXPECT_FALSE(lock.is_locked());
	EXPECT_TRUE(lock.try_lock());
	EXPECT_FALSE(std::unique_lock<TypeParam>(lock, std::try_to_lock).owns_lock());
	lock.unlock();
	EXPECT_FALSE(lock.is_locked());
	EXPECT_EQ(static_cast<void *>(lock.native_handle()), static_cast<void *>(&lock));
	EXPECT_FALSE(std::is_copy_constructible<TypeParam>::value);
	EXPECT_FALSE(std::is_copy_assignable<TypeParam>::value);
	EXPECT_EQ(sizeof(lock), sizeof(*lock.native_handle()));
}

#if !HF_TSAN /* for which a lock has a destructor */
/* Constants: a constructor that ran late would reset a lock that an earlier one has acquired. */
[[maybe_unused]] constexpr hf::spinlock constant_spinlock;
[[maybe_unused]] constexpr hf::spinlock_ticket constant_ticket;
[[maybe_unused]] constexpr hf::mutex constant_mutex;
#endif

/* ---- The guard of C, in C++ ----------------------------------------------------------------- */

/* The battery has the other ways to leave its block. */
TEST(SpinlockGuard, EndsByAnException)
{
	hf_spinlock_t outer = HF_SPINLOCK_INIT, inner = HF_SPINLOCK_INIT;

	try {
		HF_SPINLOCK_GUARD(&outer);
		HF_SPINLOCK_GUARD(&inner);
		EXPECT_TRUE(hf_spinlock_is_locked(&outer) && hf_spinlock_is_locked(&inner));
		throw 1;
	} catch (int) {
	}
	EXPECT_FALSE(hf_spinlock_is_locked(&outer) || hf_spinlock_is_locked(&inner));
}

/* ---- The order of service ----------------------------------------------------------------- */

TEST(SpinlockTicket, NumbersWrapAround)
{
	hf_spinlock_ticket_t lock = HF_SPINLOCK_TICKET_INIT;

	hf_atomic32_store_relaxed(&lock.next, UINT32_MAX - 2);
	hf_atomic32_store_relaxed(&lock.serving, UINT32_MAX - 2);
	for (int i = 0; i < 3; i++) {
		EXPECT_FALSE(hf_spinlock_ticket_is_locked(&lock));
		hf_spinlock_ticket_lock(&lock);
		EXPECT_TRUE(hf_spinlock_ticket_is_locked(&lock));
		EXPECT_FALSE(hf_spinlock_ticket_trylock(&lock));
		hf_spinlock_ticket_unlock(&lock);
		ASSERT_TRUE(hf_spinlock_ticket_trylock(&lock));
		EXPECT_FALSE(hf_spinlock_ticket_trylock(&lock));
		hf_spinlock_ticket_unlock(&lock);
	}
	EXPECT_FALSE(hf_spinlock_ticket_is_locked(&lock));
	EXPECT_EQ(hf_atomic32_load_relaxed(&lock.serving), 3u);
}

/* First come, first served: the queue's end changes when a waiter joins. */
TEST(SpinlockTicket, ServesInOrder)
{
	hf_spinlock_ticket_t lock = HF_SPINLOCK_TICKET_INIT;
	std::vector<uint32_t> served;
	unit::thread_group threads;

	hf_spinlock_ticket_lock(&lock);
	for (uint32_t i = 1; i <= 4; i++) {
		threads.add([&lock, &served, i] {
			hf_spinlock_ticket_lock(&lock);
			served.push_back(i);
			hf_spinlock_ticket_unlock(&lock);
		});
		unit::wait_until([&] { return hf_atomic32_load_relaxed(&lock.next) == i + 1; });
	}
	hf_spinlock_ticket_unlock(&lock);
	threads.join();
	EXPECT_EQ(served, (std::vector<uint32_t>{ 1, 2, 3, 4 }));
}

/* ---- The child of a fork -------------------------------------------------------------------- */

/* The child can unlock a lock on which threads of the parent waited, and the lock works there. */
TEST(SpinlockFork, UnlockInChild)
{
	hf_spinlock_t lock = HF_SPINLOCK_INIT;
	std::atomic<int> there(0);
	unit::thread_group waiters;

	hf_spinlock_lock(&lock);
	for (int i = 0; i < 2; i++) {
		waiters.add([&] {
			there++;
			hf_spinlock_lock(&lock);
			hf_spinlock_unlock(&lock);
		});
	}
	unit::wait_until([&] { return there == 2; });
	unit::sleep_ms(5);
	EXPECT_EQ(unit::in_child([&] {
			  hf_spinlock_unlock_in_child(&lock);
			  for (int i = 0; i < 1000; i++) {
				  hf_spinlock_lock(&lock);
				  hf_spinlock_unlock(&lock);
			  }
			  MUST(!hf_spinlock_is_locked(&lock));
		  }),
		  0);
	hf_spinlock_unlock(&lock);
	waiters.join();
	EXPECT_FALSE(hf_spinlock_is_locked(&lock));
}

} // namespace
