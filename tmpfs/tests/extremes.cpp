// SPDX-License-Identifier: MIT
/*
 * extremes - every offset and length at its extremes, under the sanitizer of undefined behaviour too.
 *
 * What the calls give is what the kernel's tmpfs gives in /dev/shm, call by call, where that is one.
 */
#include "world.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <functional>
#include <memory>

#include <sys/vfs.h>

namespace
{

const int64_t offsets[] = { INT64_MIN,
			    INT64_MIN + 1,
			    -(int64_t(1) << 32),
			    -4097,
			    -4096,
			    -1,
			    0,
			    1,
			    4095,
			    4096,
			    10000,
			    (int64_t(1) << 31) - 1,
			    int64_t(1) << 31,
			    (int64_t(1) << 32) + 1,
			    (int64_t(1) << 52) - 1,
			    int64_t(1) << 52,
			    int64_t(1) << 62,
			    INT64_MAX - (int64_t(1) << 31),
			    INT64_MAX - 0x7ffff000,
			    INT64_MAX - 4096,
			    INT64_MAX - 4095,
			    INT64_MAX - 1,
			    INT64_MAX };
const size_t sizes[] = { 0,
			 1,
			 100,
			 4096,
			 0x7ffff000,
			 0x7ffff001,
			 SIZE_MAX / 2 - 1,
			 SIZE_MAX / 2,
			 SIZE_MAX / 2 + 1,
			 SIZE_MAX - 4096,
			 SIZE_MAX - 1,
			 SIZE_MAX };

/* The same file in the kernel's tmpfs, or none. */
class TmpfsExtremes : public TmpfsWorld {
protected:
	static const long MAGIC = 0x01021994;

	void SetUp() override
	{
		struct hf_tmpfs_options options = {};
		struct statfs st;
		char name[] = "/dev/shm/hf-extremes-XXXXXX";

		options.size = 64 << 20;
		make(options);
		file("/f", std::string(10000, 'x'));
		fd_ = open("/f", O_RDWR);
		kernel_ = ::statfs("/dev/shm", &st) == 0 && st.f_type == MAGIC ? mkstemp(name) : -1;
		if (kernel_ < 0)
			return;
		kernel_dir_ = ::open("/dev/shm", O_RDONLY | O_DIRECTORY);
		unlink(name);
		ASSERT_EQ(pwrite(kernel_, std::string(10000, 'x').data(), 10000, 0), 10000);
	}
	void TearDown() override
	{
		if (kernel_ >= 0)
			::close(kernel_);
		if (kernel_dir_ >= 0)
			::close(kernel_dir_);
		TmpfsWorld::TearDown();
	}

	/* Of a system call. */
	static int64_t result(int64_t value) { return value < 0 ? -errno : value; }

	void same(int64_t ours, std::function<int64_t()> theirs, const std::string &what)
	{
		if (kernel_ < 0)
			return;
		EXPECT_EQ(ours, result(theirs())) << what;
		compared_++;
	}

