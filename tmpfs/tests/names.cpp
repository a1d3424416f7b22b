// SPDX-License-Identifier: MIT
/* names - open, mkdir, link, symlink, unlink, rename, readdir: effects, and each errno. */
#include "fixture.h"

namespace
{

class TmpfsNames : public TmpfsTest {};

/* ---- paths --------------------------------------------------------------------------------- */

TEST_F(TmpfsNames, PathsThroughDotsSlashesAndSymlinks)
{
	run(R"(
		mkdir /a; mkdir /a/b; file /a/b/f deep
		symlink a/b /relative; symlink /a/b /a/absolute; symlink ../b/f /a/b/up
		contents /a/b/f = deep; contents a/b/f = deep; contents //a//b///f = deep
		contents /a/./b/../b/f = deep; contents /../a/b/f = deep
		contents /relative/f = deep
		contents /a/absolute/f = deep; contents /relative/up = deep
		contents /relative/../b/f = deep
	)");
	EXPECT_EQ(stat("/relative/").st_ino, stat("/a/b").st_ino);
	EXPECT_EQ(stat("/..").st_ino, stat("/").st_ino);
}

TEST_F(TmpfsNames, PathErrors)
{
	run(R"(
		file /f
		stat "" = ENOENT; stat /none = ENOENT; stat /none/f = ENOENT
		stat /f/g = ENOTDIR; stat /f/ = ENOTDIR; stat /f/. = ENOTDIR
		stat x*256 = ENAMETOOLONG; stat x*255 = ENOENT
		stat /*4096 = ENAMETOOLONG; stat /*4095
	)");
}

TEST_F(TmpfsNames, SymlinkLoopsEnd)
{
	run(R"(
		symlink loop /loop; stat /loop = ELOOP; stat /loop/x = ELOOP; lstat /loop
		open 0 /loop r,creat = ELOOP; file /0 end
	)");
	for (int i = 1; i <= 41; i++)
		run("symlink " + std::to_string(i - 1) + " " + std::to_string(i));
	run("contents /40 = end; contents /41 = ELOOP");
}

/* ---- open ---------------------------------------------------------------------------------- */

TEST_F(TmpfsNames, OpenFlags)
{
	run(R"(
		open 0 /f = ENOENT; open 0 /f rw,creat 640; stat /f mode = 100640; write 0 abc = 3
		open 1 /f r,creat; open 2 /f r,creat,excl = EEXIST; open 2 /f dir = ENOTDIR
		open 2 /f 3 = EINVAL; open 2 / r,creat,dir = EINVAL
		contents /f = abc; open 2 /f w,trunc; contents /f = ""
		open 3 / w = EISDIR; open 3 / r,trunc = EISDIR; open 3 / r,creat = EISDIR
		open 3 /. r,creat,excl = EEXIST; open 3 /g/ r,creat = EISDIR; open 3 / dir
		mkdir /d; open 4 /d r,creat = EISDIR; open 4 /x*256 r,creat = ENAMETOOLONG
		open 4 /f/x r,creat = ENOTDIR
	)");
}

TEST_F(TmpfsNames, OpenThroughSymlinks)
{
	run(R"(
		symlink made /dangling; open 0 /dangling = ENOENT
		open 0 /dangling r,creat,excl = EEXIST; open 0 /dangling r,creat,nofollow = ELOOP
		open 0 /dangling nofollow = ELOOP; open 0 /dangling nofollow,dir = ENOTDIR
		open 0 /dangling w,creat; stat /made; open 1 /dangling rw,creat,trunc
		contents /made = ""
	)");
}

TEST_F(TmpfsNames, DescriptorsAreTheLowestAndLimited)
{
	make({}, 70);
	for (int i = 0; i < 70; i++)
		ASSERT_EQ(open("/"), i);
	run("open 0 / = EMFILE; open 0 /not_made r,creat = EMFILE; lstat /not_made = ENOENT");
	EXPECT_EQ(hf_tmpfs_dup(t, 3), -EMFILE);
	EXPECT_EQ(hf_tmpfs_close(t, 69), 0);
	EXPECT_EQ(hf_tmpfs_close(t, 5), 0);
	EXPECT_EQ(hf_tmpfs_close(t, 5), -EBADF);
	EXPECT_EQ(open("/none"), -ENOENT);
	EXPECT_EQ(hf_tmpfs_dup(t, 3), 5);
	EXPECT_EQ(open("/"), 69);
	for (int fd : { -1, 70, 1 << 30 }) {
		EXPECT_EQ(hf_tmpfs_close(t, fd), -EBADF);
		EXPECT_EQ(hf_tmpfs_dup(t, fd), -EBADF);
	}
}

TEST_F(TmpfsNames, TablesAreRefusedAndKeepTheFileSystem)
{
	struct hf_tmpfs_options half = {};
	struct hf_tmpfs_table *other = nullptr;
	struct hf_tmpfs *none = nullptr;

	EXPECT_EQ(hf_tmpfs_table_new(&other, fs, HF_TMPFS_DESCRIPTORS_MAX + 1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_free(fs), -EBUSY);
	ASSERT_EQ(hf_tmpfs_table_new(&other, fs, 1), 0);
	EXPECT_EQ(hf_tmpfs_open(other, nullptr, "/", O_RDONLY, 0, nullptr), 0);
	EXPECT_EQ(hf_tmpfs_close(t, 0), -EBADF); /* of another table */
	prove();
	hf_tmpfs_table_free(other);
	half.allocate = [](void *, size_t) -> void * { return nullptr; };
	EXPECT_EQ(hf_tmpfs_new(&none, &half), -EINVAL);
}

TEST_F(TmpfsNames, AnUnlinkedOrRemovedFileLivesUntilItsLastReferenceGoes)
{
	run(R"(
		limit 10 2; open 0 /f rw,creat; write 0 alive; dup 0 1
		unlink /f; lstat /f = ENOENT; free = 9 0; check
		close 0; pread 1 9 0 = alive
		write 1 !; pread 1 9 0 = alive!; check
		close 1; free = 10 1
		limit 0 0; mkdir /a; mkdir /a/b; open 0 /a/b; rmdir /a/b; rmdir /a
		fstat 0 links = 0; list 0 = ENOENT; check
	)"); /* so does a removed directory */
}

/* ---- make and remove ----------------------------------------------------------------------- */

TEST_F(TmpfsNames, Mkdir)
{
	run(R"(
		mkdir /a; mkdir /a/b/; stat /a mode links = 40755 3; stat / links = 3; file /f
		mkdir /a = EEXIST; mkdir /f = EEXIST; mkdir / = EEXIST; mkdir /a/. = EEXIST
		mkdir /a/.. = EEXIST
		mkdir /none/x = ENOENT; mkdir /f/x = ENOTDIR; mkdir /x*256 = ENAMETOOLONG
	)");
}

TEST_F(TmpfsNames, Rmdir)
{
	run(R"(
		mkdir /a; mkdir /a/b; file /f; symlink a /link
		rmdir /a = ENOTEMPTY; rmdir /a/b/.. = ENOTEMPTY; rmdir /a/. = EINVAL
		rmdir / = EBUSY
		rmdir /none = ENOENT; rmdir /f = ENOTDIR; rmdir /link = ENOTDIR
		rmdir /f/x = ENOTDIR
		rmdir /x*256 = ENAMETOOLONG
		rmdir /a/b/; stat /a links = 2; rmdir /a; mkdir /a/c = ENOENT
	)");
}

TEST_F(TmpfsNames, Unlink)
{
	run(R"(
		mkdir /a; file /f; unlink /a = EISDIR; unlink /. = EISDIR; unlink / = EISDIR
		unlink /f/ = ENOTDIR; unlink /f/x = ENOTDIR; unlink /none = ENOENT
		unlink /x*256 = ENAMETOOLONG
		unlink /f; unlink /f = ENOENT
	)");
}

TEST_F(TmpfsNames, Link)
{
	run(R"(
		mkdir /a; file /f same; symlink f /s; link /f /a/g; link /s /s2
		stat /f links = 2; lstat /s2 mode = 120777
		link /f /a = EEXIST; link /f /a/. = EEXIST; link /none /x = ENOENT
		link /f /x/ = ENOENT
		link /f /none/x = ENOENT; link /f /f/x = ENOTDIR; link /f /x*256 = ENAMETOOLONG
		link /a /x = EPERM; link /a /f = EEXIST
	)");
	EXPECT_EQ(stat("/f").st_ino, stat("/a/g").st_ino);
	run("unlink /f; stat /a/g links = 1; contents /a/g = same");
}

TEST_F(TmpfsNames, SymlinkAndReadlink)
{
	bad_page page;

	run(R"(
		file /f; symlink /some/where /s; readlink /s 10 = /some/wher; readlink /s 0 = EINVAL
		readlink /f 1 = EINVAL; readlink /none 1 = ENOENT
		symlink "" /x = ENOENT; symlink x /f = EEXIST; symlink x /x/ = ENOENT
		symlink x /f/x = ENOTDIR
		symlink x*4096 /x = ENAMETOOLONG; symlink x /x*256 = ENAMETOOLONG
		symlink x*4095 /x; lstat /x size mode = 4095 120777
	)");
	EXPECT_EQ(hf_tmpfs_readlink(root, "/s", page.before(3), 10), -EFAULT);
}

/* ---- rename -------------------------------------------------------------------------------- */

TEST_F(TmpfsNames, RenameMovesAndReplaces)
{
	run(R"(
		mkdir /a; mkdir /b; file /a/f one; file /b/g two; open 0 /b/g
		rename /a/f /a/h; rename /a/h /b/g; contents /b/g = one; pread 0 9 0 = two; check
		mkdir /a/sub; file /a/sub/x deep; rename /a/sub /b/sub; contents /b/sub/x = deep
		stat /a links = 2; stat /b links = 3
	)");
	EXPECT_EQ(stat("/b/sub/..").st_ino, stat("/b").st_ino);
	run("mkdir /empty; rename /b/sub/ /empty/; contents /empty/x = deep; stat / links = 5");
}

TEST_F(TmpfsNames, RenameOfTheSameFileDoesNothing)
{
	run(R"(
		file /f x; link /f /g; rename /f /g; rename /f /f; rename /f /g exchange
		stat /f links = 2; stat /g links = 2
	)");
}

TEST_F(TmpfsNames, RenameErrors)
{
	run(R"(
		mkdir /a; mkdir /a/b; mkdir /a/b/c; file /f; mkdir /full; file /full/x
		rename /none /x = ENOENT; rename /f /none/x = ENOENT; rename /f /f/x = ENOTDIR
		rename /f/x /f = ENOTDIR; rename /x*256 /x = ENAMETOOLONG
		rename /f /x*256 = ENAMETOOLONG
		rename /a /a/b/c/d = EINVAL; rename /a /a/x = EINVAL; rename /a/b/c /a = ENOTEMPTY
		rename /f /a = EISDIR; rename /a /f = ENOTDIR; rename /a /full = ENOTEMPTY
		rename /a/. /x = EBUSY; rename /a /full/.. = EBUSY; rename / /x = EBUSY
		rename /f/ /x = ENOTDIR; rename /f /x/ = ENOTDIR
		rename /f /x 3 = EINVAL; rename /f /x 6 = EINVAL; rename /f /x 8 = EINVAL
		stat /a/b/c; stat /full/x; lstat /x = ENOENT
	)");
}

TEST_F(TmpfsNames, RenameNoReplace)
{
	run(R"(
		file /f; file /g; rename /f /g noreplace = EEXIST; rename /f /. noreplace = EEXIST
		rename /f /h noreplace; lstat /f = ENOENT
	)");
}

TEST_F(TmpfsNames, RenameExchange)
{
	run(R"(
		mkdir /a; mkdir /a/sub; mkdir /b; file /b/f data; rename /a/sub /b/f exchange
		contents /a/sub = data; stat /b/f mode = 40755; stat /a links = 2; stat /b links = 3
		rename /b /none exchange = ENOENT; rename /b /b/f exchange = EINVAL
		rename /b/f /b exchange = EINVAL; rename /b /a/sub/ exchange = ENOTDIR
	)");
	EXPECT_EQ(stat("/b/f/..").st_ino, stat("/b").st_ino);
}

/* ---- readdir ------------------------------------------------------------------------------- */

TEST_F(TmpfsNames, ReaddirGivesEachNameOnce)
{
	struct hf_tmpfs_dirent entries[4];
	auto next = [&](int fd, int count) {
		std::string names;
		int given = hf_tmpfs_readdir(t, fd, entries, count);

		for (int i = 0; i < given; i++)
			names += entries[i].name + std::string(" ");
		return names;
	};

	run("list / = . ..; file /a; file /b; file /c; file /d; list / = . .. a b c d");
	int fd = open("/");
	EXPECT_EQ(next(fd, 4), ". .. a b ");
	EXPECT_EQ(entries[0].type, DT_DIR);
	EXPECT_EQ(entries[2].type, DT_REG);
	EXPECT_EQ(entries[2].inode, stat("/a").st_ino);
	/* A listing gives the names that existed when it began and have not been removed since. */
	run("unlink /b; unlink /c; file /e");
	EXPECT_EQ(next(fd, 4), "d ");
	EXPECT_EQ(next(fd, 4), "");
	EXPECT_EQ(hf_tmpfs_lseek(t, fd, 0, SEEK_SET), 0);
	EXPECT_EQ(next(fd, 4), ". .. a d ");
	EXPECT_EQ(next(fd, 4), "e ");
	EXPECT_EQ(hf_tmpfs_lseek(t, fd, 0, SEEK_SET), 0);
	EXPECT_EQ(next(fd, 3), ". .. a ");
	EXPECT_EQ(hf_tmpfs_lseek(t, fd, entries[1].next, SEEK_SET), entries[1].next);
	EXPECT_EQ(next(fd, 1), "a ");
}

TEST_F(TmpfsNames, ReaddirErrors)
{
	struct hf_tmpfs_dirent entry;
	bad_page page;
	int fd = open("/");
	auto *bad = reinterpret_cast<struct hf_tmpfs_dirent *>(page.bad());
	void *last = page.before(sizeof(entry) + 8);

	file("/f");
	EXPECT_EQ(hf_tmpfs_readdir(t, 99, &entry, 1), -EBADF);
	EXPECT_EQ(hf_tmpfs_readdir(t, open("/f"), &entry, 1), -ENOTDIR);
	EXPECT_EQ(hf_tmpfs_readdir(t, fd, bad, 9), -EFAULT);
	EXPECT_EQ(hf_tmpfs_readdir(t, fd, static_cast<struct hf_tmpfs_dirent *>(last), 9), 1);
	ASSERT_EQ(hf_tmpfs_readdir(t, fd, &entry, 1), 1);
	EXPECT_STREQ(entry.name, "..");
}

/* ---- limits and attributes ----------------------------------------------------------------- */

TEST_F(TmpfsNames, InodesAreLimited)
{
	run(R"(
		limit 0 3; file /f; link /f /g; free = 0 0
		open 0 /x r,creat = ENOSPC; mkdir /x = ENOSPC; symlink x /x = ENOSPC
		link /f /x = ENOSPC
		rename /f /h; check; unlink /h; mkdir /x; free = 0 0; rmdir /x; free = 0 1
	)");
}

TEST_F(TmpfsNames, Attributes)
{
	struct hf_tmpfs_attributes to = {};

	run("file /f; symlink f /s");
	to.set = HF_TMPFS_SET_MODE | HF_TMPFS_SET_UID | HF_TMPFS_SET_GID | HF_TMPFS_SET_ATIME |
		 HF_TMPFS_SET_MTIME;
	to.mode = 01234;
	to.uid = 5;
	to.gid = 6;
	to.atime.tv_sec = 7;
	to.mtime.tv_sec = 8;
	ASSERT_EQ(hf_tmpfs_setattr(root, "/s", true, &to), 0);
	run("stat /f mode uid gid atime mtime = 101234 5 6 7 8");
	to.set = HF_TMPFS_SET_UID;
	to.uid = 9;
	ASSERT_EQ(hf_tmpfs_setattr(root, "/s", false, &to), 0);
	run("stat /f uid = 5; lstat /s uid = 9");
	run("fstat 99 = EBADF");
	EXPECT_EQ(hf_tmpfs_setattr(root, "/none", true, &to), -ENOENT);
	to.set = 1u << 10;
	EXPECT_EQ(hf_tmpfs_setattr(root, "/f", true, &to), -EINVAL);
}

TEST_F(TmpfsNames, ADeepTreeIsFreedWithoutRecursion)
{
	std::string path;

	for (int i = 0; i < 1000; i++) {
		path += "/d";
		run("mkdir " + path);
	}
	run("file " + path + "/f x");
}

} // namespace
