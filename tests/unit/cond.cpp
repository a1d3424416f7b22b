/* SPDX-License-Identifier: MIT */
/* cond - each operation, with threads, and with processes that are killed. */
#include "unit.h"

#include <condition_variable>
#include <mutex>

#include "holdfast/cond.h"

#include "kinds.h"
#include "waiters.h"

namespace
{

using unit::MS;
using unit::own;
using unit::shared;

template <class K>
class Cond : public testing::Test {
protected:
	~Cond() override
	{
		EXPECT_TRUE(k.nobody(&k.c));
		EXPECT_FALSE(k.is_locked());
		EXPECT_TRUE(unit::table_is_empty());
	}
	K k;
};

using Kinds = testing::Types<own, shared>;
TYPED_TEST_SUITE(Cond, Kinds, unit::type_names);

/* A signal without waiters is not remembered. */
TYPED_TEST(Cond, SignalWithoutWaiters)
{
	static_assert(sizeof(this->k.c) == 4, "four bytes");
	this->k.signal(&this->k.c);
	this->k.broadcast(&this->k.c);
	this->k.lock();
	EXPECT_FALSE(this->k.wait_timeout(&this->k.c, 5 * MS));
	EXPECT_TRUE(this->k.is_locked());
	this->k.unlock();
}

TYPED_TEST(Cond, TimesOut)
{
	this->k.lock();

	uint64_t start = hf_env_deadline(0);

	while (this->k.wait_timeout(&this->k.c, 20 * MS))
		start = hf_env_deadline(0); /* a spurious wake-up */
	EXPECT_GE(hf_env_deadline(0) - start, 20 * MS);
	while (this->k.wait_until(&this->k.c, hf_env_deadline(MS)))
		;
	while (this->k.wait_until(&this->k.c, 0)) /* a deadline in the past */
		;
	EXPECT_FALSE(this->k.try_lock());
	this->k.unlock();
}

/* ---- C++ ------------------------------------------------------------------------------------ */

TEST(CondClass, UniqueLock)
{
	static hf::mutex mutex;
	static hf::condition_variable cond;
	int turn = 0;
	std::thread other([&] {
		std::unique_lock<hf::mutex> lock(mutex);

		cond.wait(lock, [&] { return turn == 1; });
		turn = 2;
		cond.notify_all();
	});

	{
		std::unique_lock<hf::mutex> lock(mutex);

		turn = 1;
		cond.notify_one();
		EXPECT_TRUE(cond.wait_for(lock, std::chrono::hours(1), [&] { return turn == 2; }));
		EXPECT_FALSE(cond.wait_for(lock, std::chrono::milliseconds(2),
					   [&] { return turn == 3; }));
		auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);

		EXPECT_FALSE(cond.wait_until(lock, soon, [&] { return turn == 3; }));
		while (cond.wait_until(lock, soon))
			;
		EXPECT_TRUE(lock.owns_lock());
	}
	EXPECT_TRUE(mutex.try_lock_until(std::chrono::system_clock::now()));
	EXPECT_FALSE(mutex.try_lock_until(std::chrono::steady_clock::time_point::min()));
	EXPECT_FALSE(mutex.try_lock_until(std::chrono::system_clock::time_point::min()));
	EXPECT_FALSE(mutex.try_lock_until(std::chrono::steady_clock::now() +
					  std::chrono::milliseconds(1)));
	mutex.unlock();
	other.join();
}

/* The difference of two far time points overflows. */
TEST(CondClass, TimePointsFarAway)
{
	using std::chrono::steady_clock;
	using std::chrono::system_clock;
	using hours = std::chrono::time_point<system_clock, std::chrono::hours>;
	hf::mutex mutex;
	hf::condition_variable cond;
	std::unique_lock<hf::mutex> lock(mutex);
	bool there = false;
	std::thread signaller([&] {
		std::lock_guard<hf::mutex> guard(mutex);

		there = true;
		cond.notify_one();
	});

	EXPECT_TRUE(cond.wait_until(lock, hours::max(), [&] { return there; }));
	signaller.join();
	while (cond.wait_until(lock, steady_clock::time_point::min()))
		;
	while (cond.wait_until(lock, system_clock::time_point::min()))
		;
	EXPECT_FALSE(cond.wait_until(lock, hours::min(), [] { return false; }));
}

/* A clock that runs at a third of the usual speed. */
struct slow_clock {
	using duration = std::chrono::nanoseconds;
	using rep = duration::rep;
	using period = duration::period;
	using time_point = std::chrono::time_point<slow_clock>;
	static constexpr bool is_steady = true;
	static time_point now()
	{
		return time_point(std::chrono::steady_clock::now().time_since_epoch() / 3);
	}
};

/* A timeout is never reported before the deadline by the caller's clock. */
TEST(CondClass, SlowClock)
{
	hf::mutex mutex;
	hf::condition_variable cond;
	std::unique_lock<hf::mutex> lock(mutex);
	auto soon = slow_clock::now() + std::chrono::milliseconds(2);

	while (cond.wait_until(lock, soon))
		;
	EXPECT_GE(slow_clock::now(), soon);
	soon = slow_clock::now() + std::chrono::milliseconds(2);
	EXPECT_FALSE(mutex.try_lock_until(soon));
	EXPECT_GE(slow_clock::now(), soon);
}

