/* SPDX-License-Identifier: MIT */
/* mutex - each operation alone, with other threads, and with other processes that are killed. */
#include "unit.h"

#include <mutex>

#include "holdfast/cond.h"
#include "holdfast/lockref.h"
#include "holdfast/mutex.h"

#include "kinds.h"
#include "waiters.h"

namespace
{

using unit::MS;
using unit::now_ns;
using unit::own;
using unit::shared;

/* ---- the mutex, alone ----------------------------------------------------------------------- */

template <class M>
class Mutex : public testing::Test {
protected:
	/* After the last unlock the word is 0 and no thread waits. */
	~Mutex() override
	{
		EXPECT_EQ(word(), 0u);
		EXPECT_TRUE(unit::table_is_empty());
	}

	uint32_t word() const { return hf_atomic32_load_relaxed(&mutex_.m.word); }
	M mutex_;
};

using Kinds = testing::Types<own, shared>;
TYPED_TEST_SUITE(Mutex, Kinds, unit::type_names);

TYPED_TEST(Mutex, Alone)
{
	static_assert(sizeof(this->mutex_.m) == 4, "four bytes");
	for (int i = 0; i < 3; i++) {
		EXPECT_FALSE(this->mutex_.is_locked());
		this->mutex_.lock();
		EXPECT_TRUE(this->mutex_.is_locked());
		EXPECT_FALSE(this->mutex_.try_lock());
		EXPECT_FALSE(this->mutex_.lock_timeout(0));
		this->mutex_.unlock();
		EXPECT_TRUE(this->mutex_.try_lock());
		EXPECT_FALSE(this->mutex_.try_lock());
		this->mutex_.unlock();
		EXPECT_TRUE(this->mutex_.lock_timeout(0));
		this->mutex_.unlock();
		EXPECT_TRUE(this->mutex_.lock_timeout(HF_ENV_FOREVER));
		this->mutex_.unlock();
	}
}

/* The first waiter times out, and so does one that is parked behind it. */
TYPED_TEST(Mutex, TimesOut)
{
	std::atomic<int> timed_out(0);

	this->mutex_.lock();
	unit::run_threads(3, [&](int) {
		uint64_t start = now_ns();

		timed_out += !this->mutex_.lock_timeout(30 * MS);
		EXPECT_GE(now_ns() - start, 30 * MS);
	});
	EXPECT_EQ(timed_out, 3);
	EXPECT_EQ(unit::waiters(&this->mutex_.m), 0u);
	this->mutex_.unlock();
	EXPECT_TRUE(this->mutex_.try_lock());
	this->mutex_.unlock();
}

/* ---- C++ ------------------------------------------------------------------------------------ */

TEST(MutexClass, Guards)
{
	hf::mutex lock, other;

	{
		std::lock_guard<hf::mutex> guard(lock);
		EXPECT_TRUE(lock.is_locked());
	}
	EXPECT_FALSE(lock.is_locked());
	{
		std::scoped_lock both(lock, other);
		EXPECT_TRUE(lock.is_locked() && other.is_locked());
		std::unique_lock<hf::mutex> again(lock, std::try_to_lock);
		EXPECT_FALSE(again.owns_lock());
	}
	std::unique_lock<hf::mutex> timed(lock, std::chrono::milliseconds(1));
	EXPECT_TRUE(timed.owns_lock());
	EXPECT_FALSE(lock.try_lock_for(std::chrono::microseconds(10)));
	EXPECT_FALSE(lock.try_lock_for(std::chrono::hours(-1)));
	timed.unlock();
	EXPECT_TRUE(lock.try_lock_for(std::chrono::hours::max()));
	lock.unlock();
}

/* ---- between processes ---------------------------------------------------------------------- */

struct mapped {
	hf_mutex_shared_t mutex = HF_MUTEX_SHARED_INIT;
	std::atomic<int> ready{ 0 };
};

class MutexProcesses : public testing::Test {
protected:
	unit::shared_object<mapped> m;
};

/* Waiters are killed, parked or at the head: new threads and the other waiters still acquire it. */
TEST_F(MutexProcesses, WaitersAreKilled)
{
	for (int i = 0; i < 20; i++) {
		pid_t children[3];

		hf_mutex_shared_lock(&m->mutex);
		m->ready = 0;
		for (pid_t &child : children) {
			child = unit::start_process([this] {
				m->ready++;
				hf_mutex_shared_lock(&m->mutex);
				hf_mutex_shared_unlock(&m->mutex);
				return 0;
			});
		}
		unit::wait_until([this] { return m->ready == 3; });
		std::this_thread::sleep_for(std::chrono::microseconds(100 * i));
		/* Kill before the unlock, so that no process dies as the holder. */
		kill(children[0], SIGKILL);
		kill(children[1], SIGKILL);
		EXPECT_EQ(WTERMSIG(unit::status_of(children[0])), SIGKILL);
		EXPECT_EQ(WTERMSIG(unit::status_of(children[1])), SIGKILL);
		hf_mutex_shared_unlock(&m->mutex);
		EXPECT_EQ(unit::status_of(children[2]), 0); /* a hang here ends by the watchdog */
		ASSERT_TRUE(hf_mutex_shared_lock_timeout(&m->mutex, 10000 * MS));
		hf_mutex_shared_unlock(&m->mutex);
	}
}

/* ---- fork ----------------------------------------------------------------------------------- */

/* A mutex, and the lock half of a lockref. */
struct plain_mutex {
	hf_mutex_t m = HF_MUTEX_INIT;
	void lock() { hf_mutex_lock(&m); }
	bool trylock() { return hf_mutex_trylock(&m); }
	void unlock() { hf_mutex_unlock(&m); }
	const void *at() const { return &m; }
};

struct lock_half {
	hf_lockref_t l = HF_LOCKREF_INIT(1);
	void lock() { hf_lockref_lock(&l); }
	bool trylock() { return hf_lockref_trylock(&l); }
	void unlock() { hf_lockref_unlock(&l); }
	const void *at() const { return hf_detail_lockref_lock(const_cast<hf_lockref_t *>(&l)); }
};

template <class L>
class MutexFork : public testing::Test {
};
using Forked = testing::Types<plain_mutex, lock_half>;
TYPED_TEST_SUITE(MutexFork, Forked, unit::type_names);

/*
 * The holder forks while other threads wait, in all states. The child has none of these threads: it
 * unlocks, and the mutex must then be free and uncontended. With the C library's fork(), and with
 * the raw system call, after which no fork handlers run.
 */
TYPED_TEST(MutexFork, ChildUnlocks)
{
#if HF_TSAN
	GTEST_SKIP() << "the kernel wipes the child's table, and ThreadSanitizer does not see that";
#endif
#ifdef HF_EMULATED
	auto bare = fork; /* qemu-user 7.2 wipes nothing: the library's handler of forks does */
#elif defined(SYS_fork)
	auto bare = [] { return static_cast<pid_t>(syscall(SYS_fork)); };
#else
	auto bare = [] { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); };
#endif
	TypeParam l;
	std::atomic<bool> stop(false);
	unit::thread_group threads;

