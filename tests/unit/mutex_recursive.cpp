/* SPDX-License-Identifier: MIT */
/* mutex_recursive - depth, who the holder is, misuse, waits for a condition variable, fork. */
#include "unit.h"

#include <condition_variable>
#include <mutex>

#include "holdfast/mutex_recursive.h"

#include "waiters.h"

namespace
{

using unit::MS;

struct MutexRecursive : testing::Test {
	~MutexRecursive() override
	{
		EXPECT_FALSE(hf_mutex_is_locked(&m.mutex));
		EXPECT_TRUE(unit::table_is_empty());
	}
	/* Can another thread take it? Releases it again. */
	bool is_free()
	{
		bool taken = false;

		unit::run_threads(1, [&](int) {
			EXPECT_FALSE(hf_mutex_recursive_is_mine(&m));
			taken = hf_mutex_recursive_trylock(&m);
			EXPECT_EQ(hf_mutex_recursive_is_mine(&m), taken);
			if (taken)
				hf_mutex_recursive_unlock(&m);
		});
		return taken;
	}
	hf_mutex_recursive_t m = HF_MUTEX_RECURSIVE_INIT;
};

/* Each way to lock counts, and only the last unlock releases. */
TEST_F(MutexRecursive, Depth)
{
	static_assert(sizeof(m) == 16, "sixteen bytes");
	EXPECT_TRUE(is_free());
	for (int round = 0; round < 2; round++) {
		hf_mutex_recursive_lock(&m);
		hf_mutex_recursive_lock(&m);
		EXPECT_TRUE(hf_mutex_recursive_trylock(&m));
		EXPECT_TRUE(hf_mutex_recursive_lock_timeout(&m, 0));
		for (int depth = 4; depth > 0; depth--) {
			EXPECT_TRUE(hf_mutex_recursive_is_mine(&m));
			EXPECT_FALSE(is_free()) << depth;
			hf_mutex_recursive_unlock(&m);
		}
		EXPECT_FALSE(hf_mutex_recursive_is_mine(&m));
		EXPECT_TRUE(is_free());
		EXPECT_TRUE(round ? hf_mutex_recursive_trylock(&m)
				  : hf_mutex_recursive_lock_timeout(&m, MS));
		hf_mutex_recursive_unlock(&m);
		EXPECT_TRUE(is_free());
	}
	hf_mutex_recursive_lock(&m);
	unit::run_threads(1, [&](int) { EXPECT_FALSE(hf_mutex_recursive_lock_timeout(&m, MS)); });
	hf_mutex_recursive_unlock(&m);
	memset(static_cast<void *>(&m), 0xff, sizeof(m));
	hf_mutex_recursive_init(&m); /* the same memory as a new mutex */
	EXPECT_FALSE(hf_mutex_recursive_is_mine(&m));
	EXPECT_TRUE(is_free());
}

/* Threads exclude each other at every depth. */
TEST_F(MutexRecursive, Excludes)
{
	int count = 0;

	unit::run_threads(4, [&](int) {
		for (int i = 0; i < 5000; i++) {
			HF_MUTEX_RECURSIVE_GUARD(&m);
			count++;
			HF_MUTEX_RECURSIVE_GUARD(&m);
			count++;
		}
	});
	EXPECT_EQ(count, 40000);
}

TEST_F(MutexRecursive, Misuse)
{
	unit::reports report;

	hf_mutex_recursive_unlock(&m);
	EXPECT_TRUE(report.one(HF_REPORT_LOCK_UNLOCKED, &m));
	hf_mutex_recursive_lock(&m);
	unit::run_threads(1, [&](int) {
		hf_cond_t cond = HF_COND_INIT;

		hf_mutex_recursive_unlock(&m);
		EXPECT_TRUE(report.one(HF_REPORT_LOCK_WRONG_OWNER, &m));
		EXPECT_TRUE(hf_mutex_recursive_wait_until(&m, &cond, HF_ENV_FOREVER));
		EXPECT_TRUE(report.one(HF_REPORT_LOCK_WRONG_OWNER, &m));
	});
	EXPECT_TRUE(hf_mutex_recursive_is_mine(&m));

	m.depth = UINT32_MAX - 2; /* as after so many locks */
	hf_mutex_recursive_lock(&m);
	EXPECT_EQ(report.total(), 0u);
	EXPECT_TRUE(hf_mutex_recursive_trylock(&m));
	EXPECT_TRUE(report.one(HF_REPORT_LOCK_DEPTH_OVF, &m));
	hf_mutex_recursive_lock(&m);
	EXPECT_TRUE(report.one(HF_REPORT_LOCK_DEPTH_OVF, &m));
	for (int i = 0; i < 3; i++)
		hf_mutex_recursive_unlock(&m);
	EXPECT_EQ(m.depth, UINT32_MAX); /* it stays locked */
	m.depth = 0;
	hf_mutex_recursive_unlock(&m);
	EXPECT_EQ(report.total(), 0u);
}

/* A wait releases every level, and takes as many again. */
TEST_F(MutexRecursive, WaitsWhileDeep)
{
	hf_cond_t cond = HF_COND_INIT;
	bool changed = false;

	hf_mutex_recursive_lock(&m);
	hf_mutex_recursive_lock(&m);
	std::thread other([&] {
		hf_mutex_recursive_lock(&m);
		hf_mutex_recursive_lock(&m);
		hf_mutex_recursive_lock(&m);
		changed = true;
		hf_cond_signal(&cond);
		for (int i = 0; i < 3; i++)
			hf_mutex_recursive_unlock(&m);
	});
	while (!changed)
		EXPECT_TRUE(hf_mutex_recursive_wait_until(&m, &cond, HF_ENV_FOREVER));
	other.join();
	EXPECT_TRUE(hf_mutex_recursive_is_mine(&m));
	EXPECT_EQ(m.depth, 1u);
	EXPECT_FALSE(hf_mutex_recursive_wait_until(&m, &cond, hf_env_deadline(MS)));
	EXPECT_EQ(m.depth, 1u);
	hf_mutex_recursive_unlock(&m);
	EXPECT_FALSE(is_free());
	hf_mutex_recursive_unlock(&m);
}

/* The child's thread holds what its parent's held, and as deep. */
TEST_F(MutexRecursive, Fork)
{
	hf_mutex_recursive_lock(&m);
	hf_mutex_recursive_lock(&m);
	EXPECT_EQ(unit::in_child([this] {
			  MUST(hf_mutex_recursive_trylock(&m));
			  hf_mutex_recursive_unlock(&m);
			  hf_mutex_recursive_unlock(&m);
			  MUST(!is_free());
			  hf_mutex_recursive_unlock(&m);
			  MUST(is_free());
		  }),
		  0);
	hf_mutex_recursive_unlock(&m);
	hf_mutex_recursive_unlock(&m);
}

TEST(MutexRecursiveClass, Guards)
{
	hf::recursive_mutex lock, other;
	std::condition_variable_any changed;
	bool is_changed = false;
	std::lock_guard<hf::recursive_mutex> first(lock);
	std::scoped_lock both(lock, other);
	std::unique_lock<hf::recursive_mutex> again(lock, std::try_to_lock);

	EXPECT_TRUE(again.owns_lock());
	EXPECT_TRUE(lock.try_lock_for(std::chrono::hours(-1)));
	lock.unlock();
	EXPECT_TRUE(lock.try_lock_until(std::chrono::steady_clock::now()));
	lock.unlock();
	unit::run_threads(1, [&](int) {
		EXPECT_FALSE(lock.try_lock());
		EXPECT_FALSE(lock.try_lock_for(std::chrono::microseconds(10)));
		EXPECT_FALSE(lock.try_lock_until(std::chrono::system_clock::now()));
	});
	EXPECT_TRUE(hf_mutex_recursive_is_mine(lock.native_handle()));

	hf::recursive_mutex waits;
	std::unique_lock<hf::recursive_mutex> once(waits);
	std::thread thread([&] {
		std::lock_guard<hf::recursive_mutex> hold(waits);

		is_changed = true;
		changed.notify_one();
	});
	changed.wait(once, [&] { return is_changed; });
	thread.join();
}

} // namespace
