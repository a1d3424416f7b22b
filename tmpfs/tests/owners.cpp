// SPDX-License-Identifier: MIT
/* owners - whose a file is, the bits it loses, special files, files without a name, attributes. */
#include "world.h"

#include <cstring>

#include <sys/sysmacros.h>

namespace
{

bool in_group_0(void *, gid_t group)
{
	return group == 0;
}

const struct hf_tmpfs_caller ROOT = { 0, 0, true, nullptr, nullptr },
			     USER = { 1001, 1001, false, nullptr, nullptr },
			     MEMBER = { 1001, 1001, false, in_group_0, nullptr };

class TmpfsOwners : public TmpfsWorld {
protected:
	void TearDown() override
	{
		hf_tmpfs_act_as(nullptr);
		TmpfsWorld::TearDown();
	}

	void chmod(const char *path, mode_t mode)
	{
		struct hf_tmpfs_attributes to = {};

		to.set = HF_TMPFS_SET_MODE;
		to.mode = mode;
		ASSERT_EQ(hf_tmpfs_setattr(fs, path, true, &to), 0);
	}

	void chown(const char *path, uid_t uid, gid_t gid)
	{
		struct hf_tmpfs_attributes to = {};

		to.set = HF_TMPFS_SET_UID | HF_TMPFS_SET_GID;
		to.uid = uid;
		to.gid = gid;
		ASSERT_EQ(hf_tmpfs_setattr(fs, path, true, &to), 0);
	}

	mode_t mode(const char *path) { return stat(path).st_mode & 07777; }

	int set(const char *path, const char *name, const std::string &value, int flags = 0)
	{
		return hf_tmpfs_setxattr(fs, path, false, name, value.data(), value.size(), flags);
	}

