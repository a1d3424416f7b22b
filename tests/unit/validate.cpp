/* SPDX-License-Identifier: MIT */
/*
 * validate - misuse of spinlocks and mutexes is reported, correct use is not. Compiled with
 * -DHF_VALIDATE=1.
 */
#include "unit.h"

#include <memory>
#include <sstream>

#include "holdfast/lockref.h"
#include "holdfast/mutex.h"
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"
#include "validate_without.h"

static_assert(HF_VALIDATE == 1, "compile this with -DHF_VALIDATE=1");

namespace
{

/* A lock of any kind: the tests are compiled once. */
class lock {
public:
	virtual ~lock() = default;
	virtual void take() = 0;
	virtual bool try_take() = 0;
	virtual void release() = 0;
	virtual void release_without() = 0; /* in a unit without validation */
	virtual bool is_locked() = 0;
	virtual void renew() = 0; /* another lock at this address */
	virtual const void *at() = 0;

	/* Can another thread take it? */
	bool is_free()
	{
		bool free = false;

		std::thread([&] {
			free = try_take();
			if (free)
				release();
		}).join();
		return free;
	}
	bool is_held() { return hf_validate_is_held(at()); }
};

template <class L>
class lock_of final : public lock {
	L l_;

	void take() override { l_.lock(); }
	bool try_take() override { return l_.try_lock(); }
	void release() override { l_.unlock(); }
	void release_without() override { unlock_without(l_.native_handle()); }
	bool is_locked() override { return l_.is_locked(); }
	void renew() override { l_.~L(), new (&l_) L; }
	const void *at() override { return l_.native_handle(); }
};

struct spinlock_full : hf::spinlock {
	void lock() { hf_spinlock_lock_full(native_handle()); }
	void unlock() { hf_spinlock_unlock_full(native_handle()); }
};

/*
 * Locks by lock_timeout(). So does try_lock() if another thread holds the mutex; if this one does,
 * lock_timeout() would report a recursion.
 */
struct mutex_timed : hf::mutex {
	void lock() { EXPECT_TRUE(hf_mutex_lock_timeout(native_handle(), HF_ENV_FOREVER)); }
	bool try_lock()
	{
		bool of_other = is_locked() && !hf_validate_is_held(native_handle());

		return of_other ? hf_mutex_lock_timeout(native_handle(), 1000)
				: hf::mutex::try_lock();
	}
};

/* The lock half of a lockref. */
struct lockref {
	hf_lockref_t l = HF_LOCKREF_INIT(3); /* hf_lockref_init() would give all locks one class */

	~lockref() { hf_validate_forget(native_handle()); }
	void lock() { hf_lockref_lock(&l); }
	bool try_lock() { return hf_lockref_trylock(&l); }
	void unlock()
	{
		hf_lockref_unlock(&l);
		EXPECT_EQ(hf_lockref_read(&l), 3);
	}
	bool is_locked() { return hf_mutex_is_locked(native_handle()); }
	hf_mutex_t *native_handle() { return hf_detail_lockref_lock(&l); }
};

template <class L>
std::unique_ptr<lock> make()
{
	return std::make_unique<lock_of<L>>();
}

const struct kind {
	const char *name;
	std::unique_ptr<lock> (*make)();
} kinds[] = {
	{ "spinlock", make<hf::spinlock> },   { "ticket", make<hf::spinlock_ticket> },
	{ "mutex", make<hf::mutex> },         { "spinlock_full", make<spinlock_full> },
	{ "mutex_timed", make<mutex_timed> }, { "lockref", make<lockref> },
};

class Validate : public testing::Test {
protected:
	/* However slow the machine is, nothing is held too long unless a test sets a limit. */
	Validate() { hf_validate_set_hold_limit(0); }

	/* In a child for each kind: pairs of locks stay in a process's table. */
	template <class F>
	void with_each_kind(F f)
	{
		for (const kind &kind : kinds)
			EXPECT_EQ(unit::in_child([&] { f(kind); }), 0) << kind.name;
	}
	void act(const std::string &step, std::unique_ptr<lock> *locks);
	void run(const std::string &script, const kind &kind);

