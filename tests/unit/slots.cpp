/* SPDX-License-Identifier: MIT */
/* slots - a thread's queue nodes: claimed, given back at its end, in forks and signal handlers. */
#include "slots.h"

#include <climits>

#include <sys/mman.h>

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
		ASSERT_TRUE(slots::can_have_nodes(24, 24));
	} while (!end.passed());
}

/* ---- Ends of threads ---------------------------------------------------------------------- */

/* ThreadSanitizer has ended with a thread before the last round that there is. */
const int last_round = HF_TSAN ? 2 : PTHREAD_DESTRUCTOR_ITERATIONS;

/*
 * A lock of each kind that needs a node is held while a thread ends, and is released by the destructor
 * of its specific data in the last round that there is. Another thread must not get its node.
 */
template <class Lock>
struct released_late {
	static inline Lock lock;
	static inline pthread_key_t key;
	static inline std::atomic<int> rounds, shared;

	static void destroy(void *node)
	{
		/* The value is the index that this thread was given just after it took the lock. */
		uint32_t mine = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(node));
		unsigned int slot = (mine - 1) / HF_NODES;

		std::thread([slot] {
			uint32_t index = hf_env_node_get();

			shared += !index || (index - 1) / HF_NODES == slot;
			if (index)
				hf_env_node_put(index);
		}).join();
		if (++rounds % last_round != 0) {
			pthread_setspecific(key, node);
			return;
		}
		lock.unlock();
	}
};

template <class Lock>
class SlotsAndEnds : public testing::Test {
};

TYPED_TEST_SUITE(SlotsAndEnds, unit::spinlocks_with_nodes, unit::type_names);

TYPED_TEST(SlotsAndEnds, LockHeldByDestructors)
{
	using test = released_late<TypeParam>;

	ASSERT_EQ(pthread_key_create(&test::key, test::destroy), 0);
	test::rounds = test::shared = 0;
	for (int i = 0; i < 20; i++) {
		std::thread([] {
			test::lock.lock();
			uint32_t index = hf_env_node_get();
			hf_env_node_put(index);
			pthread_setspecific(test::key, reinterpret_cast<void *>(uintptr_t(index)));
		}).join();
		EXPECT_FALSE(test::lock.is_locked());
	}
	EXPECT_EQ(test::rounds, 20 * last_round);
	if (std::is_same<TypeParam, hf::spinlock_mcs>::value) { /* the only one that needs it then */
		EXPECT_EQ(test::shared, 0);
	}
	pthread_key_delete(test::key);
}

