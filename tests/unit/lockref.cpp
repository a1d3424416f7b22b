/* SPDX-License-Identifier: MIT */
/* lockref - while another thread holds its lock, and with many threads at once. */
#include "rosters.h"

#include <ctime>
#include <memory>

#include "holdfast/lockref.h"

/* One failed swap and the lock is taken: mixes the two ways of changing a count. */
#define HF_DETAIL_LOCKREF once
#define HF_DETAIL_LOCKREF_LIMIT 1
#include "holdfast/lockref/verbs.h"

namespace
{

#define VERBS(name, prefix, can_swap)                                                              \
	struct verbs_##name {                                                                      \
		static constexpr bool swaps = can_swap;                                            \
		static void get(hf_lockref_t *l) { prefix##get(l); }                               \
		static bool get_not_zero(hf_lockref_t *l) { return prefix##get_not_zero(l); }      \
		static bool get_not_dead(hf_lockref_t *l) { return prefix##get_not_dead(l); }      \
		static int32_t put_return(hf_lockref_t *l) { return prefix##put_return(l); }       \
		static bool put_or_lock(hf_lockref_t *l) { return prefix##put_or_lock(l); }        \
	};
#define VERBS_OF(name, swaps) VERBS(name, hf_lockref_##name##_, swaps)
HF_LOCKREF_ROSTER(VERBS_OF)
VERBS_OF(once, 1)
VERBS(by_default, hf_lockref_, 1)
#undef VERBS_OF
#undef VERBS

template <class Verbs>
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

#define ROW(name, swaps) , verbs_##name
using All = unit::types<void HF_LOCKREF_ROSTER(ROW), verbs_once, verbs_by_default>;
#undef ROW
TYPED_TEST_SUITE(Lockref, All, unit::type_names);

TYPED_TEST(Lockref, GetWaitsForTheLock)
{
	hf_lockref_t l = HF_LOCKREF_INIT(1);
	bool result = false;

	EXPECT_TRUE(this->waits(&l, [&] { TypeParam::get(&l); }));
	EXPECT_EQ(hf_lockref_read(&l), 6);
	EXPECT_TRUE(this->waits(&l, [&] { result = TypeParam::get_not_zero(&l); }));
	EXPECT_TRUE(result);
	EXPECT_EQ(hf_lockref_read(&l), 6);
	result = false;
	EXPECT_TRUE(this->waits(&l, [&] { result = TypeParam::get_not_dead(&l); }));
	EXPECT_TRUE(result);
	EXPECT_EQ(hf_lockref_read(&l), 6);
	EXPECT_TRUE(hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
}

TYPED_TEST(Lockref, PutOrLockWaitsForTheLock)
{
	hf_lockref_t l = HF_LOCKREF_INIT(1);
	bool result = false;

	EXPECT_TRUE(this->waits(&l, [&] { result = TypeParam::put_or_lock(&l); }));
	EXPECT_TRUE(result);
	EXPECT_EQ(hf_lockref_read(&l), 4);
	EXPECT_TRUE(hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
}

TYPED_TEST(Lockref, PutReturnDoesNotWait)
{
	hf_lockref_t l = HF_LOCKREF_INIT(2);
	int32_t result = -2;
	bool waited = this->waits(&l, [&] { result = TypeParam::put_return(&l); });

	if (TypeParam::swaps) {
		EXPECT_EQ(result, -1);
		EXPECT_EQ(hf_lockref_read(&l), 5);
	} else {
		EXPECT_TRUE(waited);
		EXPECT_EQ(result, 4);
		EXPECT_EQ(hf_lockref_read(&l), 4);
	}
}

/* The object is marked dead while two gets wait for its lock. */
TYPED_TEST(Lockref, DiesWhileOthersWait)
{
	hf_lockref_t l = HF_LOCKREF_INIT(1);
	std::atomic<int> there(0);
	std::atomic<bool> not_zero(true), not_dead(true);
	std::vector<std::thread> threads;

	hf_lockref_lock(&l);
	threads.emplace_back([&] {
		there++;
		not_zero = TypeParam::get_not_zero(&l);
	});
	threads.emplace_back([&] {
		there++;
		not_dead = TypeParam::get_not_dead(&l);
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

/* Gets and puts, and holders of the lock that change the count too: no reference is lost. */
TYPED_TEST(Lockref, CountsRight)
{
	hf_lockref_t l = HF_LOCKREF_INIT(1);
	uint64_t locked = 0;
	std::atomic<int64_t> references(1);
	std::atomic<uint64_t> locks(0);
	unit::reports reports;

	unit::run_threads(4, [&](int me) {
		unit::deadline end(100);
		int64_t mine = 0;
		uint64_t i = 0, my_locks = 0;

		do {
			switch ((i + uint64_t(me)) % 6) {
			case 0:
			case 1:
				TypeParam::get(&l);
				mine++;
				break;
			case 2:
				mine += TypeParam::get_not_zero(&l);
				break;
			case 3:
				hf_lockref_lock(&l);
				locked++;
				hf_lockref_set_count(&l, hf_lockref_read(&l) + 1);
				hf_lockref_unlock(&l);
				mine++;
				my_locks++;
				break;
			case 4:
				if (mine > 0 && TypeParam::put_return(&l) >= 0)
					mine--;
				break;
			case 5:
				while (mine > 0) {
					if (!TypeParam::put_or_lock(&l)) {
						hf_lockref_unlock(&l);
						break;
					}
					mine--;
				}
				break;
			}
			unit::now_and_then_yield(++i);
		} while (!end.passed());
		references += mine;
		locks += my_locks;
	});
	EXPECT_EQ(hf_lockref_read(&l), references);
	EXPECT_EQ(locked, locks);
	EXPECT_TRUE(hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
	EXPECT_EQ(reports.total(), 0u);
}

#if HF_DETAIL_LOCKREF_LOCK_IS == 1
/* A waiter for the lock half parks: it takes next to no processor time, however long the hold. */
TYPED_TEST(Lockref, WaitersPark)
{
	hf_lockref_t l = HF_LOCKREF_INIT(1);
	std::atomic<bool> there(false);
	timespec used = {};

	hf_lockref_lock(&l);
	std::thread thread([&] {
		there = true;
		TypeParam::get(&l);
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
#endif

/* The lock half is a lock like any other: several at once. */
TEST(LockrefLock, IsALock)
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