	unit::reports reports;
};

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
 *   limit=N                      hf_validate_set_hold_limit(), in nanoseconds
 *   sleep                        for 3 ms
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

	/* Held too long; the time of a recursive lock counts from the first acquisition. */
	"limit=1000000 lock sleep unlock!held-long limit=0 free",
	"limit=1000000 lock sleep lock!recursion unlock unlock!held-long",
	/* Held as long, but the limit is larger, or there is none. */
	"limit=1000000000000 lock sleep unlock limit=9223372036854775807 lock sleep unlock "
	"limit=0 lock sleep unlock",
};

const struct {
	const char *name;
	enum hf_report_kind kind;
} names[] = {
	{ "recursion", HF_REPORT_LOCK_RECURSION }, { "wrong-owner", HF_REPORT_LOCK_WRONG_OWNER },
	{ "unlocked", HF_REPORT_LOCK_UNLOCKED },   { "order", HF_REPORT_LOCK_ORDER },
	{ "held-long", HF_REPORT_LOCK_HELD_LONG },
};

void Validate::act(const std::string &step, std::unique_ptr<lock> *locks)
{
	bool named = step[1] == ':';
	lock &lock = *locks[named ? step[0] - 'a' : 0];
	std::string operation = step.substr(named ? 2 : 0), report;
	size_t mark = operation.find('!');

	if (mark != std::string::npos) {
		report = operation.substr(mark + 1);
		operation.resize(mark);
	}
	auto is = [&](const char *name) { return operation == name; };

	if (is("lock"))
		lock.take();
	else if (is("unlock"))
		lock.release();
	else if (is("try") || is("fails"))
		EXPECT_EQ(lock.try_take(), is("try"));
	else if (is("gone"))
		lock.release_without();
	else if (is("new"))
		lock.renew();
	else if (is("open") || is("closed"))
		EXPECT_EQ(lock.is_locked(), is("closed"));
	else if (is("free") || is("taken"))
		EXPECT_EQ(lock.is_free(), is("free"));
	else if (is("held") || is("not-held"))
		EXPECT_EQ(lock.is_held(), is("held"));
	else if (is("off") || is("on"))
		EXPECT_EQ(hf_validate_set_order(is("on")), is("off"));
	else if (is("sleep"))
		unit::sleep_ms(3);
	else if (operation.rfind("limit=", 0) == 0)
		hf_validate_set_hold_limit(std::stoull(operation.substr(6)));
	else
		ADD_FAILURE();
	if (report.empty()) {
		EXPECT_EQ(reports.total(), 0u);
		return;
	}
	for (const auto &name : names) {
		if (report == name.name) {
			EXPECT_TRUE(reports.one(name.kind, lock.at()));
		}
	}
	EXPECT_EQ(reports.total(), 0u); /* else no such report */
}

void Validate::run(const std::string &script, const kind &kind)
{
	std::unique_ptr<lock> locks[4];
	size_t times = script.find("x ");
	int rounds = times == std::string::npos ? 1 : std::stoi(script);

	reports.reset();
	for (auto &one : locks)
		one = kind.make();
	for (int i = 0; i < rounds; i++) {
		std::istringstream words(script.substr(rounds > 1 ? times + 2 : 0));

		for (std::string word; words >> word;) {
			bool other_thread = word.rfind("2:", 0) == 0;
			std::istringstream steps(word.substr(other_thread ? 2 : 0));
			auto all = [&] {
				for (std::string step; std::getline(steps, step, '+');) {
					SCOPED_TRACE(step + " in " + kind.name + ": " + script);
					act(step, locks);
				}
			};

			if (other_thread)
				std::thread(all).join();
			else
				all();
		}
	}
	hf_validate_set_hold_limit(0);
}

TEST_F(Validate, Scripts)
{
	with_each_kind([&](const kind &kind) {
		for (const char *script : scripts)
			run(script, kind);
	});
}

/*
 * Released without validation and taken by another thread since: locking waits, and is no
 * recursion.
 */
