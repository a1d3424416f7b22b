// SPDX-License-Identifier: MIT
/* nodes - inodes that the program has: how long they live, what is done by them, and each errno. */
#include "world.h"

namespace
{

class TmpfsNodes : public TmpfsWorld {
protected:
	void SetUp() override
	{
		TmpfsWorld::SetUp();
		root = hf_tmpfs_node_root(fs);
	}

	void TearDown() override
	{
		prove();
		hf_tmpfs_nodes_put(fs);
		TmpfsWorld::TearDown();
	}

	/* With these options, and the root's node. */
	void make_with(const struct hf_tmpfs_options &options)
	{
		hf_tmpfs_nodes_put(fs);
		make(options);
		root = hf_tmpfs_node_root(fs);
	}

	/* A table of three descriptors. */
	void limit_descriptors()
	{
		hf_tmpfs_table_free(t);
		ASSERT_EQ(hf_tmpfs_table_new(&t, fs, 3), 0);
	}

	/* A reference that stays to the end of the test. */
	struct hf_tmpfs_node *node(const char *path)
	{
		struct hf_tmpfs_node *found = nullptr;

		EXPECT_EQ(hf_tmpfs_node_lookup(root, path, &found), 0) << path;
		return found;
	}

	int lookup(struct hf_tmpfs_node *in, const char *name)
	{
		struct hf_tmpfs_node *found = nullptr;
		int error = hf_tmpfs_node_lookup(in, name, &found);

		if (!error)
			hf_tmpfs_node_put(found, 1);
		return error;
	}

	int mkdir(struct hf_tmpfs_node *in, const char *name)
	{
		return hf_tmpfs_node_mkdir(in, name, 0755, nullptr);
	}

	int create(struct hf_tmpfs_node *in, const char *name, int flags = O_RDWR)
	{
		return hf_tmpfs_node_create(t, in, name, flags, 0644, nullptr);
	}

	int symlink(const char *target, struct hf_tmpfs_node *in, const char *name)
	{
		return hf_tmpfs_node_symlink(target, in, name, nullptr);
	}

	int rename(struct hf_tmpfs_node *from_dir, const char *from, struct hf_tmpfs_node *to_dir,
		   const char *to, unsigned int flags = 0)
	{
		return hf_tmpfs_node_rename(from_dir, from, to_dir, to, flags);
	}

	struct stat stat_of(struct hf_tmpfs_node *of)
	{
		struct stat to = {};

		hf_tmpfs_node_stat(of, &to);
		return to;
	}

