// SPDX-License-Identifier: MIT
/*
 * waits - while a call allocates or frees a large file, or makes a name, other calls go on, and
 * space becomes free no sooner than memory.
 *
 * The file system's allocation functions stop the call half way, for as long as a test needs.
 */
#include "fixture.h"

#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace
{

/* Stops the thread that called begin() at its n-th allocation, or release of memory. */
class gate {
public:
	void begin(int allocations, int releases)
	{
		left[0] = allocations;
		left[1] = releases;
	}

	void wait_until_stopped()
	{
		std::unique_lock<std::mutex> hold(lock);

		changed.wait(hold, [this] { return stopped; });
	}

	void open()
	{
		std::lock_guard<std::mutex> hold(lock);

		is_open = true;
		changed.notify_all();
	}

	struct hf_tmpfs_options options()
	{
		struct hf_tmpfs_options options = {};

		options.allocate = [](void *data, size_t size) {
			static_cast<gate *>(data)->pass(0);
			return own_memory::allocate(&static_cast<gate *>(data)->memory, size);
		};
		options.release = [](void *data, void *at) {
			static_cast<gate *>(data)->pass(1);
			own_memory::release(&static_cast<gate *>(data)->memory, at);
		};
		options.data = this;
		return options;
	}

	own_memory memory;

private:
	void pass(int which)
	{
		if (!left[which] || --left[which])
			return;
		std::unique_lock<std::mutex> hold(lock);

		stopped = true;
		changed.notify_all();
		changed.wait(hold, [this] { return is_open; });
	}

	static thread_local int left[2];
	std::mutex lock;
	std::condition_variable changed;
	bool stopped = false, is_open = false;
};

thread_local int gate::left[2];

class TmpfsWaits : public testing::Test {
protected:
	static const int64_t MIB = 1 << 20, BIG = 16 * MIB;

	void SetUp() override
	{
		struct hf_tmpfs_options options = stop.options();

		options.size = 4 * BIG;
		ASSERT_EQ(on.make(options), 0);
		for (const char *step :
		     { "open 0 /big rw,creat", "link /big /other", "link /big /third", "mkdir /d" })
			ASSERT_NE(on.step(step)[0], 'E') << step;
		big = on.fd("0");
		ASSERT_EQ(hf_tmpfs_fallocate(on.t, big, 0, 0, BIG), 0);
	}

	void TearDown() override
	{
		EXPECT_EQ(hf_tmpfs_check(on.fs, nullptr, nullptr), 0);
		EXPECT_EQ(on.end(), 0);
	}

	/* Memory whose space is free, but which is not, is bounded by what may wait. */
	bool space_is_memory()
	{
		struct statvfs st;

		(void)hf_tmpfs_statfs(on.fs, &st);
		return stop.memory.bytes <=
		       static_cast<int64_t>(st.f_blocks - st.f_bfree) * 4300 + 6 * MIB;
	}

	/* Calls that must not wait for one on the big file. */
	void others_go_on()
	{
		std::future<void> others = std::async(std::launch::async, [this] {
			char byte;

			if (on.step("stat /big mode")[0] != 'E') {
				EXPECT_EQ(on.step("chmod /big 600"), "0");
				EXPECT_EQ(on.step("unlink /third"), "0");
				EXPECT_GE(hf_tmpfs_pread(on.t, big, &byte, 1, 0), 0);
			}
			EXPECT_EQ(on.step("list /d"), ". ..");
			for (int i = 0; i < 100; i++) {
				int fd = hf_tmpfs_open(on.t, nullptr, "/x", O_CREAT | O_WRONLY,
						       0600, nullptr);

				EXPECT_EQ(hf_tmpfs_pwrite(on.t, fd, "x", 1, 0), 1);
				EXPECT_EQ(hf_tmpfs_close(on.t, fd), 0);
				EXPECT_EQ(hf_tmpfs_unlink(on.root, "/x"), 0);
			}
		});

		EXPECT_EQ(others.wait_for(std::chrono::seconds(30)), std::future_status::ready);
		stop.open();
	}

	/* While the call is stopped at its n-th allocation, or release of memory; 0: at none. */
	void others_do_not_wait_for(int allocated, int freed, const std::function<int()> &call)
	{
		std::thread caller([&] {
			stop.begin(allocated, freed);
			EXPECT_EQ(call(), 0);
		});

		stop.wait_until_stopped();
		EXPECT_TRUE(!freed || space_is_memory());
		others_go_on();
		caller.join();
	}

	side on;
	int big = -1;
	gate stop;
};

TEST_F(TmpfsWaits, NoneForAnAllocation)
{
	others_do_not_wait_for(1000, 0,
			       [this] { return hf_tmpfs_fallocate(on.t, big, 0, BIG, BIG); });
}

/* Which allocates under its directory's mutex. */
TEST_F(TmpfsWaits, NoneForANewName)
{
	others_do_not_wait_for(1, 0,
			       [this] { return hf_tmpfs_mkdir(on.root, "/d/new", 0755, nullptr); });
}

TEST_F(TmpfsWaits, NoneForATruncation)
{
	others_do_not_wait_for(0, 2000, [this] { return hf_tmpfs_ftruncate(on.t, big, 0); });
}

TEST_F(TmpfsWaits, NoneForAHole)
{
	const int hole = HF_TMPFS_FALLOC_PUNCH_HOLE | HF_TMPFS_FALLOC_KEEP_SIZE;

	others_do_not_wait_for(0, 2000,
			       [&] { return hf_tmpfs_fallocate(on.t, big, hole, 1, BIG); });
}

TEST_F(TmpfsWaits, NoneForTheLastClose)
{
	for (const char *path : { "/big", "/other", "/third" })
		EXPECT_EQ(hf_tmpfs_unlink(on.root, path), 0);
	others_do_not_wait_for(0, 2000, [this] { return hf_tmpfs_close(on.t, big); });
}

/* While one call frees memory, another that removes much more waits. */
TEST_F(TmpfsWaits, RemovalForMemory)
{
	int small = hf_tmpfs_open(on.t, nullptr, "/small", O_CREAT | O_RDWR, 0600, nullptr);

	ASSERT_EQ(hf_tmpfs_fallocate(on.t, small, 0, 0, 2 * MIB), 0);
	std::thread caller([this, small] {
		stop.begin(0, 100);
		EXPECT_EQ(hf_tmpfs_ftruncate(on.t, small, 0), 0);
	});
	stop.wait_until_stopped();
	std::thread other([this] { EXPECT_EQ(hf_tmpfs_ftruncate(on.t, big, 0), 0); });

	/* Right code passes at any speed; wrong code gets 300 ms to free too much. */
	for (int i = 0; i < 300 && !HasFailure(); i++, usleep(1000))
		EXPECT_TRUE(space_is_memory());
	stop.open();
	caller.join();
	other.join();
}

} // namespace