TEST_F(Validate, ReleasedUnseenAndTaken)
{
	with_each_kind([&](const kind &kind) {
		std::atomic<bool> taken(false), released(false);
		std::unique_ptr<lock> lock = kind.make();

		lock->take();
		lock->release_without();
		std::thread other([&] {
			lock->take();
			taken = true;
			unit::sleep_ms(20);
			released = true;
			lock->release();
		});
		while (!taken)
			sched_yield();
		lock->take();
		EXPECT_TRUE(released);
		lock->release();
		other.join();
		EXPECT_EQ(reports.total(), 0u);
	});
}

/*
 * More locks are held at once than validation tracks: the excess locks work, and are never
 * reported.
 */
TEST_F(Validate, MoreThanAreWatched)
{
	const int many = HF_VALIDATE_HELD + 8;

	with_each_kind([&](const kind &kind) {
		std::unique_ptr<lock> locks[many];

		for (auto &lock : locks)
			lock = kind.make();
		for (int order = 0; order < 2; order++) {
			for (int i = 0; i < many; i++) {
				if (i % 2)
					locks[i]->take();
				else
					EXPECT_TRUE(locks[i]->try_take());
				EXPECT_EQ(locks[i]->is_held(), i < HF_VALIDATE_HELD);
			}
			for (auto &lock : locks)
				EXPECT_FALSE(lock->try_take());
			for (int i = 0; i < many; i++) {
				lock &lock = *locks[order ? i : many - 1 - i];

				EXPECT_TRUE(lock.is_locked());
				lock.release();
				EXPECT_FALSE(lock.is_locked());
			}
		}
		for (auto &lock : locks)
			EXPECT_TRUE(lock->is_free());
		EXPECT_EQ(reports.total(), 0u);

		/* Once they are released, misuse is detected again. */
		locks[0]->take();
		locks[0]->take();
		EXPECT_TRUE(reports.one(HF_REPORT_LOCK_RECURSION, locks[0]->at()));
		locks[0]->release();
		locks[0]->release();
		locks[0]->release();
		EXPECT_TRUE(reports.one(HF_REPORT_LOCK_UNLOCKED, locks[0]->at()));
	});
}

/*
 * A signal handler takes lock B while its thread takes A; while the thread takes B itself, the
 * handler does not. The stale entries for B in the thread's list must not be taken for a held lock.
 */
lock *interrupted_b;
std::atomic<bool> own_b;
std::atomic<uint64_t> fired;

void take_b(int)
{
	if (!own_b) {
		interrupted_b->take();
		interrupted_b->release();
	}
	fired++;
}

TEST_F(Validate, SignalHandlers)
{
	unit::handler handler(SIGUSR2, take_b);

	with_each_kind([&](const kind &kind) {
		std::unique_ptr<lock> a = kind.make(), b = kind.make();

		interrupted_b = b.get();
		fired = 0;
		std::thread([&] {
			unit::interrupter interrupter(SIGUSR2);
			uint64_t end = unit::now_ns() + 200 * unit::MS;

			do {
				interrupter.arm(fired);
				for (int i = 0; i < 20; i++) {
					own_b.store(true, std::memory_order_relaxed);
					b->take();
					b->release();
					own_b.store(false, std::memory_order_relaxed);
					a->take();
					a->release();
				}
			} while (unit::now_ns() < end || fired == 0);
		}).join();
		EXPECT_EQ(reports.total(), 0u);
		EXPECT_FALSE(a->is_locked());
		EXPECT_FALSE(b->is_locked());
	});
}

/* ---- The process-shared mutex, and operations of a lockref that lock -------------------- */

TEST_F(Validate, SharedMutex)
{
	hf_mutex_shared_t shared = HF_MUTEX_SHARED_INIT;

	hf_mutex_shared_lock(&shared);
	hf_mutex_shared_unlock(&shared);
	EXPECT_EQ(reports.total(), 0u);
	hf_mutex_shared_unlock(&shared);
	EXPECT_TRUE(reports.one(HF_REPORT_LOCK_UNLOCKED, &shared));
}

/* A get by the lock's holder would deadlock: it is reported, and takes effect. */
TEST_F(Validate, LockrefGetUnderItsLock)
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