	struct hf_tmpfs_node *root = nullptr;
};

const std::string too_long(256, 'n');
const char *const LONG = too_long.c_str();

/* ---- how long they live -------------------------------------------------------------------- */

TEST_F(TmpfsNodes, OneNodeForAllNamesAndAllLookups)
{
	struct hf_tmpfs_node *a, *b;

	file("/f");
	ASSERT_EQ(hf_tmpfs_link(fs, "/f", "/g"), 0);
	a = node("f");
	b = node("g");
	EXPECT_EQ(a, b);
	EXPECT_EQ(stat_of(a).st_ino, stat("/f").st_ino);
	EXPECT_EQ(stat_of(a).st_nlink, 2u);
	ASSERT_EQ(hf_tmpfs_rename(fs, "/f", "/h", 0), 0);
	EXPECT_EQ(node("h"), a);
	EXPECT_EQ(node("."), root);
	EXPECT_EQ(node(".."), root);
}

TEST_F(TmpfsNodes, AnUnlinkedInodeLivesUntilTheLastReferenceGoes)
{
	struct hf_tmpfs_options options = {};
	struct hf_tmpfs_node *f;
	char byte;
	int fd;

	options.size = 4 * 4096;
	options.inodes = 2;
	make_with(options);
	ASSERT_EQ(fd = hf_tmpfs_node_create(t, root, "f", O_RDWR, 0640, &f), 0);
	ASSERT_EQ(hf_tmpfs_write(t, fd, "alive", 5), 5);
	ASSERT_EQ(hf_tmpfs_close(t, fd), 0);
	hf_tmpfs_node_get(f);
	ASSERT_EQ(hf_tmpfs_node_unlink(root, "f"), 0);
	prove();
	/* It has no name, and counts in the limits. */
	EXPECT_EQ(stat_of(f).st_nlink, 0u);
	EXPECT_EQ(stat_of(f).st_mode, S_IFREG | 0640u);
	EXPECT_EQ(free_pages(), 3u);
	EXPECT_EQ(free_inodes(), 0u);
	EXPECT_EQ(create(root, "g"), -ENOSPC);
	EXPECT_EQ(mkdir(root, "g"), -ENOSPC);
	EXPECT_EQ(symlink("x", root, "g"), -ENOSPC);
	EXPECT_EQ(hf_tmpfs_node_link(f, root, "g"), -ENOENT);
	ASSERT_EQ(fd = hf_tmpfs_node_open(t, f, O_RDWR), 0);
	EXPECT_EQ(read(fd, 9, 0), "alive");
	hf_tmpfs_node_put(f, 1);
	prove();
	hf_tmpfs_node_put(f, 1);
	/* Now the open file has it, without a name and without a node. */
	prove();
	EXPECT_EQ(hf_tmpfs_pread(t, fd, &byte, 1, 4), 1);
	EXPECT_EQ(free_inodes(), 0u);
	ASSERT_EQ(hf_tmpfs_close(t, fd), 0);
	EXPECT_EQ(free_pages(), 4u);
	EXPECT_EQ(free_inodes(), 1u);
	EXPECT_EQ(create(root, "g"), 0);
}

TEST_F(TmpfsNodes, ReferencesAreDroppedAllAtOnce)
{
	struct hf_tmpfs_options options = {};
	struct hf_tmpfs_node *f;

	options.inodes = 3;
	make_with(options);
	file("/f");
	file("/g");
	f = node("f");
	for (int i = 0; i < 99; i++)
		hf_tmpfs_node_get(f);
	ASSERT_EQ(hf_tmpfs_unlink(fs, "/f"), 0);
	hf_tmpfs_node_put(f, 0);
	hf_tmpfs_node_put(f, 99);
	EXPECT_EQ(free_inodes(), 0u);
	hf_tmpfs_node_put(f, 1);
	EXPECT_EQ(free_inodes(), 1u);
	/* The file system does not go before them, nor they before it. */
	f = node("g");
	ASSERT_EQ(hf_tmpfs_unlink(fs, "/g"), 0);
	hf_tmpfs_table_free(t);
	EXPECT_EQ(hf_tmpfs_free(fs), -EBUSY);
	ASSERT_EQ(hf_tmpfs_table_new(&t, fs, 0), 0);
	EXPECT_EQ(free_inodes(), 1u);
	hf_tmpfs_nodes_put(fs);
	EXPECT_EQ(free_inodes(), 2u);
	root = hf_tmpfs_node_root(fs);
}

TEST_F(TmpfsNodes, MoreReferencesThanThereAreAreRefused)
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

	dir("/a");
	dir("/a/b");
	dir("/a/b/c");
	c = node("a/b/c");
	for (const char *path : { "/a/b/c", "/a/b", "/a" })
		ASSERT_EQ(hf_tmpfs_rmdir(fs, path), 0);
	prove();
	EXPECT_EQ(stat_of(c).st_nlink, 0u);
	/* Nothing is found in it, and nothing put into it. */
	EXPECT_EQ(lookup(c, "x"), -ENOENT);
	EXPECT_EQ(lookup(c, "."), -ENOENT);
	EXPECT_EQ(lookup(c, ".."), -ENOENT);
	EXPECT_EQ(lookup(c, "../../.."), 0);
	EXPECT_EQ(mkdir(c, "x"), -ENOENT);
	EXPECT_EQ(create(c, "x"), -ENOENT);
	EXPECT_EQ(symlink("x", c, "x"), -ENOENT);
	EXPECT_EQ(hf_tmpfs_node_unlink(c, "x"), -ENOENT);
	EXPECT_EQ(hf_tmpfs_node_rmdir(c, "x"), -ENOENT);
	file("/f");
	EXPECT_EQ(hf_tmpfs_node_link(node("f"), c, "x"), -ENOENT);
	EXPECT_EQ(rename(root, "f", c, "x"), -ENOENT);
	EXPECT_EQ(rename(c, "x", root, "x"), -ENOENT);
	ASSERT_EQ(fd = hf_tmpfs_node_open(t, c, O_RDONLY | O_DIRECTORY), 0);
	EXPECT_EQ(hf_tmpfs_readdir(t, fd, &entry, 1), -ENOENT);
}

