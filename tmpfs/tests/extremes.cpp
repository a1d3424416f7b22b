// SPDX-License-Identifier: MIT
/*
 * extremes - calls with extreme offsets, lengths and counts that the kernel does not define alike;
 * also run with UBSan. The others are compared with the kernel's tmpfs: compare --extremes.
 */
#include "fixture.h"

#include <climits>

namespace
{

const int64_t MIN = INT64_MIN, MAX = INT64_MAX;
const auto offsets = side::extreme_offsets();
/* Converted to size_t, the last four are larger than any other. */
const size_t sizes[] = { 0,
			 1,
			 100,
			 4096,
			 2147479552,
			 2147479553,
			 size_t(MAX) - 1,
			 size_t(MAX),
			 size_t(MIN),
			 SIZE_MAX - 4096,
			 SIZE_MAX - 1,
			 SIZE_MAX };

class TmpfsExtremes : public TmpfsTest {
protected:
	void SetUp() override
	{
		TmpfsTest::SetUp();
		file("/f", std::string(10000, 'x'));
		fd_ = open("/f", O_RDWR);
	}

	int fd_ = -1;
};

TEST_F(TmpfsExtremes, TooLargeForAnyBuffer)
{
	bad_page page;

	for (int64_t at : offsets) {
		for (size_t size : sizes) {
			if (size <= 4096)
				continue;
			ssize_t got = hf_tmpfs_pread(t, fd_, page.bad(), size, at);
			EXPECT_TRUE(got == -EINVAL || (size <= size_t(MAX) && got <= 0)) << size;
			got = hf_tmpfs_pwrite(t, fd_, page.bad(), size, at);
			EXPECT_TRUE(got == -EINVAL || (size <= size_t(MAX) && got < 0)) << size;
		}
	}
}

TEST_F(TmpfsExtremes, Directories)
{
	struct hf_tmpfs_dirent entries[4];
	int dir = open("/");

	for (int64_t at : offsets) {
		EXPECT_EQ(hf_tmpfs_lseek(t, dir, at, SEEK_SET), at < 0 ? -EINVAL : at);
		EXPECT_EQ(hf_tmpfs_readdir(t, dir, entries, 0), 0);
		EXPECT_EQ(hf_tmpfs_readdir(t, dir, entries, INT_MIN), 0);
		int count = hf_tmpfs_readdir(t, dir, entries, 4);
		/* Positions are private to a file system, but the last must have no more names. */
		EXPECT_GE(count, 0);
		EXPECT_TRUE(at < 5 || count == 0) << at;
		EXPECT_GE(hf_tmpfs_lseek(t, dir, MAX, SEEK_SET), 0);
		EXPECT_EQ(hf_tmpfs_lseek(t, dir, at, SEEK_CUR),
			  at > 0 || at == MIN ? -EINVAL : MAX + at);
		EXPECT_GE(hf_tmpfs_readdir(t, dir, entries, 4), 0);
	}
}

TEST_F(TmpfsExtremes, Counts)
{
	const int numbers[] = { INT_MIN, INT_MIN + 1, -1, 1023, 1024, INT_MAX - 1, INT_MAX };
	static char value[HF_TMPFS_XATTR_SIZE_MAX];
	char buffer[64];
	struct hf_tmpfs_table *other = nullptr;
	bad_page page;
	struct stat st;

	for (int number : numbers) {
		EXPECT_EQ(hf_tmpfs_close(t, number), -EBADF);
		EXPECT_EQ(hf_tmpfs_dup(t, number), -EBADF);
		EXPECT_EQ(hf_tmpfs_fstat(t, number, &st), -EBADF);
	}
	run("symlink target /s");
	struct hf_tmpfs_node *link = node("/s"), *f = node("/f");
	for (size_t size : sizes) {
		EXPECT_EQ(hf_tmpfs_readlink(link, buffer, size), size == 0   ? -EINVAL
								 : size == 1 ? 1
									     : 6);
		const char *from = size > sizeof(value) ? page.bad() : value;
		EXPECT_EQ(hf_tmpfs_setxattr(f, "user.x", from, size, 0),
			  size > HF_TMPFS_XATTR_SIZE_MAX ? -E2BIG : 0);
		ssize_t got = hf_tmpfs_getxattr(f, "user.x", page.before(4096), size);
		EXPECT_TRUE(got >= 0 || got == -ERANGE) << size;
		EXPECT_EQ(hf_tmpfs_listxattr(f, buffer, size), size == 1 ? -ERANGE : 7);
	}
	for (unsigned int limit : { 65537u, UINT_MAX - 63, UINT_MAX })
		EXPECT_EQ(hf_tmpfs_table_new(&other, fs, limit), -EINVAL);
	for (uint64_t size : { UINT64_MAX, UINT64_MAX - 1, uint64_t(1) << 63, uint64_t(1) }) {
		struct hf_tmpfs_options options = {};

		options.size = options.inodes = size;
		make(options);
		run(size == 1 ? "mkdir /d = ENOSPC; free" : "mkdir /d; free");
	}
}

} // namespace
