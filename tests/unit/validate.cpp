/* SPDX-License-Identifier: MIT */
/* validate - misuse of spinlocks and mutexes is reported, correct use is not. Compiled with -DHF_VALIDATE=1. */
#include "unit.h"

#include <map>
#include <mutex>
#include <sstream>

#include "holdfast/lockref.h"
#include "holdfast/mutex.h"
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"
#include "validate_without.h"

static_assert(HF_VALIDATE == 1, "compile this with -DHF_VALIDATE=1");

namespace
{

template <class Lock>
class Validate : public testing::Test {
protected:
	/* However slow the machine is, nothing is held too long unless a test sets a limit. */
	Validate() { hf_validate_set_hold_limit(0); }

	/* Can another thread take it? */
	static bool is_free(Lock &lock)
	{
		bool free = false;

		std::thread([&] {
			free = lock.try_lock();
			if (free)
				lock.unlock();
		}).join();
		return free;
	}

	unit::reports reports;
};

using Locks = testing::Types<hf::spinlock, hf::spinlock_ticket, hf::mutex>;
TYPED_TEST_SUITE(Validate, Locks, unit::type_names);

/*
 * The steps of a thread. A step must cause the report after its !; without !, none.
 *
 *   lock, try, fails, unlock     lock, a trylock that succeeds, one that fails, unlock
 *   gone                         unlock in a unit that is compiled without validation
 *   new                          another lock in its place
 *   held, not-held               hf_validate_is_held()
 *   open, closed                 is_locked()
 *   free, taken                  whether another thread can take it
 *   off, on                      stop and resume watching the order of locks
 *
 * b:, c: and d: select another lock. 2: runs the step in a new thread, with all steps joined to it
 * by +. 20x repeats the script 20 times.
 */
const char *const scripts[] = {
	/* Correct use of two locks. */
	"not-held lock held b:not-held b:lock unlock not-held b:held try held unlock b:unlock",
	/* A recursive lock succeeds, and is held until it was released as often as taken ... */
	"lock lock!recursion lock!recursion held unlock taken unlock taken held unlock free "
	"not-held "
	/* ... and one more unlock is reported: the lock is not held. */
	"unlock!unlocked free",
	/* trylock of a lock that this thread holds fails, and is no misuse. */
	"try fails lock!recursion unlock unlock free",
	"lock 2:unlock!wrong-owner 2:fails taken held unlock free",
	"unlock!unlocked free lock unlock unlock!unlocked free",
	/* Each thread has its own list. */
	"lock 2:not-held unlock",

	/*
	 * Taking two locks in both orders is reported once for the pair, and the locks still work.
	 */
	"lock b:lock b:unlock unlock lock b:lock b:unlock unlock b:lock lock!order unlock b:unlock "
	"lock b:lock b:unlock unlock b:lock lock unlock b:unlock open b:open",
	/* By two threads, and with another lock taken in between. */
	"2:lock+c:lock+b:lock+b:unlock+c:unlock+unlock 2:b:lock+lock!order+unlock+b:unlock",
	/* A trylock does not wait; but a lock that is taken under it does. */
	"lock b:lock b:unlock unlock b:lock try unlock b:unlock b:try lock!order unlock b:unlock",
	/* Hand over hand, and a hierarchy. */
	"50x lock b:lock unlock c:lock b:unlock d:lock c:unlock d:unlock "
	"lock b:lock c:lock d:lock unlock b:unlock c:unlock d:unlock",
	/* Another lock in the same memory has an order of its own. */
	"20x lock b:lock b:unlock unlock new b:lock lock unlock b:unlock new",
	"off lock b:lock b:unlock unlock b:lock lock unlock b:unlock on",

	/*
	 * A lock that was released without validation is free: locking it again is no recursion.
	 * Repeated more often than a thread's list has entries.
	 */
	"40x lock gone open lock closed gone try held unlock open not-held",
	"lock gone unlock!unlocked open lock closed unlock",
};

TYPED_TEST(Validate, Scripts)
{
	const std::map<std::string, enum hf_report_kind> kinds = {
		{ "recursion", HF_REPORT_LOCK_RECURSION },
		{ "wrong-owner", HF_REPORT_LOCK_WRONG_OWNER },
		{ "unlocked", HF_REPORT_LOCK_UNLOCKED },
		{ "order", HF_REPORT_LOCK_ORDER },
	};

	for (const char *text : scripts) {
		const std::string script = text;
		TypeParam locks[4];
		auto act = [&](const std::string &step) {
			SCOPED_TRACE(script + ": " + step);
			bool named = step[1] == ':';
			TypeParam &lock = locks[named ? step[0] - 'a' : 0];
			std::string operation = step.substr(named ? 2 : 0), report;
			size_t mark = operation.find('!');

			if (mark != std::string::npos) {
				report = operation.substr(mark + 1);
				operation.resize(mark);
			}
			if (operation == "lock")
				lock.lock();
			else if (operation == "unlock")
				lock.unlock();
			else if (operation == "try" || operation == "fails")
				EXPECT_EQ(lock.try_lock(), operation == "try");
			else if (operation == "gone")
				unlock_without(lock.native_handle());
			else if (operation == "new")
				lock.~TypeParam(), new (&lock) TypeParam;
			else if (operation == "open" || operation == "closed")
				EXPECT_EQ(lock.is_locked(), operation == "closed");
			else if (operation == "free" || operation == "taken")
				EXPECT_EQ(this->is_free(lock), operation == "free");
			else if (operation == "held" || operation == "not-held")
				EXPECT_EQ(hf_validate_is_held(lock.native_handle()),
					  operation == "held");
			else if (operation == "off" || operation == "on")
				EXPECT_EQ(hf_validate_set_order(operation == "on"),
					  operation == "off");
			else
				ADD_FAILURE();
			if (report.empty())
				EXPECT_EQ(this->reports.total(), 0u);
			else
				EXPECT_TRUE(
					this->reports.one(kinds.at(report), lock.native_handle()));
		};
		size_t times = script.find("x ");
		int rounds = times == std::string::npos ? 1 : std::stoi(script);

		for (int i = 0; i < rounds; i++) {
			std::istringstream words(script.substr(rounds > 1 ? times + 2 : 0));

			for (std::string word; words >> word;) {
				bool other_thread = word.rfind("2:", 0) == 0;
				std::istringstream steps(word.substr(other_thread ? 2 : 0));
				auto all = [&] {
					for (std::string step; std::getline(steps, step, '+');)
						act(step);
				};

				if (other_thread)
					std::thread(all).join();
				else
					all();
			}
		}
	}
}

/* Released without validation and taken by another thread since: locking it waits, and is no recursion. */
TYPED_TEST(Validate, ReleasedUnseenAndTaken)
{
	std::atomic<bool> taken(false), released(false);
	TypeParam lock;

	lock.lock();
	unlock_without(lock.native_handle());
	std::thread other([&] {
		lock.lock();
		taken = true;
		unit::sleep_ms(20);
		released = true;
		lock.unlock();
	});
	while (!taken)
		sched_yield();
	lock.lock();
	EXPECT_TRUE(released);
	lock.unlock();
	other.join();
	EXPECT_EQ(this->reports.total(), 0u);
}

TYPED_TEST(Validate, HeldTooLong)
{
	TypeParam lock;

	hf_validate_set_hold_limit(1000000);
	lock.lock();
	unit::sleep_ms(3);
	lock.unlock();
	EXPECT_TRUE(this->reports.one(HF_REPORT_LOCK_HELD_LONG, lock.native_handle()));
	EXPECT_TRUE(this->is_free(lock));
	this->reports.reset();

	/* Held as long, but the limit is larger, or there is none. */
	for (uint64_t limit : { uint64_t(1000) * 1000000000, uint64_t(0), UINT64_MAX / 2 }) {
		hf_validate_set_hold_limit(limit);
		lock.lock();
		unit::sleep_ms(3);
		lock.unlock();
		EXPECT_EQ(this->reports.total(), 0u) << limit;
	}
}

/* The hold time of a recursive lock counts from the first acquisition. */
TYPED_TEST(Validate, HeldTooLongRecursively)
{
	TypeParam lock;

	hf_validate_set_hold_limit(1000000);
	lock.lock();
	unit::sleep_ms(3);
	lock.lock();
	this->reports.reset();
	lock.unlock();
	EXPECT_EQ(this->reports.total(), 0u);
	lock.unlock();
	EXPECT_TRUE(this->reports.one(HF_REPORT_LOCK_HELD_LONG, lock.native_handle()));
}

/*
 * More locks are held at once than validation tracks: the excess locks work, and are never
 * reported.
 */
TYPED_TEST(Validate, MoreThanAreWatched)
{
	const int many = HF_VALIDATE_HELD + 8;
	TypeParam locks[many];

	for (int order = 0; order < 2; order++) {
		for (int i = 0; i < many; i++) {
			if (i % 2)
				locks[i].lock();
			else
				EXPECT_TRUE(locks[i].try_lock());
			EXPECT_EQ(hf_validate_is_held(locks[i].native_handle()),
				  i < HF_VALIDATE_HELD);
		}
		for (auto &lock : locks)
			EXPECT_FALSE(lock.try_lock());
		for (int i = 0; i < many; i++) {
			TypeParam &lock = locks[order ? i : many - 1 - i];

			EXPECT_TRUE(lock.is_locked());
			lock.unlock();
			EXPECT_FALSE(lock.is_locked());
		}
	}
	for (auto &lock : locks)
		EXPECT_TRUE(this->is_free(lock));
	EXPECT_EQ(this->reports.total(), 0u);

	/* Once they are released, misuse is detected again. */
	locks[0].lock();
	locks[0].lock();
	EXPECT_TRUE(this->reports.one(HF_REPORT_LOCK_RECURSION, locks[0].native_handle()));
	locks[0].unlock();
	locks[0].unlock();
	locks[0].unlock();
	EXPECT_TRUE(this->reports.one(HF_REPORT_LOCK_UNLOCKED, locks[0].native_handle()));
}

/*
 * A signal handler takes lock B while its thread takes A; while the thread takes B itself, the
 * handler does not. The stale entries for B in the thread's list must not be taken for a held lock.
 */
template <class Lock>
struct interrupted {
	static inline Lock a, b;
	static inline uint64_t counted_a, counted_b;
	static inline std::atomic<bool> own_b;
	static inline std::atomic<uint64_t> fired;