/* ---- by directory and name ----------------------------------------------------------------- */

TEST_F(TmpfsNodes, Lookup)
{
	struct hf_tmpfs_node *d, *f;

	dir("/d");
	file("/d/f");
	ASSERT_EQ(hf_tmpfs_symlink(fs, "d/f", "/s"), 0);
	d = node("d");
	f = node("d/f");
	EXPECT_EQ(node("/d/f"), f);
	EXPECT_EQ(stat_of(node("s")).st_mode & S_IFMT, static_cast<mode_t>(S_IFLNK));
	EXPECT_EQ(lookup(d, "f"), 0);
	EXPECT_EQ(lookup(d, "d"), -ENOENT);
	EXPECT_EQ(lookup(d, "/d"), 0); /* from the root */
	EXPECT_EQ(lookup(d, "../s/"), -ENOTDIR);
	EXPECT_EQ(lookup(d, ""), -ENOENT);
	EXPECT_EQ(lookup(d, LONG), -ENAMETOOLONG);
	EXPECT_EQ(lookup(f, "x"), -ENOTDIR);
	EXPECT_EQ(lookup(f, "."), -ENOTDIR);
	ASSERT_EQ(hf_tmpfs_symlink(fs, "loop", "/loop"), 0);
	EXPECT_EQ(lookup(root, "loop/"), -ELOOP);
	EXPECT_EQ(lookup(root, "loop"), 0);
}

TEST_F(TmpfsNodes, MakeAndRemove)
{
	struct hf_tmpfs_node *d, *f, *s;
	int fd;

	ASSERT_EQ(hf_tmpfs_node_mkdir(root, "d", 0751, &d), 0);
	ASSERT_EQ(fd = hf_tmpfs_node_create(t, d, "f", O_WRONLY, 0604, &f), 0);
	ASSERT_EQ(hf_tmpfs_node_symlink("f", d, "s", &s), 0);
	EXPECT_EQ(stat("/d").st_ino, stat_of(d).st_ino);
	EXPECT_EQ(stat_of(d).st_mode, S_IFDIR | 0751u);
	EXPECT_EQ(stat("/d/f").st_ino, stat_of(f).st_ino);
	EXPECT_EQ(stat_of(f).st_mode, S_IFREG | 0604u);
	EXPECT_EQ(stat("/d/s").st_ino, stat_of(f).st_ino);
	EXPECT_EQ(stat_of(s).st_mode, S_IFLNK | 0777u);
	EXPECT_EQ(mkdir(d, "f"), -EEXIST);
	EXPECT_EQ(mkdir(d, "."), -EEXIST);
	EXPECT_EQ(mkdir(d, LONG), -ENAMETOOLONG);
	EXPECT_EQ(mkdir(f, "x"), -ENOTDIR);
	EXPECT_EQ(symlink("x", d, "f"), -EEXIST);
	EXPECT_EQ(symlink("", d, "x"), -ENOENT);
	EXPECT_EQ(symlink(std::string(4096, 'x').c_str(), d, "x"), -ENAMETOOLONG);
	EXPECT_EQ(symlink("x", d, LONG), -ENAMETOOLONG);
	EXPECT_EQ(symlink("x", f, "x"), -ENOTDIR);
	EXPECT_EQ(hf_tmpfs_node_rmdir(root, "d"), -ENOTEMPTY);
	EXPECT_EQ(hf_tmpfs_node_rmdir(d, "f"), -ENOTDIR);
	EXPECT_EQ(hf_tmpfs_node_rmdir(d, "."), -EINVAL);
	EXPECT_EQ(hf_tmpfs_node_rmdir(d, ".."), -ENOTEMPTY);
	EXPECT_EQ(hf_tmpfs_node_rmdir(d, "none"), -ENOENT);
	EXPECT_EQ(hf_tmpfs_node_rmdir(d, LONG), -ENAMETOOLONG);
	EXPECT_EQ(hf_tmpfs_node_rmdir(d, "/"), -EBUSY);
	EXPECT_EQ(hf_tmpfs_node_rmdir(f, "x"), -ENOTDIR);
	EXPECT_EQ(hf_tmpfs_node_unlink(root, "d"), -EISDIR);
	EXPECT_EQ(hf_tmpfs_node_unlink(d, "none"), -ENOENT);
	EXPECT_EQ(hf_tmpfs_node_unlink(d, LONG), -ENAMETOOLONG);
	EXPECT_EQ(hf_tmpfs_node_unlink(f, "x"), -ENOTDIR);
	EXPECT_EQ(hf_tmpfs_node_unlink(d, "f"), 0);
	EXPECT_EQ(hf_tmpfs_node_unlink(d, "s"), 0);
	EXPECT_EQ(hf_tmpfs_node_rmdir(root, "d"), 0);
	EXPECT_FALSE(exists("/d"));
	/* Each was given with a reference: it is still there, and that can be dropped. */
	for (struct hf_tmpfs_node *made : { d, f, s }) {
		EXPECT_EQ(stat_of(made).st_nlink, 0u);
		hf_tmpfs_node_put(made, 1);
	}
}

