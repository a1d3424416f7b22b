// SPDX-License-Identifier: MIT
/* nodes - handles of inodes: lifetimes, and differences from calls by path (names.cpp). */
#include "fixture.h"

namespace
{

class TmpfsNodes : public TmpfsSteps {
protected:
	/* The error of a lookup, without keeping the reference. */
	static int lookup(struct hf_tmpfs_node *in, const char *name)
	{
		struct hf_tmpfs_node *found = nullptr;
		int error = hf_tmpfs_node_lookup(in, name, &found);

		if (!error)
			hf_tmpfs_node_put(found, 1);
		return error;
	}

	int create(struct hf_tmpfs_node *in, const char *name, int flags = O_RDWR)
	{
		return hf_tmpfs_node_create(t, in, name, flags, 0644, nullptr);
	}

	static struct stat stat_of(struct hf_tmpfs_node *of)
	{
		struct stat to = {};

		hf_tmpfs_node_stat(of, &to);
		return to;
	}

	/* Each call that takes a directory and a name must fail with this error. */
	void each_fails(struct hf_tmpfs_node *dir, int error)
	{
		struct hf_tmpfs_node *root = node("/");

		run("file /each");
		EXPECT_EQ(lookup(dir, "x"), error);
		EXPECT_EQ(hf_tmpfs_node_mkdir(dir, "x", 0755, nullptr), error);
		EXPECT_EQ(create(dir, "x"), error);
		EXPECT_EQ(hf_tmpfs_node_tmpfile(t, dir, O_RDWR, 0644, nullptr), error);
		EXPECT_EQ(hf_tmpfs_node_symlink("x", dir, "x", nullptr), error);
		EXPECT_EQ(hf_tmpfs_node_unlink(dir, "x"), error);
		EXPECT_EQ(hf_tmpfs_node_rmdir(dir, "x"), error);
		EXPECT_EQ(hf_tmpfs_node_link(node("each"), dir, "x"), error);
		EXPECT_EQ(hf_tmpfs_node_rename(root, "each", dir, "x", 0), error);
		EXPECT_EQ(hf_tmpfs_node_rename(dir, "x", root, "each", 0), error);
	}
};

/* ---- lifetimes ----------------------------------------------------------------------------- */

TEST_F(TmpfsNodes, OneNodeForAllNamesAndAllLookups)
{
	struct hf_tmpfs_node *a;

	run("file /f; link /f /g");
	a = node("f");
	EXPECT_EQ(node("g"), a);
	EXPECT_EQ(stat_of(a).st_ino, stat("/f").st_ino);
	EXPECT_EQ(stat_of(a).st_nlink, 2u);
	run("rename /f /h");
	EXPECT_EQ(node("h"), a);
	EXPECT_EQ(node("."), hf_tmpfs_node_root(fs));
	EXPECT_EQ(node(".."), hf_tmpfs_node_root(fs));
}

TEST_F(TmpfsNodes, AnUnlinkedInodeLivesUntilTheLastReferenceGoes)
{
	struct hf_tmpfs_node *f;
	char byte;
	int fd;

	run("limit 4 2; file /f alive");
	f = node("f");
	hf_tmpfs_node_get(f);
	/* Without a name it still counts in the limits. */
	run("unlink /f; check; free = 3 0; mkdir /g = ENOSPC");
	EXPECT_EQ(stat_of(f).st_nlink, 0u);
	EXPECT_EQ(hf_tmpfs_node_link(f, node("/"), "g"), -ENOENT);
	ASSERT_EQ(fd = hf_tmpfs_node_open(t, f, O_RDWR), 0);
	EXPECT_EQ(read(fd, 9, 0), "alive");
	hf_tmpfs_node_put(f, 1);
	prove();
	hf_tmpfs_node_put(f, 1);
	/* Now only the open file has a reference: no name, no node. */
	prove();
	EXPECT_EQ(hf_tmpfs_pread(t, fd, &byte, 1, 4), 1);
	EXPECT_EQ(free_inodes(), 0u);
	ASSERT_EQ(hf_tmpfs_close(t, fd), 0);
	run("free = 4 1");
}

TEST_F(TmpfsNodes, ReferencesAreDroppedAllAtOnce)
{
	struct hf_tmpfs_node *f;

	run("limit 0 3; file /f; file /g");
	f = node("f");
	for (int i = 0; i < 99; i++)
		hf_tmpfs_node_get(f);
	run("unlink /f");
	hf_tmpfs_node_put(f, 0);
	hf_tmpfs_node_put(f, 99);
	EXPECT_EQ(free_inodes(), 0u);
	hf_tmpfs_node_put(f, 1);
	EXPECT_EQ(free_inodes(), 1u);
	/* A file system with nodes is not freed; hf_tmpfs_nodes_put() puts them all. */
	f = node("g");
	run("unlink /g");
	hf_tmpfs_table_free(t);
	EXPECT_EQ(hf_tmpfs_free(fs), -EBUSY);
	ASSERT_EQ(hf_tmpfs_table_new(&t, fs, 0), 0);
	EXPECT_EQ(free_inodes(), 1u);
	hf_tmpfs_nodes_put(fs);
	EXPECT_EQ(free_inodes(), 2u);
}

TEST_F(TmpfsNodes, PuttingTooManyReferencesIsReported)
{
	struct hf_tmpfs_node *f;

	file("/f");
	f = node("f");
	{
		unit::reports reports;

		hf_tmpfs_node_put(f, 2);
		EXPECT_TRUE(reports.one(HF_REPORT_SUB_UAF, f));
	}
	prove();
	EXPECT_EQ(stat_of(f).st_nlink, 1u);
	hf_tmpfs_node_put(f, 1);
}

TEST_F(TmpfsNodes, ARemovedDirectoryKeepsItsParents)
{
	struct hf_tmpfs_node *c;
	struct hf_tmpfs_dirent entry;
	int fd;

	run("mkdir /a; mkdir /a/b; mkdir /a/b/c");
	c = node("a/b/c");
	run("rmdir /a/b/c; rmdir /a/b; rmdir /a; check");
	EXPECT_EQ(stat_of(c).st_nlink, 0u);
	/* Look-ups in it and additions to it fail. */
	each_fails(c, -ENOENT);
	EXPECT_EQ(lookup(c, "."), -ENOENT);
	EXPECT_EQ(lookup(c, ".."), -ENOENT);
	EXPECT_EQ(lookup(c, "../../.."), 0);
	ASSERT_EQ(fd = hf_tmpfs_node_open(t, c, O_RDONLY | O_DIRECTORY), 0);
	EXPECT_EQ(hf_tmpfs_readdir(t, fd, &entry, 1), -ENOENT);
}

/* ---- by directory and name ----------------------------------------------------------------- */

TEST_F(TmpfsNodes, TheDirectoryIsTheStart)
{
	struct hf_tmpfs_node *d, *f;

	run("mkdir /d; file /d/f data; symlink d/f /s; symlink loop /loop");
	d = node("d");
	f = node("d/f");
	EXPECT_EQ(node("/d/f"), f);
	EXPECT_EQ(stat_of(node("s")).st_mode & S_IFMT, static_cast<mode_t>(S_IFLNK));
	EXPECT_EQ(lookup(d, "f"), 0);
	EXPECT_EQ(lookup(d, "d"), -ENOENT);
	EXPECT_EQ(lookup(d, "/d"), 0); /* from the root */
	EXPECT_EQ(lookup(d, "../s/"), -ENOTDIR);
	EXPECT_EQ(lookup(d, ""), -ENOENT);
	EXPECT_EQ(lookup(f, "."), -ENOTDIR);
	EXPECT_EQ(lookup(d, "/loop/"), -ELOOP);
	EXPECT_EQ(lookup(d, "/loop"), 0);
	each_fails(f, -ENOTDIR);
	/* Each call relative to a directory other than the root. */
	EXPECT_EQ(hf_tmpfs_node_mkdir(d, "e", 0755, nullptr), 0);
	EXPECT_EQ(hf_tmpfs_node_symlink("f", d, "t", nullptr), 0);
	EXPECT_EQ(hf_tmpfs_node_link(f, d, "g"), 0);
	EXPECT_EQ(hf_tmpfs_node_rename(d, "g", node("d/e"), "h", 0), 0);
	EXPECT_EQ(hf_tmpfs_node_rename(d, "e", d, "i", 0), 0);
	EXPECT_EQ(create(d, "j"), 0);
	run("contents /d/i/h = data; contents /d/t = data; stat /d/j");
	EXPECT_EQ(hf_tmpfs_node_unlink(d, "j"), 0);
	EXPECT_EQ(hf_tmpfs_node_rmdir(d, "i"), -ENOTEMPTY);
	/* A directory keeps its node when it is renamed. */
	EXPECT_EQ(hf_tmpfs_node_rename(node("/"), "d", node("/"), "e", 0), 0);
	EXPECT_EQ(node("e"), d);
	EXPECT_EQ(node("e/f"), f);
}

TEST_F(TmpfsNodes, NewNodesHaveAReference)
{
	struct hf_tmpfs_node *root = node("/"), *d, *f, *s;
	int fd;

	ASSERT_EQ(hf_tmpfs_node_mkdir(root, "d", 0751, &d), 0);
	ASSERT_EQ(fd = hf_tmpfs_node_create(t, d, "f", O_WRONLY, 0604, &f), 0);
	ASSERT_EQ(hf_tmpfs_node_symlink("f", d, "s", &s), 0);
	EXPECT_EQ(stat("/d").st_ino, stat_of(d).st_ino);
	EXPECT_EQ(stat("/d/f").st_ino, stat_of(f).st_ino);
	run("stat /d mode = 40751; stat /d/f mode = 100604; lstat /d/s mode = 120777");
	run("unlink /d/f; unlink /d/s; rmdir /d");
	for (struct hf_tmpfs_node *made : { d, f, s }) {
		EXPECT_EQ(stat_of(made).st_nlink, 0u);
		hf_tmpfs_node_put(made, 1);
	}
}

TEST_F(TmpfsNodes, Create)
{
	struct hf_tmpfs_node *d, *found = nullptr;

	make({}, 3);
	run("mkdir /d; file /d/f data; symlink f /d/s");
	d = node("d");
	EXPECT_EQ(create(d, "f", O_RDWR | O_EXCL), -EEXIST);
	EXPECT_EQ(hf_tmpfs_node_create(t, d, "s", O_RDWR | O_TRUNC, 0, &found), 0);
	EXPECT_EQ(found, node("d/f"));
	run("stat /d/f size = 0");
	for (int i = 1; i < 3; i++)
		EXPECT_EQ(create(d, "f"), i);
	EXPECT_EQ(create(d, "x"), -EMFILE);
	EXPECT_FALSE(exists("/d/x"));
}

/* ---- by node alone ------------------------------------------------------------------------- */

TEST_F(TmpfsNodes, Open)
{
	struct hf_tmpfs_node *d, *f, *s;
	int fd;

	make({}, 3);
	run("mkdir /d; file /f data; symlink f /s");
	d = node("d");
	f = node("f");
	s = node("s");
	EXPECT_EQ(hf_tmpfs_node_open(t, s, O_RDONLY), -ELOOP);
	EXPECT_EQ(hf_tmpfs_node_open(t, s, O_RDONLY | O_DIRECTORY), -ENOTDIR);
	EXPECT_EQ(hf_tmpfs_node_open(t, f, O_RDONLY | O_DIRECTORY), -ENOTDIR);
	EXPECT_EQ(hf_tmpfs_node_open(t, d, O_WRONLY), -EISDIR);
	EXPECT_EQ(hf_tmpfs_node_open(t, d, O_RDONLY | O_TRUNC), -EISDIR);
	EXPECT_EQ(hf_tmpfs_node_open(t, f, O_ACCMODE), -EINVAL);
	EXPECT_EQ(fd = hf_tmpfs_node_open(t, f, O_RDWR | O_APPEND | O_CREAT), 0);
	EXPECT_EQ(hf_tmpfs_write(t, fd, "more", 4), 4);
	EXPECT_EQ(read(fd, 99, 0), "datamore");
	EXPECT_EQ(hf_tmpfs_dup(t, fd), 1);
	EXPECT_EQ(hf_tmpfs_node_open(t, f, O_RDWR | O_TRUNC), 2);
	EXPECT_EQ(read(fd, 99, 0), "");
	EXPECT_EQ(hf_tmpfs_node_open(t, f, O_RDONLY), -EMFILE);
	prove();
	for (fd = 0; fd < 3; fd++)
		EXPECT_EQ(hf_tmpfs_close(t, fd), 0);
	EXPECT_EQ(hf_tmpfs_node_open(t, d, O_RDONLY), 0);
}

TEST_F(TmpfsNodes, AttributesSizeAndTarget)
{
	struct hf_tmpfs_attributes to = {};
	struct hf_tmpfs_node *f, *s;
	char target[4] = {};
	bad_page page;

	run("file /f data; symlink where /s");
	f = node("f");
	s = node("s");
	EXPECT_EQ(hf_tmpfs_node_truncate(f, 2), 0);
	run("contents /f = da");
	EXPECT_EQ(hf_tmpfs_node_truncate(f, 10000), 0);
	EXPECT_EQ(stat_of(f).st_size, 10000);
	EXPECT_EQ(hf_tmpfs_node_truncate(f, -1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_node_truncate(node("/"), 0), -EISDIR);
	EXPECT_EQ(hf_tmpfs_node_truncate(s, 0), -EINVAL);
	EXPECT_EQ(hf_tmpfs_node_readlink(s, target, sizeof(target)), 4);
	EXPECT_EQ(std::string(target, 4), "wher");
	EXPECT_EQ(hf_tmpfs_node_readlink(s, target, 0), -EINVAL);
	EXPECT_EQ(hf_tmpfs_node_readlink(f, target, 1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_node_readlink(s, page.before(3), 10), -EFAULT);
	to.set = HF_TMPFS_SET_MODE | HF_TMPFS_SET_UID | HF_TMPFS_SET_MTIME;
	to.mode = 0700;
	to.uid = 7;
	to.mtime.tv_sec = 8;
	run("unlink /f");
	ASSERT_EQ(hf_tmpfs_node_setattr(f, &to), 0);
	EXPECT_EQ(stat_of(f).st_mode, S_IFREG | 0700u);
	EXPECT_EQ(stat_of(f).st_uid, 7u);
	EXPECT_EQ(stat_of(f).st_mtim.tv_sec, 8);
}

TEST_F(TmpfsNodes, OfAnotherFileSystem)
{
	struct hf_tmpfs *other = nullptr;
	struct hf_tmpfs_node *there, *f;

	ASSERT_EQ(hf_tmpfs_new(&other, nullptr), 0);
	there = hf_tmpfs_node_root(other);
	file("/f");
	f = node("f");
	EXPECT_EQ(hf_tmpfs_node_link(f, there, "x"), -EXDEV);
	EXPECT_EQ(hf_tmpfs_node_rename(node("/"), "f", there, "x", 0), -EXDEV);
	EXPECT_EQ(create(there, "x"), -EXDEV);
	EXPECT_EQ(hf_tmpfs_node_open(t, there, O_RDONLY), -EXDEV);
	EXPECT_EQ(hf_tmpfs_check(other, tell, nullptr), 0);
	hf_tmpfs_node_put(there, 1);
	EXPECT_EQ(hf_tmpfs_free(other), 0);
}

} // namespace