	static void handle(int)
	{
		if (!own_b) {
			b.lock();
			counted_b++;
			b.unlock();
		}
		fired++;
	}
};

TYPED_TEST(Validate, SignalHandlers)
{
	using test = interrupted<TypeParam>;
	unit::handler handler(SIGUSR2, test::handle);
	uint64_t done = 0;

	test::counted_a = 0;
	test::fired = 0;
	std::thread([&] {
		unit::interrupter interrupter(SIGUSR2);
		unit::deadline end(400);

		do {
			interrupter.arm(test::fired);
			for (int i = 0; i < 20; i++) {
				test::own_b.store(true, std::memory_order_relaxed);
				test::b.lock();
				test::b.unlock();
				test::own_b.store(false, std::memory_order_relaxed);
				test::a.lock();
				test::counted_a++;
				test::a.unlock();
				done++;
			}
		} while (!end.passed() || test::fired == 0);
	}).join();
	EXPECT_EQ(test::counted_a, done);
	EXPECT_EQ(hf_report_count(HF_REPORT_LOCK_RECURSION), 0u);
	EXPECT_EQ(this->reports.total(), 0u);
	EXPECT_FALSE(test::a.is_locked());
	EXPECT_FALSE(test::b.is_locked());
	std::printf("%lu operations, interrupted %lu times\n", static_cast<unsigned long>(done),
		    static_cast<unsigned long>(test::fired));
}

/* ---- The other ways to take a lock ---------------------------------------------------------- */

class ValidateOthers : public testing::Test {
protected:
	ValidateOthers() { hf_validate_set_hold_limit(0); }

