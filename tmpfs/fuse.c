/* SPDX-License-Identifier: MIT */
/*
 * hf-tmpfs-fuse MOUNTPOINT [-o size=SIZE,nr_inodes=N] [-f] [-d] [-s] - the file system as a mount.
 *
 * Each FUSE call is one or two calls of the library; its errors are passed on. Descriptors of one
 * table stand for the open files. Nothing is cached in front of it (names and attributes for no
 * time, direct I/O), so that two links to a file, which libfuse takes for two files, show the same at
 * any time. The price: no shared writable mappings, so no WAL of databases.
 *
 * libfuse asks by path, even for what the kernel has open. So, other than in the library: fstat() of
 * a file that has no name left gives ESTALE, and so may an open() at the moment of a rename.
 *
 * Ends with umount or fusermount3 -u; then everything is freed, and every count has been proved:
 * exits with 1 if one was wrong.
 */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fuse.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpfs.h"

#define RENAME_FLAGS (HF_TMPFS_NOREPLACE | HF_TMPFS_EXCHANGE)

static struct hf_tmpfs_options limits;
static struct hf_tmpfs *fs;
static struct hf_tmpfs_table *table;

static int fd_of(const struct fuse_file_info *info)
{
	return (int)info->fh;
}

/* What has just been made is its maker's, and not the server's. */
static int give_to_caller(const char *path)
{
	const struct fuse_context *caller = fuse_get_context();
	struct hf_tmpfs_attributes to = { .set = HF_TMPFS_SET_UID | HF_TMPFS_SET_GID,
					  .uid = caller->uid,
					  .gid = caller->gid };

	return hf_tmpfs_setattr(fs, path, false, &to);
}

static int set(const char *path, const struct fuse_file_info *info,
	       const struct hf_tmpfs_attributes *to)
{
	return info ? hf_tmpfs_fsetattr(table, fd_of(info), to)
		    : hf_tmpfs_setattr(fs, path, false, to);
}

/* ---- names --------------------------------------------------------------------------------- */

static int do_getattr(const char *path, struct stat *to, struct fuse_file_info *info)
{
	return info ? hf_tmpfs_fstat(table, fd_of(info), to) : hf_tmpfs_lstat(fs, path, to);
}

static int do_readlink(const char *path, char *to, size_t size)
{
	ssize_t length = hf_tmpfs_readlink(fs, path, to, size - 1);

	if (length < 0)
		return (int)length;
	to[length] = '\0';
	return 0;
}

static int do_mkdir(const char *path, mode_t mode)
{
	int error = hf_tmpfs_mkdir(fs, path, mode);

	return error ? error : give_to_caller(path);
}

static int do_symlink(const char *target, const char *path)
{
	int error = hf_tmpfs_symlink(fs, target, path);

	return error ? error : give_to_caller(path);
}

static int do_unlink(const char *path)
{
	return hf_tmpfs_unlink(fs, path);
}

static int do_rmdir(const char *path)
{
	return hf_tmpfs_rmdir(fs, path);
}

static int do_rename(const char *from, const char *to, unsigned int flags)
{
	if (flags & ~RENAME_FLAGS)
		return -EINVAL;
	return hf_tmpfs_rename(fs, from, to, flags);
}

static int do_link(const char *from, const char *to)
{
	return hf_tmpfs_link(fs, from, to);
}

/* ---- attributes ---------------------------------------------------------------------------- */

static int do_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
	struct hf_tmpfs_attributes to = { .set = HF_TMPFS_SET_MODE, .mode = mode };

	return set(path, info, &to);
}

static int do_chown(const char *path, uid_t uid, gid_t gid, struct fuse_file_info *info)
{
	struct hf_tmpfs_attributes to = { .uid = uid, .gid = gid };

	if (uid != (uid_t)-1)
		to.set |= HF_TMPFS_SET_UID;
	if (gid != (gid_t)-1)
		to.set |= HF_TMPFS_SET_GID;
	return set(path, info, &to);
}

