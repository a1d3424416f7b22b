/* SPDX-License-Identifier: MIT */
/* lockref_waitfree - while another thread holds its lock, and with many threads at once. */
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

/* Gets and puts, and holders of the lock that kill it and revive it: no reference is lost. */
TEST(LockrefWaitfree, CountsRight)
{
	hf_lockref_waitfree_t l = HF_LOCKREF_WAITFREE_INIT(0);
	std::atomic<int64_t> references(0);
	std::atomic<uint64_t> locks(0);
	uint64_t locked = 0;
	unit::reports reports;

	unit::run_threads(4, [&](int me) {
		unit::deadline end(100);
		uint64_t i = 0, my_locks = 0;
		int64_t mine = 0;

		do {
			switch ((i + uint64_t(me)) % 5) {
			case 0:
			case 1:
				mine += hf_lockref_waitfree_get_not_dead(&l);
				break;
			case 2:
				hf_lockref_waitfree_lock(&l);
				locked++;
				my_locks++;
				if (hf_lockref_waitfree_mark_dead(&l, 0)) {
					EXPECT_TRUE(hf_lockref_waitfree_is_dead(&l));
					EXPECT_TRUE(hf_lockref_waitfree_revive(&l, 1));
					mine++;
				}
				hf_lockref_waitfree_unlock(&l);
				break;
			case 3:
				if (mine > 0) {
					EXPECT_GE(hf_lockref_waitfree_put_return(&l), 0);
					mine--;
				}
				break;
			case 4:
				for (; mine > 0; mine--) {
					if (!hf_lockref_waitfree_put_or_lock(&l))
						hf_lockref_waitfree_unlock(&l);
				}
				break;
			}
			unit::now_and_then_yield(++i);
		} while (!end.passed());
		references += mine;
		locks += my_locks;
	});
	EXPECT_EQ(hf_lockref_waitfree_read(&l), references);
	EXPECT_EQ(locked, locks);
	EXPECT_TRUE(hf_lockref_waitfree_trylock(&l));
	hf_lockref_waitfree_unlock(&l);
	EXPECT_EQ(reports.total(), 0u);
}

} // namespace
