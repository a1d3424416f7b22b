// SPDX-License-Identifier: MIT
/*
 * extremes - calls with extreme offsets and lengths; also run with UBSan.
 *
 * Where /dev/shm is a tmpfs, each call must return what it returns there.
 */
#include "fixture.h"

#include <climits>
#include <functional>

#include <sys/vfs.h>

namespace
{

const int64_t MIN = INT64_MIN, MAX = INT64_MAX;

std::vector<int64_t> numbers(const char *list)
{
	std::istringstream in(list);
	std::vector<int64_t> all;

	for (std::string word; in >> word;)
		all.push_back(side::number(word));
	return all;
}

const auto offsets =
	numbers("min min+1 -2^32 -4097 -4096 -1 0 1 4095 4096 10000 2^31-1 2^31 2^32+1 2^52-1 "
		"2^52 2^62 max-2^31 max-2147479552 max-4096 max-4095 max-1 max");
const auto lengths = numbers("min min+1 -1 0 1 4096 100000 2^50 max-4096 max-4095 max-1 max");
/* Converted to size_t, the last four are larger than any other. */
const auto sizes = numbers("0 1 100 4096 2147479552 2147479553 max-1 max min -4097 -2 -1");

/* A file in the library and, if /dev/shm is a tmpfs, one there. */
class TmpfsExtremes : public TmpfsFixture {
protected:
	static const long MAGIC = 0x01021994;
	/* A file and a directory of one of the two file systems. */
	struct place {
		side on;
		int fd, dir;
	};

	void SetUp() override
	{
		struct hf_tmpfs_options options = {};
		struct statfs st;
		char name[] = "/dev/shm/hf-extremes-XXXXXX";

		options.size = 64 << 20;
		make(options);
		file("/f", std::string(10000, 'x'));
		ours_.on.fs = fs;
		ours_.on.t = t;
		ours_.fd = fd_ = open("/f", O_RDWR);
		ours_.dir = open("/", O_RDONLY | O_DIRECTORY);
		if (::statfs("/dev/shm", &st) != 0 || st.f_type != MAGIC)
			return;
		kernel_.fd = mkstemp(name);
		if (kernel_.fd < 0)
			return;
		has_kernel_ = true;
		kernel_.dir = ::open("/dev/shm", O_RDONLY | O_DIRECTORY);
		unlink(name);
		ASSERT_EQ(pwrite(kernel_.fd, std::string(10000, 'x').data(), 10000, 0), 10000);
	}
	void TearDown() override
	{
		if (has_kernel_) {
			::close(kernel_.fd);
			::close(kernel_.dir);
		}
		TmpfsFixture::TearDown();
	}

	/* The call must return the same on both. */
	void same(const std::string &what, std::function<int64_t(place &)> call)
	{
		int64_t result = call(ours_);

		if (!has_kernel_)
			return;
		EXPECT_EQ(result, call(kernel_)) << what;
		compared_++;
	}

	int fd_ = -1, compared_ = 0;
	bool has_kernel_ = false;
	place ours_ = {}, kernel_ = {};
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
		for (int64_t number : sizes) {
			const auto size = static_cast<size_t>(number);

			/* At most the page before the bad one is accessible. */
			char *buffer = size > 4096 ? page.bad() : page.before(4096);
			struct iovec pieces[3] = { { buffer, size },
						   { buffer, size },
						   { buffer, 1 } };

			/* Linux first rejects sizes that no buffer of the caller can have. */
			if (size > 0x7ffff001) {
				EXPECT_LE(hf_tmpfs_pread(t, fd_, buffer, size, at), 0);
				EXPECT_LT(hf_tmpfs_pwrite(t, fd_, buffer, size, at), 0);
				EXPECT_EQ(hf_tmpfs_readv(t, fd_, pieces, 3), -EINVAL);
				EXPECT_EQ(hf_tmpfs_writev(t, fd_, pieces, 3), -EINVAL);
				continue;
			}
			same(text("pread", at, size),
			     [&](place &p) { return p.on.pread(p.fd, buffer, size, at); });
			same(text("pwrite", at, size),
			     [&](place &p) { return p.on.pwrite(p.fd, buffer, size, at); });
			same(text("lseek", at),
			     [&](place &p) { return p.on.seek(p.fd, at, SEEK_SET); });
			/* Linux limits the sum of an iovec; the library rejects it. */
			if (size > 4096) {
				EXPECT_LE(hf_tmpfs_readv(t, fd_, pieces, 3), 0);
				EXPECT_LT(hf_tmpfs_writev(t, fd_, pieces, 3), 0);
				continue;
			}
			for (int count : { 1, 3 })
				same(text("readv", at, size),
				     [&](place &p) { return p.on.readv(p.fd, pieces, count); });
			same(text("writev", at, size),
			     [&](place &p) { return p.on.writev(p.fd, pieces, 3); });
			same(text("position", at),
			     [&](place &p) { return p.on.seek(p.fd, 0, SEEK_CUR); });
			same(text("size", at, size), [&](place &p) {
				struct stat st;

				return p.on.fstat(p.fd, &st) ? -1 : int64_t(st.st_size);
			});
		}
		same(text("ftruncate", at), [&](place &p) { return p.on.ftruncate(p.fd, 10000); });
	}
	EXPECT_TRUE(!has_kernel_ || compared_ > 500);
}

