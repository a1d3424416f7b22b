/* SPDX-License-Identifier: MIT */
/* lockref - while another thread holds its lock. With many threads at once: stress/lockref.cpp. */
#include "unit.h"

#include <ctime>

#include "holdfast/lockref.h"

namespace
{

class Lockref : public testing::Test {
protected:
	/*
	 * Runs f in a thread while the lock is held, and has the count set to 5 before it is
	 * released. Did f wait for that?
	 */
	template <class F>
	static bool waits(hf_lockref_t *l, F f)
	{
		std::atomic<bool> there(false), back(false);
		std::thread thread;
		bool waited;

		hf_lockref_lock(l);
		thread = std::thread([&] {
			there = true;
			f();
			back = true;
		});
		unit::wait_until([&] { return there.load(); });
		unit::sleep_ms(10);
		waited = !back;
		hf_lockref_set_count(l, 5);
		hf_lockref_unlock(l);
		thread.join();
		return waited;
	}
};

/* Each waits, and then works on the count that the holder has left. */
TEST_F(Lockref, WaitsForTheLock)
{
	const struct {
		bool (*operation)(hf_lockref_t *);
		int32_t after;
	} rows[] = {
		{ [](hf_lockref_t *l) {
			 hf_lockref_get(l);
			 return true;
		 },
		  6 },
		{ [](hf_lockref_t *l) { return hf_lockref_get_not_zero(l); }, 6 },
		{ [](hf_lockref_t *l) { return hf_lockref_get_not_dead(l); }, 6 },
		{ [](hf_lockref_t *l) { return hf_lockref_put_or_lock(l); }, 4 },
		{ [](hf_lockref_t *l) { return hf_lockref_put_not_zero(l); }, 4 },
	};

	for (const auto &row : rows) {
		hf_lockref_t l = HF_LOCKREF_INIT(1);
		bool result = false;

		EXPECT_TRUE(waits(&l, [&] { result = row.operation(&l); }));
		EXPECT_TRUE(result);
		EXPECT_EQ(hf_lockref_read(&l), row.after);
		EXPECT_TRUE(hf_lockref_trylock(&l));
		hf_lockref_unlock(&l);
	}
}

TEST_F(Lockref, PutReturnDoesNotWait)
{
	hf_lockref_t l = HF_LOCKREF_INIT(2);
	int32_t result = -2;

	(void)waits(&l, [&] { result = hf_lockref_put_return(&l); });
	EXPECT_EQ(result, -1);
	EXPECT_EQ(hf_lockref_read(&l), 5);
}

/* The object is marked dead while two gets wait for its lock. */
TEST_F(Lockref, DiesWhileOthersWait)
{
	hf_lockref_t l = HF_LOCKREF_INIT(1);
	std::atomic<int> there(0);
	std::atomic<bool> not_zero(true), not_dead(true);
	std::vector<std::thread> threads;

	hf_lockref_lock(&l);
	threads.emplace_back([&] {
		there++;
		not_zero = hf_lockref_get_not_zero(&l);
	});
	threads.emplace_back([&] {
		there++;
		not_dead = hf_lockref_get_not_dead(&l);
	});
	unit::wait_until([&] { return there == 2; });
	unit::sleep_ms(5);
	hf_lockref_mark_dead(&l);
	hf_lockref_unlock(&l);
	for (auto &thread : threads)
		thread.join();
	EXPECT_FALSE(not_zero);
	EXPECT_FALSE(not_dead);
	EXPECT_EQ(hf_lockref_read(&l), HF_LOCKREF_DEAD);
}

/* A waiter for the lock half parks: it takes next to no processor time, however long the hold. */
TEST_F(Lockref, WaitersPark)
{
	hf_lockref_t l = HF_LOCKREF_INIT(1);
	std::atomic<bool> there(false);
	timespec used = {};

	hf_lockref_lock(&l);
	std::thread thread([&] {
		there = true;
		hf_lockref_get(&l);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	});
	unit::wait_until([&] { return there.load(); });
	unit::sleep_ms(100);
	hf_lockref_unlock(&l);
	thread.join();
	EXPECT_EQ(hf_lockref_read(&l), 2);
	EXPECT_EQ(used.tv_sec, 0);
	EXPECT_LT(used.tv_nsec, 50 * 1000 * 1000);
}

/* The lock half is a lock like any other: several at once. */
TEST_F(Lockref, IsALock)
{
	hf_lockref_t a = HF_LOCKREF_INIT(1), b = HF_LOCKREF_INIT(2);

	EXPECT_EQ(sizeof(hf_lockref_t), 8u);
	hf_lockref_lock(&a);
	hf_lockref_lock(&b);
	EXPECT_FALSE(hf_lockref_trylock(&a));
	hf_lockref_unlock(&a);
	EXPECT_TRUE(hf_lockref_trylock(&a));
	EXPECT_FALSE(hf_lockref_trylock(&b));
	hf_lockref_unlock(&b);
	hf_lockref_unlock(&a);
	EXPECT_EQ(hf_lockref_read(&a), 1);
	EXPECT_EQ(hf_lockref_read(&b), 2);
}

} // namespace
