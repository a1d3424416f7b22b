// SPDX-License-Identifier: MIT
/* data - read, write, seek, truncate, fallocate: effects, and each errno. */
#include "fixture.h"

#include <cstring>

namespace
{

/* `fd` is the descriptor of slot 0. */
class TmpfsData : public TmpfsTest {
protected:
	void SetUp() override
	{
		TmpfsTest::SetUp();
		begin();
	}

	void begin()
	{
		run("open 0 /f rw,creat");
		fd = side_.fd("0");
	}

	ssize_t write(const std::string &data, off_t at)
	{
		return hf_tmpfs_pwrite(t, fd, data.data(), data.size(), at);
	}

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
	run(R"(
		write 0 abc = 3; write 0 def = 3; read 0 8 = ""; seek 0 -4 cur = 2; read 0 3 = cde
		pwrite 0 X 0 = 1; seek 0 0 cur = 5
		open 1 /f rw,append; write 1 ghi = 3; seek 1 0 cur = 9
		pwrite 1 j 0 = 1; contents /f = Xbcdefghij
	)"); /* with O_APPEND, pwrite() writes at the end, as on Linux */
}

TEST_F(TmpfsData, AccessModes)
{
	run(R"(
		open 1 /f r; open 2 /f w; open 3 /; symlink f /s; symlink none /dangling
		write 1 x = EBADF; read 2 1 = EBADF; read 9 1 = EBADF; write 9 x = EBADF
		read 3 1 = EISDIR
		pread 0 1 -1 = EINVAL; pwrite 0 x -1 = EINVAL
		ftruncate 1 0 = EINVAL; ftruncate 3 0 = EINVAL; ftruncate 0 -1 = EINVAL
		ftruncate 9 0 = EBADF
		truncate / 0 = EISDIR; truncate /f -1 = EINVAL; truncate /none 0 = ENOENT
		truncate /s 1; truncate /dangling 0 = ENOENT
		fallocate 1 allocate 0 1 = EBADF; fallocate 9 allocate 0 1 = EBADF
		seek 9 0 set = EBADF
	)");
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
	run("stat /f size pages = 0 0");
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
	run("limit 4 0");
	begin();
	run(R"(
		pwrite 0 a*12288 0 = 12288; pwrite 0 b*12288 3p-10 = 4106; pwrite 0 c 4p = ENOSPC
		stat /f size = 16384; pwrite 0 c 0 = 1; free = 0 0; check
		ftruncate 0 1p; free = 3 0
		fallocate 0 allocate 0 5p = ENOSPC; fallocate 0 keep 1p 4p = ENOSPC
		free = 3 0; stat /f size = 4096; check
		fallocate 0 allocate 1p 3p; free = 0 0; pwrite 0 d*4096 2p = 4096
	)");
	/* After a failed fallocate, pages of an earlier one are still holes to SEEK_DATA. */
	run(R"(
		ftruncate 0 0; ftruncate 0 9p; fallocate 0 keep 0 1p; pwrite 0 e*8192 5p
		fallocate 0 allocate 0 3p = ENOSPC; free = 1 0; seek 0 0 data = 20480
		fallocate 0 allocate 0 2p; seek 0 0 data = 0; seek 0 0 hole = 4096
	)");
}

TEST_F(TmpfsData, SpaceOfTargetsAndOfSparseFiles)
{
	/* A target of 128 bytes or more counts as a page, as in Linux's tmpfs. */
	run(R"(
		limit 6 0; symlink s*127 /short; free = 6 0
		symlink l*128 /1; symlink l*128 /2; symlink l*128 /3; symlink l*128 /4
		symlink l*128 /5
		symlink l*128 /6; free = 0 0; symlink l*4000 /more = ENOSPC; lstat /1 pages = 1
		check
		unlink /1; unlink /2; unlink /3; unlink /4; unlink /5; unlink /6; free = 6 0
	)");
	begin();
	/* The tree needs 9 nodes for the first far page, 8 more for the next; 4 are free. */
	run(R"(
		pwrite 0 x 2^60 = 1; free = 4 0; stat /f pages = 1
		pwrite 0 x 2^61+2^60 = 1; free = 2 0; pwrite 0 x 2^62+2^60 = 1; free = 0 0
		pwrite 0 x 2^62+2^61+2^60 = ENOSPC; pwrite 0 x 2^62+2^60+1p = ENOSPC; free = 0 0
		check
		fallocate 0 punch 2^61+2^60 1p; free = 2 0; check; ftruncate 0 0; free = 6 0
	)");
	/* The limit can be lowered, but not below what is in use. */
	run("pwrite 0 a*12288 0");
	EXPECT_EQ(hf_tmpfs_resize(fs, 2 * 4096, 0), -EINVAL);
	EXPECT_EQ(hf_tmpfs_resize(fs, 3 * 4096, 1), -EINVAL);
	run("free = 3 0");
	EXPECT_EQ(hf_tmpfs_resize(fs, 3 * 4096, 9), 0);
	run("pwrite 0 b 3p = ENOSPC; free = 0 6");
	EXPECT_EQ(hf_tmpfs_resize(fs, 4 * 4096, 0), 0);
	run("pwrite 0 b 3p = 1");
}

TEST_F(TmpfsData, TruncateAndExtend)
{
	run(R"(
		pwrite 0 x*10000 0; ftruncate 0 5000; stat /f pages = 2; truncate /f 10000
		pread 0 10 4995 = x*5.*5; pread 0 10 9990 = .*10; stat /f pages = 2
		ftruncate 0 max; stat /f size = 9223372036854775807; pread 0 4 max-4 = .*4
		pwrite 0 ab max-2 = 2; pwrite 0 abcd max-2 = EINVAL
		open 1 /f w,append; write 1 x = EFBIG; pread 0 4 max-4 = ..ab; check
		ftruncate 0 0; stat /f pages = 0
	)"); /* in between, the highest tree that there is */
}

TEST_F(TmpfsData, SparsePagesAtEveryHeight)
{
	std::vector<off_t> places = { 0 };

	for (int i = 1; i < 50; i++)
		places.push_back(places.back() * 2 + 4096);
	for (off_t at : places)
		ASSERT_EQ(write(std::to_string(at % 9973), at) > 0, true);
	prove();
	for (off_t at : places) {
		std::string data = std::to_string(at % 9973);

		EXPECT_EQ(read(fd, data.size(), at), data);
	}
	for (size_t i = 0; i < places.size(); i += 2)
		run("fallocate 0 punch " + std::to_string(places[i]) + " 1p");
	run("stat /f pages = 25; check");
}

TEST_F(TmpfsData, FallocateAndPunch)
{
	/* A hole within one page; a hole of one page and parts of two others. */
	run(R"(
		pwrite 0 x*20480 0; fallocate 0 punch 100 200; pread 0 202 99 = x.*200x
		stat /f pages = 5
		fallocate 0 punch 1p-10 1p+20; pread 0 1p+22 1p-11 = x.*4116x
		stat /f pages size = 4 20480; fallocate 0 keep 0 8p; stat /f pages size = 8 20480
		fallocate 0 allocate 0 6p+1; stat /f size = 24577; pread 0 4 5p = .*4
		ftruncate 0 6p+1; stat /f pages = 7
		fallocate 0 allocate -1 1 = EINVAL; fallocate 0 allocate 0 0 = EINVAL
		fallocate 0 2 0 1 = EOPNOTSUPP; fallocate 0 16 0 1 = EOPNOTSUPP
		fallocate 0 allocate max 1 = EFBIG; open 1 /empty rw,creat
		fallocate 1 allocate 0 100
		stat /empty size = 100
	)"); /* a truncation to the current size frees the pages behind the end */
}

/* ---- seek ---------------------------------------------------------------------------------- */

TEST_F(TmpfsData, Seek)
{
	run(R"(
		pwrite 0 x 2p+5; pwrite 0 x 5p; ftruncate 0 7p
		seek 0 0 data = 8192; seek 0 2p+9 data = 8201; seek 0 3p data = 20480
		seek 0 6p data = ENXIO
		seek 0 0 hole = 0; seek 0 2p+9 hole = 12288; seek 0 7p-1 hole = 28671
		seek 0 7p hole = ENXIO; seek 0 7p data = ENXIO; seek 0 -1 data = ENXIO
	)");
	/* Pages that are allocated and not written are holes to SEEK_DATA; so is the end. */
	run(R"(
		fallocate 0 allocate 0 1p; seek 0 0 data = 8192; pwrite 0 y*10 0; seek 0 0 data = 0
		ftruncate 0 5p+1; seek 0 5p hole = 20481
		ftruncate 0 3; seek 0 10 end = 13; seek 0 -14 cur = EINVAL; seek 0 -1 set = EINVAL
		seek 0 max cur = EINVAL; seek 0 0 99 = EINVAL; seek 0 0 cur = 13
		open 1 /; seek 1 0 end = EINVAL; seek 1 0 data = EINVAL; seek 1 0 hole = EINVAL
	)");
}

} // namespace
