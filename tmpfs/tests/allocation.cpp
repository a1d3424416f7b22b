// SPDX-License-Identifier: MIT
/*
 * allocation - each allocation fails once: the call returns ENOMEM, changes nothing and leaks
 * nothing.
 *
 * A scenario that makes every call is repeated; in the n-th run the n-th allocation fails. The call
 * that needed it must return ENOMEM and leave every count right, and must work when it is repeated:
 * each run ends with the same tree.
 */
#include "fixture.h"

#include <functional>

namespace
{

class TmpfsAllocation : public testing::Test {
protected:
	void failed()
	{
		failures_++;
		if (on_.fs) {
			EXPECT_EQ(hf_tmpfs_check(on_.fs, nullptr, nullptr), 0);
		}
	}

	/* Makes the call, and repeats it once if it returns ENOMEM; returns the result. */
	template <class F>
	long must(F call)
	{
		long result = call();

		if (result == -ENOMEM) {
			failed();
			result = call();
		}
		EXPECT_GE(result, 0);
		return result;
	}

	/* The same for steps, with semicolons between them. */
	void do_all(const std::string &script)
	{
		std::istringstream steps(script);

		for (std::string step; std::getline(steps, step, ';');) {
			std::string outcome = on_.step(step);

			if (outcome == "ENOMEM") {
				failed();
				outcome = on_.step(step);
			}
			EXPECT_FALSE(isupper(outcome[0])) << step << " = " << outcome;
		}
	}

	/* Continues after short writes. */
	void write(const char *slot, const std::string &data, off_t at)
	{
		for (size_t done = 0; done < data.size();) {
			done += static_cast<size_t>(must([&] {
				return on_.pwrite(on_.fd(slot), data.data() + done,
						  data.size() - done,
						  at + static_cast<off_t>(done));
			}));
		}
	}

	/* Calls by node, in a directory of their own. */
	void by_node()
	{
		struct hf_tmpfs_node *dir, *file;

		must([&] { return hf_tmpfs_mkdir(on_.root, "n", 0755, &dir); });
		must([&] {
			return hf_tmpfs_open(on_.t, dir, "file", O_CREAT | O_RDWR, 0644, &file);
		});
		must([&] { return hf_tmpfs_truncate(file, 10000); });
		must([&] { return hf_tmpfs_open(on_.t, file, nullptr, O_RDWR, 0, nullptr); });
		/* The nodes stay to the end. */
	}

	/* Runs all calls; returns a listing of the final tree. */
	std::string scenario(const struct hf_tmpfs_options &options)
	{
		std::string found;

		on_ = side();
		must([&] { return on_.make(options, 100); });
		do_all("mkdir /a; mkdir /b; symlink /a /s; open 0 /a/f rw,creat");
		write("0", std::string(10000, 'x'), 0);
		write("0", "far", int64_t(1) << 40);
		do_all("fallocate 0 allocate 100000 50000; fallocate 0 punch 5000 100000");
		do_all("link /a/f /b/g; rename /b/g /b/h; rename /b /a/b; rename /a/b /s exchange");
		do_all("truncate /s/h 5000; mknod /a/fifo fifo");
		by_node();
		for (int i = 10; i < 50; i++) /* more files than one slab has */
			do_all("open " + std::to_string(i) + " /a");
		do_all("unlink /a/b");
		for (const char *path : { "/", "/a", "/s", "/n" }) {
			do_all(std::string("open 2 ") + path);
			found += on_.step("list 2") + " | ";
		}
		EXPECT_EQ(hf_tmpfs_check(on_.fs, nullptr, nullptr), 0);
		EXPECT_EQ(on_.end(), 0);
		return found;
	}

	side on_;
	uint64_t failures_ = 0;
};

TEST_F(TmpfsAllocation, EachOneFailsOnce)
{
	own_memory memory;
	std::string right = scenario(memory.options());
	uint64_t all = memory.made;

	EXPECT_EQ(memory.bytes, 0);
	EXPECT_EQ(failures_, 0u);
	ASSERT_GT(all, 40u);
	for (uint64_t n = 1; n <= all; n++) {
		own_memory one;

		one.failing = n;
		failures_ = 0;
		EXPECT_EQ(scenario(one.options()), right) << "allocation " << n;
		EXPECT_EQ(one.bytes, 0) << "allocation " << n;
		/* A short write reports the failure by its count. */
		EXPECT_LE(failures_, 1u) << "allocation " << n;
		if (HasFailure())
			break;
	}
}

} // namespace
