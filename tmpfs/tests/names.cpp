// SPDX-License-Identifier: MIT
/*
 * names - descriptors, listings, limits, and lifetimes of names. That each call has Linux's effects
 * and errors is left to compare.cpp, mount.py and mount_access.py.
 */
#include "fixture.h"

namespace
{

class TmpfsNames : public TmpfsTest {};

TEST_F(TmpfsNames, PathsAreNamesAndSlashes)
{
	run(R"(
		mkdir /d; file /d/f data; symlink d /s; contents d//f/ = data; lstat n*256 = ENAMETOOLONG
		lstat /s/f = ELOOP; lstat /d/f/x = ENOTDIR; lstat "" = EINVAL; lstat d/../d = EINVAL
		mkdir /d/. = EINVAL; rmdir /d/.. = EINVAL; rename /d /.. = EINVAL
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
	EXPECT_EQ(hf_tmpfs_open(other, nullptr, nullptr, O_RDONLY, 0, nullptr), 0);
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

TEST_F(TmpfsNames, InodesAreLimited)
{
	run(R"(
		limit 0 3; file /f; link /f /g; free = 0 0
		open 0 /x r,creat = ENOSPC; mkdir /x = ENOSPC; symlink x /x = ENOSPC
		link /f /x = ENOSPC
		rename /f /h; check; unlink /h; mkdir /x; free = 0 0; rmdir /x; free = 0 1
	)");
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