TEST_F(TmpfsExtremes, Seek)
{
	const int whences[] = { SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE, 5, -1, INT_MAX };
	char byte = 'x';

	for (int64_t end : { int64_t(10000), MAX }) {
		same(text("ftruncate", end), [&](place &p) { return p.on.ftruncate(p.fd, end); });
		for (int64_t from : offsets) {
			for (int64_t at : offsets) {
				for (int whence : whences) {
					same(text("lseek", at) + " whence " +
						     std::to_string(whence),
					     [&](place &p) {
						     (void)p.on.seek(p.fd, from, SEEK_SET);
						     return p.on.seek(p.fd, at, whence);
					     });
				}
			}
		}
	}
	/* At the largest offset of a file. */
	int append = open("/f", O_WRONLY | O_APPEND);
	EXPECT_EQ(hf_tmpfs_write(t, append, &byte, 1), -EFBIG);
	EXPECT_EQ(hf_tmpfs_pwrite(t, fd_, &byte, 1, MAX), -EINVAL);
	EXPECT_EQ(hf_tmpfs_pwrite(t, fd_, &byte, 1, MAX - 1), 1);
	EXPECT_EQ(hf_tmpfs_pread(t, fd_, &byte, 1, MAX - 1), 1);
	EXPECT_EQ(hf_tmpfs_ftruncate(t, fd_, MAX - 1), 0);
}

TEST_F(TmpfsExtremes, SizeAndSpace)
{
	struct hf_tmpfs_node *root = hf_tmpfs_node_root(fs), *node;

	ASSERT_EQ(hf_tmpfs_node_lookup(root, "f", &node), 0);
	for (int64_t at : offsets) {
		same(text("ftruncate", at), [&](place &p) { return p.on.ftruncate(p.fd, at); });
		EXPECT_EQ(hf_tmpfs_truncate(fs, "/f", at), at < 0 ? -EINVAL : 0);
		EXPECT_EQ(hf_tmpfs_node_truncate(node, at), at < 0 ? -EINVAL : 0);
		/* No lengths in between: the kernel's tmpfs would allocate so much memory. */
		for (int64_t length : lengths) {
			for (int mode : { 0, 1, 3 }) {
				same(text("fallocate", at, static_cast<uint64_t>(length)) +
					     " mode " + std::to_string(mode),
				     [&](place &p) {
					     return p.on.fallocate(p.fd, mode, at, length);
				     });
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
	int dir = ours_.dir;

	for (int64_t at : offsets) {
		same(text("lseek", at), [&](place &p) { return p.on.seek(p.dir, at, SEEK_SET); });
		int count = hf_tmpfs_readdir(t, dir, entries, 4);
		/* Positions are private to a file system, but the last must have no more names. */
		EXPECT_GE(count, 0);
		EXPECT_TRUE(at < 5 || count == 0) << at;
		EXPECT_EQ(hf_tmpfs_readdir(t, dir, entries, 0), 0);
		EXPECT_EQ(hf_tmpfs_readdir(t, dir, entries, INT_MIN), 0);
		(void)hf_tmpfs_lseek(t, dir, MAX, SEEK_SET);
		for (int64_t by : offsets) {
			EXPECT_GE(hf_tmpfs_lseek(t, dir, MAX, SEEK_SET), 0);
			int64_t position = hf_tmpfs_lseek(t, dir, by, SEEK_CUR);

			EXPECT_EQ(position, by > 0 || by == MIN ? -EINVAL : MAX + by);
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
	for (int64_t number : sizes) {
		const auto size = static_cast<size_t>(number);

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
		for (int64_t number : sizes) {
			const auto size = static_cast<size_t>(number);

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
