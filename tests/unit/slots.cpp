/* SPDX-License-Identifier: MIT */
/* slots - a thread's queue nodes: claimed, given back at its end, in forks and signal handlers. */
#include "slots.h"

namespace
{

TEST(Slots, AThreadHasItsNodes)
{
	std::thread([] {
		std::set<uint32_t> nodes;
		uint32_t index;

		while ((index = hf_env_node_get()) != 0) {
			EXPECT_GE(index, 1u);
			EXPECT_LE(index, 32767u);
			EXPECT_TRUE(nodes.insert(index).second);
		}
		EXPECT_EQ(nodes.size(), size_t(HF_NODES));
		EXPECT_EQ(hf_env_node_get(), 0u);

		/* In any order, and what is given back can be had again. */
		uint32_t some = *std::next(nodes.begin(), 3);
		hf_env_node_put(some);
		EXPECT_EQ(hf_env_node_get(), some);
		for (uint32_t i : nodes)
			hf_env_node_put(i);
		EXPECT_NE(hf_env_node_get(), 0u);
		hf_env_node_put(*nodes.begin());
	}).join();
}

TEST(Slots, ThreadsHaveDifferentNodes)
{
	std::set<uint32_t> nodes;
	std::atomic<int> missing(8);
	hf::spinlock_cas lock;

	unit::run_threads(8, [&](int) {
		uint32_t index = hf_env_node_get();

		lock.lock();
		EXPECT_NE(index, 0u);
		EXPECT_TRUE(nodes.insert(index).second);
		lock.unlock();
		missing--;
		unit::wait_until([&] { return missing == 0; });
		hf_env_node_put(index);
	});
	EXPECT_EQ(nodes.size(), 8u);
}

/* More threads than slots, but not at the same time. (Fewer where a thread is slow to make.) */
TEST(Slots, ManyThreadsOneAfterAnother)
{
	static_assert(HF_SLOTS + 100 < 10000, "the slots must be used more than once");
	unit::deadline end(1000);
	hf::spinlock_mcs lock;
	int threads = 0, could = 0;

	while (threads < HF_SLOTS + 100 || (threads < 10000 && !end.passed())) {
		std::thread([&] {
			lock.lock();
			could += slots::can_have_node();
			lock.unlock();
		}).join();
		threads++;
	}
	EXPECT_EQ(could, threads);
}

TEST(Slots, ManyThreadsInWaves)
{
	unit::deadline end(500);

	do {
		ASSERT_EQ(slots::can_have_nodes(24), 24);
	} while (!end.passed());
}

/* ---- Signal handlers ---------------------------------------------------------------------- */

/* Lock A is the threads', lock B their handlers': interrupted while they hold or wait for A. */
template <class Lock>
struct interrupted {
	static inline Lock a, b;
	static inline uint64_t counted_a, counted_b;
	static inline std::atomic<uint64_t> handled;
	static inline thread_local std::atomic<uint64_t> fired;

	static void handle(int)
	{
		b.lock();
		counted_b++;
		b.unlock();
		handled++;
		fired.store(fired.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
	}
};

template <class Lock>
class SlotsAndSignals : public testing::Test {
};

TYPED_TEST_SUITE(SlotsAndSignals, unit::spinlocks_with_nodes, unit::type_names);

TYPED_TEST(SlotsAndSignals, HandlerLocksWhileItsThreadDoes)
{
	using test = interrupted<TypeParam>;
	std::atomic<uint64_t> done(0), lost(0);
	unit::handler handler(SIGUSR2, test::handle);

	unit::run_threads(3, [&](int) {
		unit::deadline end(300);
		unit::interrupter interrupter(SIGUSR2);
		uint64_t mine = 0;

		do {
			interrupter.arm(test::fired);
			test::a.lock();
			test::counted_a++;
			test::a.unlock();
			unit::now_and_then_yield(++mine);
		} while (!end.passed());
		done += mine;
		while (test::fired == 0) { /* under an emulator they may be slow to come */
			interrupter.arm(test::fired);
			unit::sleep_ms(1);
		}
		for (int i = 0; i < HF_NODES; i++)
			lost += hf_env_node_get() == 0;
	});
	EXPECT_EQ(test::counted_a, done);
	EXPECT_EQ(test::counted_b, test::handled);
	EXPECT_GE(test::handled, 3u);
	EXPECT_EQ(lost, 0u);
	std::printf("%lu operations, interrupted %lu times\n", static_cast<unsigned long>(done),
		    static_cast<unsigned long>(test::handled));
}

/* The first lock that a thread ever waits for may be one that its signal handler takes. */
TEST(SlotsAndSignals, HandlerClaimsTheSlot)
{
	unit::handler handler(SIGUSR2, [](int) {
		slots::late_lock.lock();
		slots::late_lock.unlock();
	});

	for (int i = 0; i < 100; i++) {
		std::thread([] {
			raise(SIGUSR2);
			EXPECT_TRUE(slots::can_have_node());
		}).join();
	}
	EXPECT_EQ(slots::can_have_nodes(8), 8);
}

/* ---- Forks -------------------------------------------------------------------------------- */

/* A lock of each kind. */
#define ROW(name, NAME, bytes, nodes) hf::spinlock_##name name;
struct one_of_each {
	HF_SPINLOCK_ROSTER(ROW)
};
#undef ROW

#define LOCK(name, NAME, bytes, nodes) locks.name.lock();
#define UNLOCK(name, NAME, bytes, nodes) locks.name.unlock();
#define IS_BAD(name, NAME, bytes, nodes) || locks.name.is_locked() || !locks.name.try_lock()

/* A child goes on with the nodes that its thread had, and with locks that were taken before. */
TEST(Slots, ForkInALock)
{
	std::thread([] {
		one_of_each locks;

		HF_SPINLOCK_ROSTER(LOCK)
		EXPECT_EQ(unit::in_child([&] {
				  hf::spinlock_mcs another;

				  another.lock();
				  HF_SPINLOCK_ROSTER(UNLOCK)
				  another.unlock();
				  return another.is_locked() HF_SPINLOCK_ROSTER(IS_BAD);
			  }),
			  0);
		HF_SPINLOCK_ROSTER(UNLOCK)
	}).join();
}

} // namespace
