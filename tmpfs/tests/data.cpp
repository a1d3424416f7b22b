// SPDX-License-Identifier: MIT
/* data - bad buffers and space: what compare.cpp does not see. */
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

TEST_F(TmpfsData, AHoleBeginsAndEndsWithinPages)
{
	run(R"(
		pwrite 0 x*12288 0; fallocate 0 punch 100 8000; contents /f = x*100.*8000x*4188
		stat /f pages = 3; fallocate 0 punch 8200 10; contents /f = x*100.*8000x*100.*10x*4078
	)");
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

} // namespace
