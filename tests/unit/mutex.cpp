/* SPDX-License-Identifier: MIT */
/* mutex - what each verb does, alone, with other threads, and with other processes that are killed. */
#include "unit.h"

#include <mutex>

#include <sys/mman.h>

#include "holdfast/mutex.h"

namespace
{

const uint64_t MS = 1000000;

uint64_t now_ns()
{
	return hf_env_deadline(0);
}

/* CPU time that this thread has used. */
uint64_t used_ns()
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return uint64_t(t.tv_sec) * 1000000000 + uint64_t(t.tv_nsec);
}

/* ---- the mutex, alone ----------------------------------------------------------------------- */

/* Both kinds by one set of names. */
struct own {
	using type = hf_mutex_t;
	static constexpr auto init = hf_mutex_init;
	static constexpr auto lock = hf_mutex_lock;
	static constexpr auto lock_timeout = hf_mutex_lock_timeout;
	static constexpr auto trylock = hf_mutex_trylock;
	static constexpr auto unlock = hf_mutex_unlock;
	static constexpr auto is_locked = hf_mutex_is_locked;
};

struct shared {
	using type = hf_mutex_shared_t;
	static constexpr auto init = hf_mutex_shared_init;
	static constexpr auto lock = hf_mutex_shared_lock;
	static constexpr auto lock_timeout = hf_mutex_shared_lock_timeout;
	static constexpr auto trylock = hf_mutex_shared_trylock;
	static constexpr auto unlock = hf_mutex_shared_unlock;
	static constexpr auto is_locked = hf_mutex_shared_is_locked;
};

template <class M>
class Mutex : public testing::Test {
protected:
	Mutex() { M::init(&mutex_); }
	/* The last unlock leaves a word of 0 (X5). */
	~Mutex() override { EXPECT_EQ(word(), 0u); }

	uint32_t word() const { return hf_atomic32_load_relaxed(&mutex_.word); }
	uint32_t parked() const { return word() / HF__MUTEX_PARKED_ONE; }
	/* Not before they are parked, or about to be. */
	void wait_parked(uint32_t n)
	{
		unit::wait_until([&] { return parked() >= n; });
	}
	typename M::type mutex_;
};

using Kinds = testing::Types<own, shared>;
TYPED_TEST_SUITE(Mutex, Kinds, unit::type_names);

TYPED_TEST(Mutex, Alone)
{
	static_assert(sizeof(typename TypeParam::type) == 4, "four bytes");
	for (int i = 0; i < 3; i++) {
		EXPECT_FALSE(TypeParam::is_locked(&this->mutex_));
		TypeParam::lock(&this->mutex_);
		EXPECT_TRUE(TypeParam::is_locked(&this->mutex_));
		EXPECT_FALSE(TypeParam::trylock(&this->mutex_));
		EXPECT_FALSE(TypeParam::lock_timeout(&this->mutex_, 0));
		TypeParam::unlock(&this->mutex_);
		EXPECT_TRUE(TypeParam::trylock(&this->mutex_));
		EXPECT_FALSE(TypeParam::trylock(&this->mutex_));
		TypeParam::unlock(&this->mutex_);
		EXPECT_TRUE(TypeParam::lock_timeout(&this->mutex_, 0));
		TypeParam::unlock(&this->mutex_);
		EXPECT_TRUE(TypeParam::lock_timeout(&this->mutex_, HF_ENV_FOREVER));
		TypeParam::unlock(&this->mutex_);
	}
}

/* The next waiter times out, and so does one that is parked behind it. */
TYPED_TEST(Mutex, TimesOut)
{
	std::atomic<int> timed_out(0);

	TypeParam::lock(&this->mutex_);
	unit::run_threads(3, [&](int) {
		uint64_t start = now_ns();

		timed_out += !TypeParam::lock_timeout(&this->mutex_, 30 * MS);
		EXPECT_GE(now_ns() - start, 30 * MS);
	});
	EXPECT_EQ(timed_out, 3);
	EXPECT_EQ(this->word() & ~HF__MUTEX_LOCKED, 0u);
	TypeParam::unlock(&this->mutex_);
	EXPECT_TRUE(TypeParam::trylock(&this->mutex_));
	TypeParam::unlock(&this->mutex_);
}

/* Released in time: the waiter gets it. */
TYPED_TEST(Mutex, TimeoutThatIsNotNeeded)
{
	std::atomic<int> got(0);

	TypeParam::lock(&this->mutex_);
	std::vector<std::thread> threads;

	for (int i = 0; i < 3; i++) {
		threads.emplace_back([&] {
			if (TypeParam::lock_timeout(&this->mutex_, 100000 * MS)) {
				got++;
				TypeParam::unlock(&this->mutex_);
			}
		});
	}
	this->wait_parked(3);
	EXPECT_EQ(got, 0);
	TypeParam::unlock(&this->mutex_);
	for (auto &thread : threads)
		thread.join();
	EXPECT_EQ(got, 3);
}

