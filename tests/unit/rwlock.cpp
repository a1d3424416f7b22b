/* SPDX-License-Identifier: MIT */
/* rwlock - each operation alone and with other threads; the readers' lines; fork. */
#include "unit.h"

#include <mutex>
#include <shared_mutex>

#include "holdfast/rwlock.h"

#include "../../src/rwlock/lines.h"
#include "waiters.h"

namespace
{

using unit::MS;

/* Parts of the word that src/rwlock/rwlock.c draws. */
constexpr uint32_t ONE = 1 << 2, COUNT = 0x3fffc, OVERDUE = 0x3fc0000;

class Rwlock : public testing::Test {
protected:
	/* After the last unlock nobody is inside, and no thread waits. */
	~Rwlock() override
	{
		EXPECT_EQ(word() & (HF_DETAIL_RWLOCK_WRITER | COUNT | OVERDUE), 0u);
		EXPECT_TRUE(unit::table_is_empty());
	}
	uint32_t word() const { return hf_atomic32_load_relaxed(&lock_.word); }
	/* A writer has the claim, and waits for a reader. */
	void wait_claimed()
	{
		unit::wait_until([&] { return word() & HF_DETAIL_RWLOCK_WRITER; });
	}
	bool has_bias() const { return word() & HF_DETAIL_RWLOCK_BIAS; }
	void read(int n)
	{
		for (int i = 0; i < n; i++) {
			hf_rwlock_read_lock(&lock_);
			hf_rwlock_read_unlock(&lock_);
		}
	}
	/* Reads until the lock has BIAS; without membarrier() it never has. */
	bool get_bias()
	{
		if (!hf_env_barrier_now())
			return false;
		unit::wait_until([&] {
			read(10000);
			return has_bias();
		});
		return true;
	}
	hf_rwlock_t lock_ = HF_RWLOCK_INIT;
};

/* Runs f in another thread, and returns its result. */
template <class F>
bool elsewhere(F f)
{
	bool result = false;

	std::thread([&] { result = f(); }).join();
	return result;
}

TEST_F(Rwlock, Alone)
{
	static_assert(sizeof(lock_) == 4, "four bytes");
	for (int i = 0; i < 3; i++) {
		hf_rwlock_read_lock(&lock_);
		EXPECT_TRUE(hf_rwlock_read_trylock(&lock_));
		EXPECT_FALSE(hf_rwlock_write_trylock(&lock_));
		EXPECT_FALSE(hf_rwlock_write_lock_timeout(&lock_, 0));
		EXPECT_TRUE(hf_rwlock_read_lock_timeout(&lock_, 0));
		for (int k = 0; k < 3; k++)
			hf_rwlock_read_unlock(&lock_);
		hf_rwlock_write_lock(&lock_);
		EXPECT_TRUE(hf_rwlock_is_write_locked(&lock_));
		EXPECT_FALSE(hf_rwlock_write_trylock(&lock_));
		EXPECT_FALSE(hf_rwlock_read_trylock(&lock_));
		EXPECT_FALSE(hf_rwlock_read_lock_timeout(&lock_, 0));
		hf_rwlock_write_unlock(&lock_);
		EXPECT_FALSE(hf_rwlock_is_write_locked(&lock_));
		EXPECT_TRUE(hf_rwlock_write_lock_timeout(&lock_, HF_ENV_FOREVER));
		hf_rwlock_write_unlock(&lock_);
	}
}

TEST_F(Rwlock, ReadersShareAndWritersDoNot)
{
	for (bool with_bias : { false, true }) {
		if (with_bias && !get_bias())
			break;
		hf_rwlock_read_lock(&lock_);
		EXPECT_TRUE(elsewhere([&] {
			bool read = hf_rwlock_read_trylock(&lock_);

			if (read)
				hf_rwlock_read_unlock(&lock_);
			return read && !hf_rwlock_write_trylock(&lock_) &&
			       !hf_rwlock_write_lock_timeout(&lock_, 5 * MS);
		}));
		hf_rwlock_read_unlock(&lock_);
		hf_rwlock_write_lock(&lock_);
		EXPECT_TRUE(elsewhere([&] {
			return !hf_rwlock_read_trylock(&lock_) &&
			       !hf_rwlock_write_trylock(&lock_) &&
			       !hf_rwlock_read_lock_timeout(&lock_, 5 * MS) &&
			       !hf_rwlock_write_lock_timeout(&lock_, 5 * MS);
		}));
		hf_rwlock_write_unlock(&lock_);
	}
}

TEST_F(Rwlock, WaitersGetIt)
{
	std::atomic<int> inside(0);

	hf_rwlock_write_lock(&lock_);
	unit::thread_group threads;
	for (int i = 0; i < 6; i++) {
		threads.add([&, i] {
			if (i % 2) {
				hf_rwlock_write_lock(&lock_);
				EXPECT_EQ(inside++, 0);
				inside--;
				hf_rwlock_write_unlock(&lock_);
			} else {
				hf_rwlock_read_lock(&lock_);
				hf_rwlock_read_unlock(&lock_);
			}
		});
	}
	unit::wait_until([&] {
		return unit::waiters(&lock_.word, true) == 3 &&
		       unit::waiters((char *)&lock_.word + 1, true) == 3;
	});
	hf_rwlock_write_unlock(&lock_);
	threads.join();
}

/* A waiting writer keeps new readers out, but not one that reads the lock already. */
TEST_F(Rwlock, ReadsAgainWhileAWriterWaits)
{
	unit::thread_group threads;

	hf_rwlock_read_lock(&lock_);
	threads.add([&] {
		hf_rwlock_write_lock(&lock_);
		hf_rwlock_write_unlock(&lock_);
	});
	for (int i = 0; i < 20; i++) {
		wait_claimed();
		hf_rwlock_read_lock(&lock_);
		hf_rwlock_read_unlock(&lock_);
	}
	EXPECT_TRUE(elsewhere([&] { return !hf_rwlock_read_trylock(&lock_); }));
	hf_rwlock_read_unlock(&lock_);
	threads.join();
}

/* So it enters if its line is full, too: then it is counted. The bit stands for the writer. */
TEST_F(Rwlock, ReadsAgainWithoutASlot)
{
	hf_rwlock_t others[HF_DETAIL_RWLOCK_SLOTS - 1] = {};

	hf_rwlock_read_lock(&lock_);
	for (hf_rwlock_t &other : others)
		hf_rwlock_read_lock(&other);
	hf_atomic32_store_relaxed(&lock_.word, HF_DETAIL_RWLOCK_WRITER);
	EXPECT_TRUE(hf_rwlock_read_trylock(&lock_));
	EXPECT_EQ(word(), HF_DETAIL_RWLOCK_WRITER + ONE);
	hf_rwlock_read_unlock(&lock_);
	EXPECT_EQ(word(), HF_DETAIL_RWLOCK_WRITER + ONE);
	hf_rwlock_read_unlock(&lock_);
	EXPECT_EQ(word(), HF_DETAIL_RWLOCK_WRITER);
	hf_atomic32_store_relaxed(&lock_.word, 0);
	for (hf_rwlock_t &other : others)
		hf_rwlock_read_unlock(&other);
}

TEST_F(Rwlock, Downgrades)
{
	for (int locks : { 0, HF_DETAIL_RWLOCK_SLOTS }) { /* with a slot, and counted */
		hf_rwlock_t others[HF_DETAIL_RWLOCK_SLOTS] = {};

		for (int i = 0; i < locks; i++)
			hf_rwlock_read_lock(&others[i]);
		hf_rwlock_write_lock(&lock_);
		hf_rwlock_downgrade(&lock_);
		EXPECT_TRUE(elsewhere([&] {
			bool read = hf_rwlock_read_trylock(&lock_);

			if (read)
				hf_rwlock_read_unlock(&lock_);
			return read && !hf_rwlock_write_trylock(&lock_);
		}));
		hf_rwlock_read_unlock(&lock_);
		EXPECT_TRUE(hf_rwlock_write_trylock(&lock_));
		hf_rwlock_write_unlock(&lock_);
		for (int i = 0; i < locks; i++)
			hf_rwlock_read_unlock(&others[i]);
	}
}

/* More locks than a line has slots, unlocked in another order. */
TEST_F(Rwlock, ReadsManyLocks)
{
	hf_rwlock_t locks[3 * HF_DETAIL_RWLOCK_SLOTS] = {};
	int counted = 0;

	for (hf_rwlock_t &lock : locks) {
		hf_rwlock_read_lock(&lock);
		counted += hf_atomic32_load_relaxed(&lock.word) == ONE;
	}
	EXPECT_EQ(counted, 2 * HF_DETAIL_RWLOCK_SLOTS);
	for (hf_rwlock_t &lock : locks) {
		unit::thread_group writer;
		std::atomic<bool> wrote(false);

		writer.add([&] {
			hf_rwlock_write_lock(&lock);
			wrote = true;
			hf_rwlock_write_unlock(&lock);
		});
		unit::wait_until([&] {
			return hf_atomic32_load_relaxed(&lock.word) & HF_DETAIL_RWLOCK_WRITER;
		});
		EXPECT_FALSE(wrote);
		hf_rwlock_read_unlock(&lock);
		writer.join();
	}
}

TEST_F(Rwlock, BiasComesAndGoes)
{
	if (!get_bias())
		GTEST_SKIP() << "no membarrier()";
	for (int i = 0; i < 3; i++) {
		hf_rwlock_write_lock(&lock_);
		EXPECT_FALSE(has_bias());
		hf_rwlock_write_unlock(&lock_);
		read(100);
		EXPECT_FALSE(has_bias());
		get_bias();
	}
}

TEST_F(Rwlock, UnlockByAnotherThreadIsReported)
{
	unit::reports reports;

	hf_rwlock_read_lock(&lock_);
	EXPECT_TRUE(elsewhere([&] {
		hf_rwlock_read_unlock(&lock_);
		return reports.one(HF_REPORT_LOCK_WRONG_OWNER, &lock_);
	}));
	EXPECT_FALSE(hf_rwlock_write_trylock(&lock_));
	hf_rwlock_read_unlock(&lock_);
	hf_rwlock_read_unlock(&lock_);
	EXPECT_TRUE(reports.one(HF_REPORT_LOCK_WRONG_OWNER, &lock_));
}

/* Threads come and go, beside others that stay: the lines of those that have ended are taken. */
TEST_F(Rwlock, LinesAreUsedAgain)
{
	uint32_t before = hf_detail_rwlock_lines_used(hf_detail_rwlock_lines());
	std::atomic<int> have_lines(0);
	std::atomic<bool> stop(false);
	unit::thread_group threads;

	for (int i = 0; i < 8; i++) {
		threads.add([&] {
			read(1);
			have_lines++;
			unit::wait_until([&] { return stop.load(); });
		});
	}
	unit::wait_until([&] { return have_lines == 8; });
	for (int i = 0; i < 64; i++)
		EXPECT_TRUE(elsewhere([&] {
			read(1);
			return true;
		}));
	EXPECT_LE(hf_detail_rwlock_lines_used(hf_detail_rwlock_lines()), before + 32);
	stop = true;
	threads.join();
}

/* If all lines are in use a new thread is counted, and does not search for one at each read. */
TEST_F(Rwlock, ThreadsWithoutALine)
{
	constexpr uint64_t OTHER_PROCESS = (uint64_t)1 << 32;
	struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint32_t used = hf_detail_rwlock_lines_used(lines);
	std::vector<uint64_t> owners;

	for (struct hf_detail_rwlock_line &line : lines->line) {
		owners.push_back(hf_atomic64_load_relaxed(&line.owner));
		hf_atomic64_store_relaxed(&line.owner, OTHER_PROCESS);
	}
	hf_atomic32_store_relaxed(&lines->used, HF_RWLOCK_LINES);
	EXPECT_TRUE(elsewhere([&] {
		hf_rwlock_read_lock(&lock_);
		for (size_t i = 0; i < owners.size(); i++)
			hf_atomic64_store_relaxed(&lines->line[i].owner, owners[i]);
		hf_atomic32_store_relaxed(&lines->used, used);
		hf_atomic32_store_relaxed(&lines->sweep_from, 0);
		bool is_counted = word() == ONE;
		hf_rwlock_read_unlock(&lock_);
		hf_rwlock_read_lock(&lock_);
		is_counted = is_counted && word() == ONE;
		hf_rwlock_read_unlock(&lock_);
		return is_counted;
	}));
}

/* Another copy of the library finds the slot by the thread's number. */
TEST_F(Rwlock, UnlockFindsTheLineOfAnotherCopy)
{
	struct hf_detail_rwlock_line *mine;

	hf_rwlock_read_lock(&lock_);
	mine = hf_detail_rwlock_line;
	hf_detail_rwlock_line = nullptr;
	hf_rwlock_read_unlock(&lock_);
	EXPECT_TRUE(hf_rwlock_write_trylock(&lock_));
	hf_rwlock_write_unlock(&lock_);
	read(1);
	EXPECT_EQ(hf_detail_rwlock_line, mine) << "a thread has one line";
}

/* Another copy enters again though a writer waits, which the bit stands for. */
TEST_F(Rwlock, ReadsAgainByAnotherCopy)
{
	hf_rwlock_read_lock(&lock_);
	hf_detail_rwlock_line = nullptr;
	hf_atomic32_store_relaxed(&lock_.word, HF_DETAIL_RWLOCK_WRITER);
	EXPECT_TRUE(hf_rwlock_read_trylock(&lock_));
	hf_atomic32_store_relaxed(&lock_.word, 0);
	hf_rwlock_read_unlock(&lock_);
	hf_rwlock_read_unlock(&lock_);
}

/* In the child other readers are gone; what the forking thread reads is locked, and its own. */
TEST_F(Rwlock, Fork)
{
	hf_rwlock_t others = HF_RWLOCK_INIT, mine = HF_RWLOCK_INIT;
	std::atomic<bool> reads(false), stop(false);
	unit::thread_group threads;
	int status = 0;

	threads.add([&] {
		hf_rwlock_read_lock(&others);
		reads = true;
		unit::wait_until([&] { return stop.load(); });
		hf_rwlock_read_unlock(&others);
	});
	unit::wait_until([&] { return reads.load(); });
	hf_rwlock_read_lock(&mine);
	pid_t child = fork();
	if (child == 0) {
		bool ok = hf_rwlock_write_trylock(&others);

		hf_rwlock_write_unlock(&others);
		ok = ok && !hf_rwlock_write_trylock(&mine);
		/* qemu-user's child of a fork may start no thread. */
		ok = ok && (unit::tsan || unit::emulated || elsewhere([&] {
				    return !hf_rwlock_write_lock_timeout(&mine, MS) &&
					   hf_rwlock_read_trylock(&others);
			    }));
		hf_rwlock_read_unlock(&mine);
		_exit(ok && hf_rwlock_write_trylock(&mine) ? 0 : 1);
	}
	EXPECT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	stop = true;
	threads.join();
	EXPECT_TRUE(hf_rwlock_write_trylock(&others));
	hf_rwlock_write_unlock(&others);
	hf_rwlock_read_unlock(&mine);
}

/* A reader that has waited for a turn enters before the writers that wait. */
TEST_F(Rwlock, OverdueReadersEnterBeforeWriters)
{
	std::atomic<int> order(0);
	unit::thread_group threads;

	hf_rwlock_write_lock(&lock_);
	threads.add([&] {
		hf_rwlock_write_lock(&lock_);
		EXPECT_EQ(order++, 1);
		hf_rwlock_write_unlock(&lock_);
	});
	threads.add([&] {
		hf_rwlock_read_lock(&lock_);
		EXPECT_EQ(order++, 0);
		hf_rwlock_read_unlock(&lock_);
	});
	unit::wait_until([&] { return (word() & OVERDUE) && unit::waiters(&lock_.word, true); });
	hf_rwlock_write_unlock(&lock_);
	threads.join();
}

/* In the child such readers do not exist, and keep no writer out. */
TEST_F(Rwlock, ForkBesideAnOverdueReader)
{
	unit::thread_group threads;
	int status = 0;

	hf_rwlock_write_lock(&lock_);
	threads.add([&] { read(1); });
	unit::wait_until([&] { return word() & OVERDUE; });
	pid_t child = fork();
	if (child == 0) {
		hf_rwlock_write_unlock(&lock_);
		_exit(hf_rwlock_write_trylock(&lock_) ? 0 : 1);
	}
	EXPECT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	hf_rwlock_write_unlock(&lock_);
	threads.join();
}

/* For hf-run: a writer of glibc's default kind keeps no reader out while it waits. */
TEST_F(Rwlock, TheLastWriterWaitsForReaders)
{
	unit::thread_group threads;

	hf_rwlock_read_lock(&lock_);
	threads.add([&] {
		EXPECT_TRUE(hf_detail_rwlock_write_lock_last(&lock_.word, HF_ENV_FOREVER));
		hf_detail_rwlock_write_unlock(&lock_.word);
	});
	unit::wait_until([&] { return unit::waiters((char *)&lock_.word + 2, true) == 1; });
	for (int i = 0; i < 20; i++) {
		EXPECT_TRUE(elsewhere([&] {
			read(1);
			return true;
		}));
	}
	EXPECT_FALSE(hf_detail_rwlock_write_lock_last(&lock_.word, hf_env_deadline(MS)));
	hf_rwlock_read_unlock(&lock_);
	threads.join();
}

TEST(SharedMutex, Guards)
{
	static hf::shared_mutex lock;
	hf_rwlock_t *raw = lock.native_handle();

	{
		std::shared_lock<hf::shared_mutex> one(lock),
			two(lock, std::chrono::milliseconds(1));
		hf::shared_guard<hf::shared_mutex> three(lock);

		EXPECT_TRUE(two.owns_lock());
		EXPECT_FALSE(lock.try_lock_for(std::chrono::microseconds(10)));
		EXPECT_FALSE(lock.try_lock_until(std::chrono::steady_clock::now()));
	}
	{
		std::unique_lock<hf::shared_mutex> hold(lock);

		EXPECT_TRUE(hf_rwlock_is_write_locked(raw));
		EXPECT_FALSE(lock.try_lock_shared());
		EXPECT_FALSE(lock.try_lock_shared_for(std::chrono::microseconds(10)));
		EXPECT_FALSE(lock.try_lock_shared_until(std::chrono::system_clock::now()));
	}
	{
		HF_RWLOCK_WRITE_GUARD(raw);
		EXPECT_FALSE(lock.try_lock());
	}
	{
		HF_RWLOCK_READ_GUARD(raw);
		EXPECT_FALSE(lock.try_lock());
	}
	lock.lock();
	lock.downgrade();
	EXPECT_TRUE(lock.try_lock_shared());
	lock.unlock_shared();
	lock.unlock_shared();
	EXPECT_TRUE(lock.try_lock());
	lock.unlock();
}

} // namespace
