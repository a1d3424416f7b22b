// SPDX-License-Identifier: MIT
/* data - read, write, seek, truncate, fallocate, splice: what they do, and each errno. */
#include "world.h"

#include <climits>
#include <cstring>

namespace
{

const int PUNCH = HF_TMPFS_FALLOC_PUNCH_HOLE | HF_TMPFS_FALLOC_KEEP_SIZE;
const int KEEP = HF_TMPFS_FALLOC_KEEP_SIZE;

class TmpfsData : public TmpfsWorld {
protected:
	void SetUp() override
	{
		TmpfsWorld::SetUp();
		fd = open("/f", O_RDWR | O_CREAT);
	}
	ssize_t write(const std::string &data, off_t at)
	{
		return hf_tmpfs_pwrite(t, fd, data.data(), data.size(), at);
	}
	off_t seek(off_t at, int whence) { return hf_tmpfs_lseek(t, fd, at, whence); }
	int fallocate(int mode, off_t at, off_t size)
	{
		return hf_tmpfs_fallocate(t, fd, mode, at, size);
	}
	void limit(uint64_t pages)
	{
		struct hf_tmpfs_options options = {};

		options.size = pages * 4096;
		make(options);
		fd = open("/f", O_RDWR | O_CREAT);
	}
	blkcnt_t pages() { return stat("/f").st_blocks / 8; }