/* While it is held for long no waiter spins: that is the point of it. */
TYPED_TEST(Mutex, WaitersSleep)
{
	std::atomic<uint64_t> used(0);
	std::vector<std::thread> threads;

	TypeParam::lock(&this->mutex_);
	for (int i = 0; i < 4; i++) {
		threads.emplace_back([&] {
			uint64_t before = used_ns();

			TypeParam::lock(&this->mutex_);
			used += used_ns() - before;
			TypeParam::unlock(&this->mutex_);
		});
	}
	this->wait_parked(4);
	EXPECT_FALSE(TypeParam::trylock(&this->mutex_));
	unit::sleep_ms(400);
	this->wait_parked(4); /* between processes one may be on patrol */
	TypeParam::unlock(&this->mutex_);
	for (auto &thread : threads)
		thread.join();
	EXPECT_LT(used, 400 * MS); /* spinning would be 1600, or 800 on two processors */
}

/* Each parked waiter gets it, one after the other, with nothing but the hand-off to wake it. */
TYPED_TEST(Mutex, AllAreWoken)
{
	const int many = 40;
	int count = 0;
	std::vector<std::thread> threads;

	TypeParam::lock(&this->mutex_);
	for (int i = 0; i < many; i++) {
		threads.emplace_back([&] {
			TypeParam::lock(&this->mutex_);
			count++;
			TypeParam::unlock(&this->mutex_);
		});
	}
	this->wait_parked(many);
	TypeParam::unlock(&this->mutex_);
	for (auto &thread : threads)
		thread.join();
	EXPECT_EQ(count, many);
}

/* A thread that takes it again and again must hand it off to a waiter. */
TYPED_TEST(Mutex, NobodyStarves)
{
	std::atomic<bool> stop(false);
	std::atomic<int> turns(0);

	std::thread greedy([&] {
		while (!stop) {
			TypeParam::lock(&this->mutex_);
			TypeParam::unlock(&this->mutex_);
		}
	});
	std::thread slow([&] {
		for (int i = 0; i < 20; i++) {
			TypeParam::lock(&this->mutex_);
			turns++;
			TypeParam::unlock(&this->mutex_);
			unit::sleep_ms(1);
		}
	});
	slow.join();
	stop = true;
	greedy.join();
	EXPECT_EQ(turns, 20);
}

/* Closed to barging, it goes to the waiter and not to a newcomer. */
TYPED_TEST(Mutex, ClosedIsKept)
{
	TypeParam::lock(&this->mutex_);
	std::thread waiter([&] {
		TypeParam::lock(&this->mutex_);
		TypeParam::unlock(&this->mutex_);
	});
	this->wait_parked(1); /* it had to close it before it parked */
	EXPECT_EQ(this->word(), HF__MUTEX_LOCKED | HF__MUTEX_CLOSED | HF__MUTEX_PARKED_ONE);
	TypeParam::unlock(&this->mutex_);
	waiter.join();
	EXPECT_TRUE(TypeParam::trylock(&this->mutex_));
	TypeParam::unlock(&this->mutex_);
}

/* lock, trylock and timeouts that run out, all at once, with signals in between. */
TYPED_TEST(Mutex, AllWaysAtOnce)
{
	static std::atomic<uint64_t> fired;
	unit::handler handler(SIGUSR2, [](int) { fired++; });
	uint64_t count = 0;
	std::atomic<uint64_t> done(0), timed_out(0);

	fired = 0;
	unit::run_threads(6, [&](int me) {
		unit::interrupter interrupter(SIGUSR2);
		unit::deadline end(400);
		uint64_t mine = 0, late = 0;

		do {
			interrupter.arm(fired);
			switch ((mine + late + unsigned(me)) % 4) {
			case 0:
				while (!TypeParam::trylock(&this->mutex_))
					sched_yield();
				break;
			case 1:
				if (!TypeParam::lock_timeout(&this->mutex_, 1000 * unsigned(me))) {
					late++;
					continue;
				}
				break;
			default:
				TypeParam::lock(&this->mutex_);
			}
			if (count++ % 64 == 0)
				sched_yield(); /* descheduled with the lock held */
			TypeParam::unlock(&this->mutex_);
			mine++;
		} while (!end.passed());
		done += mine;
		timed_out += late;
	});
	EXPECT_EQ(count, done);
	std::printf("%lu operations, %lu timed out, interrupted %lu times\n",
		    static_cast<unsigned long>(done), static_cast<unsigned long>(timed_out),
		    static_cast<unsigned long>(fired));
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
	hf_mutex_shared_t mutex;
	uint64_t count, twice;
	std::atomic<int> ready;
};

