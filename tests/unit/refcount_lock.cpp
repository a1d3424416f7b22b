/* SPDX-License-Identifier: MIT */
/* refcount_lock - the last reference is dropped under a lock: a spinlock, or a mutex. */
#include "unit.h"

#include "holdfast/refcount_lock.h"

namespace
{

/* Both kinds of lock by one set of names. */
struct by_spinlock {
	hf_spinlock_t raw = HF_SPINLOCK_INIT;

	void lock() { hf_spinlock_lock(&raw); }
	void unlock() { hf_spinlock_unlock(&raw); }
	bool try_lock() { return hf_spinlock_trylock(&raw); }
	bool drop(hf_refcount_t *r) { return hf_refcount_dec_and_lock(r, &raw); }
};

struct by_mutex {
	pthread_mutex_t raw = PTHREAD_MUTEX_INITIALIZER;

	void lock() { pthread_mutex_lock(&raw); }
	void unlock() { pthread_mutex_unlock(&raw); }
	bool try_lock() { return pthread_mutex_trylock(&raw) == 0; }
	bool drop(hf_refcount_t *r) { return hf_refcount_dec_and_mutex_lock(r, &raw); }
};

template <class Lock>
class RefcountLock : public testing::Test {
protected:
	/* Can another thread take it? */
	static bool is_free(Lock &lock)
	{
		bool free = false;

		std::thread([&] {
			free = lock.try_lock();
			if (free)
				lock.unlock();
		}).join();
		return free;
	}
};

using Both = testing::Types<by_spinlock, by_mutex>;
TYPED_TEST_SUITE(RefcountLock, Both, unit::type_names);

TYPED_TEST(RefcountLock, NotTheLast)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(3);
	TypeParam lock;
	unit::reports reports;

	EXPECT_FALSE(lock.drop(&r));
	EXPECT_EQ(hf_refcount_read(&r), 2);
	EXPECT_TRUE(this->is_free(lock));
	EXPECT_EQ(reports.total(), 0u);

	/* The lock is not accessed, so any thread may hold it. */
	lock.lock();
	std::thread([&] { EXPECT_FALSE(lock.drop(&r)); }).join();
	EXPECT_EQ(hf_refcount_read(&r), 1);
	lock.unlock();
}

TYPED_TEST(RefcountLock, TheLast)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	TypeParam lock;
	unit::reports reports;

	ASSERT_TRUE(lock.drop(&r));
	EXPECT_EQ(hf_refcount_read(&r), 0);
	EXPECT_FALSE(this->is_free(lock));
	lock.unlock();
	EXPECT_TRUE(this->is_free(lock));
	EXPECT_EQ(reports.total(), 0u);
}

/*
 * While it waits for the lock another thread gets a reference, so it no longer drops the last one.
 */
TYPED_TEST(RefcountLock, NoLongerTheLast)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	std::atomic<bool> there(false);
	TypeParam lock;
	bool last = true;
	std::thread dropper;

	lock.lock();
	dropper = std::thread([&] {
		there = true;
		last = lock.drop(&r);
	});
	unit::wait_until([&] { return there.load(); });
	unit::sleep_ms(20);
	hf_refcount_inc(&r); /* found in the structure that the lock protects */
	lock.unlock();
	dropper.join();
	EXPECT_FALSE(last);
	EXPECT_EQ(hf_refcount_read(&r), 1);
	EXPECT_TRUE(this->is_free(lock));
}

TYPED_TEST(RefcountLock, Misuse)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);
	TypeParam lock;
	unit::reports reports;

	EXPECT_FALSE(lock.drop(&r));
	EXPECT_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	EXPECT_TRUE(reports.one(HF_REPORT_SUB_UAF, &r));
	EXPECT_FALSE(lock.drop(&r));
	EXPECT_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	EXPECT_TRUE(this->is_free(lock));
}

/* If the mutex cannot be locked, the reference is kept. */
TEST(RefcountMutex, ReferenceIsKeptIfLockingFails)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	pthread_mutexattr_t checking;
	pthread_mutex_t mutex;

	pthread_mutexattr_init(&checking);
	pthread_mutexattr_settype(&checking, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&mutex, &checking);
	ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
	EXPECT_FALSE(hf_refcount_dec_and_mutex_lock(&r, &mutex));
	EXPECT_EQ(hf_refcount_read(&r), 1);
	EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
	ASSERT_TRUE(hf_refcount_dec_and_mutex_lock(&r, &mutex));
	EXPECT_EQ(hf_refcount_read(&r), 0);
	EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
	pthread_mutex_destroy(&mutex);
	pthread_mutexattr_destroy(&checking);
}

} // namespace
