// SPDX-License-Identifier: MIT
/* owners - owners, setuid and setgid, special files, files without a name, times, attributes. */
#include "fixture.h"

namespace
{

class TmpfsOwners : public TmpfsTest {};

TEST_F(TmpfsOwners, NewFilesBelongToTheCaller)
{
	EXPECT_EQ(stat("/").st_uid, geteuid());
	run(R"(
		act_as user; file /f; mkdir /d; act_as self; file /g
		stat /f uid gid = 1001 1001; stat /d uid = 1001
	)");
	EXPECT_EQ(stat("/g").st_uid, geteuid());
	EXPECT_EQ(stat("/g").st_gid, getegid());
}

TEST_F(TmpfsOwners, ASetgidDirectoryIsInherited)
{
	run(R"(
		mkdir /d; chown /d 0 555; chmod /d 2777; act_as user
		file /d/f; mkdir /d/d; mkdir /d/d/e; mknod /d/p fifo
		stat /d/f gid mode = 555 100644; stat /d/d gid mode = 555 42755; stat /d/p gid = 555
		stat /d/d/e gid mode = 555 42755
		open 0 /d/run creat 2755; stat /d/run mode = 100755
		open 0 /d/lock creat 2745; stat /d/lock mode = 102745
		open 0 /d/nameless rw,creat; open 0 /d tmpfile,rw; fstat 0 gid = 555
		act_as of555; open 0 /d/member creat 2755; stat /d/member mode = 102755
		act_as root; open 0 /d/root creat 2755; stat /d/root mode = 102755
	)"); /* setgid on an executable file: only for members of its group and the privileged */
}

TEST_F(TmpfsOwners, AChangeByAnotherUserClearsSetuid)
{
	struct hf_tmpfs_attributes both = {};

	/* Caller, mode, and the mode after this caller has changed the contents, in any way. */
	const char *const rows[][3] = { { "user", "6777", "0777" },
					{ "user", "2767", "0767" },
					{ "member", "6767", "2767" },
					{ "root", "6777", "6777" } };
	run("file /f data");
	for (const std::string way :
	     { "pwrite 0 x 0", "ftruncate 0 1", "fallocate 0 allocate 0 100", "open 1 /f w,trunc",
	       "truncate /f 2" }) {
		for (const auto &row : rows) {
			run(std::string("open 0 /f w; chmod /f ") + row[1] + "; act_as " + row[0]);
			run(way + "; act_as self; stat /f mode = 10" + row[2]);
		}
	}
	run("chmod /f 6777; chown /f 1001 1001; stat /f mode = 100777");
	both.set = HF_TMPFS_SET_UID | HF_TMPFS_SET_MODE;
	both.mode = 04755;
	ASSERT_EQ(hf_tmpfs_setattr(root, "/f", true, &both), 0);
	run("stat /f mode = 104755; mkdir /d; chmod /d 6777; chown /d 1 1; stat /d mode = 46777");
	/* Setgid without S_IXGRP stays if the caller is privileged or in the group. */
	run(R"(
		chown /f 0 0; chmod /f 6744; act_as root; chown /f 7 8; stat /f mode = 102744
		act_as self
		chown /f 0 0; chmod /f 6744; act_as member; chown /f 7 8; stat /f mode = 102744
		act_as self
		chown /f 0 0; chmod /f 6744; act_as user; chown /f 7 8; stat /f mode = 100744
		act_as self
		chmod /f 6777
	)");
	/* chown(-1, -1) clears the bits without a new owner; every change updates ctime. */
	both = {};
	both.set = HF_TMPFS_CLEAR_SETUID;
	struct timespec before = stat("/f").st_ctim;
	usleep(2000);
	ASSERT_EQ(hf_tmpfs_setattr(root, "/f", true, &both), 0);
	EXPECT_NE(stat("/f").st_ctim.tv_nsec, before.tv_nsec);
	run("stat /f mode = 100777");
	/* A change of the owner clears the bits of all types but directories. */
	run(R"(
		mknod /p fifo; chmod /p 6555; chown /p 1 2; stat /p mode = 10555
		mknod /s socket; chmod /s 6555; chown /s 1 2; stat /s mode = 140555
		mknod /c char; chmod /c 6555; chown /c 1 2; stat /c mode = 20555
		mknod /b block; chmod /b 6555; chown /b 1 2; stat /b mode = 60555
	)");
}

TEST_F(TmpfsOwners, SpecialFiles)
{
	struct hf_tmpfs_node *made;
	struct hf_tmpfs_dirent entries[8];

	run(R"(
		mknod /fifo fifo 640 1801; mknod /socket socket 640 1801; mknod /char char 640 1801
		mknod /block block 640 1801; mknod /file file 640 1801; mknod /zero 0 640 1801
		stat /fifo mode device = 10640 0; stat /socket mode device = 140640 0
		stat /char mode device = 20640 1801; stat /block mode device = 60640 1801
		stat /file mode device = 100640 0; stat /zero mode device = 100640 0
		mknod /fifo fifo = EEXIST; mknod /x directory = EPERM; mknod /x symlink = EINVAL
		mknod /x 61440 = EINVAL; mknod /x/ fifo = ENOENT
	)");
	ASSERT_EQ(hf_tmpfs_readdir(t, open("/"), entries, 8), 8);
	const unsigned char listed[] = { DT_FIFO, DT_SOCK, DT_CHR, DT_BLK, DT_REG, DT_REG };
	for (size_t i = 0; i < 6; i++)
		EXPECT_EQ(entries[i + 2].type, listed[i]);
	for (const std::string path : { "/fifo", "/socket", "/char", "/block" }) {
		run("open 0 " + path + " rw = ENXIO; open 0 " + path +
		    " rw,creat = ENXIO; open 0 " + path + " rw,creat,excl = EEXIST; open 0 " +
		    path + " dir = ENOTDIR; truncate " + path + " 0 = EINVAL; setxattr " + path +
		    " user.a 1 = EPERM; getxattr " + path + " user.a 9 = ENODATA");
		EXPECT_EQ(hf_tmpfs_open(t, node(path.c_str()), nullptr, O_RDONLY, 0, nullptr),
			  -ENXIO);
	}
	ASSERT_EQ(hf_tmpfs_mknod(root, "again", S_IFSOCK | 0777, 0, &made), 0);
	run("stat /again mode = 140777; link /char /link; stat /link device = 1801");
	run("rename /fifo /socket; unlink /socket");
}

TEST_F(TmpfsOwners, AFileWithoutAName)
{
	struct hf_tmpfs_node *made;

	run(R"(
		limit 0 3; mkdir /d; open 0 /d tmpfile,rw 600; free = 0 0
		open 1 /d tmpfile,rw = ENOSPC
		write 0 data; fstat 0 links mode = 0 100600; check
	)");
	run("flink 0 /d/named = 0"); /* the inode was counted when it was made */
	run("stat /d/named links = 1; contents /d/named = data; check");
	run("flink 0 /d/named = EEXIST");
	run("flink 0 /d/more = ENOSPC");
	run("unlink /d/named");
	run("flink 0 /d/back = ENOENT");
	/* With O_EXCL it can never be linked. */
	run("close 0; free = 0 1; open 0 /d tmpfile,w,excl");
	run("flink 0 /d/named = ENOENT");
	run("flink 9 /d/named = EBADF");
	run(R"(
		close 0; open 0 /d tmpfile,r = EINVAL; open 0 /d tmpfile,rw,creat = EINVAL
		open 0 /none tmpfile,rw = ENOENT
	)");
	ASSERT_GE(hf_tmpfs_open(t, root, nullptr, O_TMPFILE | O_RDWR, 0644, &made), 0);
	ASSERT_EQ(hf_tmpfs_link(made, nullptr, root, "linked"), 0);
	run("stat /linked links = 1");
	EXPECT_EQ(hf_tmpfs_open(t, made, nullptr, O_TMPFILE | O_RDWR, 0644, nullptr), -ENOTDIR);
}

TEST_F(TmpfsOwners, Whiteouts)
{
	run(R"(
		limit 0 5; mkdir /d; file /d/f data; file /g; rename /d/f /x whiteout
		contents /x = data
		lstat /d/f mode device = 20000 0; check
		rename /x /y whiteout = ENOSPC; stat /x; lstat /y = ENOENT; unlink /d/f
		rename /x /g whiteout,noreplace = EEXIST; rename /x /g whiteout,exchange = EINVAL
		rename /x /g whiteout; contents /g = data; unlink /x
		rename /d /e whiteout; stat /d mode = 20000; stat / links = 3
	)"); /* renaming a directory leaves a whiteout, too */
}

TEST_F(TmpfsOwners, AccessTimes)
{
	struct hf_tmpfs_attributes to = {};
	struct hf_tmpfs_dirent entry;
	char c;
	int fd, quiet;

	auto set_times = [&](const char *path, time_t atime, time_t mtime) {
		to.set = HF_TMPFS_SET_ATIME | HF_TMPFS_SET_MTIME;
		to.atime = { atime, 5 };
		to.mtime = { mtime, 0 };
		ASSERT_EQ(hf_tmpfs_setattr(root, path, true, &to), 0);
	};
	file("/f", "data");
	fd = open("/f", O_RDONLY);
	quiet = open("/f", O_RDONLY | O_NOATIME);
	/* The access time is before the last change: a read updates it, unless O_NOATIME is set. */
	set_times("/f", 1000, 2000);
	ASSERT_EQ(hf_tmpfs_pread(t, quiet, &c, 1, 0), 1);
	EXPECT_EQ(stat("/f").st_atime, 1000);
	ASSERT_EQ(hf_tmpfs_pread(t, fd, &c, 1, 0), 1);
	EXPECT_GT(stat("/f").st_atime, 1000000);
	/* After the last change and less than a day old: it is not updated. */
	struct timespec first = stat("/f").st_atim, second;
	ASSERT_EQ(hf_tmpfs_pread(t, fd, &c, 1, 0), 1);
	second = stat("/f").st_atim;
	EXPECT_TRUE(first.tv_sec == second.tv_sec && first.tv_nsec == second.tv_nsec);
	/* In the future, so after the last change: it is not updated. */
	set_times("/f", 4000000000, 2000);
	ASSERT_EQ(hf_tmpfs_pread(t, fd, &c, 1, 0), 1);
	EXPECT_EQ(stat("/f").st_atime, 4000000000);
	/* Directories and symlinks. */
	run("mkdir /d");
	set_times("/d", 1000, 2000);
	fd = open("/d");
	ASSERT_EQ(hf_tmpfs_readdir(t, fd, &entry, 1), 1);
	EXPECT_GT(stat("/d").st_atime, 1000000);
	ASSERT_EQ(hf_tmpfs_symlink("/f", root, "/s", nullptr), 0);
	to.set = HF_TMPFS_SET_ATIME;
	to.atime = { 1000, 0 };
	ASSERT_EQ(hf_tmpfs_setattr(root, "/s", false, &to), 0);
	ASSERT_EQ(hf_tmpfs_readlink(root, "/s", &c, 1), 1);
	struct stat st;
	ASSERT_EQ(hf_tmpfs_stat(root, "/s", false, &st), 0);
	EXPECT_GT(st.st_atime, 1000000);
	/* With the option noatime no read updates it. */
	struct hf_tmpfs_options options = {};
	options.noatime = true;
	make(options);
	file("/f", "data");
	set_times("/f", 1000, 2000);
	ASSERT_EQ(hf_tmpfs_pread(t, open("/f"), &c, 1, 0), 1);
	EXPECT_EQ(stat("/f").st_atime, 1000);
}

TEST_F(TmpfsOwners, ExtendedAttributes)
{
	char list[600];
	bad_page page;

	run("file /f; mkdir /d; symlink /f /s");
	for (const char *path : { "/f", "/d" }) {
		auto on = [&](const std::string &steps) {
			std::string all = steps;

			for (size_t at; (at = all.find('@')) != all.npos;)
				all.replace(at, 1, path);
			run(all);
		};

		EXPECT_EQ(hf_tmpfs_listxattr(root, path, true, list, sizeof(list)), 0);
		on(R"(
			getxattr @ user.a 9 = ENODATA; setxattr @ user.a 1 replace = ENODATA
			setxattr @ user.a 1 create; setxattr @ user.a 2 create = EEXIST
			getxattr @ user.a 9 = 1
			setxattr @ user.a three replace; getxattr @ user.a 9 = three
			setxattr @ user.empty ""; getxattr @ user.empty 9 = ""
			setxattr @ user.n*250 v*65536; getxattr @ user.n*250 70000 = v*65536; check
			getxattr @ user.a 4 = ERANGE; getxattr @ user.a 0 = 5
		)");
		EXPECT_EQ(hf_tmpfs_listxattr(root, path, true, nullptr, 0), 7 + 11 + 256);
		EXPECT_EQ(hf_tmpfs_listxattr(root, path, true, list, 273), -ERANGE);
		ASSERT_EQ(hf_tmpfs_listxattr(root, path, true, list, sizeof(list)), 274);
		EXPECT_STREQ(list, "user.a");
		EXPECT_STREQ(list + 7, "user.empty");
		EXPECT_EQ(hf_tmpfs_getxattr(root, path, true, "user.a", page.bad(), 5), -EFAULT);
		EXPECT_EQ(hf_tmpfs_listxattr(root, path, true, page.bad(), 4096), -EFAULT);
		EXPECT_EQ(hf_tmpfs_setxattr(root, path, true, "user.a", page.bad(), 5, 0), -EFAULT);
		on(R"(
			getxattr @ user.a 9 = three; removexattr @ user.a
			removexattr @ user.a = ENODATA
			getxattr @ user.n*250 70000 = v*65536
			setxattr @ "" 1 = ERANGE; setxattr @ user.n*251 1 = ERANGE
			setxattr @ user. 1 = EINVAL
			setxattr @ user 1 = EOPNOTSUPP; setxattr @ system.x 1 = EOPNOTSUPP
			getxattr @ other.x 9 = EOPNOTSUPP; removexattr @ other.x = EOPNOTSUPP
			setxattr @ user.a v*65537 = E2BIG; setxattr @ user.a 1 4 = EINVAL
			setxattr @ user.a 1 3 = ENODATA
		)");
	}
	run("setxattr /s user.a 1 = EPERM; getxattr /none user.a 1 = ENOENT; removexattr /s user.a "
	    "= EPERM");
	EXPECT_EQ(hf_tmpfs_setxattr(root, "/s", true, "user.via", "1", 1, 0), 0);
	run("getxattr /f user.via 9 = 1");
}

TEST_F(TmpfsOwners, ExtendedAttributesAreCounted)
{
	int error = 0, count = 0;
	auto set = [&](const std::string &name, size_t size) {
		return hf_tmpfs_setxattr(root, "/f", false, name.c_str(),
					 std::string(size, 'v').data(), size, 0);
	};

	run(R"(
		limit 16 0; file /f data; free = 15 0; setxattr /f user.a small; free = 14 0
		setxattr /f user.b small; free = 14 0
	)");
	while (!(error = set("user." + std::to_string(count), 4096)))
		count++;
	EXPECT_EQ(error, -ENOSPC);
	EXPECT_GE(count, 13);
	run("free = 0 0; setxattr /f user.0 v*8192 = ENOSPC; getxattr /f user.0 9999 = v*4096");
	run("setxattr /f user.0 \"\"; free = 1 0; check");
	for (int i = 0; i < count; i++)
		run("removexattr /f user." + std::to_string(i));
	run("free = 14 0; unlink /f; free = 16 0");
	/* One above 4 KiB takes a fifteenth of a slab of 128 KiB. */
	run("limit 16 0; file /f; setxattr /f user.a v*4200; free = 13 0; setxattr /f user.b "
	    "v*4200; free = 11 0");
	run("setxattr /f user.c v*40000; free = 1 0; check");
	/* The sum of the names is limited, so that a list always fits its maximum size. */
	run("limit 0 0; file /f");
	for (count = 0;
	     !(error = set("user." + std::to_string(1000 + count) + std::string(240, 'n'), 0));)
		count++;
	EXPECT_EQ(error, -ENOSPC);
	EXPECT_EQ(count, HF_TMPFS_XATTR_SIZE_MAX / 250);
	EXPECT_LE(hf_tmpfs_listxattr(root, "/f", true, nullptr, 0), HF_TMPFS_XATTR_SIZE_MAX);
}

} // namespace