class MutexProcesses : public testing::Test {
protected:
	MutexProcesses()
	{
		void *memory = mmap(nullptr, sizeof(mapped), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			throw std::runtime_error("mmap");
		m = new (memory) mapped();
		hf_mutex_shared_init(&m->mutex);
	}
	~MutexProcesses() override { munmap(m, sizeof(mapped)); }

	/* Runs f in a process of its own. */
	template <class F>
	static pid_t start(F f)
	{
		pid_t child = fork();

		if (child == 0)
			_exit(f());
		return child;
	}
	static int status_of(pid_t child)
	{
		int status = -1;

		waitpid(child, &status, 0);
		return status;
	}
	mapped *m;
};

TEST_F(MutexProcesses, Exclusion)
{
	auto work = [this] {
		for (int i = 0; i < 3000; i++) {
			hf_mutex_shared_lock(&m->mutex);
			if (m->twice != 2 * m->count)
				return 1;
			m->count++;
			if (i % 50 == 0)
				sched_yield();
			m->twice += 2;
			hf_mutex_shared_unlock(&m->mutex);
		}
		return 0;
	};
	pid_t children[3];

	for (pid_t &child : children)
		child = start(work);
	EXPECT_EQ(work(), 0);
	for (pid_t child : children)
		EXPECT_EQ(status_of(child), 0);
	EXPECT_EQ(m->count, 12000u);
	EXPECT_FALSE(hf_mutex_shared_is_locked(&m->mutex));
}

/* A process is killed with the lock held: the others time out, and do not hang. */
TEST_F(MutexProcesses, HolderIsKilled)
{
	pid_t child = start([this] {
		hf_mutex_shared_lock(&m->mutex);
		m->ready = 1;
		for (;;)
			pause();
		return 0;
	});

	unit::wait_until([this] { return m->ready == 1; });
	kill(child, SIGKILL);
	EXPECT_EQ(WTERMSIG(status_of(child)), SIGKILL);
	EXPECT_FALSE(hf_mutex_shared_lock_timeout(&m->mutex, 20 * MS));
	EXPECT_FALSE(hf_mutex_shared_trylock(&m->mutex));
	EXPECT_TRUE(hf_mutex_shared_is_locked(&m->mutex));
}

/* Waiters are killed, parked or next: newcomers and the other waiters still get the lock. */
TEST_F(MutexProcesses, WaitersAreKilled)
{
	for (int i = 0; i < 20; i++) {
		pid_t children[3];

		hf_mutex_shared_lock(&m->mutex);
		m->ready = 0;
		for (pid_t &child : children) {
			child = start([this] {
				m->ready++;
				hf_mutex_shared_lock(&m->mutex);
				hf_mutex_shared_unlock(&m->mutex);
				return 0;
			});
		}
		unit::wait_until([this] { return m->ready == 3; });
		std::this_thread::sleep_for(std::chrono::microseconds(100 * i));
		/* Before the unlock, so that none of them is the holder when it dies. */
		kill(children[0], SIGKILL);
		kill(children[1], SIGKILL);
		EXPECT_EQ(WTERMSIG(status_of(children[0])), SIGKILL);
		EXPECT_EQ(WTERMSIG(status_of(children[1])), SIGKILL);
		hf_mutex_shared_unlock(&m->mutex);
		EXPECT_EQ(status_of(children[2]), 0); /* a hang here ends by the watchdog */
		ASSERT_TRUE(hf_mutex_shared_lock_timeout(&m->mutex, 10000 * MS));
		hf_mutex_shared_unlock(&m->mutex);
	}
}

/* The next waiter is dead while its bit in the word is set: a parked waiter takes over. */
TEST_F(MutexProcesses, NextInLineIsDead)
{
	hf_atomic32_store_relaxed(&m->mutex.word, HF__MUTEX_LOCKED | HF__MUTEX_PENDING);
	pid_t child = start([this] {
		hf_mutex_shared_lock(&m->mutex);
		hf_mutex_shared_unlock(&m->mutex);
		return 0;
	});

	unit::wait_until([this] {
		return hf_atomic32_load_relaxed(&m->mutex.word) >= HF__MUTEX_PARKED_ONE;
	});
	unit::sleep_ms(5);
	hf_mutex_shared_unlock(&m->mutex);
	EXPECT_EQ(status_of(child), 0);
	EXPECT_EQ(hf_atomic32_load_relaxed(&m->mutex.word), 0u);
}

} // namespace