TEST_F(TmpfsNodes, Link)
{
	struct hf_tmpfs_options options = {};
	struct hf_tmpfs_node *d, *f;

	options.inodes = 5;
	make_with(options);
	dir("/d");
	file("/f", "same");
	d = node("d");
	f = node("f");
	EXPECT_EQ(hf_tmpfs_node_link(f, d, "g"), 0);
	EXPECT_EQ(stat_of(f).st_nlink, 2u);
	EXPECT_EQ(contents("/d/g"), "same");
	EXPECT_EQ(hf_tmpfs_node_link(f, d, "g"), -EEXIST);
	EXPECT_EQ(hf_tmpfs_node_link(f, d, "x/"), -ENOENT);
	EXPECT_EQ(hf_tmpfs_node_link(f, d, LONG), -ENAMETOOLONG);
	EXPECT_EQ(hf_tmpfs_node_link(f, f, "x"), -ENOTDIR);
	EXPECT_EQ(hf_tmpfs_node_link(d, root, "x"), -EPERM);
	EXPECT_EQ(hf_tmpfs_node_link(f, root, "h"), 0);
	EXPECT_EQ(hf_tmpfs_node_link(f, root, "i"), -ENOSPC);
}

TEST_F(TmpfsNodes, Rename)
{
	struct hf_tmpfs_node *a, *b, *f;

	dir("/a");
	dir("/b");
	file("/a/f", "data");
	a = node("a");
	b = node("b");
	f = node("a/f");
	EXPECT_EQ(rename(a, "f", b, "g"), 0);
	EXPECT_EQ(contents("/b/g"), "data");
	EXPECT_EQ(node("b/g"), f);
	EXPECT_EQ(rename(a, "f", b, "g"), -ENOENT);
	EXPECT_EQ(rename(b, "g", f, "x"), -ENOTDIR);
	EXPECT_EQ(rename(f, "x", b, "g"), -ENOTDIR);
	EXPECT_EQ(rename(b, "g", a, LONG), -ENAMETOOLONG);
	EXPECT_EQ(rename(b, LONG, a, "x"), -ENAMETOOLONG);
	EXPECT_EQ(rename(b, "g", root, "a"), -EISDIR);
	EXPECT_EQ(rename(root, "a", b, "g"), -ENOTDIR);
	EXPECT_EQ(rename(root, "a", root, "b"), -ENOTEMPTY);
	EXPECT_EQ(rename(root, "b", b, "x"), -EINVAL);
	EXPECT_EQ(rename(b, "g", a, "."), -EBUSY);
	EXPECT_EQ(rename(b, ".", a, "x"), -EBUSY);
	EXPECT_EQ(rename(b, "g", a, "x", 8), -EINVAL);
	EXPECT_EQ(rename(b, "g", root, "a", HF_TMPFS_NOREPLACE), -EEXIST);
	EXPECT_EQ(rename(b, "g", a, "none", HF_TMPFS_EXCHANGE), -ENOENT);
	EXPECT_EQ(rename(root, "a", b, "g", HF_TMPFS_EXCHANGE), 0);
	/* Directories keep their node, wherever they are. */
	EXPECT_EQ(node("b/g"), a);
	EXPECT_EQ(node("a"), f);
	EXPECT_EQ(mkdir(a, "in"), 0);
	EXPECT_TRUE(exists("/b/g/in"));
}

