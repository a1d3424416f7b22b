// SPDX-License-Identifier: MIT
/* names - open, mkdir, link, symlink, unlink, rename, readdir: what they do, and each errno. */
#include "world.h"

namespace
{

class TmpfsNames : public TmpfsWorld {
protected:
	int rename(const char *from, const char *to, unsigned int flags = 0)
	{
		return hf_tmpfs_rename(fs, from, to, flags);
	}
	int unlink(const char *path) { return hf_tmpfs_unlink(fs, path); }
	int rmdir(const char *path) { return hf_tmpfs_rmdir(fs, path); }
	int symlink(const char *target, const char *path)
	{
		return hf_tmpfs_symlink(fs, target, path);
	}
	int link(const char *from, const char *to) { return hf_tmpfs_link(fs, from, to); }
};

/* ---- paths --------------------------------------------------------------------------------- */

TEST_F(TmpfsNames, PathsThroughDotsSlashesAndSymlinks)
{
	dir("/a");
	dir("/a/b");
	file("/a/b/f", "deep");
	ASSERT_EQ(symlink("a/b", "/relative"), 0);
	ASSERT_EQ(symlink("/a/b", "/a/absolute"), 0);
	ASSERT_EQ(symlink("../b/f", "/a/b/up"), 0);
	for (const char *path :
	     { "/a/b/f", "a/b/f", "//a//b///f", "/a/./b/../b/f", "/../a/b/f", "/relative/f",
	       "/a/absolute/f", "/relative/up", "/relative/../b/f" })
		EXPECT_EQ(contents(path), "deep") << path;
	EXPECT_EQ(stat("/relative/").st_ino, stat("/a/b").st_ino);
	EXPECT_EQ(stat("/..").st_ino, stat("/").st_ino);
}

TEST_F(TmpfsNames, PathErrors)
{
	struct stat to;

	file("/f");
	EXPECT_EQ(hf_tmpfs_stat(fs, "", &to), -ENOENT);
	EXPECT_EQ(hf_tmpfs_stat(fs, "/none", &to), -ENOENT);
	EXPECT_EQ(hf_tmpfs_stat(fs, "/none/f", &to), -ENOENT);
	EXPECT_EQ(hf_tmpfs_stat(fs, "/f/g", &to), -ENOTDIR);
	EXPECT_EQ(hf_tmpfs_stat(fs, "/f/", &to), -ENOTDIR);
	EXPECT_EQ(hf_tmpfs_stat(fs, "/f/.", &to), -ENOTDIR);
	EXPECT_EQ(hf_tmpfs_stat(fs, std::string(256, 'x').c_str(), &to), -ENAMETOOLONG);
	EXPECT_EQ(hf_tmpfs_stat(fs, std::string(255, 'x').c_str(), &to), -ENOENT);
	EXPECT_EQ(hf_tmpfs_stat(fs, std::string(4096, '/').c_str(), &to), -ENAMETOOLONG);
	EXPECT_EQ(hf_tmpfs_stat(fs, std::string(4095, '/').c_str(), &to), 0);
}

TEST_F(TmpfsNames, SymlinkLoopsEnd)
{
	struct stat to;

	ASSERT_EQ(symlink("loop", "/loop"), 0);
	EXPECT_EQ(hf_tmpfs_stat(fs, "/loop", &to), -ELOOP);
	EXPECT_EQ(hf_tmpfs_stat(fs, "/loop/x", &to), -ELOOP);
	EXPECT_EQ(hf_tmpfs_lstat(fs, "/loop", &to), 0);
	EXPECT_EQ(open("/loop", O_RDONLY | O_CREAT), -ELOOP);
	file("/0", "end");
	for (int i = 1; i <= 41; i++)
		ASSERT_EQ(symlink(std::to_string(i - 1).c_str(), std::to_string(i).c_str()), 0);
	EXPECT_EQ(contents("/40"), "end");
	EXPECT_EQ(open("/41"), -ELOOP);
}

/* ---- open ---------------------------------------------------------------------------------- */

TEST_F(TmpfsNames, OpenFlags)
{
	int fd;

	EXPECT_EQ(open("/f"), -ENOENT);
	EXPECT_EQ(fd = open("/f", O_RDWR | O_CREAT, 0640), 0);
	EXPECT_EQ(stat("/f").st_mode, S_IFREG | 0640u);
	EXPECT_EQ(hf_tmpfs_write(t, fd, "abc", 3), 3);
	EXPECT_EQ(open("/f", O_RDONLY | O_CREAT), 1);
	EXPECT_EQ(open("/f", O_RDONLY | O_CREAT | O_EXCL), -EEXIST);
	EXPECT_EQ(open("/f", O_RDONLY | O_DIRECTORY), -ENOTDIR);
	EXPECT_EQ(open("/f", O_ACCMODE), -EINVAL);
	EXPECT_EQ(open("/", O_RDONLY | O_CREAT | O_DIRECTORY), -EINVAL);
	EXPECT_EQ(contents("/f"), "abc");
	EXPECT_EQ(fd = open("/f", O_WRONLY | O_TRUNC), 2);
	EXPECT_EQ(contents("/f"), "");
	EXPECT_EQ(open("/", O_WRONLY), -EISDIR);
	EXPECT_EQ(open("/", O_RDONLY | O_TRUNC), -EISDIR);
	EXPECT_EQ(open("/", O_RDONLY | O_CREAT), -EISDIR);
	EXPECT_EQ(open("/.", O_RDONLY | O_CREAT | O_EXCL), -EEXIST);
	EXPECT_EQ(open("/g/", O_RDONLY | O_CREAT), -EISDIR);
	EXPECT_EQ(open("/", O_RDONLY | O_DIRECTORY), 3);
}

TEST_F(TmpfsNames, OpenThroughSymlinks)
{
	ASSERT_EQ(symlink("made", "/dangling"), 0);
	EXPECT_EQ(open("/dangling"), -ENOENT);
	EXPECT_EQ(open("/dangling", O_RDONLY | O_CREAT | O_EXCL), -EEXIST);
	EXPECT_EQ(open("/dangling", O_RDONLY | O_CREAT | O_NOFOLLOW), -ELOOP);
	EXPECT_EQ(open("/dangling", O_RDONLY | O_NOFOLLOW), -ELOOP);
	EXPECT_EQ(open("/dangling", O_RDONLY | O_NOFOLLOW | O_DIRECTORY), -ENOTDIR);
	EXPECT_EQ(open("/dangling", O_WRONLY | O_CREAT), 0);
	EXPECT_TRUE(exists("/made"));
}

TEST_F(TmpfsNames, DescriptorsAreTheLowestAndLimited)
{
	make({}, 70);
	for (int i = 0; i < 70; i++)
		ASSERT_EQ(open("/"), i);
	EXPECT_EQ(open("/"), -EMFILE);
	EXPECT_EQ(open("/not_made", O_RDONLY | O_CREAT), -EMFILE);
	EXPECT_FALSE(exists("/not_made"));
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
	prove();
}

TEST_F(TmpfsNames, TablesAreRefusedAndKeepTheFileSystem)
{
	struct hf_tmpfs_table *other = nullptr;

	EXPECT_EQ(hf_tmpfs_table_new(&other, fs, HF_TMPFS_DESCRIPTORS_MAX + 1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_free(fs), -EBUSY);
	ASSERT_EQ(hf_tmpfs_table_new(&other, fs, 1), 0);
	EXPECT_EQ(hf_tmpfs_open(other, "/", O_RDONLY, 0), 0);
	EXPECT_EQ(hf_tmpfs_close(t, 0), -EBADF); /* of another table */
	prove();
	hf_tmpfs_table_free(other);

	struct hf_tmpfs_options half = {};
	struct hf_tmpfs *none = nullptr;
	half.allocate = [](void *, size_t) -> void * { return nullptr; };
	EXPECT_EQ(hf_tmpfs_new(&none, &half), -EINVAL);
}

TEST_F(TmpfsNames, AnUnlinkedFileLivesUntilItsLastReferenceGoes)
{
	struct hf_tmpfs_options options = {};
	int fd, copy;

	options.size = 10 * 4096;
	options.inodes = 2;
	make(options);
	fd = open("/f", O_RDWR | O_CREAT);
	ASSERT_EQ(hf_tmpfs_write(t, fd, "alive", 5), 5);
	copy = hf_tmpfs_dup(t, fd);
	ASSERT_EQ(unlink("/f"), 0);
	EXPECT_FALSE(exists("/f"));
	EXPECT_EQ(free_pages(), 9u);
	EXPECT_EQ(free_inodes(), 0u);
	prove();
	ASSERT_EQ(hf_tmpfs_close(t, fd), 0);
	EXPECT_EQ(read(copy, 9, 0), "alive");
	ASSERT_EQ(hf_tmpfs_write(t, copy, "!", 1), 1); /* one position for both */
	EXPECT_EQ(read(copy, 9, 0), "alive!");
	prove();
	ASSERT_EQ(hf_tmpfs_close(t, copy), 0);
	EXPECT_EQ(free_pages(), 10u);
	EXPECT_EQ(free_inodes(), 1u);
}

TEST_F(TmpfsNames, ARemovedDirectoryLivesToo)
{
	struct hf_tmpfs_dirent entry;
	struct stat to;
	int fd;

	dir("/a");
	dir("/a/b");
	fd = open("/a/b");
	ASSERT_EQ(rmdir("/a/b"), 0);
	ASSERT_EQ(rmdir("/a"), 0);
	EXPECT_EQ(hf_tmpfs_fstat(t, fd, &to), 0);
	EXPECT_EQ(to.st_nlink, 0u);
	EXPECT_EQ(hf_tmpfs_readdir(t, fd, &entry, 1), -ENOENT);
	prove();
}

/* ---- make and remove ----------------------------------------------------------------------- */

TEST_F(TmpfsNames, Mkdir)
{
	dir("/a");
	dir("/a/b/"); /* a slash is allowed */
	EXPECT_EQ(stat("/a").st_mode, S_IFDIR | 0755u);
	EXPECT_EQ(stat("/a").st_nlink, 3u);
	EXPECT_EQ(stat("/").st_nlink, 3u);
	file("/f");
	for (const char *path : { "/a", "/f", "/", "/a/.", "/a/.." })
		EXPECT_EQ(hf_tmpfs_mkdir(fs, path, 0), -EEXIST) << path;
	EXPECT_EQ(hf_tmpfs_mkdir(fs, "/none/x", 0), -ENOENT);
	EXPECT_EQ(hf_tmpfs_mkdir(fs, "/f/x", 0), -ENOTDIR);
	EXPECT_EQ(hf_tmpfs_mkdir(fs, ("/" + std::string(256, 'x')).c_str(), 0), -ENAMETOOLONG);
}

TEST_F(TmpfsNames, Rmdir)
{
	dir("/a");
	dir("/a/b");
	file("/f");
	ASSERT_EQ(symlink("a", "/link"), 0);
	EXPECT_EQ(rmdir("/a"), -ENOTEMPTY);
	EXPECT_EQ(rmdir("/a/b/.."), -ENOTEMPTY);
	EXPECT_EQ(rmdir("/a/."), -EINVAL);
	EXPECT_EQ(rmdir("/"), -EBUSY);
	EXPECT_EQ(rmdir("/none"), -ENOENT);
	EXPECT_EQ(rmdir("/f"), -ENOTDIR);
	EXPECT_EQ(rmdir("/link"), -ENOTDIR);
	EXPECT_EQ(rmdir("/a/b/"), 0);
	EXPECT_EQ(stat("/a").st_nlink, 2u);
	EXPECT_EQ(rmdir("/a"), 0);
	EXPECT_EQ(hf_tmpfs_mkdir(fs, "/a/c", 0), -ENOENT);
}

TEST_F(TmpfsNames, Unlink)
{
	dir("/a");
	file("/f");
	EXPECT_EQ(unlink("/a"), -EISDIR);
	EXPECT_EQ(unlink("/."), -EISDIR);
	EXPECT_EQ(unlink("/"), -EISDIR);
	EXPECT_EQ(unlink("/f/"), -ENOTDIR);
	EXPECT_EQ(unlink("/none"), -ENOENT);
	EXPECT_EQ(unlink("/f"), 0);
	EXPECT_EQ(unlink("/f"), -ENOENT);
}

TEST_F(TmpfsNames, Link)
{
	dir("/a");
	file("/f", "same");
	ASSERT_EQ(symlink("f", "/s"), 0);
	ASSERT_EQ(link("/f", "/a/g"), 0);
	ASSERT_EQ(link("/s", "/s2"), 0); /* the symlink itself */
	EXPECT_EQ(stat("/f").st_nlink, 2u);
	EXPECT_EQ(stat("/f").st_ino, stat("/a/g").st_ino);
	EXPECT_EQ(link("/f", "/a"), -EEXIST);
	EXPECT_EQ(link("/f", "/a/."), -EEXIST);
	EXPECT_EQ(link("/none", "/x"), -ENOENT);
	EXPECT_EQ(link("/f", "/x/"), -ENOENT);
	EXPECT_EQ(link("/f", "/none/x"), -ENOENT);
	EXPECT_EQ(link("/a", "/x"), -EPERM);
	EXPECT_EQ(link("/a", "/f"), -EEXIST);
	ASSERT_EQ(unlink("/f"), 0);
	EXPECT_EQ(stat("/a/g").st_nlink, 1u);
	EXPECT_EQ(contents("/a/g"), "same");
}

TEST_F(TmpfsNames, SymlinkAndReadlink)
{
	char to[10] = {};
	bad_page page;

	file("/f");
	ASSERT_EQ(symlink("/some/where", "/s"), 0);
	EXPECT_EQ(hf_tmpfs_readlink(fs, "/s", to, sizeof(to)), 10);
	EXPECT_EQ(std::string(to, 10), "/some/wher");
	EXPECT_EQ(hf_tmpfs_readlink(fs, "/s", to, 0), -EINVAL);
	EXPECT_EQ(hf_tmpfs_readlink(fs, "/f", to, 1), -EINVAL);
	EXPECT_EQ(hf_tmpfs_readlink(fs, "/none", to, 1), -ENOENT);
	EXPECT_EQ(hf_tmpfs_readlink(fs, "/s", page.before(3), 10), -EFAULT);
	EXPECT_EQ(symlink("", "/x"), -ENOENT);
	EXPECT_EQ(symlink("x", "/f"), -EEXIST);
	EXPECT_EQ(symlink("x", "/x/"), -ENOENT);
	EXPECT_EQ(symlink(std::string(4096, 'x').c_str(), "/x"), -ENAMETOOLONG);
	EXPECT_EQ(symlink(std::string(4095, 'x').c_str(), "/x"), 0);
	struct stat st;
	EXPECT_EQ(hf_tmpfs_lstat(fs, "/x", &st), 0);
	EXPECT_EQ(st.st_size, 4095);
	EXPECT_EQ(st.st_mode, S_IFLNK | 0777u);
}

/* ---- rename -------------------------------------------------------------------------------- */

TEST_F(TmpfsNames, RenameMovesAndReplaces)
{
	dir("/a");
	dir("/b");
	file("/a/f", "one");
	file("/b/g", "two");
	int fd = open("/b/g");
	EXPECT_EQ(rename("/a/f", "/a/h"), 0);
	EXPECT_EQ(rename("/a/h", "/b/g"), 0);
	EXPECT_EQ(contents("/b/g"), "one");
	EXPECT_EQ(read(fd, 9, 0), "two"); /* the one that was replaced is still open */
	prove();
	dir("/a/sub");
	file("/a/sub/x", "deep");
	EXPECT_EQ(rename("/a/sub", "/b/sub"), 0);
	EXPECT_EQ(contents("/b/sub/x"), "deep");
	EXPECT_EQ(stat("/b/sub/..").st_ino, stat("/b").st_ino);
	EXPECT_EQ(stat("/a").st_nlink, 2u);
	EXPECT_EQ(stat("/b").st_nlink, 3u);
	dir("/empty");
	EXPECT_EQ(rename("/b/sub/", "/empty/"), 0);
	EXPECT_EQ(contents("/empty/x"), "deep");
	EXPECT_EQ(stat("/").st_nlink, 5u);
}

TEST_F(TmpfsNames, RenameOfTheSameFileDoesNothing)
{
	file("/f", "x");
	ASSERT_EQ(link("/f", "/g"), 0);
	EXPECT_EQ(rename("/f", "/g"), 0);
	EXPECT_EQ(rename("/f", "/f"), 0);
	EXPECT_EQ(rename("/f", "/g", HF_TMPFS_EXCHANGE), 0);
	EXPECT_TRUE(exists("/f"));
	EXPECT_EQ(stat("/g").st_nlink, 2u);
}

TEST_F(TmpfsNames, RenameErrors)
{
	dir("/a");
	dir("/a/b");
	dir("/a/b/c");
	file("/f");
	EXPECT_EQ(rename("/none", "/x"), -ENOENT);
	EXPECT_EQ(rename("/f", "/none/x"), -ENOENT);
	EXPECT_EQ(rename("/f", "/f/x"), -ENOTDIR);
	EXPECT_EQ(rename("/a", "/a/b/c/d"), -EINVAL);
	EXPECT_EQ(rename("/a", "/a/x"), -EINVAL);
	EXPECT_EQ(rename("/a/b/c", "/a"), -ENOTEMPTY);
	EXPECT_EQ(rename("/f", "/a"), -EISDIR);
	EXPECT_EQ(rename("/a", "/f"), -ENOTDIR);
	dir("/full");
	file("/full/x");
	EXPECT_EQ(rename("/a", "/full"), -ENOTEMPTY);
	EXPECT_EQ(rename("/a/.", "/x"), -EBUSY);
	EXPECT_EQ(rename("/a", "/full/.."), -EBUSY);
	EXPECT_EQ(rename("/", "/x"), -EBUSY);
	EXPECT_EQ(rename("/f/", "/x"), -ENOTDIR);
	EXPECT_EQ(rename("/f", "/x/"), -ENOTDIR);
	for (unsigned int flags : { 3u, 6u, 8u })
		EXPECT_EQ(rename("/f", "/x", flags), -EINVAL);
	EXPECT_TRUE(exists("/a/b/c"));
	EXPECT_TRUE(exists("/full/x"));
}

TEST_F(TmpfsNames, RenameNoReplace)
{
	file("/f");
	file("/g");
	EXPECT_EQ(rename("/f", "/g", HF_TMPFS_NOREPLACE), -EEXIST);
	EXPECT_EQ(rename("/f", "/.", HF_TMPFS_NOREPLACE), -EEXIST);
	EXPECT_EQ(rename("/f", "/h", HF_TMPFS_NOREPLACE), 0);
	EXPECT_FALSE(exists("/f"));
}

TEST_F(TmpfsNames, RenameExchange)
{
	dir("/a");
	dir("/a/sub");
	dir("/b");
	file("/b/f", "data");
	EXPECT_EQ(rename("/a/sub", "/b/f", HF_TMPFS_EXCHANGE), 0);
	EXPECT_EQ(contents("/a/sub"), "data");
	EXPECT_EQ(stat("/b/f").st_mode & S_IFMT, static_cast<mode_t>(S_IFDIR));
	EXPECT_EQ(stat("/a").st_nlink, 2u);
	EXPECT_EQ(stat("/b").st_nlink, 3u);
	EXPECT_EQ(stat("/b/f/..").st_ino, stat("/b").st_ino);
	EXPECT_EQ(rename("/b", "/none", HF_TMPFS_EXCHANGE), -ENOENT);
	EXPECT_EQ(rename("/b", "/b/f", HF_TMPFS_EXCHANGE), -EINVAL);
	EXPECT_EQ(rename("/b/f", "/b", HF_TMPFS_EXCHANGE), -EINVAL);
	EXPECT_EQ(rename("/b", "/a/sub/", HF_TMPFS_EXCHANGE), -ENOTDIR);
}

/* ---- readdir ------------------------------------------------------------------------------- */

TEST_F(TmpfsNames, ReaddirGivesEachNameOnce)
{
	using names = std::vector<std::string>;

	EXPECT_EQ(list("/"), (names{ ".", ".." }));
	for (const char *name : { "/a", "/b", "/c", "/d" })
		file(name);
	EXPECT_EQ(list("/"), (names{ ".", "..", "a", "b", "c", "d" }));

	struct hf_tmpfs_dirent entries[4];
	int fd = open("/");
	ASSERT_EQ(hf_tmpfs_readdir(t, fd, entries, 4), 4);
	EXPECT_EQ(entries[0].type, DT_DIR);
	EXPECT_EQ(entries[2].type, DT_REG);
	EXPECT_EQ(entries[2].inode, stat("/a").st_ino);
	/* What has been given goes, what comes is given by the next listing, and nothing twice. */
	ASSERT_EQ(unlink("/b"), 0);
	ASSERT_EQ(unlink("/c"), 0);
	file("/e");
	ASSERT_EQ(hf_tmpfs_readdir(t, fd, entries, 4), 1);
	EXPECT_STREQ(entries[0].name, "d");
	EXPECT_EQ(hf_tmpfs_readdir(t, fd, entries, 4), 0);
	EXPECT_EQ(hf_tmpfs_lseek(t, fd, 0, SEEK_SET), 0);
	ASSERT_EQ(hf_tmpfs_readdir(t, fd, entries, 4), 4);
	EXPECT_STREQ(entries[3].name, "d");
	ASSERT_EQ(hf_tmpfs_readdir(t, fd, entries, 4), 1);
	EXPECT_STREQ(entries[0].name, "e");
	EXPECT_EQ(hf_tmpfs_lseek(t, fd, 0, SEEK_SET), 0);
	EXPECT_EQ(hf_tmpfs_readdir(t, fd, entries, 3), 3);
	EXPECT_EQ(hf_tmpfs_lseek(t, fd, entries[1].next, SEEK_SET), entries[1].next);
	EXPECT_EQ(hf_tmpfs_readdir(t, fd, entries, 1), 1);
	EXPECT_STREQ(entries[0].name, "a");
}

TEST_F(TmpfsNames, ReaddirErrors)
{
	struct hf_tmpfs_dirent entry;
	bad_page page;
	int fd;

	file("/f");
	EXPECT_EQ(hf_tmpfs_readdir(t, 0, &entry, 1), -EBADF);
	fd = open("/f");
	EXPECT_EQ(hf_tmpfs_readdir(t, fd, &entry, 1), -ENOTDIR);
	fd = open("/");
	EXPECT_EQ(
		hf_tmpfs_readdir(t, fd, reinterpret_cast<struct hf_tmpfs_dirent *>(page.bad()), 9),
		-EFAULT);
	void *last = page.before(sizeof(entry) + 8);
	EXPECT_EQ(hf_tmpfs_readdir(t, fd, static_cast<struct hf_tmpfs_dirent *>(last), 9), 1);
	ASSERT_EQ(hf_tmpfs_readdir(t, fd, &entry, 1), 1);
	EXPECT_STREQ(entry.name, "..");
}

/* ---- limits and attributes ----------------------------------------------------------------- */

TEST_F(TmpfsNames, InodesAreLimited)
{
	struct hf_tmpfs_options options = {};

	options.inodes = 3;
	make(options);
	file("/f");
	ASSERT_EQ(link("/f", "/g"), 0);
	EXPECT_EQ(free_inodes(), 0u);
	EXPECT_EQ(open("/x", O_RDONLY | O_CREAT), -ENOSPC);
	EXPECT_EQ(hf_tmpfs_mkdir(fs, "/x", 0), -ENOSPC);
	EXPECT_EQ(symlink("x", "/x"), -ENOSPC);
	EXPECT_EQ(link("/f", "/x"), -ENOSPC);
	EXPECT_EQ(rename("/f", "/h"), 0); /* needs none */
	prove();
	ASSERT_EQ(unlink("/h"), 0);
	dir("/x");
	EXPECT_EQ(free_inodes(), 0u);
	ASSERT_EQ(rmdir("/x"), 0);
	EXPECT_EQ(free_inodes(), 1u);
}

TEST_F(TmpfsNames, Attributes)
{
	struct hf_tmpfs_attributes to = {};
	struct stat st;

	file("/f");
	ASSERT_EQ(symlink("f", "/s"), 0);
	to.set = HF_TMPFS_SET_MODE | HF_TMPFS_SET_UID | HF_TMPFS_SET_GID | HF_TMPFS_SET_ATIME |
		 HF_TMPFS_SET_MTIME;
	to.mode = 01234;
	to.uid = 5;
	to.gid = 6;
	to.atime.tv_sec = 7;
	to.mtime.tv_sec = 8;
	ASSERT_EQ(hf_tmpfs_setattr(fs, "/s", true, &to), 0);
	st = stat("/f");
	EXPECT_EQ(st.st_mode, S_IFREG | 01234u);
	EXPECT_EQ(st.st_uid, 5u);
	EXPECT_EQ(st.st_gid, 6u);
	EXPECT_EQ(st.st_atim.tv_sec, 7);
	EXPECT_EQ(st.st_mtim.tv_sec, 8);
	to.set = HF_TMPFS_SET_UID;
	to.uid = 9;
	ASSERT_EQ(hf_tmpfs_setattr(fs, "/s", false, &to), 0);
	EXPECT_EQ(stat("/f").st_uid, 5u);
	ASSERT_EQ(hf_tmpfs_lstat(fs, "/s", &st), 0);
	EXPECT_EQ(st.st_uid, 9u);
	ASSERT_EQ(hf_tmpfs_fsetattr(t, open("/f"), &to), 0);
	EXPECT_EQ(stat("/f").st_uid, 9u);
	EXPECT_EQ(hf_tmpfs_fsetattr(t, 99, &to), -EBADF);
	EXPECT_EQ(hf_tmpfs_setattr(fs, "/none", true, &to), -ENOENT);
	EXPECT_EQ(hf_tmpfs_fstat(t, 99, &st), -EBADF);
	to.set = 1u << 10;
	EXPECT_EQ(hf_tmpfs_setattr(fs, "/f", true, &to), -EINVAL);
}

TEST_F(TmpfsNames, ADeepTreeIsFreedWithoutRecursion)
{
	std::string path;

	for (int i = 0; i < 1000; i++) {
		path += "/d";
		dir(path.c_str());
	}
	file((path + "/f").c_str(), "x");
	prove();
}

TEST_F(TmpfsNames, ManyNames)
{
	for (int i = 0; i < 5000; i++)
		file(("/file" + std::to_string(i)).c_str());
	EXPECT_EQ(list("/").size(), 5002u);
	for (int i = 0; i < 5000; i += 2)
		ASSERT_EQ(unlink(("/file" + std::to_string(i)).c_str()), 0);
	std::vector<std::string> names = list("/");
	EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 2502u);
	EXPECT_EQ(names.size(), 2502u);
}

} // namespace