	for (int i = 0; i < 3; i++) {
		threads.add([&] {
			while (!stop) {
				l.lock();
				l.unlock();
			}
		});
	}
	for (int i = 0; i < 60; i++) {
		l.lock();
		if (i % 3 == 0)
			unit::wait_until([&] { return unit::waiters(l.at()) == 3; });
		else
			std::this_thread::sleep_for(std::chrono::microseconds(10 * i));

		pid_t child = i % 2 ? bare() : fork();

		if (child == 0) {
			int failed = 0;

			alarm(unit::PATIENCE);
			l.unlock();
			for (int j = 0; j < 3; j++) {
				l.lock();
				failed |= l.trylock() ? 1 : 0;
				l.unlock();
			}
			failed |= unit::table_is_empty() ? 0 : 2;
			_exit(failed);
		}
		l.unlock();
		EXPECT_EQ(unit::status_of(child), 0) << "round " << i;
	}
	stop = true;
	threads.join();
}

volatile pid_t handlers_child;

/*
 * Three threads wait for so long, and one of them forks in a signal handler meanwhile. Returns
 * false if a wait may have ended before the fork, on a busy machine: then the child proves nothing.
 */
bool fork_in_wait(bool at_cond, size_t which, uint64_t ns)
{
	hf_mutex_t mutex = HF_MUTEX_INIT;
	hf_cond_t cond = HF_COND_INIT;
	const void *at = at_cond ? static_cast<void *>(&cond) : static_cast<void *>(&mutex);
	const uint64_t first_end = now_ns() + ns;
	std::atomic<int> ended(0);
	std::vector<pthread_t> ids;
	unit::thread_group threads;
	bool in_time;

	handlers_child = -1;
	hf_mutex_lock(&mutex);
	for (unsigned int i = 0; i < 3; i++) {
		ids.push_back(threads.add([&mutex, &cond, &ended, at_cond, ns] {
			pid_t parent = getpid();
			bool waited = true, there = false;

			if (at_cond) {
				hf_mutex_lock(&mutex);
				waited = hf_cond_wait_timeout(&cond, &mutex, ns);
				there = hf_mutex_is_locked(&mutex);
			} else {
				waited = hf_mutex_lock_timeout(&mutex, ns);
			}
			if (getpid() != parent)
				_exit(waited || there != at_cond || !unit::table_is_empty());
			ended++;
			if (at_cond || waited)
				hf_mutex_unlock(&mutex);
		}));
		if (at_cond)
			hf_mutex_unlock(&mutex);
		unit::wait_until([&] { return unit::waiters(at) == i + 1 || ended > 0; });
		if (at_cond)
			hf_mutex_lock(&mutex);
	}
	if (at_cond)
		hf_mutex_unlock(&mutex);
	pthread_kill(ids[which], SIGUSR1);
	unit::wait_until([&] { return handlers_child != -1 || ended == 3; });
	in_time = handlers_child != -1 && now_ns() < first_end;
	if (in_time) {
		EXPECT_EQ(unit::status_of(handlers_child), 0);
	}
	threads.join();
	if (!in_time && handlers_child != -1) {
		kill(handlers_child, SIGKILL);
		(void)unit::status_of(handlers_child);
	}
	if (!at_cond)
		hf_mutex_unlock(&mutex);
	EXPECT_TRUE(unit::table_is_empty());
	return in_time;
}

/*
 * A signal handler forks while its thread is in a timed wait, ahead of or behind other waiters. In
 * the child the thread continues the wait as the only thread, and the parking table has no entry
 * for it.
 */
TEST(MutexForkInHandler, TimedWaitEnds)
{
#if HF_TSAN
	GTEST_SKIP() << "the kernel wipes the child's table, and ThreadSanitizer does not see that";
#endif
	std::signal(SIGUSR1, [](int) {
		handlers_child = fork();
		if (handlers_child == 0)
			alarm(unit::PATIENCE);
	});
	for (unsigned int round = 0; round < 4; round++) {
		uint64_t ns = 200 * MS;

		while (!fork_in_wait(round % 2, round / 2 * 2, ns))
			ns *= 2;
	}
	std::signal(SIGUSR1, SIG_DFL);
}

} // namespace
