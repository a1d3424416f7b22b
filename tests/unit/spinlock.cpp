/* SPDX-License-Identifier: MIT */
/* spinlock - each lock as a C++ class, with threads, without nodes, between processes. */
#include "rosters.h"

#include <memory>
#include <mutex>

#include <sys/mman.h>

namespace
{

/* Nodes that this thread has free. */
int free_nodes()
{
	std::vector<uint32_t> taken;
	uint32_t index;

	while ((index = hf_env_node_get()) != 0)
		taken.push_back(index);
	for (uint32_t i : taken)
		hf_env_node_put(i);
	return int(taken.size());
}

template <class Lock>
class Spinlock : public testing::Test {
};

TYPED_TEST_SUITE(Spinlock, unit::spinlocks, unit::type_names);

TYPED_TEST(Spinlock, LockGuard)
{
	TypeParam lock;

	{
		std::lock_guard<TypeParam> guard(lock);
		EXPECT_TRUE(lock.is_locked());
		EXPECT_FALSE(lock.try_lock());
	}
	EXPECT_FALSE(lock.is_locked());
}

TYPED_TEST(Spinlock, LockGuardAndAnException)
{
	TypeParam lock;

	try {
		std::lock_guard<TypeParam> guard(lock);
		throw 1;
	} catch (int) {
	}
	EXPECT_FALSE(lock.is_locked());
}

TYPED_TEST(Spinlock, UniqueLock)
{
	TypeParam lock;
	std::unique_lock<TypeParam> first(lock, std::try_to_lock);
	std::unique_lock<TypeParam> second(lock, std::try_to_lock);

	EXPECT_TRUE(first.owns_lock());
	EXPECT_FALSE(second.owns_lock());
	first.unlock();
	EXPECT_FALSE(lock.is_locked());
	EXPECT_TRUE(second.try_lock());
	second.unlock();
	second.lock();
	EXPECT_TRUE(lock.is_locked());
	second.release()->unlock();
	EXPECT_FALSE(lock.is_locked());
}

TYPED_TEST(Spinlock, ScopedLockOfTwo)
{
	TypeParam a, b;

	{
		std::scoped_lock both(a, b);
		EXPECT_TRUE(a.is_locked());
		EXPECT_TRUE(b.is_locked());
	}
	EXPECT_FALSE(a.is_locked());
	EXPECT_FALSE(b.is_locked());
}

/* In either order: std::scoped_lock backs off by try_lock where a deadlock would be. */
TYPED_TEST(Spinlock, ScopedLockOfTwoInOppositeOrders)
{
	TypeParam a, b;
	uint64_t both = 0;
	std::atomic<uint64_t> done(0);

	unit::run_threads(2, [&](int me) {
		unit::deadline end(50);
		uint64_t mine = 0;

		do {
			if (me == 0) {
				std::scoped_lock guard(a, b);
				both++;
			} else {
				std::scoped_lock guard(b, a);
				both++;
			}
			unit::now_and_then_yield(++mine);
		} while (!end.passed());
		done += mine;
	});
	EXPECT_EQ(both, done);
}

/* lock and try_lock, the verbs of C and the class, mixed; no node stays behind. */
TYPED_TEST(Spinlock, Excludes)
{
	TypeParam lock;
	uint64_t count = 0;
	bool inside = false;
	std::atomic<uint64_t> done(0), together(0), lost(0);

	unit::run_threads(4, [&](int) {
		unit::deadline end(50);
		uint64_t mine = 0;

		do {
			if (mine % 4 == 3) {
				while (!lock.try_lock())
					sched_yield();
			} else {
				lock.lock();
			}
			together += inside;
			inside = true;
			count++;
			inside = false;
			lock.unlock();
			unit::now_and_then_yield(++mine);
		} while (!end.passed());
		done += mine;
		lost += free_nodes() != HF_NODES;
	});
	EXPECT_EQ(count, done);
	EXPECT_EQ(together, 0u);
	EXPECT_EQ(lost, 0u);
	EXPECT_FALSE(lock.is_locked());
}

/* A try_lock that finds the lock taken leaves no node behind either. */
TYPED_TEST(Spinlock, TryLockInVain)
{
	TypeParam lock;
	std::atomic<uint64_t> taken(0), lost(0);

	lock.lock();
	unit::run_threads(2, [&](int) {
		for (int i = 0; i < 100; i++)
			taken += lock.try_lock();
		lost += free_nodes() != HF_NODES;
	});
	lock.unlock();
	EXPECT_EQ(taken, 0u);
	EXPECT_EQ(lost, 0u);
	EXPECT_TRUE(lock.try_lock());
	lock.unlock();
}

/* The next holder sees what a holder did under the lock, in data of any size. */
TYPED_TEST(Spinlock, PassesDataOn)
{
	struct {
		TypeParam lock;
		uint64_t words[16] = {};
	} shared;
	std::atomic<uint64_t> torn(0);

	unit::run_threads(3, [&](int me) {
		unit::deadline end(50);
		uint64_t i = 0;

		do {
			std::lock_guard<TypeParam> guard(shared.lock);
			for (uint64_t word : shared.words)
				torn += word != shared.words[0];
			for (uint64_t &word : shared.words)
				word = i * 4 + uint64_t(me);
		} while (unit::now_and_then_yield(++i), !end.passed());
	});
	EXPECT_EQ(torn, 0u);
}

/* ---- Without nodes ------------------------------------------------------------------------ */

/* Takes every node of this thread while it lives. */
class no_nodes {
public:
	no_nodes()
	{
		for (auto &lock : locks_)
			lock.lock();
	}
	~no_nodes()
	{
		for (auto &lock : locks_)
			lock.unlock();
	}

private:
	hf::spinlock_mcs locks_[HF_NODES];
};

template <class Lock>
class SpinlockWithoutNodes : public testing::Test {
};

TYPED_TEST_SUITE(SpinlockWithoutNodes, unit::spinlocks_with_nodes, unit::type_names);

TYPED_TEST(SpinlockWithoutNodes, Works)
{
	no_nodes none;
	TypeParam lock, other;

	EXPECT_EQ(free_nodes(), 0);
	for (int i = 0; i < 3; i++) {
		lock.lock();
		EXPECT_TRUE(lock.is_locked());
		EXPECT_FALSE(lock.try_lock());
		other.lock();
		lock.unlock();
		EXPECT_FALSE(lock.is_locked());
		EXPECT_TRUE(other.is_locked());
		other.unlock();
		EXPECT_TRUE(lock.try_lock());
		lock.unlock();
	}
	EXPECT_EQ(free_nodes(), 0);
}

/* Others queue behind a holder that has no node, and are served. */
TYPED_TEST(SpinlockWithoutNodes, PassesTheLockOn)
{
	for (int round = 0; round < 5; round++) {
		no_nodes none;
		TypeParam lock;
		std::atomic<int> there(0);
		int served = 0;
		std::vector<std::thread> threads;

		lock.lock();
		for (int i = 0; i < 3; i++) {
			threads.emplace_back([&] {
				there++;
				lock.lock();
				served++;
				lock.unlock();
			});
		}
		unit::wait_until([&] { return there == 3; });
		unit::sleep_ms(2);
		EXPECT_EQ(served, 0);
		lock.unlock();
		for (auto &thread : threads)
			thread.join();
		EXPECT_EQ(served, 3);
		EXPECT_FALSE(lock.is_locked());
	}
}

/* Two threads with nodes and two without compete. */
TYPED_TEST(SpinlockWithoutNodes, Competes)
{
	TypeParam lock;
	uint64_t count = 0;
	std::atomic<uint64_t> done(0);

	unit::run_threads(4, [&](int me) {
		std::unique_ptr<no_nodes> none(me < 2 ? new no_nodes : nullptr);
		unit::deadline end(100);
		uint64_t mine = 0;

		do {
			lock.lock();
			count++;
			lock.unlock();
			unit::now_and_then_yield(++mine);
		} while (!end.passed());
		done += mine;
	});
	EXPECT_EQ(count, done);
	EXPECT_FALSE(lock.is_locked());
}

/* ---- The guard of C, in C++ ----------------------------------------------------------------- */

hf_spinlock_t guarded = HF_SPINLOCK_INIT;

bool leave_by_return()
{
	HF_SPINLOCK_GUARD(&guarded);
	return hf_spinlock_is_locked(&guarded);
}

TEST(SpinlockGuard, EndsWithTheBlock)
{
	{
		HF_SPINLOCK_GUARD(&guarded);
		EXPECT_TRUE(hf_spinlock_is_locked(&guarded));
	}
	EXPECT_FALSE(hf_spinlock_is_locked(&guarded));
	EXPECT_TRUE(leave_by_return());
	EXPECT_FALSE(hf_spinlock_is_locked(&guarded));
	try {
		HF_SPINLOCK_GUARD(&guarded);
		throw 1;
	} catch (int) {
	}
	EXPECT_FALSE(hf_spinlock_is_locked(&guarded));
}

#define GUARDED(name, NAME, bytes, nodes)                                                          \
	{                                                                                          \
		hf_spinlock_##name##_t lock = HF_SPINLOCK_##NAME##_INIT;                           \
		EXPECT_EQ(sizeof(lock), size_t(bytes)) << #name;                                   \
		{                                                                                  \
			HF_SPINLOCK_GUARD_OF(name, &lock);                                         \
			EXPECT_TRUE(hf_spinlock_##name##_is_locked(&lock)) << #name;               \
		}                                                                                  \
		EXPECT_FALSE(hf_spinlock_##name##_is_locked(&lock)) << #name;                      \
	}
TEST(SpinlockGuard, OfANamedImplementation){ HF_SPINLOCK_ROSTER(GUARDED) }
#undef GUARDED

TEST(SpinlockGuard, TwoInABlock)
{
	hf_spinlock_ticket_t ticket = HF_SPINLOCK_TICKET_INIT;
	hf_spinlock_mcs_t mcs = HF_SPINLOCK_MCS_INIT;

	{
		HF_SPINLOCK_GUARD_OF(ticket, &ticket);
		HF_SPINLOCK_GUARD_OF(mcs, &mcs);
		EXPECT_TRUE(hf_spinlock_ticket_is_locked(&ticket));
		EXPECT_TRUE(hf_spinlock_mcs_is_locked(&mcs));
	}
	EXPECT_FALSE(hf_spinlock_ticket_is_locked(&ticket));
	EXPECT_FALSE(hf_spinlock_mcs_is_locked(&mcs));
}

TEST(SpinlockClass, GivesItsHandle)
{
	hf::spinlock lock;

	hf_spinlock_lock(lock.native_handle());
	EXPECT_TRUE(lock.is_locked());
	hf_spinlock_unlock(lock.native_handle());
	EXPECT_FALSE(lock.is_locked());
	EXPECT_FALSE(std::is_copy_constructible<hf::spinlock>::value);
	EXPECT_FALSE(std::is_copy_assignable<hf::spinlock>::value);
	EXPECT_EQ(sizeof(hf::spinlock), sizeof(hf_spinlock_t));
}

/* ---- Single implementations ----------------------------------------------------------------- */

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

/*
 * First come, first served. place() is the end of the queue: it changes when a waiter has joined.
 */
template <class Lock, class Place>
void serves_in_order(Lock &lock, Place place)
{
	std::vector<int> served;
	std::vector<std::thread> threads;

	lock.lock();
	for (int i = 0; i < 4; i++) {
		uint32_t before = place();

		threads.emplace_back([&lock, &served, i] {
			lock.lock();
			served.push_back(i);
			lock.unlock();
		});
		unit::wait_until([&] { return place() != before; });
	}
	lock.unlock();
	for (auto &thread : threads)
		thread.join();
	EXPECT_EQ(served, (std::vector<int>{ 0, 1, 2, 3 }));
}

TEST(SpinlockTicket, ServesInOrder)
{
	hf::spinlock_ticket lock;

	serves_in_order(lock,
			[&] { return hf_atomic32_load_relaxed(&lock.native_handle()->next); });
}

TEST(SpinlockMcs, ServesInOrder)
{
	hf::spinlock_mcs lock;

	serves_in_order(lock,
			[&] { return hf_atomic32_load_relaxed(&lock.native_handle()->tail); });
}

/* The first is pending, the others queue behind it; no other thread comes that could barge. */
TEST(SpinlockQueued, ServesInOrder)
{
	hf::spinlock_queued lock;

	serves_in_order(lock, [&] {
		return hf_atomic32_load_relaxed(&lock.native_handle()->word) &
		       HF_DETAIL_QUEUED_WAITERS_MASK;
	});
}

/* Free for a moment, but with waiters: trylock leaves it to them. */
TEST(SpinlockQueued, TrylockDoesNotPassWaiters)
{
	hf::spinlock_queued lock;
	hf_atomic32_t *word = &lock.native_handle()->word;

	for (uint32_t waiters : { HF_DETAIL_QUEUED_PENDING, 5u << HF_DETAIL_QUEUED_TAIL_SHIFT }) {
		hf_atomic32_store_relaxed(word, waiters);
		EXPECT_FALSE(lock.try_lock());
		EXPECT_TRUE(lock.is_locked());
		EXPECT_EQ(hf_atomic32_load_relaxed(word), waiters);
	}
}

/* ---- Between processes: the locks that are all in their own bytes --------------------------- */

template <class Lock>
class SpinlockBetweenProcesses : public testing::Test {
};

TYPED_TEST_SUITE(SpinlockBetweenProcesses, unit::spinlocks_without_nodes, unit::type_names);

TYPED_TEST(SpinlockBetweenProcesses, Excludes)
{
	struct shared {
		TypeParam lock;
		uint64_t count, child_did;
	};
	void *memory = mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(memory, MAP_FAILED);
	auto *shared = new (memory) struct shared();
	auto work = [shared] {
		unit::deadline end(50);
		uint64_t mine = 0;

		do {
			shared->lock.lock();
			shared->count++;
			shared->lock.unlock();
			unit::now_and_then_yield(++mine);
		} while (!end.passed());
		return mine;
	};
	pid_t child = fork();

	if (child == 0) {
		shared->child_did = work();
		_exit(0);
	}
	uint64_t mine = work();
	int status = -1;

	waitpid(child, &status, 0);
	EXPECT_EQ(status, 0);
	EXPECT_GT(shared->child_did, 0u);
	EXPECT_EQ(shared->count, mine + shared->child_did);
	munmap(memory, sizeof(struct shared));
}

} // namespace