	/* The value, or its error in words. */
	std::string get(const char *path, const char *name)
	{
		std::vector<char> value(70000);
		ssize_t got = hf_tmpfs_getxattr(fs, path, false, name, value.data(), value.size());

		return got < 0 ? std::strerror(static_cast<int>(-got))
			       : std::string(value.data(), static_cast<size_t>(got));
	}
};

TEST_F(TmpfsOwners, WhatIsMadeBelongsToTheCaller)
{
	EXPECT_EQ(stat("/").st_uid, geteuid());
	hf_tmpfs_act_as(&USER);
	file("/f");
	dir("/d");
	EXPECT_EQ(stat("/f").st_uid, 1001u);
	EXPECT_EQ(stat("/f").st_gid, 1001u);
	EXPECT_EQ(stat("/d").st_uid, 1001u);
	hf_tmpfs_act_as(nullptr);
	file("/g");
	EXPECT_EQ(stat("/g").st_uid, geteuid());
	EXPECT_EQ(stat("/g").st_gid, getegid());
}

TEST_F(TmpfsOwners, ASetgidDirectoryIsInherited)
{
	int fd;

	dir("/d");
	chown("/d", 0, 555);
	chmod("/d", 02777);
	hf_tmpfs_act_as(&USER);
	file("/d/f");
	dir("/d/d");
	ASSERT_EQ(hf_tmpfs_symlink(fs, "x", "/d/s"), 0);
	ASSERT_EQ(hf_tmpfs_mknod(fs, "/d/p", S_IFIFO | 0644, 0), 0);
	for (const char *path : { "/d/f", "/d/d", "/d/p" })
		EXPECT_EQ(stat(path).st_gid, 555u) << path;
	EXPECT_EQ(mode("/d/f"), 0644u);
	EXPECT_EQ(mode("/d/d"), 02755u);
	dir("/d/d/e");
	EXPECT_EQ(stat("/d/d/e").st_gid, 555u);
	EXPECT_EQ(mode("/d/d/e"), 02755u);
	/* A program of that group: only for who may make one. */
	hf_tmpfs_close(t, open("/d/run", O_CREAT, 02755));
	EXPECT_EQ(mode("/d/run"), 0755u);
	hf_tmpfs_close(t, open("/d/lock", O_CREAT, 02745));
	EXPECT_EQ(mode("/d/lock"), 02745u);
	const struct hf_tmpfs_caller member = { 1001, 555, false, nullptr, nullptr };
	hf_tmpfs_act_as(&member);
	hf_tmpfs_close(t, open("/d/member", O_CREAT, 02755));
	EXPECT_EQ(mode("/d/member"), 02755u);
	hf_tmpfs_act_as(&ROOT);
	hf_tmpfs_close(t, open("/d/root", O_CREAT, 02755));
	EXPECT_EQ(mode("/d/root"), 02755u);
	fd = open("/d", O_TMPFILE | O_RDWR, 0600);
	struct stat st;
	ASSERT_EQ(hf_tmpfs_fstat(t, fd, &st), 0);
	EXPECT_EQ(st.st_gid, 555u);
}

TEST_F(TmpfsOwners, AChangeByAnotherClearsSetuid)
{
	struct hf_tmpfs_attributes both = {};
	auto after = [&](const struct hf_tmpfs_caller &who, mode_t before, int way) {
		int fd = open("/f", O_WRONLY);

		chmod("/f", before);
		hf_tmpfs_act_as(&who);
		switch (way) {
		case 0:
			EXPECT_EQ(hf_tmpfs_pwrite(t, fd, "x", 1, 0), 1);
			break;
		case 1:
			EXPECT_EQ(hf_tmpfs_ftruncate(t, fd, 1), 0);
			break;
		case 2:
			EXPECT_EQ(hf_tmpfs_fallocate(t, fd, 0, 0, 100), 0);
			break;
		default:
			EXPECT_GE(open("/f", O_WRONLY | O_TRUNC), 0);
		}
		hf_tmpfs_act_as(nullptr);
		for (int i = 0; i < 4; i++)
			hf_tmpfs_close(t, i);
		return mode("/f");
	};

	file("/f", "data");
	for (int way = 0; way < 4; way++) {
		EXPECT_EQ(after(USER, 06777, way), 0777u) << way;
		EXPECT_EQ(after(USER, 02767, way), 0767u) << way;
		EXPECT_EQ(after(MEMBER, 06767, way), 02767u) << way;
		EXPECT_EQ(after(ROOT, 06777, way), 06777u) << way;
	}
	chmod("/f", 06777);
	chown("/f", 1001, 1001);
	EXPECT_EQ(mode("/f"), 0777u);
	both.set = HF_TMPFS_SET_UID | HF_TMPFS_SET_MODE;
	both.mode = 04755;
	ASSERT_EQ(hf_tmpfs_setattr(fs, "/f", true, &both), 0);
	EXPECT_EQ(mode("/f"), 04755u);
	dir("/d");
	chmod("/d", 06777);
	chown("/d", 1, 1);
	EXPECT_EQ(mode("/d"), 06777u);
	/* Setgid without execution by the group stays by a privilege or in the group. */
	for (const auto &one : { std::make_pair(ROOT, 02744u), std::make_pair(MEMBER, 02744u),
				 std::make_pair(USER, 0744u) }) {
		hf_tmpfs_act_as(nullptr);
		chown("/f", 0, 0);
		chmod("/f", 06744);
		hf_tmpfs_act_as(&one.first);
		chown("/f", 7, 8);
		EXPECT_EQ(mode("/f"), one.second);
	}
	hf_tmpfs_act_as(nullptr);
	/* Without a new owner, as chown(-1, -1); the time of change moves whatever is set. */
	chmod("/f", 06777);
	both = {};
	both.set = HF_TMPFS_CLEAR_SETUID;
	struct timespec before = stat("/f").st_ctim;
	usleep(2000);
	ASSERT_EQ(hf_tmpfs_setattr(fs, "/f", true, &both), 0);
	EXPECT_EQ(mode("/f"), 0777u);
	EXPECT_NE(stat("/f").st_ctim.tv_nsec, before.tv_nsec);
	/* Of all but directories. */
	for (mode_t type : { S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK }) {
		ASSERT_EQ(hf_tmpfs_mknod(fs, "/special", type | 0777, 5), 0);
		chmod("/special", 06555);
		chown("/special", 1001, 1002);
		EXPECT_EQ(mode("/special"), 0555u) << std::oct << type;
		ASSERT_EQ(hf_tmpfs_unlink(fs, "/special"), 0);
	}
}

TEST_F(TmpfsOwners, SpecialFiles)
{
	const struct {
		const char *path;
		mode_t type;
		unsigned char listed;
		bool device;
	} kinds[] = { { "/fifo", S_IFIFO, DT_FIFO, false }, { "/socket", S_IFSOCK, DT_SOCK, false },
		      { "/char", S_IFCHR, DT_CHR, true },   { "/block", S_IFBLK, DT_BLK, true },
		      { "/file", S_IFREG, DT_REG, false },  { "/zero", 0, DT_REG, false } };
	struct hf_tmpfs_node *root = hf_tmpfs_node_root(fs), *node;
	struct hf_tmpfs_dirent entries[8];
	int fd = open("/");

	for (const auto &kind : kinds)
		ASSERT_EQ(hf_tmpfs_mknod(fs, kind.path, kind.type | 0640, makedev(7, 9)), 0);
	EXPECT_EQ(hf_tmpfs_mknod(fs, "/fifo", S_IFIFO, 0), -EEXIST);
	EXPECT_EQ(hf_tmpfs_mknod(fs, "/x", S_IFDIR, 0), -EPERM);
	EXPECT_EQ(hf_tmpfs_mknod(fs, "/x", S_IFLNK, 0), -EINVAL);
	EXPECT_EQ(hf_tmpfs_mknod(fs, "/x", S_IFMT, 0), -EINVAL);
	EXPECT_EQ(hf_tmpfs_mknod(fs, "/x/", S_IFIFO, 0), -ENOENT);
	ASSERT_EQ(hf_tmpfs_readdir(t, fd, entries, 8), 8);
	for (size_t i = 0; i < 6; i++) {
		struct stat st = stat(kinds[i].path);

		EXPECT_EQ(st.st_mode, (kinds[i].type ? kinds[i].type : S_IFREG) | 0640u);
		EXPECT_EQ(st.st_rdev, kinds[i].device ? makedev(7, 9) : 0u);
		EXPECT_EQ(entries[i + 2].type, kinds[i].listed);
		if (kinds[i].listed == DT_REG)
			continue;
		EXPECT_EQ(open(kinds[i].path, O_RDWR), -ENXIO);
		EXPECT_EQ(open(kinds[i].path, O_RDWR | O_CREAT), -ENXIO);
		EXPECT_EQ(open(kinds[i].path, O_RDWR | O_CREAT | O_EXCL), -EEXIST);
		EXPECT_EQ(open(kinds[i].path, O_DIRECTORY), -ENOTDIR);
		EXPECT_EQ(hf_tmpfs_truncate(fs, kinds[i].path, 0), -EINVAL);
		EXPECT_EQ(set(kinds[i].path, "user.a", "1"), -EPERM);
		EXPECT_EQ(get(kinds[i].path, "user.a"), std::strerror(ENODATA));
		ASSERT_EQ(hf_tmpfs_node_lookup(root, kinds[i].path + 1, &node), 0);
		EXPECT_EQ(hf_tmpfs_node_open(t, node, O_RDONLY), -ENXIO);
		hf_tmpfs_node_put(node, 1);
	}
	ASSERT_EQ(hf_tmpfs_node_mknod(root, "again", S_IFSOCK | 0777, 0, &node), 0);
	EXPECT_EQ(stat("/again").st_mode, S_IFSOCK | 0777u);
	hf_tmpfs_node_put(node, 1);
	hf_tmpfs_node_put(root, 1);
	ASSERT_EQ(hf_tmpfs_link(fs, "/char", "/link"), 0);
	EXPECT_EQ(stat("/link").st_rdev, makedev(7, 9));
	ASSERT_EQ(hf_tmpfs_rename(fs, "/fifo", "/socket", 0), 0);
	ASSERT_EQ(hf_tmpfs_unlink(fs, "/socket"), 0);
}

TEST_F(TmpfsOwners, AFileWithoutAName)
{
	struct hf_tmpfs_options options = {};
	struct hf_tmpfs_node *root, *node;
	struct stat st;
	int fd;

	options.inodes = 3;
	make(options);
	dir("/d");
	fd = open("/d", O_TMPFILE | O_RDWR, 0600);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(free_inodes(), 0u);
	EXPECT_EQ(open("/d", O_TMPFILE | O_RDWR, 0600), -ENOSPC);
	ASSERT_EQ(hf_tmpfs_write(t, fd, "data", 4), 4);
	ASSERT_EQ(hf_tmpfs_fstat(t, fd, &st), 0);
	EXPECT_EQ(st.st_nlink, 0u);
	EXPECT_EQ(st.st_mode, S_IFREG | 0600u);
	prove();
	ASSERT_EQ(hf_tmpfs_flink(t, fd, "/d/named"), 0); /* has its place in the limit already */
	EXPECT_EQ(stat("/d/named").st_nlink, 1u);
	EXPECT_EQ(contents("/d/named"), "data");
	EXPECT_EQ(hf_tmpfs_flink(t, fd, "/d/named"), -EEXIST);
	EXPECT_EQ(hf_tmpfs_flink(t, fd, "/d/more"), -ENOSPC);
	prove();
	ASSERT_EQ(hf_tmpfs_unlink(fs, "/d/named"), 0);
	EXPECT_EQ(hf_tmpfs_flink(t, fd, "/d/back"), -ENOENT);
	ASSERT_EQ(hf_tmpfs_close(t, fd), 0);
	EXPECT_EQ(free_inodes(), 1u);
	/* With O_EXCL it never gets one. */
	fd = open("/d", O_TMPFILE | O_WRONLY | O_EXCL, 0600);
	EXPECT_EQ(hf_tmpfs_flink(t, fd, "/d/named"), -ENOENT);
	EXPECT_EQ(hf_tmpfs_flink(t, 99, "/d/named"), -EBADF);
	ASSERT_EQ(hf_tmpfs_close(t, fd), 0);
	EXPECT_EQ(open("/d", O_TMPFILE | O_RDONLY), -EINVAL);
	EXPECT_EQ(open("/d", O_TMPFILE | O_RDWR | O_CREAT), -EINVAL);
	EXPECT_EQ(open("/none", O_TMPFILE | O_RDWR), -ENOENT);
	root = hf_tmpfs_node_root(fs);
	fd = hf_tmpfs_node_tmpfile(t, root, O_RDWR, 0644, &node);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(hf_tmpfs_write(t, fd, "node", 4), 4);
	ASSERT_EQ(hf_tmpfs_close(t, fd), 0);
	ASSERT_EQ(hf_tmpfs_node_link(node, root, "linked"), 0);
	EXPECT_EQ(contents("/linked"), "node");
	EXPECT_EQ(hf_tmpfs_node_tmpfile(t, node, O_RDWR, 0644, nullptr), -ENOTDIR);
	hf_tmpfs_node_put(node, 1);
	hf_tmpfs_node_put(root, 1);
}

TEST_F(TmpfsOwners, Whiteouts)
{
	struct hf_tmpfs_options options = {};
	struct stat st;

	options.inodes = 5;
	make(options);
	dir("/d");
	file("/d/f", "data");
	file("/g");
	ASSERT_EQ(hf_tmpfs_rename(fs, "/d/f", "/x", HF_TMPFS_WHITEOUT), 0);
	EXPECT_EQ(contents("/x"), "data");
	ASSERT_EQ(hf_tmpfs_lstat(fs, "/d/f", &st), 0);
	EXPECT_EQ(st.st_mode, S_IFCHR | 0u);
	EXPECT_EQ(st.st_rdev, 0u);
	prove();
	EXPECT_EQ(hf_tmpfs_rename(fs, "/x", "/y", HF_TMPFS_WHITEOUT), -ENOSPC);
	EXPECT_TRUE(exists("/x"));
	EXPECT_FALSE(exists("/y"));
	ASSERT_EQ(hf_tmpfs_unlink(fs, "/d/f"), 0);
	EXPECT_EQ(hf_tmpfs_rename(fs, "/x", "/g", HF_TMPFS_WHITEOUT | HF_TMPFS_NOREPLACE), -EEXIST);
	EXPECT_EQ(hf_tmpfs_rename(fs, "/x", "/g", HF_TMPFS_WHITEOUT | HF_TMPFS_EXCHANGE), -EINVAL);
	ASSERT_EQ(hf_tmpfs_rename(fs, "/x", "/g", HF_TMPFS_WHITEOUT), 0);
	EXPECT_EQ(contents("/g"), "data");
	ASSERT_EQ(hf_tmpfs_unlink(fs, "/x"), 0);
	/* A directory leaves one, too. */
	ASSERT_EQ(hf_tmpfs_rename(fs, "/d", "/e", HF_TMPFS_WHITEOUT), 0);
	EXPECT_EQ(stat("/d").st_mode, S_IFCHR | 0u);
	EXPECT_EQ(stat("/").st_nlink, 3u);
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
		ASSERT_EQ(hf_tmpfs_setattr(fs, path, true, &to), 0);
	};
	file("/f", "data");
	fd = open("/f", O_RDONLY);
	quiet = open("/f", O_RDONLY | O_NOATIME);
	/* Older than the last change: a read sets it, but not one by O_NOATIME. */
	set_times("/f", 1000, 2000);
	ASSERT_EQ(hf_tmpfs_pread(t, quiet, &c, 1, 0), 1);
	EXPECT_EQ(stat("/f").st_atime, 1000);
	ASSERT_EQ(hf_tmpfs_pread(t, fd, &c, 1, 0), 1);
	EXPECT_GT(stat("/f").st_atime, 1000000);
	/* Newer than the change, and less than a day old: it stays. */
	struct timespec first = stat("/f").st_atim, second;
	ASSERT_EQ(hf_tmpfs_pread(t, fd, &c, 1, 0), 1);
	second = stat("/f").st_atim;
	EXPECT_TRUE(first.tv_sec == second.tv_sec && first.tv_nsec == second.tv_nsec);
	/* In the time to come: newer than the change of now. */
	set_times("/f", 4000000000, 2000);
	ASSERT_EQ(hf_tmpfs_pread(t, fd, &c, 1, 0), 1);
	EXPECT_EQ(stat("/f").st_atime, 4000000000);
	/* Directories and symlinks. */
	dir("/d");
	set_times("/d", 1000, 2000);
	fd = open("/d");
	ASSERT_EQ(hf_tmpfs_readdir(t, fd, &entry, 1), 1);
	EXPECT_GT(stat("/d").st_atime, 1000000);
	ASSERT_EQ(hf_tmpfs_symlink(fs, "/f", "/s"), 0);
	to.set = HF_TMPFS_SET_ATIME;
	to.atime = { 1000, 0 };
	ASSERT_EQ(hf_tmpfs_setattr(fs, "/s", false, &to), 0);
	ASSERT_EQ(hf_tmpfs_readlink(fs, "/s", &c, 1), 1);
	struct stat st;
	ASSERT_EQ(hf_tmpfs_lstat(fs, "/s", &st), 0);
	EXPECT_GT(st.st_atime, 1000000);
	/* No read does, where none is to. */
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
	const std::string longest = "user." + std::string(250, 'n');
	const std::string big(HF_TMPFS_XATTR_SIZE_MAX, 'v');
	char list[600];
	bad_page page;