	int fd = -1;
};

TEST_F(TmpfsData, ReadsWhatWasWritten)
{
	std::string big(3 * 4096 + 17, ' ');

	for (size_t i = 0; i < big.size(); i++)
		big[i] = static_cast<char>(i * 7 + i / 251);
	for (off_t at : { 0, 1, 4095, 4096, 5000, 100000 }) {
		ASSERT_EQ(write(big, at), static_cast<ssize_t>(big.size()));
		EXPECT_EQ(read(fd, big.size() + 100, at), big);
		EXPECT_EQ(read(fd, 100, at + 4000), big.substr(4000, 100));
	}
	/* Before what was written lies a hole. */
	EXPECT_EQ(read(fd, 3, 5000 + static_cast<off_t>(big.size())), std::string(3, '\0'));
	EXPECT_EQ(stat("/f").st_size, 100000 + static_cast<off_t>(big.size()));
	EXPECT_EQ(read(fd, 10, 200000), "");
}

TEST_F(TmpfsData, PositionAndAppend)
{
	char buffer[8] = {};

	EXPECT_EQ(hf_tmpfs_write(t, fd, "abc", 3), 3);
	EXPECT_EQ(hf_tmpfs_write(t, fd, "def", 3), 3);
	EXPECT_EQ(hf_tmpfs_read(t, fd, buffer, 8), 0);
	EXPECT_EQ(seek(-4, SEEK_CUR), 2);
	EXPECT_EQ(hf_tmpfs_read(t, fd, buffer, 3), 3);
	EXPECT_STREQ(buffer, "cde");
	EXPECT_EQ(hf_tmpfs_pwrite(t, fd, "X", 1, 0), 1);
	EXPECT_EQ(seek(0, SEEK_CUR), 5);

	int append = open("/f", O_RDWR | O_APPEND);
	EXPECT_EQ(hf_tmpfs_write(t, append, "ghi", 3), 3);
	EXPECT_EQ(hf_tmpfs_lseek(t, append, 0, SEEK_CUR), 9);
	EXPECT_EQ(hf_tmpfs_pwrite(t, append, "j", 1, 0), 1); /* as Linux: at the end all the same */
	EXPECT_EQ(contents("/f"), "Xbcdefghij");
}

TEST_F(TmpfsData, Vectors)
{
	char a[4] = {}, b[4] = {};
	struct iovec out[3] = { { const_cast<char *>("ab"), 2 },
				{ nullptr, 0 },
				{ const_cast<char *>("cdef"), 4 } };
	struct iovec in[2] = { { a, 3 }, { b, 3 } };

	EXPECT_EQ(hf_tmpfs_writev(t, fd, out, 3), 6);
	EXPECT_EQ(seek(1, SEEK_SET), 1);
	EXPECT_EQ(hf_tmpfs_readv(t, fd, in, 2), 5);
	EXPECT_STREQ(a, "bcd");
	EXPECT_STREQ(b, "ef");
	EXPECT_EQ(hf_tmpfs_readv(t, fd, in, 0), 0);
	EXPECT_EQ(hf_tmpfs_readv(t, fd, in, -1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_readv(t, fd, in, IOV_MAX + 1), -EINVAL);
	struct iovec huge[2] = { { a, SSIZE_MAX }, { b, 1 } };
	EXPECT_EQ(hf_tmpfs_writev(t, fd, huge, 2), -EINVAL);
	bad_page page;
	EXPECT_EQ(hf_tmpfs_readv(t, fd, reinterpret_cast<struct iovec *>(page.bad()), 1), -EFAULT);
}

TEST_F(TmpfsData, AccessModes)
{
	int only_read = open("/f", O_RDONLY), only_write = open("/f", O_WRONLY), root = open("/");
	char c = 0;

	EXPECT_EQ(hf_tmpfs_write(t, only_read, &c, 1), -EBADF);
	EXPECT_EQ(hf_tmpfs_read(t, only_write, &c, 1), -EBADF);
	EXPECT_EQ(hf_tmpfs_read(t, 99, &c, 1), -EBADF);
	EXPECT_EQ(hf_tmpfs_write(t, -1, &c, 1), -EBADF);
	EXPECT_EQ(hf_tmpfs_read(t, root, &c, 1), -EISDIR);
	EXPECT_EQ(hf_tmpfs_pread(t, fd, &c, 1, -1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_pwrite(t, fd, &c, 1, -1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_ftruncate(t, only_read, 0), -EINVAL);
	EXPECT_EQ(hf_tmpfs_ftruncate(t, root, 0), -EINVAL);
	EXPECT_EQ(hf_tmpfs_ftruncate(t, fd, -1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_ftruncate(t, 99, 0), -EBADF);
	EXPECT_EQ(hf_tmpfs_truncate(fs, "/", 0), -EISDIR);
	EXPECT_EQ(hf_tmpfs_truncate(fs, "/f", -1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_truncate(fs, "/none", 0), -ENOENT);
	EXPECT_EQ(hf_tmpfs_fallocate(t, only_read, 0, 0, 1), -EBADF);
	EXPECT_EQ(hf_tmpfs_fallocate(t, 99, 0, 0, 1), -EBADF);
	EXPECT_EQ(hf_tmpfs_lseek(t, 99, 0, SEEK_SET), -EBADF);
}

/* ---- faults -------------------------------------------------------------------------------- */

TEST_F(TmpfsData, ABadBufferGivesAShortCountOrEfault)
{
	bad_page page;

	ASSERT_EQ(write(std::string(100, 'x'), 0), 100);
	ASSERT_EQ(hf_tmpfs_ftruncate(t, fd, 20000), 0); /* data, and a hole behind it */
	EXPECT_EQ(hf_tmpfs_pread(t, fd, page.bad(), 10, 0), -EFAULT);
	EXPECT_EQ(hf_tmpfs_pread(t, fd, page.bad(), 10, 8192), -EFAULT);
	EXPECT_EQ(hf_tmpfs_pread(t, fd, nullptr, 10, 8192), -EFAULT);
	for (size_t good : { 1, 17, 99, 100, 4096 }) {
		memset(page.before(good), '?', good);
		EXPECT_EQ(hf_tmpfs_pread(t, fd, page.before(good), 10000, 0),
			  static_cast<ssize_t>(good));
		EXPECT_EQ(page.before(good)[0], 'x');
		EXPECT_EQ(page.before(good)[good - 1], good > 100 ? '\0' : 'x');
		memset(page.before(good), '?', good);
		EXPECT_EQ(hf_tmpfs_pread(t, fd, page.before(good), 10000, 8190),
			  static_cast<ssize_t>(good));
		EXPECT_EQ(std::string(page.before(good), good), std::string(good, '\0'));
	}
}

TEST_F(TmpfsData, ABadSourceIsWrittenAsFarAsItGoes)
{
	bad_page page;

	memset(page.before(17), 'y', 17);
	EXPECT_EQ(hf_tmpfs_pwrite(t, fd, page.bad(), 10, 0), -EFAULT);
	EXPECT_EQ(stat("/f").st_size, 0);
	EXPECT_EQ(pages(), 0);
	EXPECT_EQ(hf_tmpfs_pwrite(t, fd, page.before(17), 5000, 4090), 17);
	EXPECT_EQ(stat("/f").st_size, 4107);
	EXPECT_EQ(read(fd, 30, 4085), std::string(5, '\0') + std::string(17, 'y'));
	prove(); /* behind the fault the page is 0 */
	EXPECT_EQ(hf_tmpfs_pwrite(t, fd, page.before(3), 10, 0), 3);
	EXPECT_EQ(hf_tmpfs_pwrite(t, fd, page.bad(), 10, 0), -EFAULT);
	EXPECT_EQ(read(fd, 4, 0), std::string("yyy\0", 4));
}

/* ---- space --------------------------------------------------------------------------------- */

TEST_F(TmpfsData, SpaceIsLimitedAndComesBack)
{
	limit(4);
	EXPECT_EQ(write(std::string(3 * 4096, 'a'), 0), 3 * 4096);
	EXPECT_EQ(write(std::string(3 * 4096, 'b'), 3 * 4096 - 10), 4096 + 10); /* a short write */
	EXPECT_EQ(write("c", 4 * 4096), -ENOSPC);
	EXPECT_EQ(stat("/f").st_size, 4 * 4096);
	EXPECT_EQ(write("c", 0), 1); /* what is there can be written again */
	EXPECT_EQ(free_pages(), 0u);
	prove();
	ASSERT_EQ(hf_tmpfs_ftruncate(t, fd, 4096), 0);
	EXPECT_EQ(free_pages(), 3u);
	EXPECT_EQ(fallocate(0, 0, 5 * 4096), -ENOSPC);
	EXPECT_EQ(fallocate(KEEP, 4096, 4 * 4096), -ENOSPC);
	EXPECT_EQ(free_pages(), 3u); /* nothing is lost by a failure */
	EXPECT_EQ(stat("/f").st_size, 4096);
	prove();
	EXPECT_EQ(fallocate(0, 4096, 3 * 4096), 0);
	EXPECT_EQ(free_pages(), 0u);
	EXPECT_EQ(write(std::string(4096, 'd'), 2 * 4096), 4096);
	/* What was taken and not written stays a hole to SEEK_DATA when a fallocate fails. */
	ASSERT_EQ(hf_tmpfs_ftruncate(t, fd, 0), 0);
	ASSERT_EQ(hf_tmpfs_ftruncate(t, fd, 9 * 4096), 0);
	ASSERT_EQ(fallocate(KEEP, 0, 4096), 0);
	ASSERT_EQ(write(std::string(2 * 4096, 'e'), 5 * 4096), 2 * 4096);
	EXPECT_EQ(fallocate(0, 0, 3 * 4096), -ENOSPC);
	EXPECT_EQ(free_pages(), 1u);
	EXPECT_EQ(seek(0, SEEK_DATA), 5 * 4096);
	EXPECT_EQ(fallocate(0, 0, 2 * 4096), 0);
	EXPECT_EQ(seek(0, SEEK_DATA), 0);
	EXPECT_EQ(seek(0, SEEK_HOLE), 4096);
}

TEST_F(TmpfsData, SpaceOfTargetsAndOfSparseFiles)
{
	limit(6);
	/* A long target takes a page, a short one none: as Linux's tmpfs has it. */
	ASSERT_EQ(hf_tmpfs_symlink(fs, std::string(127, 's').c_str(), "/short"), 0);
	EXPECT_EQ(free_pages(), 6u);
	for (int i = 0; i < 6; i++)
		ASSERT_EQ(hf_tmpfs_symlink(fs, std::string(128, 'l').c_str(),
					   ("/long" + std::to_string(i)).c_str()),
			  0);
	EXPECT_EQ(free_pages(), 0u);
	EXPECT_EQ(hf_tmpfs_symlink(fs, std::string(4000, 'l').c_str(), "/more"), -ENOSPC);
	struct stat st;
	ASSERT_EQ(hf_tmpfs_lstat(fs, "/long0", &st), 0);
	EXPECT_EQ(st.st_blocks, 8);
	prove();
	for (int i = 0; i < 6; i++)
		ASSERT_EQ(hf_tmpfs_unlink(fs, ("/long" + std::to_string(i)).c_str()), 0);
	EXPECT_EQ(free_pages(), 6u);
	/* 9 nodes above the first page that is far out, 8 more above the next: 4 take no space. */
	EXPECT_EQ(write("x", int64_t(1) << 60), 1);
	EXPECT_EQ(free_pages(), 4u);
	EXPECT_EQ(pages(), 1);
	EXPECT_EQ(write("x", int64_t(3) << 60), 1);
	EXPECT_EQ(free_pages(), 2u);
	EXPECT_EQ(write("x", int64_t(5) << 60), 1);
	EXPECT_EQ(free_pages(), 0u);
	EXPECT_EQ(write("x", int64_t(7) << 60), -ENOSPC);
	EXPECT_EQ(write("x", (int64_t(5) << 60) + 4096), -ENOSPC);
	EXPECT_EQ(free_pages(), 0u);
	prove();
	EXPECT_EQ(fallocate(PUNCH, int64_t(3) << 60, 4096), 0);
	EXPECT_EQ(free_pages(), 2u);
	prove();
	ASSERT_EQ(hf_tmpfs_ftruncate(t, fd, 0), 0);
	EXPECT_EQ(free_pages(), 6u);
	/* The limit can be changed, but not to less than is in use. */
	EXPECT_EQ(write(std::string(3 * 4096, 'a'), 0), 3 * 4096);
	EXPECT_EQ(hf_tmpfs_resize(fs, 2 * 4096, 0), -EINVAL);
	EXPECT_EQ(hf_tmpfs_resize(fs, 3 * 4096, 1), -EINVAL);
	EXPECT_EQ(free_pages(), 3u);
	EXPECT_EQ(hf_tmpfs_resize(fs, 3 * 4096, 9), 0);
	EXPECT_EQ(write("b", 3 * 4096), -ENOSPC);
	EXPECT_EQ(free_inodes(), 6u);
	EXPECT_EQ(hf_tmpfs_resize(fs, 4 * 4096, 0), 0);
	EXPECT_EQ(write("b", 3 * 4096), 1);
}

TEST_F(TmpfsData, TruncateAndExtend)
{
	ASSERT_EQ(write(std::string(10000, 'x'), 0), 10000);
	ASSERT_EQ(hf_tmpfs_ftruncate(t, fd, 5000), 0);
	EXPECT_EQ(pages(), 2);
	ASSERT_EQ(hf_tmpfs_truncate(fs, "/f", 10000), 0);
	EXPECT_EQ(read(fd, 10, 4995), std::string(5, 'x') + std::string(5, '\0'));
	EXPECT_EQ(read(fd, 10, 9990), std::string(10, '\0'));
	EXPECT_EQ(pages(), 2);
	ASSERT_EQ(hf_tmpfs_ftruncate(t, fd, INT64_MAX), 0);
	EXPECT_EQ(stat("/f").st_size, INT64_MAX);
	EXPECT_EQ(read(fd, 4, INT64_MAX - 4), std::string(4, '\0'));
	EXPECT_EQ(write("ab", INT64_MAX - 2), 2);
	EXPECT_EQ(write("abcd", INT64_MAX - 2), -EINVAL);
	EXPECT_EQ(hf_tmpfs_write(t, open("/f", O_WRONLY | O_APPEND), "x", 1), -EFBIG);
	EXPECT_EQ(read(fd, 4, INT64_MAX - 4), std::string("\0\0ab", 4));
	prove(); /* the highest tree that there is */
	ASSERT_EQ(hf_tmpfs_ftruncate(t, fd, 0), 0);
	EXPECT_EQ(pages(), 0);
}

TEST_F(TmpfsData, SparsePagesAtEveryHeight)
{
	off_t at = 0;

	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(write(std::to_string(i), at), static_cast<ssize_t>(i < 10 ? 1 : 2));
		at = at * 2 + 4096;
	}
	prove();
	at = 0;
	for (int i = 0; i < 50; i++) {
		EXPECT_EQ(read(fd, i < 10 ? 1 : 2, at), std::to_string(i));
		at = at * 2 + 4096;
	}
	at = 0;
	for (int i = 0; i < 50; i += 2) {
		EXPECT_EQ(fallocate(PUNCH, at, 4096), 0);
		at = (at * 2 + 4096) * 2 + 4096;
	}
	EXPECT_EQ(pages(), 25);
	prove();
}

TEST_F(TmpfsData, FallocateAndPunch)
{
	ASSERT_EQ(write(std::string(5 * 4096, 'x'), 0), 5 * 4096);
	EXPECT_EQ(fallocate(PUNCH, 100, 200), 0); /* within a page */
	EXPECT_EQ(read(fd, 202, 99), "x" + std::string(200, '\0') + "x");
	EXPECT_EQ(pages(), 5);
	EXPECT_EQ(fallocate(PUNCH, 4096 - 10, 4096 + 20), 0); /* a page, and parts of two */
	EXPECT_EQ(read(fd, 4096 + 22, 4096 - 11), "x" + std::string(4096 + 20, '\0') + "x");
	EXPECT_EQ(pages(), 4);
	EXPECT_EQ(stat("/f").st_size, 5 * 4096);
	EXPECT_EQ(fallocate(KEEP, 0, 8 * 4096), 0);
	EXPECT_EQ(pages(), 8);
	EXPECT_EQ(stat("/f").st_size, 5 * 4096);
	EXPECT_EQ(fallocate(0, 0, 6 * 4096 + 1), 0);
	EXPECT_EQ(stat("/f").st_size, 6 * 4096 + 1);
	EXPECT_EQ(read(fd, 4, 5 * 4096), std::string(4, '\0'));
	ASSERT_EQ(hf_tmpfs_ftruncate(t, fd, 6 * 4096 + 1), 0); /* what is behind the end goes */
	EXPECT_EQ(pages(), 7);

	EXPECT_EQ(fallocate(0, -1, 1), -EINVAL);
	EXPECT_EQ(fallocate(0, 0, 0), -EINVAL);
	EXPECT_EQ(fallocate(HF_TMPFS_FALLOC_PUNCH_HOLE, 0, 1), -EOPNOTSUPP);
	EXPECT_EQ(fallocate(16, 0, 1), -EOPNOTSUPP);
	EXPECT_EQ(fallocate(0, INT64_MAX, 1), -EFBIG);
}

/* ---- seek ---------------------------------------------------------------------------------- */

TEST_F(TmpfsData, SeekDataAndHole)
{
	ASSERT_EQ(write("x", 2 * 4096 + 5), 1);
	ASSERT_EQ(write("x", 5 * 4096), 1);
	ASSERT_EQ(hf_tmpfs_ftruncate(t, fd, 7 * 4096), 0);
	EXPECT_EQ(seek(0, SEEK_DATA), 2 * 4096);
	EXPECT_EQ(seek(2 * 4096 + 9, SEEK_DATA), 2 * 4096 + 9);
	EXPECT_EQ(seek(3 * 4096, SEEK_DATA), 5 * 4096);
	EXPECT_EQ(seek(6 * 4096, SEEK_DATA), -ENXIO);
	EXPECT_EQ(seek(0, SEEK_HOLE), 0);
	EXPECT_EQ(seek(2 * 4096 + 9, SEEK_HOLE), 3 * 4096);
	EXPECT_EQ(seek(7 * 4096 - 1, SEEK_HOLE), 7 * 4096 - 1);
	EXPECT_EQ(seek(7 * 4096, SEEK_HOLE), -ENXIO);
	EXPECT_EQ(seek(7 * 4096, SEEK_DATA), -ENXIO);
	EXPECT_EQ(seek(-1, SEEK_DATA), -ENXIO);
	/* Memory that fallocate took is no data yet. */
	ASSERT_EQ(fallocate(0, 0, 4096), 0);
	EXPECT_EQ(seek(0, SEEK_DATA), 2 * 4096);
	ASSERT_EQ(write("y", 10), 1);
	EXPECT_EQ(seek(0, SEEK_DATA), 0);
	ASSERT_EQ(hf_tmpfs_ftruncate(t, fd, 5 * 4096 + 1), 0);
	EXPECT_EQ(seek(5 * 4096, SEEK_HOLE), 5 * 4096 + 1); /* the end is one */
}

TEST_F(TmpfsData, SeekErrors)
{
	int root = open("/");

	ASSERT_EQ(write("abc", 0), 3);
	EXPECT_EQ(seek(10, SEEK_END), 13);
	EXPECT_EQ(seek(-14, SEEK_CUR), -EINVAL);
	EXPECT_EQ(seek(-1, SEEK_SET), -EINVAL);
	EXPECT_EQ(seek(INT64_MAX, SEEK_CUR), -EINVAL);
	EXPECT_EQ(seek(0, 99), -EINVAL);
	EXPECT_EQ(seek(0, SEEK_CUR), 13);
	for (int whence : { SEEK_END, SEEK_DATA, SEEK_HOLE })
		EXPECT_EQ(hf_tmpfs_lseek(t, root, 0, whence), -EINVAL);
}

/* ---- splice -------------------------------------------------------------------------------- */

struct pipe_end {
	std::vector<struct hf_tmpfs_buffer *> buffers;
	size_t room;

	static int take(void *data, struct hf_tmpfs_buffer *buffer)
	{
		auto *self = static_cast<pipe_end *>(data);

		if (self->buffers.size() == self->room)
			return -EAGAIN;
		self->buffers.push_back(buffer);
		return 0;
	}
	~pipe_end()
	{
		for (struct hf_tmpfs_buffer *buffer : buffers)
			hf_tmpfs_buffer_free(buffer);
	}
};

TEST_F(TmpfsData, ASinkNeverGetsTheSamePageTwice)
{
	std::set<char *> pages;
	pipe_end sink{ {}, 100 };

	ASSERT_EQ(write("data", 4 * 4096), 4);
	ASSERT_EQ(hf_tmpfs_ftruncate(t, fd, 8 * 4096), 0);
	ASSERT_EQ(hf_tmpfs_splice(t, fd, 100000, 10, pipe_end::take, &sink), 8 * 4096 - 10);
	EXPECT_EQ(sink.buffers.size(), 8u);
	for (struct hf_tmpfs_buffer *buffer : sink.buffers)
		pages.insert(buffer->data);
	EXPECT_EQ(pages.size(), 8u);
	/* A sink may change its pages: no other piece, no later reader, and not the file sees it. */
	memset(sink.buffers[0]->data, 'X', HF_TMPFS_PAGE);
	memset(sink.buffers[4]->data, 'X', HF_TMPFS_PAGE);
	for (size_t i : { 1u, 2u, 3u, 5u, 6u, 7u }) {
		ASSERT_EQ(sink.buffers[i]->size, 4096u);
		EXPECT_EQ(std::string(sink.buffers[i]->data, 4096), std::string(4096, '\0')) << i;
	}
	EXPECT_EQ(read(fd, 5, 4 * 4096), std::string("data\0", 5));
	pipe_end again{ {}, 100 };
	ASSERT_EQ(hf_tmpfs_splice(t, fd, 4096, 0, pipe_end::take, &again), 4096);
	EXPECT_EQ(std::string(again.buffers[0]->data, 4096), std::string(4096, '\0'));
}

TEST_F(TmpfsData, ASinkThatIsFull)
{
	pipe_end small{ {}, 2 }, none{ {}, 0 };
	int only_write = open("/f", O_WRONLY);

	ASSERT_EQ(hf_tmpfs_ftruncate(t, fd, 8 * 4096), 0);
	EXPECT_EQ(hf_tmpfs_splice(t, fd, 100000, 0, pipe_end::take, &small), 2 * 4096);
	EXPECT_EQ(hf_tmpfs_splice(t, fd, 100000, 0, pipe_end::take, &none), -EAGAIN);
	EXPECT_EQ(hf_tmpfs_splice(t, fd, 100000, 8 * 4096, pipe_end::take, &none), 0);
	EXPECT_EQ(hf_tmpfs_splice(t, fd, 1, -1, pipe_end::take, &none), -EINVAL);
	EXPECT_EQ(hf_tmpfs_splice(t, 99, 1, 0, pipe_end::take, &none), -EBADF);
	EXPECT_EQ(hf_tmpfs_splice(t, only_write, 1, 0, pipe_end::take, &none), -EBADF);
	EXPECT_EQ(hf_tmpfs_splice(t, open("/"), 1, 0, pipe_end::take, &none), -EISDIR);
}

} // namespace
