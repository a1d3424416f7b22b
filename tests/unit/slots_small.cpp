/* SPDX-License-Identifier: MIT */
/* slots_small - with two slots for all threads: running out, and giving back. */
#include "slots.h"

#include "holdfast/lockref.h"

static_assert(HF_SLOTS == 2, "compile src/ and this with -DHF_SLOTS=2");

namespace
{

/* The thread that runs the tests should have no slot, so it never waits for a lock. */
class SlotsSmall : public testing::Test {
protected:
	void TearDown() override
	{
		EXPECT_EQ(slots::own_slot(), 0u);
		/* Whatever a test did: both slots are there again. */
		EXPECT_TRUE(slots::can_have_nodes(2, 2));
	}
};

TEST_F(SlotsSmall, NoMoreThanThereAre)
{
	EXPECT_TRUE(slots::can_have_nodes(1, 1));
	EXPECT_TRUE(slots::can_have_nodes(2, 2));
	EXPECT_TRUE(slots::can_have_nodes(3, 2));
	EXPECT_TRUE(slots::can_have_nodes(8, 2));
}

TEST_F(SlotsSmall, GivenBackAtTheEndOfAThread)
{
	for (int i = 0; i < 1000; i++)
		ASSERT_TRUE(slots::can_have_nodes(1, 1)) << i;
	for (int i = 0; i < 100; i++)
		ASSERT_TRUE(slots::can_have_nodes(2, 2)) << i;
}

TEST_F(SlotsSmall, LateDestructors)
{
	pthread_key_t key;

	ASSERT_EQ(pthread_key_create(&key, slots::lock_late), 0);
	slots::late_locks = 0;
	for (int i = 0; i < 50; i++) {
		std::thread([&] {
			uint32_t index = slots::get_node();

			EXPECT_NE(index, 0u);
			hf_env_node_put(index);
			pthread_setspecific(key, &slots::late_lock);
		}).join();
	}
	EXPECT_EQ(slots::late_locks, 50);
	pthread_key_delete(key);
}

/* More threads than slots in one lock: those without a node get it all the same. */
template <class Lock>
class SlotsSmallLocks : public SlotsSmall {
};

TYPED_TEST_SUITE(SlotsSmallLocks, unit::spinlocks_with_nodes, unit::type_names);

TYPED_TEST(SlotsSmallLocks, EightThreads)
{
	TypeParam lock, inner;
	uint64_t count = 0, both = 0;
	std::atomic<uint64_t> done(0);

	unit::run_threads(8, [&](int) {
		unit::deadline end(200);
		uint64_t mine = 0;

		do {
			if (mine % 8 == 5) {
				while (!lock.try_lock())
					sched_yield();
			} else {
				lock.lock();
			}
			count++;
			if (mine % 4 == 0) {
				inner.lock();
				both++;
				inner.unlock();
			}
			lock.unlock();
			unit::now_and_then_yield(++mine);
		} while (!end.passed());
		done += mine;
	});
	EXPECT_EQ(count, done);
	EXPECT_GT(both, 0u);
	EXPECT_FALSE(lock.is_locked());
	EXPECT_FALSE(inner.is_locked());
}

TEST_F(SlotsSmall, LockrefOfEightThreads)
{
	hf_lockref_t l = HF_LOCKREF_INIT(1);
	uint64_t locked_count = 0;
	std::atomic<uint64_t> done(0);
	std::atomic<int> refused(0);

	unit::run_threads(8, [&](int) {
		unit::deadline end(200);
		uint64_t mine = 0;

		do {
			hf_lockref_get(&l);
			hf_lockref_lock(&l);
			locked_count++;
			hf_lockref_unlock(&l);
			if (!hf_lockref_put_or_lock(&l)) { /* there is one more than ours */
				refused++;
				hf_lockref_unlock(&l);
			}
			unit::now_and_then_yield(++mine);
		} while (!end.passed());
		done += mine;
	});
	EXPECT_EQ(refused, 0);
	EXPECT_EQ(hf_lockref_read(&l), 1);
	EXPECT_EQ(locked_count, done);
}

/*
 * A child starts threads: how many of two, besides its own, can have a node? Not under ThreadSanitizer,
 * which ends such a child; there the answer is taken to be right.
 */
static bool others_can(int could)
{
#if HF_TSAN
	(void)could;
	return true;
#else
	return slots::can_have_nodes(2, could);
#endif
}

/*
 * In a child the slots of threads that it does not have are free again, and its own one when the nodes
 * in use are given back: its thread claims another, whose indexes the parent does not use.
 */
TEST_F(SlotsSmall, ForkFreesTheOthers)
{
#ifdef HF_EMULATED
	GTEST_SKIP() << "qemu-user 7.2 dies of an assertion when the child of a fork makes threads";
#endif
	std::atomic<int> step(0);
	std::thread other([&] {
		uint32_t index = slots::get_node();

		EXPECT_NE(index, 0u);
		step = 1;
		unit::wait_until([&] { return step == 2; });
		hf_env_node_put(index);
	});

	unit::wait_until([&] { return step == 1; });
	std::thread([&] {
		uint32_t index = slots::get_node();
		uint32_t own = slots::own_slot();

		std::thread([] { EXPECT_FALSE(slots::can_have_node()); }).join();
		EXPECT_EQ(unit::in_child([&] {
				  uint32_t another = hf_env_node_get();

				  if (!another || slots::own_slot() == own)
					  return 1;
				  if (!others_can(0))
					  return 2;
				  hf_env_node_put(index);
				  return others_can(1) ? 0 : 3;
			  }),
			  0);
		/* The parent is as it was. */
		EXPECT_EQ(slots::own_slot(), own);
		std::thread([] { EXPECT_FALSE(slots::can_have_node()); }).join();

		/* No node in use, so the child may have another slot. */
		hf_env_node_put(index);
		EXPECT_EQ(unit::in_child([] {
				  if (slots::own_slot() != 0)
					  return 1;
				  return others_can(2) ? 0 : 2;
			  }),
			  0);
	}).join();

	/* A thread without a slot forks: in the child both are free. */
	EXPECT_EQ(unit::in_child([] { return others_can(2) ? 0 : 1; }), 0);
	step = 2;
	other.join();
}

/* A thread ends and has a node: nobody else gets it, until it is given back. */
TEST_F(SlotsSmall, ANodeOutlivesItsThread)
{
	uint32_t kept = 0;

	std::thread([&] { kept = slots::get_node(); }).join();
	ASSERT_NE(kept, 0u);
	for (int i = 0; i < 100; i++)
		ASSERT_TRUE(slots::can_have_nodes(2, 1)) << i;
	hf_env_node_put(kept);
	EXPECT_TRUE(slots::can_have_nodes(2, 2));
}

} // namespace