	file("/f");
	dir("/d");
	ASSERT_EQ(hf_tmpfs_symlink(fs, "/f", "/s"), 0);
	for (const char *path : { "/f", "/d" }) {
		EXPECT_EQ(hf_tmpfs_listxattr(fs, path, true, list, sizeof(list)), 0);
		EXPECT_EQ(get(path, "user.a"), std::strerror(ENODATA));
		EXPECT_EQ(set(path, "user.a", "1", HF_TMPFS_XATTR_REPLACE), -ENODATA);
		EXPECT_EQ(set(path, "user.a", "1", HF_TMPFS_XATTR_CREATE), 0);
		EXPECT_EQ(set(path, "user.a", "2", HF_TMPFS_XATTR_CREATE), -EEXIST);
		EXPECT_EQ(get(path, "user.a"), "1");
		EXPECT_EQ(set(path, "user.a", "three", HF_TMPFS_XATTR_REPLACE), 0);
		EXPECT_EQ(get(path, "user.a"), "three");
		EXPECT_EQ(set(path, "user.empty", ""), 0);
		EXPECT_EQ(get(path, "user.empty"), "");
		EXPECT_EQ(set(path, longest.c_str(), big), 0);
		EXPECT_EQ(get(path, longest.c_str()), big);
		prove();
		EXPECT_EQ(hf_tmpfs_listxattr(fs, path, true, nullptr, 0), 7 + 11 + 256);
		EXPECT_EQ(hf_tmpfs_listxattr(fs, path, true, list, 273), -ERANGE);
		ASSERT_EQ(hf_tmpfs_listxattr(fs, path, true, list, sizeof(list)), 274);
		EXPECT_STREQ(list, "user.a");
		EXPECT_STREQ(list + 7, "user.empty");
		EXPECT_EQ(hf_tmpfs_getxattr(fs, path, true, "user.a", list, 4), -ERANGE);
		EXPECT_EQ(hf_tmpfs_getxattr(fs, path, true, "user.a", nullptr, 0), 5);
		EXPECT_EQ(hf_tmpfs_getxattr(fs, path, true, "user.a", page.bad(), 5), -EFAULT);
		EXPECT_EQ(hf_tmpfs_listxattr(fs, path, true, page.bad(), 4096), -EFAULT);
		EXPECT_EQ(hf_tmpfs_setxattr(fs, path, true, "user.a", page.bad(), 5, 0), -EFAULT);
		EXPECT_EQ(get(path, "user.a"), "three");
		EXPECT_EQ(hf_tmpfs_removexattr(fs, path, true, "user.a"), 0);
		EXPECT_EQ(hf_tmpfs_removexattr(fs, path, true, "user.a"), -ENODATA);
		EXPECT_EQ(get(path, longest.c_str()), big);
		/* Errors of names. */
		EXPECT_EQ(set(path, "", "1"), -ERANGE);
		EXPECT_EQ(set(path, (longest + "n").c_str(), "1"), -ERANGE);
		EXPECT_EQ(set(path, "user.", "1"), -EINVAL);
		EXPECT_EQ(set(path, "user", "1"), -EOPNOTSUPP);
		EXPECT_EQ(set(path, "system.x", "1"), -EOPNOTSUPP);
		EXPECT_EQ(get(path, "other.x"), std::strerror(EOPNOTSUPP));
		EXPECT_EQ(set(path, "user.a", big + "v"), -E2BIG);
		EXPECT_EQ(set(path, "user.a", "1", 4), -EINVAL);
		EXPECT_EQ(set(path, "user.a", "1", 3), -ENODATA);
	}
	EXPECT_EQ(set("/s", "user.a", "1"), -EPERM);
	EXPECT_EQ(hf_tmpfs_setxattr(fs, "/s", true, "user.via", "1", 1, 0), 0);
	EXPECT_EQ(get("/f", "user.via"), "1");
	EXPECT_EQ(hf_tmpfs_getxattr(fs, "/none", true, "user.a", list, 1), -ENOENT);
	struct hf_tmpfs_node *root = hf_tmpfs_node_root(fs);
	EXPECT_EQ(hf_tmpfs_node_setxattr(root, "user.r", "root", 4, 0), 0);
	EXPECT_EQ(hf_tmpfs_node_getxattr(root, "user.r", list, 10), 4);
	EXPECT_EQ(hf_tmpfs_node_listxattr(root, list, 10), 7);
	EXPECT_EQ(hf_tmpfs_node_removexattr(root, "user.r"), 0);
	hf_tmpfs_node_put(root, 1);
}

