/* SPDX-License-Identifier: MIT */
/* lockref_waitfree - while another thread holds its lock. Many threads: stress/lockref_waitfree.cpp. */
#include "unit.h"

#include "holdfast/lockref_waitfree.h"

namespace
{

/* What would wait with the other lockrefs is done here before the lock is released. */
TEST(LockrefWaitfree, GoesOnWhileAnotherHoldsTheLock)
{
	hf_lockref_waitfree_t l = HF_LOCKREF_WAITFREE_INIT(1);
	int32_t left = -2;
	bool got = false, put = false;

	hf_lockref_waitfree_lock(&l);
	std::thread([&] {
		hf_lockref_waitfree_get(&l);
		got = hf_lockref_waitfree_get_not_dead(&l);
		left = hf_lockref_waitfree_put_return(&l);
		put = hf_lockref_waitfree_put_or_lock(&l);
	}).join();
	EXPECT_TRUE(got);
	EXPECT_EQ(left, 2);
	EXPECT_TRUE(put);
	EXPECT_EQ(hf_lockref_waitfree_read(&l), 1);
	EXPECT_FALSE(hf_lockref_waitfree_trylock(&l));
	hf_lockref_waitfree_unlock(&l);
	EXPECT_TRUE(hf_lockref_waitfree_trylock(&l));
	hf_lockref_waitfree_unlock(&l);
}

/* The holder marks it dead, or does not: the put that waits for the lock returns accordingly. */
TEST(LockrefWaitfree, TheLastPutWaitsForTheLockAndLooks)
{
	for (bool kill : { true, false }) {
		hf_lockref_waitfree_t l = HF_LOCKREF_WAITFREE_INIT(1);
		std::atomic<bool> back(false);
		bool done = false;

		hf_lockref_waitfree_lock(&l);
		std::thread thread([&] {
			done = hf_lockref_waitfree_put_or_lock(&l);
			if (!done)
				hf_lockref_waitfree_unlock(&l);
			back = true;
		});
		unit::wait_until([&] { return hf_lockref_waitfree_read(&l) == 0; });
		unit::sleep_ms(5);
		EXPECT_FALSE(back);
		if (kill) {
			EXPECT_TRUE(hf_lockref_waitfree_mark_dead(&l, 0));
		}
		hf_lockref_waitfree_unlock(&l);
		thread.join();
		EXPECT_EQ(done, kill);
		EXPECT_EQ(hf_lockref_waitfree_is_dead(&l), kill);
	}
}

} // namespace