TEST_F(TmpfsNodes, Create)
{
	struct hf_tmpfs_node *d, *found = nullptr;

	dir("/d");
	file("/d/f", "data");
	ASSERT_EQ(hf_tmpfs_symlink(fs, "f", "/d/s"), 0);
	limit_descriptors();
	d = node("d");
	EXPECT_EQ(create(d, "f", O_RDWR | O_EXCL), -EEXIST);
	EXPECT_EQ(create(d, "s", O_RDWR | O_NOFOLLOW), -ELOOP);
	EXPECT_EQ(create(d, "."), -EISDIR);
	EXPECT_EQ(create(d, "x/"), -EISDIR);
	EXPECT_EQ(create(root, "d"), -EISDIR);
	EXPECT_EQ(create(d, LONG), -ENAMETOOLONG);
	EXPECT_EQ(create(d, "x", O_ACCMODE), -EINVAL);
	EXPECT_EQ(create(d, "x", O_RDONLY | O_DIRECTORY), -EINVAL);
	EXPECT_EQ(create(node("d/f"), "x"), -ENOTDIR);
	EXPECT_EQ(hf_tmpfs_node_create(t, d, "s", O_RDWR | O_TRUNC, 0, &found), 0);
	EXPECT_EQ(found, node("d/f"));
	EXPECT_EQ(contents("/d/f"), "");
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

	dir("/d");
	file("/f", "data");
	ASSERT_EQ(hf_tmpfs_symlink(fs, "f", "/s"), 0);
	limit_descriptors();
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

TEST_F(TmpfsNodes, Attributes)
{
	struct hf_tmpfs_attributes to = {};
	struct hf_tmpfs_node *f;

	file("/f");
	f = node("f");
	to.set = HF_TMPFS_SET_MODE | HF_TMPFS_SET_UID | HF_TMPFS_SET_MTIME;
	to.mode = 0700;
	to.uid = 7;
	to.mtime.tv_sec = 8;
	ASSERT_EQ(hf_tmpfs_node_unlink(root, "f"), 0);
	ASSERT_EQ(hf_tmpfs_node_setattr(f, &to), 0);
	EXPECT_EQ(stat_of(f).st_mode, S_IFREG | 0700u);
	EXPECT_EQ(stat_of(f).st_uid, 7u);
	EXPECT_EQ(stat_of(f).st_mtim.tv_sec, 8);
	to.set = 1u << 10;
	EXPECT_EQ(hf_tmpfs_node_setattr(f, &to), -EINVAL);
}

TEST_F(TmpfsNodes, Truncate)
{
	struct hf_tmpfs_node *f;

	file("/f", "data");
	ASSERT_EQ(hf_tmpfs_symlink(fs, "f", "/s"), 0);
	f = node("f");
	EXPECT_EQ(hf_tmpfs_node_truncate(f, 2), 0);
	EXPECT_EQ(contents("/f"), "da");
	EXPECT_EQ(hf_tmpfs_node_truncate(f, 10000), 0);
	EXPECT_EQ(stat_of(f).st_size, 10000);
	EXPECT_EQ(hf_tmpfs_node_truncate(f, -1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_node_truncate(root, 0), -EISDIR);
	EXPECT_EQ(hf_tmpfs_node_truncate(node("s"), 0), -EINVAL);
}

TEST_F(TmpfsNodes, Readlink)
{
	struct hf_tmpfs_node *s;
	char to[4] = {};
	bad_page page;

	ASSERT_EQ(hf_tmpfs_symlink(fs, "where", "/s"), 0);
	s = node("s");
	EXPECT_EQ(hf_tmpfs_node_readlink(s, to, sizeof(to)), 4);
	EXPECT_EQ(std::string(to, 4), "wher");
	EXPECT_EQ(hf_tmpfs_node_readlink(s, to, 0), -EINVAL);
	EXPECT_EQ(hf_tmpfs_node_readlink(root, to, 1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_node_readlink(s, page.before(3), 10), -EFAULT);
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
	EXPECT_EQ(rename(root, "f", there, "x"), -EXDEV);
	EXPECT_EQ(create(there, "x"), -EXDEV);
	EXPECT_EQ(hf_tmpfs_node_open(t, there, O_RDONLY), -EXDEV);
	EXPECT_EQ(hf_tmpfs_check(other, tell, nullptr), 0);
	hf_tmpfs_node_put(there, 1);
	EXPECT_EQ(hf_tmpfs_free(other), 0);
}

} // namespace