TEST_F(TmpfsOwners, ExtendedAttributesAreCounted)
{
	struct hf_tmpfs_options options = {};
	const std::string value(4096, 'v');
	int error = 0, set_ones = 0;

	options.size = 16 * HF_TMPFS_PAGE;
	make(options);
	file("/f", "data");
	EXPECT_EQ(free_pages(), 15u);
	EXPECT_EQ(set("/f", "user.a", "small"), 0);
	EXPECT_EQ(free_pages(), 14u);
	EXPECT_EQ(set("/f", "user.b", "small"), 0);
	EXPECT_EQ(free_pages(), 14u);
	while (!(error = set("/f", ("user." + std::to_string(set_ones)).c_str(), value)))
		set_ones++;
	EXPECT_EQ(error, -ENOSPC);
	EXPECT_EQ(free_pages(), 0u);
	EXPECT_GE(set_ones, 13);
	EXPECT_EQ(set("/f", "user.0", value + value), -ENOSPC);
	EXPECT_EQ(get("/f", "user.0"), value);
	EXPECT_EQ(set("/f", "user.0", ""), 0);
	EXPECT_EQ(free_pages(), 1u);
	prove();
	for (int i = 0; i < set_ones; i++)
		EXPECT_EQ(
			hf_tmpfs_removexattr(fs, "/f", true, ("user." + std::to_string(i)).c_str()),
			0);
	EXPECT_EQ(free_pages(), 14u);
	ASSERT_EQ(hf_tmpfs_unlink(fs, "/f"), 0);
	EXPECT_EQ(free_pages(), 16u);
	/* Names have a limit of their own, so that they can always be listed. */
	make({});
	file("/f");
	for (set_ones = 0;
	     !(error = set(
		       "/f",
		       ("user." + std::to_string(1000 + set_ones) + std::string(240, 'n')).c_str(),
		       ""));)
		set_ones++;
	EXPECT_EQ(error, -ENOSPC);
	EXPECT_EQ(set_ones, HF_TMPFS_XATTR_SIZE_MAX / 250);
	EXPECT_LE(hf_tmpfs_listxattr(fs, "/f", true, nullptr, 0), HF_TMPFS_XATTR_SIZE_MAX);
}

} // namespace