/* A thread that becomes a real-time one is known as such after some waits. */
TEST(CondPriority, RealTimeThread)
{
	int refused = 0;
	bool before = true, after = false;
	std::thread thread([&] {
		sched_param priority = {};

		priority.sched_priority = 1;
		before = hf_env_is_real_time();
		refused = pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
		for (int i = 0; i < 64; i++)
			after = hf_env_is_real_time();
	});

	thread.join();
	if (refused)
		GTEST_SKIP() << "real-time threads need a privilege";
	EXPECT_FALSE(before);
	EXPECT_TRUE(after);
}

/* ---- fork, and processes -------------------------------------------------------------------- */

/* The child has no waiters: a signal does nothing, and the child can wait itself. */
TEST(CondFork, ChildStartsWithoutWaiters)
{
	own k;
	bool go = false;
	std::thread waiter([&] {
		k.lock();
		while (!go)
			k.wait(&k.c);
		k.unlock();
	});

	unit::wait_until([&] { return unit::waiters(&k.c) == 1; });
	/*
	 * A waiter is counted before it releases the mutex: a fork in between would leave the
	 * child's mutex locked by a thread that the child does not have.
	 */
	k.lock();
	EXPECT_EQ(unit::in_child([&] {
			  k.unlock();
			  k.signal(&k.c);
			  k.broadcast(&k.c);
			  k.lock();
			  MUST(!k.wait_timeout(&k.c, MS));
			  k.unlock();
			  MUST(k.nobody(&k.c) && unit::table_is_empty());
		  }),
		  0);
	go = true;
	k.signal(&k.c);
	k.unlock();
	waiter.join();
	EXPECT_TRUE(unit::table_is_empty());
}

/* Two of three waiting processes are killed, before or after a signal: the third one is woken. */
TEST(CondProcesses, KilledWaiters)
{
	struct mapped {
		shared k;
		int waiting = 0, go = 0;
	};

	for (int i = 0; i < 12; i++) {
		unit::shared_object<mapped> m;
		pid_t children[3];

		for (pid_t &child : children) {
			child = unit::start_process([&] {
				m->k.lock();
				m->waiting++;
				while (!m->go)
					m->k.wait(&m->k.c);
				m->k.unlock();
				return 0;
			});
		}
		unit::wait_until([&] {
			m->k.lock();
			bool all = m->waiting == 3;
			m->k.unlock();
			return all;
		});
		m->k.lock();
		m->go = 1;
		if (i % 3 == 1)
			m->k.broadcast(&m->k.c);
		if (i % 3 == 2)
			m->k.signal(&m->k.c);
		/* Kill with the mutex held, so that no process dies as its holder. */
		for (int j = 0; j < 2; j++) {
			kill(children[j], SIGKILL);
			EXPECT_EQ(unit::status_of(children[j]), SIGKILL);
		}
		if (i % 3 != 1)
			m->k.broadcast(&m->k.c);
		m->k.unlock();
		EXPECT_EQ(unit::status_of(children[2]), 0);
		ASSERT_TRUE(m->k.try_lock());
		m->k.unlock();
	}
}

/* The standard's synopsis, [thread.condition.condvar]: the same program with either class. */
template <class Condition, class Mutex>
void as_the_standard()
{
	using namespace std::chrono;
	static_assert(std::is_nothrow_destructible<Condition>::value, "");
	static_assert(!std::is_copy_constructible<Condition>::value, "");
	static_assert(!std::is_copy_assignable<Condition>::value, "");
	Condition cond;
	Mutex mutex;
	std::unique_lock<Mutex> lock(mutex);
	auto is_true = [] { return true; };
	auto is_false = [] { return false; };
	auto past = steady_clock::now();
	std::cv_status status = cond.wait_until(lock, past);
	typename Condition::native_handle_type handle = cond.native_handle();

	static_assert(noexcept(cond.notify_one()) &&noexcept(cond.notify_all()), "");
	static_assert(
		std::is_same<decltype(cond.wait_for(lock, nanoseconds(1), is_true)), bool>::value,
		"");
	static_assert(std::is_same<decltype(cond.wait_until(lock, past, is_true)), bool>::value,
		      "");
	EXPECT_EQ(status, std::cv_status::timeout);
	while (cond.wait_for(lock, milliseconds(1)) != std::cv_status::timeout)
		;
	while (std::cv_status::no_timeout == cond.wait_for(lock, milliseconds(1)))
		;
	cond.wait(lock, is_true);
	EXPECT_TRUE(cond.wait_for(lock, hours(1), is_true));
	EXPECT_FALSE(cond.wait_until(lock, past, is_false));
	cond.notify_one();
	cond.notify_all();
	EXPECT_NE(handle, nullptr);
	static_cast<void>(
		static_cast<void (Condition::*)(std::unique_lock<Mutex> &)>(&Condition::wait));
}

TEST(CondClass, IsAsTheStandard)
{
	as_the_standard<std::condition_variable, std::mutex>();
	as_the_standard<hf::condition_variable, hf::mutex>();
}

} // namespace