	int fd_ = -1, kernel_ = -1, kernel_dir_ = -1, compared_ = 0;
};

std::string text(const char *call, int64_t at, uint64_t size = 0)
{
	return std::string(call) + " at " + std::to_string(at) + ", " + std::to_string(size) +
	       " bytes";
}

TEST_F(TmpfsExtremes, ReadAndWrite)
{
	bad_page page;

	std::memset(page.before(4096), 'w', 4096);
	for (int64_t at : offsets) {
		for (size_t size : sizes) {
			/* No more than the page before the bad one is moved. */
			char *buffer = size > 4096 ? page.bad() : page.before(4096);
			struct iovec pieces[3] = { { buffer, size },
						   { buffer, size },
						   { buffer, 1 } };

			/* Linux looks first whether so much memory can be the caller's at all. */
			if (size > 0x7ffff001) {
				EXPECT_LE(hf_tmpfs_pread(t, fd_, buffer, size, at), 0);
				EXPECT_LT(hf_tmpfs_pwrite(t, fd_, buffer, size, at), 0);
				EXPECT_EQ(hf_tmpfs_readv(t, fd_, pieces, 3), -EINVAL);
				EXPECT_EQ(hf_tmpfs_writev(t, fd_, pieces, 3), -EINVAL);
				continue;
			}
			same(
				hf_tmpfs_pread(t, fd_, buffer, size, at),
				[&] { return pread(kernel_, buffer, size, at); },
				text("pread", at, size));
			same(
				hf_tmpfs_pwrite(t, fd_, buffer, size, at),
				[&] { return pwrite(kernel_, buffer, size, at); },
				text("pwrite", at, size));
			int64_t position = hf_tmpfs_lseek(t, fd_, at, SEEK_SET);
			same(
				position, [&] { return lseek(kernel_, at, SEEK_SET); },
				text("lseek", at));
			/* Of many pieces Linux counts no more than one call moves; we all. */
			if (size > 4096) {
				EXPECT_LE(hf_tmpfs_readv(t, fd_, pieces, 3), 0);
				EXPECT_LT(hf_tmpfs_writev(t, fd_, pieces, 3), 0);
				continue;
			}
			for (int count : { 1, 3 }) {
				same(
					hf_tmpfs_readv(t, fd_, pieces, count),
					[&] { return readv(kernel_, pieces, count); },
					text("readv", at, size));
			}
			same(
				hf_tmpfs_writev(t, fd_, pieces, 3),
				[&] { return writev(kernel_, pieces, 3); },
				text("writev", at, size));
			same(
				hf_tmpfs_lseek(t, fd_, 0, SEEK_CUR),
				[&] { return lseek(kernel_, 0, SEEK_CUR); }, text("position", at));
			same(
				stat("/f").st_size,
				[&] {
					struct stat st;

					return fstat(kernel_, &st) ? -1 : int64_t(st.st_size);
				},
				text("size", at, size));
		}
		ASSERT_EQ(hf_tmpfs_ftruncate(t, fd_, 10000), 0);
		if (kernel_ >= 0) {
			ASSERT_EQ(ftruncate(kernel_, 10000), 0);
		}
	}
	EXPECT_TRUE(kernel_ < 0 || compared_ > 500);
}

TEST_F(TmpfsExtremes, Seek)
{
	const int whences[] = { SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE, 5, -1, INT_MAX };
	char byte = 'x';

	for (int64_t end : { int64_t(10000), INT64_MAX }) {
		ASSERT_EQ(hf_tmpfs_ftruncate(t, fd_, end), 0);
		if (kernel_ >= 0) {
			ASSERT_EQ(ftruncate(kernel_, end), 0);
		}
		for (int64_t from : offsets) {
			for (int64_t at : offsets) {
				for (int whence : whences) {
					(void)hf_tmpfs_lseek(t, fd_, from, SEEK_SET);
					(void)lseek(kernel_, from, SEEK_SET);
					same(
						hf_tmpfs_lseek(t, fd_, at, whence),
						[&] { return lseek(kernel_, at, whence); },
						text("lseek", at) + " whence " +
							std::to_string(whence));
				}
			}
		}
	}
	/* At the end of all that a file can be. */
	int append = open("/f", O_WRONLY | O_APPEND);
	EXPECT_EQ(hf_tmpfs_write(t, append, &byte, 1), -EFBIG);
	EXPECT_EQ(hf_tmpfs_pwrite(t, fd_, &byte, 1, INT64_MAX), -EINVAL);
	EXPECT_EQ(hf_tmpfs_pwrite(t, fd_, &byte, 1, INT64_MAX - 1), 1);
	EXPECT_EQ(hf_tmpfs_pread(t, fd_, &byte, 1, INT64_MAX - 1), 1);
	EXPECT_EQ(hf_tmpfs_ftruncate(t, fd_, INT64_MAX - 1), 0);
}

TEST_F(TmpfsExtremes, SizeAndSpace)
{
	const int64_t lengths[] = { INT64_MIN,
				    INT64_MIN + 1,
				    -1,
				    0,
				    1,
				    4096,
				    100000,
				    int64_t(1) << 50,
				    INT64_MAX - 4096,
				    INT64_MAX - 4095,
				    INT64_MAX - 1,
				    INT64_MAX };
	struct hf_tmpfs_node *root = hf_tmpfs_node_root(fs), *node;

	ASSERT_EQ(hf_tmpfs_node_lookup(root, "f", &node), 0);
	for (int64_t at : offsets) {
		same(
			hf_tmpfs_ftruncate(t, fd_, at), [&] { return ftruncate(kernel_, at); },
			text("ftruncate", at));
		EXPECT_EQ(hf_tmpfs_truncate(fs, "/f", at), at < 0 ? -EINVAL : 0);
		EXPECT_EQ(hf_tmpfs_node_truncate(node, at), at < 0 ? -EINVAL : 0);
		/* A length in the middle of nowhere would be memory in the kernel's. */
		for (int64_t length : lengths) {
			for (int mode : { 0, 1, 3 }) {
				same(
					hf_tmpfs_fallocate(t, fd_, mode, at, length),
					[&] { return fallocate(kernel_, mode, at, length); },
					text("fallocate", at, static_cast<uint64_t>(length)) +
						" mode " + std::to_string(mode));
			}
		}
	}
	hf_tmpfs_node_put(node, 1);
	hf_tmpfs_node_put(root, 1);
	prove();
}

TEST_F(TmpfsExtremes, Directories)
{
	struct hf_tmpfs_dirent entries[4];
	int dir = open("/", O_RDONLY | O_DIRECTORY);

	for (int64_t at : offsets) {
		same(
			hf_tmpfs_lseek(t, dir, at, SEEK_SET),
			[&] { return lseek(kernel_dir_, at, SEEK_SET); }, text("lseek", at));
		int count = hf_tmpfs_readdir(t, dir, entries, 4);
		/* What lies behind is ours to say, but for the end of all. */
		EXPECT_GE(count, 0);
		EXPECT_TRUE(at < 5 || count == 0) << at;
		EXPECT_EQ(hf_tmpfs_readdir(t, dir, entries, 0), 0);
		EXPECT_EQ(hf_tmpfs_readdir(t, dir, entries, INT_MIN), 0);
		(void)hf_tmpfs_lseek(t, dir, INT64_MAX, SEEK_SET);
		for (int64_t by : offsets) {
			EXPECT_GE(hf_tmpfs_lseek(t, dir, INT64_MAX, SEEK_SET), 0);
			int64_t position = hf_tmpfs_lseek(t, dir, by, SEEK_CUR);

			EXPECT_EQ(position, by > 0            ? -EINVAL
					    : by == INT64_MIN ? -EINVAL
							      : INT64_MAX + by);
			EXPECT_GE(hf_tmpfs_readdir(t, dir, entries, 4), 0);
		}
	}
}

TEST_F(TmpfsExtremes, Counts)
{
	const int numbers[] = { INT_MIN, INT_MIN + 1, -1, 1023, 1024, INT_MAX - 1, INT_MAX };
	static char value[HF_TMPFS_XATTR_SIZE_MAX];
	char buffer[64];
	struct iovec piece = { buffer, sizeof(buffer) };
	bad_page page;
	struct stat st;

	for (int number : numbers) {
		EXPECT_EQ(hf_tmpfs_close(t, number), -EBADF);
		EXPECT_EQ(hf_tmpfs_dup(t, number), -EBADF);
		EXPECT_EQ(hf_tmpfs_fstat(t, number, &st), -EBADF);
		if (number < 0 || number > 1024) {
			EXPECT_EQ(hf_tmpfs_readv(t, fd_, &piece, number), -EINVAL);
			EXPECT_EQ(hf_tmpfs_writev(t, fd_, &piece, number), -EINVAL);
		}
	}
	ASSERT_EQ(hf_tmpfs_symlink(fs, "target", "/s"), 0);
	for (size_t size : sizes) {
		ssize_t got = hf_tmpfs_readlink(fs, "/s", buffer, size);

		EXPECT_EQ(got, size == 0 ? -EINVAL : size == 1 ? 1 : 6);
		EXPECT_EQ(hf_tmpfs_setxattr(fs, "/f", true, "user.x", value, size, 0),
			  size > HF_TMPFS_XATTR_SIZE_MAX ? -E2BIG
			  : size > sizeof(buffer) ? hf_tmpfs_setxattr(fs, "/f", true, "user.x",
								      page.before(4096), size, 0)
						  : 0);
		got = hf_tmpfs_getxattr(fs, "/f", true, "user.x", page.before(4096), size);
		EXPECT_TRUE(got >= 0 || got == -ERANGE) << size;
		got = hf_tmpfs_listxattr(fs, "/f", true, buffer, size);
		EXPECT_EQ(got, size == 1 ? -ERANGE : 7);
	}
	for (unsigned int limit : { 65537u, UINT_MAX - 63, UINT_MAX }) {
		struct hf_tmpfs_table *other = nullptr;

		EXPECT_EQ(hf_tmpfs_table_new(&other, fs, limit), -EINVAL);
	}
	auto sink = [](void *, struct hf_tmpfs_buffer *piece_of) {
		hf_tmpfs_buffer_free(piece_of);
		return 0;
	};
	for (int64_t at : offsets) {
		for (size_t size : sizes) {
			ssize_t got = hf_tmpfs_splice(t, fd_, size, at, sink, nullptr);
			size_t there = at > 10000 ? 0 : 10000 - static_cast<size_t>(at);

			EXPECT_EQ(got,
				  at < 0 ? -EINVAL : static_cast<ssize_t>(std::min(size, there)))
				<< text("splice", at, size);
		}
	}
	for (uint64_t size : { UINT64_MAX, UINT64_MAX - 1, uint64_t(1) << 63, uint64_t(1) }) {
		struct hf_tmpfs_options options = {};
		struct statvfs to;

		options.size = options.inodes = size;
		make(options);
		EXPECT_EQ(hf_tmpfs_statfs(fs, &to), 0);
		EXPECT_EQ(hf_tmpfs_mkdir(fs, "/d", 0755), size == 1 ? -ENOSPC : 0);
	}
}

} // namespace