/* The same by load: threads end with the lock held, beside others that claim slots all the time. */
TYPED_TEST(SlotsAndEnds, LockHeldByDestructorsWhileOthersLock)
{
	using test = released_late<TypeParam>;
	static TypeParam other;
	static uint64_t held, counted;
	static pthread_key_t key;
	std::atomic<bool> stop(false);

	ASSERT_EQ(pthread_key_create(&key,
				     [](void *) {
					     sched_yield();
					     held++;
					     test::lock.unlock();
				     }),
		  0);
	held = counted = 0;
	std::thread churn([&] {
		while (!stop) {
			std::thread([] {
				other.lock();
				counted++;
				other.unlock();
			}).join();
		}
	});
	for (int round = 0; round < 20; round++) {
		unit::run_threads(4, [](int) {
			test::lock.lock();
			pthread_setspecific(key, &key);
		});
	}
	stop = true;
	churn.join();
	EXPECT_EQ(held, 80u);
	pthread_key_delete(key);
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
	EXPECT_TRUE(slots::can_have_nodes(8, 8));
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

/* Waiters that a child does not have: the lock is free there after unlock_in_child(). */
template <class Lock>
class SlotsAndForks : public testing::Test {
};

TYPED_TEST_SUITE(SlotsAndForks, unit::spinlocks, unit::type_names);

TYPED_TEST(SlotsAndForks, ForkUnderLoad)
{
	const int forks = 20, threads = 3;
	TypeParam lock;
	uint64_t count = 0;
	std::atomic<bool> stop(false);
	std::atomic<int> ready(0);
	std::vector<std::thread> others;

	for (int i = 0; i < threads; i++) {
		others.emplace_back([&] {
			ready++;
			while (!stop) {
				lock.lock();
				count++;
				lock.unlock();
				sched_yield();
			}
		});
	}
	unit::wait_until([&] { return ready == threads; });
	for (int i = 0; i < forks; i++) {
		lock.lock();
		for (int yields = i % 8; yields > 0; yields--)
			sched_yield(); /* they come and wait */
		EXPECT_EQ(unit::in_child([&] {
				  alarm(100);
				  lock.unlock_in_child();
				  /* More often than a lock may be taken past a waiter. */
				  for (int n = 0; n < 600; n++) {
					  lock.lock();
					  lock.unlock();
				  }
				  return lock.is_locked() || !lock.try_lock();
			  }),
			  0);
		lock.unlock();
	}
	stop = true;
	for (auto &thread : others)
		thread.join();
}

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

/* ---- Processes ---------------------------------------------------------------------------- */

/* Memory that a process shares with its children. */
template <class T>
class shared {
public:
	shared()
	{
		void *memory = mmap(NULL, sizeof(T), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			abort();
		p_ = ::new (memory) T();
	}
	~shared() { munmap(p_, sizeof(T)); }
	T *operator->() { return p_; }

private:
	T *p_;
};

/* Five processes queue for one lock: nobody hangs, and it excludes. */
TEST(SlotsAndProcesses, QueuedWorks)
{
	const int processes = 5, each = 300;
	struct memory {
		hf::spinlock_queued lock;
		volatile uint64_t count;
	};
	shared<memory> m;
	pid_t children[processes];

	for (pid_t &child : children) {
		child = fork();
		ASSERT_GE(child, 0);
		if (child == 0) {
			alarm(200);
			for (int i = 0; i < each; i++) {
				m->lock.lock();
				m->count = m->count + 1;
				if (i % 8 == 0)
					sched_yield();
				m->lock.unlock();
			}
			_exit(0);
		}
	}
	for (pid_t child : children) {
		int status = -1;

		EXPECT_EQ(waitpid(child, &status, 0), child);
		EXPECT_EQ(status, 0);
	}
	EXPECT_EQ(m->count, uint64_t(processes) * each);
	EXPECT_FALSE(m->lock.is_locked());
}

/* Processes number their nodes differently, also where the parent's thread has a node in use. */
TEST(SlotsAndProcesses, NodesHaveDifferentNumbers)
{
	std::set<uint32_t> indexes;
	struct memory {
		uint32_t index[8];
	};
	shared<memory> m;

	uint32_t in_use = hf_env_node_get();

	ASSERT_NE(in_use, 0u);
	for (uint32_t &index : m->index) {
		EXPECT_EQ(unit::in_child([&] {
				  index = hf_env_node_get();
				  return 0;
			  }),
			  0);
		EXPECT_NE(index, 0u);
		EXPECT_NE((index - 1) / HF_NODES, (slots::own_slot() - 1) / HF_NODES);
		indexes.insert(index);
	}
	EXPECT_EQ(indexes.size(), 8u);
	hf_env_node_put(in_use);
}

/* A waiter for an mcs lock that another process holds ends with words; the holder goes on. */
TEST(SlotsAndProcesses, McsIsRefused)
{
	struct memory {
		hf::spinlock_mcs lock;
		std::atomic<int> step;
	};
	shared<memory> m;

	for (int i = 0; i < 5; i++) {
		int out[2], status = 0;
		std::string words;
		char c;

		m->step = 0;
		ASSERT_EQ(pipe(out), 0);
		pid_t child = fork();
		ASSERT_GE(child, 0);
		if (child == 0) {
			alarm(100);
			dup2(out[1], STDERR_FILENO);
			close(out[1]);
			m->step = 1;
			unit::wait_until([&] { return m->step == 2; });
			m->lock.lock();
			_exit(0);
		}
		close(out[1]);
		unit::wait_until([&] { return m->step == 1; });
		m->lock.lock();
		m->step = 2;
		while (read(out[0], &c, 1) == 1)
			words += c;
		close(out[0]);
		EXPECT_EQ(waitpid(child, &status, 0), child);
		EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
		EXPECT_NE(words.find(": an mcs lock that threads of two processes"),
			  std::string::npos)
			<< words;
		m->lock.unlock();
		EXPECT_FALSE(m->lock.is_locked());
		EXPECT_TRUE(m->lock.try_lock());
		m->lock.unlock();
	}
}

} // namespace