/* UTIME_NOW, UTIME_OMIT or a time. */
static void set_time(struct hf_tmpfs_attributes *to, unsigned int which, struct timespec *time,
		     const struct timespec *wish)
{
	if (wish->tv_nsec == UTIME_OMIT)
		return;
	to->set |= which;
	if (wish->tv_nsec == UTIME_NOW)
		clock_gettime(CLOCK_REALTIME, time);
	else
		*time = *wish;
}

static int do_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
	struct hf_tmpfs_attributes to = { .set = 0 };

	set_time(&to, HF_TMPFS_SET_ATIME, &to.atime, &times[0]);
	set_time(&to, HF_TMPFS_SET_MTIME, &to.mtime, &times[1]);
	return set(path, info, &to);
}

static int do_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
	return info ? hf_tmpfs_ftruncate(table, fd_of(info), size)
		    : hf_tmpfs_truncate(fs, path, size);
}

static int do_statfs(const char *path, struct statvfs *to)
{
	(void)path;
	return hf_tmpfs_statfs(fs, to);
}

/* ---- open files ---------------------------------------------------------------------------- */

static int opened(int fd, struct fuse_file_info *info)
{
	if (fd < 0)
		return fd;
	info->fh = (uint64_t)fd;
	return 0;
}

/* The kernel has followed symlinks, cuts off by itself, and knows where the end is. */
static int do_open(const char *path, struct fuse_file_info *info)
{
	return opened(hf_tmpfs_open(table, path, info->flags & (O_ACCMODE | O_APPEND | O_TRUNC), 0),
		      info);
}

static int do_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
	const int flags = O_ACCMODE | O_APPEND | O_EXCL | O_TRUNC;
	int fd = hf_tmpfs_open(table, path, (info->flags & flags) | O_CREAT | O_NOFOLLOW, mode);

	if (fd >= 0)
		(void)give_to_caller(path);
	return opened(fd, info);
}

static int do_opendir(const char *path, struct fuse_file_info *info)
{
	return opened(hf_tmpfs_open(table, path, O_RDONLY | O_DIRECTORY, 0), info);
}

static int do_release(const char *path, struct fuse_file_info *info)
{
	(void)path;
	return hf_tmpfs_close(table, fd_of(info));
}

static int do_read(const char *path, char *to, size_t size, off_t at, struct fuse_file_info *info)
{
	(void)path;
	return (int)hf_tmpfs_pread(table, fd_of(info), to, size, at);
}

static int do_write(const char *path, const char *from, size_t size, off_t at,
		    struct fuse_file_info *info)
{
	(void)path;
	return (int)hf_tmpfs_pwrite(table, fd_of(info), from, size, at);
}

static int do_fsync(const char *path, int only_data, struct fuse_file_info *info)
{
	(void)path;
	(void)only_data;
	(void)info;
	return 0; /* there is nothing behind it */
}

static int do_fallocate(const char *path, int mode, off_t at, off_t size,
			struct fuse_file_info *info)
{
	(void)path;
	return hf_tmpfs_fallocate(table, fd_of(info), mode, at, size);
}

static off_t do_lseek(const char *path, off_t at, int whence, struct fuse_file_info *info)
{
	(void)path;
	return hf_tmpfs_lseek(table, fd_of(info), at, whence);
}

/* With offsets: each call goes on where the one before has ended. */
static int do_readdir(const char *path, void *to, fuse_fill_dir_t fill, off_t at,
		      struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
	struct hf_tmpfs_dirent entry;
	struct stat st;
	off_t start = hf_tmpfs_lseek(table, fd_of(info), at, SEEK_SET);
	int count;

	(void)path;
	(void)flags;
	if (start < 0)
		return (int)start;
	while ((count = hf_tmpfs_readdir(table, fd_of(info), &entry, 1)) > 0) {
		memset(&st, 0, sizeof(st));
		st.st_ino = entry.inode;
		st.st_mode = (mode_t)DTTOIF(entry.type);
		if (fill(to, entry.name, &st, entry.next, 0))
			break;
	}
	return count < 0 ? count : 0;
}

