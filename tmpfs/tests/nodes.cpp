// SPDX-License-Identifier: MIT
/* nodes - handles of inodes: lifetimes, and differences from calls by path (names.cpp). */
#include "fixture.h"

namespace
{

class TmpfsNodes : public TmpfsTest {
protected:
	static struct stat stat_of(struct hf_tmpfs_node *of)
	{
		struct stat to = {};

		hf_tmpfs_stat(of, &to);
		return to;
	}

	int open_node(struct hf_tmpfs_node *node, int flags)
	{
		return hf_tmpfs_open(t, node, nullptr, flags, 0644, nullptr);
	}

	/* Each call that takes a directory and a name must fail with this error. */
	void each_fails(struct hf_tmpfs_node *dir, const std::string &error)
	{
		run("file /each");
		for (const char *step :
		     { "lstat x", "mkdir x", "open 0 x rw,creat", "symlink x x", "unlink x",
		       "rmdir x", "link /each x", "rename /each x", "rename x /each",
		       "truncate x 0", "chmod x 0", "mknod x fifo", "readlink x 9" })
			run(std::string(step) + " = " + error, dir);
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
	EXPECT_EQ(hf_tmpfs_link(f, root, "g"), -ENOENT);
	ASSERT_EQ(fd = open_node(f, O_RDWR), 0);
	EXPECT_EQ(read(fd, 9, 0), "alive");
	hf_tmpfs_node_put(f, 1);
	prove();
	hf_tmpfs_node_put(f, 1);
	/* Now only the open file has a reference: no name, no node. */
	prove();
	EXPECT_EQ(hf_tmpfs_pread(t, fd, &byte, 1, 4), 1);
	run("free = 3 0");
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
	run("free = 0 0");
	hf_tmpfs_node_put(f, 1);
	run("free = 0 1");
	/* A file system with nodes is not freed; hf_tmpfs_nodes_put() puts them all. */
	f = node("g");
	run("unlink /g");
	hf_tmpfs_table_free(t);
	EXPECT_EQ(hf_tmpfs_free(fs), -EBUSY);
	ASSERT_EQ(hf_tmpfs_table_new(&t, fs, 0), 0);
	run("free = 0 1");
	hf_tmpfs_nodes_put(fs);
	run("free = 0 2");
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
	each_fails(c, "ENOENT");
	ASSERT_EQ(fd = open_node(c, O_RDONLY | O_DIRECTORY), 0);
	EXPECT_EQ(hf_tmpfs_readdir(t, fd, &entry, 1), -ENOENT);
}

/* ---- by directory and name ----------------------------------------------------------------- */

TEST_F(TmpfsNodes, TheDirectoryIsTheStart)
{
	struct hf_tmpfs_node *d, *f;

	run("mkdir /d; file /d/f data; symlink d/f /s");
	d = node("d");
	f = node("d/f");
	EXPECT_EQ(node("/d/f"), f);
	EXPECT_EQ(stat_of(node("s")).st_mode & S_IFMT, static_cast<mode_t>(S_IFLNK));
	each_fails(f, "ENOTDIR");
	/* Each call relative to a directory other than the root; "/d" starts at the root. */
	run(R"(
		stat f; stat d = ENOENT; stat /d
		mkdir e; symlink f t; link f g; rename g e/h; rename e i; open 0 j rw,creat
		unlink j; rmdir i = ENOTEMPTY; truncate f 3; readlink t 9 = f; chmod f 600
		mknod p fifo
	)",
	    d);
	run("contents /d/i/h = dat; stat /d/f mode = 100600; stat /d/p");
	/* A directory keeps its node when it is renamed. */
	run("rename /d /e");
	EXPECT_EQ(node("e"), d);
	EXPECT_EQ(node("e/f"), f);
}

TEST_F(TmpfsNodes, NewNodesHaveAReference)
{
	struct hf_tmpfs_node *d, *f, *s;

	ASSERT_EQ(hf_tmpfs_mkdir(root, "d", 0751, &d), 0);
	ASSERT_EQ(hf_tmpfs_open(t, d, "f", O_WRONLY | O_CREAT, 0604, &f), 0);
	ASSERT_EQ(hf_tmpfs_symlink("f", d, "s", &s), 0);
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
	EXPECT_EQ(hf_tmpfs_open(t, d, "s", O_CREAT | O_RDWR, 0, &found), -ELOOP);
	EXPECT_EQ(hf_tmpfs_open(t, d, "f", O_CREAT | O_RDWR | O_TRUNC, 0, &found), 0);
	EXPECT_EQ(found, node("d/f"));
	run("open 9 f rw,creat,excl = EEXIST; stat f size = 0; open 1 f rw,creat; open 2 f "
	    "rw,creat; open 3 x rw,creat = EMFILE",
	    d);
	run("lstat /d/x = ENOENT");
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
	EXPECT_EQ(open_node(s, O_RDONLY), -ELOOP);
	EXPECT_EQ(open_node(f, O_RDONLY | O_DIRECTORY), -ENOTDIR);
	EXPECT_EQ(open_node(d, O_WRONLY), -EISDIR);
	EXPECT_EQ(open_node(d, O_RDONLY | O_TRUNC), -EISDIR);
	EXPECT_EQ(open_node(f, O_ACCMODE), -EINVAL);
	EXPECT_EQ(fd = open_node(f, O_RDWR | O_APPEND | O_CREAT), 0);
	EXPECT_EQ(hf_tmpfs_write(t, fd, "more", 4), 4);
	EXPECT_EQ(read(fd, 99, 0), "datamore");
	EXPECT_EQ(hf_tmpfs_dup(t, fd), 1);
	EXPECT_EQ(open_node(f, O_RDWR | O_TRUNC), 2);
	EXPECT_EQ(read(fd, 99, 0), "");
	EXPECT_EQ(open_node(f, O_RDONLY), -EMFILE);
	prove();
	for (fd = 0; fd < 3; fd++)
		EXPECT_EQ(hf_tmpfs_close(t, fd), 0);
	EXPECT_EQ(open_node(d, O_RDONLY | O_DIRECTORY | O_CREAT), 0);
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
	EXPECT_EQ(hf_tmpfs_truncate(f, 2), 0);
	run("contents /f = da");
	EXPECT_EQ(hf_tmpfs_truncate(f, 10000), 0);
	EXPECT_EQ(stat_of(f).st_size, 10000);
	EXPECT_EQ(hf_tmpfs_truncate(f, -1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_truncate(node("/"), 0), -EISDIR);
	EXPECT_EQ(hf_tmpfs_truncate(s, 0), -EINVAL);
	EXPECT_EQ(hf_tmpfs_readlink(s, target, sizeof(target)), 4);
	EXPECT_EQ(std::string(target, 4), "wher");
	EXPECT_EQ(hf_tmpfs_readlink(s, target, 0), -EINVAL);
	EXPECT_EQ(hf_tmpfs_readlink(f, target, 1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_readlink(s, page.before(3), 10), -EFAULT);
	to.set = HF_TMPFS_SET_MODE | HF_TMPFS_SET_UID | HF_TMPFS_SET_MTIME;
	to.mode = 0700;
	to.uid = 7;
	to.mtime.tv_sec = 8;
	run("unlink /f");
	ASSERT_EQ(hf_tmpfs_setattr(f, &to), 0);
	EXPECT_EQ(stat_of(f).st_mode, S_IFREG | 0700u);
	EXPECT_EQ(stat_of(f).st_uid, 7u);
	EXPECT_EQ(stat_of(f).st_mtim.tv_sec, 8);
	to.set = 1u << 10;
	EXPECT_EQ(hf_tmpfs_setattr(f, &to), -EINVAL);
}

TEST_F(TmpfsNodes, OfAnotherFileSystem)
{
	struct hf_tmpfs *other = nullptr;
	struct hf_tmpfs_node *there;

	ASSERT_EQ(hf_tmpfs_new(&other, nullptr), 0);
	there = hf_tmpfs_root(other);
	file("/f");
	EXPECT_EQ(hf_tmpfs_link(node("f"), there, "x"), -EXDEV);
	EXPECT_EQ(hf_tmpfs_rename(root, "f", there, "x", 0), -EXDEV);
	EXPECT_EQ(hf_tmpfs_open(t, there, "x", O_CREAT, 0, nullptr), -EXDEV);
	EXPECT_EQ(hf_tmpfs_check(other, tell, nullptr), 0);
	EXPECT_EQ(hf_tmpfs_free(other), 0);
}

} // namespace