	unit::reports reports;
};

TEST_F(ValidateOthers, FullForms)
{
	hf_spinlock_t lock = HF_SPINLOCK_INIT;

	hf_spinlock_lock_full(&lock);
	EXPECT_TRUE(hf_validate_is_held(&lock));
	hf_spinlock_lock_full(&lock);
	EXPECT_TRUE(reports.one(HF_REPORT_LOCK_RECURSION, &lock));
	hf_spinlock_unlock_full(&lock);
	hf_spinlock_unlock_full(&lock);
	EXPECT_EQ(reports.total(), 0u);
	hf_spinlock_unlock_full(&lock);
	EXPECT_TRUE(reports.one(HF_REPORT_LOCK_UNLOCKED, &lock));
}

TEST_F(ValidateOthers, MutexTimeout)
{
	hf_mutex_t mutex = HF_MUTEX_INIT;
	hf_mutex_shared_t shared = HF_MUTEX_SHARED_INIT;

	ASSERT_TRUE(hf_mutex_lock_timeout(&mutex, 0));
	EXPECT_TRUE(hf_validate_is_held(&mutex));
	std::thread([&] {
		EXPECT_FALSE(hf_mutex_lock_timeout(&mutex, 1000));
		EXPECT_FALSE(hf_validate_is_held(&mutex));
	}).join();
	EXPECT_EQ(reports.total(), 0u);
	EXPECT_TRUE(hf_mutex_lock_timeout(&mutex, 0));
	EXPECT_TRUE(reports.one(HF_REPORT_LOCK_RECURSION, &mutex));
	hf_mutex_unlock(&mutex);
	hf_mutex_unlock(&mutex);
	EXPECT_EQ(reports.total(), 0u);

	hf_mutex_shared_lock(&shared);
	hf_mutex_shared_unlock(&shared);
	EXPECT_EQ(reports.total(), 0u);
	hf_mutex_shared_unlock(&shared);
	EXPECT_TRUE(reports.one(HF_REPORT_LOCK_UNLOCKED, &shared));
}

/* The lock half of a lockref is a spinlock, and watched like one. */
TEST_F(ValidateOthers, Lockref)
{
	hf_lockref_t l = HF_LOCKREF_INIT(3);

	hf_lockref_lock(&l);
	hf_lockref_lock(&l);
	EXPECT_EQ(hf_report_count(HF_REPORT_LOCK_RECURSION), 1u);
	hf_lockref_unlock(&l);
	EXPECT_FALSE(hf_lockref_trylock(&l));
	std::thread([&] { hf_lockref_unlock(&l); }).join();
	EXPECT_EQ(hf_report_count(HF_REPORT_LOCK_WRONG_OWNER), 1u);
	EXPECT_FALSE(hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
	EXPECT_EQ(reports.total(), 2u);
	reports.reset();

	hf_lockref_unlock(&l);
	EXPECT_EQ(hf_report_count(HF_REPORT_LOCK_UNLOCKED), 1u);
	EXPECT_EQ(hf_lockref_read(&l), 3);
	reports.reset();

	/* Correct use of an operation that returns with the lock held. */
	EXPECT_TRUE(hf_lockref_put_or_lock(&l));
	EXPECT_TRUE(hf_lockref_put_or_lock(&l));
	ASSERT_FALSE(hf_lockref_put_or_lock(&l));
	hf_lockref_mark_dead(&l);
	hf_lockref_unlock(&l);
	EXPECT_FALSE(hf_lockref_get_not_dead(&l));
	EXPECT_TRUE(hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
	EXPECT_EQ(reports.total(), 0u);
}

/* A get by the lock's holder would deadlock: it is reported, and takes effect. */
TEST_F(ValidateOthers, LockrefGetUnderItsLock)
{
	hf_lockref_t l = HF_LOCKREF_INIT(3);

	hf_lockref_lock(&l);
	hf_lockref_get(&l);
	EXPECT_EQ(hf_report_count(HF_REPORT_LOCK_RECURSION), 1u);
	EXPECT_EQ(reports.total(), 1u);
	EXPECT_EQ(hf_lockref_read(&l), 4);
	EXPECT_FALSE(hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
	EXPECT_TRUE(hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
	EXPECT_EQ(reports.total(), 1u);
}

} // namespace