static void *do_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	(void)connection;
	config->use_ino = 1;
	config->hard_remove = 1; /* an unlinked file lives here, without a name of its own */
	config->nullpath_ok = 1;
	config->direct_io = 1;
	config->entry_timeout = 0;
	config->attr_timeout = 0;
	config->negative_timeout = 0;
	/* Not before: a daemon has forked until here, and liburcu's threads would not be in the child. */
	if (hf_tmpfs_new(&fs, &limits) ||
	    hf_tmpfs_table_new(&table, fs, HF_TMPFS_DESCRIPTORS_MAX)) {
		fprintf(stderr, "hf-tmpfs-fuse: no memory\n");
		exit(1);
	}
	return NULL;
}

static const struct fuse_operations operations = {
	.getattr = do_getattr,
	.readlink = do_readlink,
	.mkdir = do_mkdir,
	.unlink = do_unlink,
	.rmdir = do_rmdir,
	.symlink = do_symlink,
	.rename = do_rename,
	.link = do_link,
	.chmod = do_chmod,
	.chown = do_chown,
	.truncate = do_truncate,
	.open = do_open,
	.read = do_read,
	.write = do_write,
	.statfs = do_statfs,
	.release = do_release,
	.fsync = do_fsync,
	.opendir = do_opendir,
	.readdir = do_readdir,
	.releasedir = do_release,
	.fsyncdir = do_fsync,
	.init = do_init,
	.create = do_create,
	.utimens = do_utimens,
	.fallocate = do_fallocate,
	.lseek = do_lseek,
};

/* ---- the program --------------------------------------------------------------------------- */

struct arguments {
	char *size, *inodes;
};

static const struct fuse_opt options[] = {
	{ "size=%s", offsetof(struct arguments, size), 0 },
	{ "nr_inodes=%s", offsetof(struct arguments, inodes), 0 },
	FUSE_OPT_END,
};

/* A number, with k, m, g or t behind it. */
static bool number(const char *text, uint64_t *to)
{
	const char *units = "kmgt", *unit;
	char *end;

	if (!text)
		return true;
	errno = 0;
	*to = strtoull(text, &end, 10);
	if (end == text || errno || *text == '-')
		return false;
	if (*end && (unit = strchr(units, *end | 0x20))) {
		unsigned int shift = 10 * (unsigned int)(unit - units + 1);

		if (*to > UINT64_MAX >> shift)
			return false;
		*to <<= shift;
		end++;
	}
	return *end == '\0';
}

/* After the last call: every count is right, and nothing stays. */
static int end(void)
{
	int faults = hf_tmpfs_check(fs, NULL, NULL);

	if (faults)
		fprintf(stderr, "hf-tmpfs-fuse: %d counts were wrong at the end\n", faults);
	hf_tmpfs_table_free(table);
	if (hf_tmpfs_free(fs)) {
		fprintf(stderr, "hf-tmpfs-fuse: not all was freed at the end\n");
		faults = 1;
	}
	return faults != 0;
}

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct arguments arguments = { NULL, NULL };
	int status;

	if (fuse_opt_parse(&args, &arguments, options, NULL) != 0)
		return 2;
	if (!number(arguments.size, &limits.size) || !number(arguments.inodes, &limits.inodes)) {
		fprintf(stderr, "hf-tmpfs-fuse: size and nr_inodes take a number, as 100m\n");
		status = 2;
	} else {
		status = fuse_main(args.argc, args.argv, &operations, NULL);
		if (fs && end())
			status = 1;
	}
	free(arguments.size);
	free(arguments.inodes);
	fuse_opt_free_args(&args);
	return status;
}
