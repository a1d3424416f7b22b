/* SPDX-License-Identifier: MIT */
/*
 * hf-tmpfs-fuse MOUNTPOINT [-o size=SIZE,nr_inodes=N] [-f] [-d] [-s] - the file system as a mount.
 *
 * Each request of the kernel is one or two calls of the library; its errors are passed on.
 *
 *   the kernel's inode   a node of the library: its address is the number that the kernel knows it by.
 *                        Each entry in a reply is a reference, dropped when the kernel forgets it
 *   its open file        a descriptor of one table
 *
 * So a file is the same one under all of its names and without any, as long as the kernel has it.
 *
 * Caches
 *   Names and attributes are asked for each time (timeouts of 0): a name or a link count in the
 *   kernel is never older than the call that asks. Entries of a directory come without attributes
 *   (no readdirplus): they would be asked for again all the same.
 *
 *   Data stays in the kernel's page cache, one for all links to a file, from one open() to the
 *   next: nobody but this kernel changes it. So shared writable mappings work. The price is a
 *   second copy, which the kernel gives up when memory is short, and slower writes.
 *
 *   Each write() goes through the cache to the library at once, so that ENOSPC is said by the
 *   call that it is due to. A page that is changed by a mapping comes later; where there is no
 *   space for it then, msync() says so and the page is lost.
 *
 * O_APPEND stays with the kernel, which knows the size: a changed page of a mapping comes in by a
 * descriptor that may be open for appending, and belongs where it says.
 *
 * Ends with umount or fusermount3 -u; then everything is freed, and every count has been proved:
 * exits with 1 if one was wrong, or a misuse was reported.
 */
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <errno.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "holdfast/report.h"
#include "tmpfs.h"

#define RENAME_FLAGS (HF_TMPFS_NOREPLACE | HF_TMPFS_EXCHANGE)

static struct hf_tmpfs_options limits;
static struct hf_tmpfs *fs;
static struct hf_tmpfs_table *table;
static struct hf_tmpfs_node *root;

static struct hf_tmpfs_node *node_of(fuse_ino_t number)
{
	return number == FUSE_ROOT_ID ? root : (struct hf_tmpfs_node *)(uintptr_t)number;
}

static int fd_of(const struct fuse_file_info *info)
{
	return (int)info->fh;
}

/* ---- replies ------------------------------------------------------------------------------- */

/* 0, or an error of the library. */
static void reply(fuse_req_t request, int error)
{
	fuse_reply_err(request, -error);
}

static struct fuse_entry_param entry_of(struct hf_tmpfs_node *node)
{
	struct fuse_entry_param entry = { .ino = (uintptr_t)node };

	hf_tmpfs_node_stat(node, &entry.attr);
	/* Addresses are used again, these numbers are not. */
	entry.generation = entry.attr.st_ino;
	return entry;
}

/* The reference goes to the kernel, if it takes the reply. */
static void reply_entry(fuse_req_t request, int error, struct hf_tmpfs_node *node)
{
	struct fuse_entry_param entry;

	if (error) {
		reply(request, error);
		return;
	}
	entry = entry_of(node);
	if (fuse_reply_entry(request, &entry))
		hf_tmpfs_node_put(node, 1);
}

static void reply_open(fuse_req_t request, int fd, struct fuse_file_info *info)
{
	if (fd < 0) {
		reply(request, fd);
		return;
	}
	info->fh = (uint64_t)fd;
	info->keep_cache = 1;
	if (fuse_reply_open(request, info))
		(void)hf_tmpfs_close(table, fd);
}

static void reply_attributes(fuse_req_t request, struct hf_tmpfs_node *node)
{
	struct stat to;

	hf_tmpfs_node_stat(node, &to);
	fuse_reply_attr(request, &to, 0);
}

/* What has just been made is its maker's, and not the server's. */
static void give_to_caller(fuse_req_t request, struct hf_tmpfs_node *node)
{
	const struct fuse_ctx *caller = fuse_req_ctx(request);
	struct hf_tmpfs_attributes to = { .set = HF_TMPFS_SET_UID | HF_TMPFS_SET_GID,
					  .uid = caller->uid,
					  .gid = caller->gid };

	(void)hf_tmpfs_node_setattr(node, &to);
}

static void reply_made(fuse_req_t request, int error, struct hf_tmpfs_node *node)
{
	if (!error)
		give_to_caller(request, node);
	reply_entry(request, error, node);
}

/* ---- names --------------------------------------------------------------------------------- */

static void do_lookup(fuse_req_t request, fuse_ino_t dir, const char *name)
{
	struct hf_tmpfs_node *node = NULL;
	int error = hf_tmpfs_node_lookup(node_of(dir), name, &node);

	reply_entry(request, error, node);
}

static void do_forget(fuse_req_t request, fuse_ino_t number, uint64_t count)
{
	if (number != FUSE_ROOT_ID)
		hf_tmpfs_node_put(node_of(number), count);
	fuse_reply_none(request);
}

static void do_mkdir(fuse_req_t request, fuse_ino_t dir, const char *name, mode_t mode)
{
	struct hf_tmpfs_node *node = NULL;
	int error = hf_tmpfs_node_mkdir(node_of(dir), name, mode, &node);

	reply_made(request, error, node);
}

static void do_symlink(fuse_req_t request, const char *target, fuse_ino_t dir, const char *name)
{
	struct hf_tmpfs_node *node = NULL;
	int error = hf_tmpfs_node_symlink(target, node_of(dir), name, &node);

	reply_made(request, error, node);
}

/* Files only: there are no devices, pipes or sockets. */
static void do_mknod(fuse_req_t request, fuse_ino_t dir, const char *name, mode_t mode,
		     dev_t device)
{
	struct hf_tmpfs_node *node = NULL;
	int fd = -EPERM;

	(void)device;
	if (S_ISREG(mode))
		fd = hf_tmpfs_node_create(table, node_of(dir), name, O_RDONLY | O_EXCL, mode,
					  &node);
	if (fd >= 0)
		(void)hf_tmpfs_close(table, fd);
	reply_made(request, fd < 0 ? fd : 0, node);
}

static void do_link(fuse_req_t request, fuse_ino_t number, fuse_ino_t dir, const char *name)
{
	struct hf_tmpfs_node *node = node_of(number);
	int error = hf_tmpfs_node_link(node, node_of(dir), name);

	if (!error)
		hf_tmpfs_node_get(node);
	reply_entry(request, error, node);
}

static void do_unlink(fuse_req_t request, fuse_ino_t dir, const char *name)
{
	reply(request, hf_tmpfs_node_unlink(node_of(dir), name));
}

static void do_rmdir(fuse_req_t request, fuse_ino_t dir, const char *name)
{
	reply(request, hf_tmpfs_node_rmdir(node_of(dir), name));
}

static void do_rename(fuse_req_t request, fuse_ino_t from_dir, const char *from, fuse_ino_t to_dir,
		      const char *to, unsigned int flags)
{
	if (flags & ~RENAME_FLAGS)
		reply(request, -EINVAL);
	else
		reply(request,
		      hf_tmpfs_node_rename(node_of(from_dir), from, node_of(to_dir), to, flags));
}

static void do_readlink(fuse_req_t request, fuse_ino_t number)
{
	char to[HF_TMPFS_PATH_MAX];
	ssize_t length = hf_tmpfs_node_readlink(node_of(number), to, sizeof(to) - 1);

	if (length < 0) {
		reply(request, (int)length);
		return;
	}
	to[length] = '\0';
	fuse_reply_readlink(request, to);
}

/* ---- attributes ---------------------------------------------------------------------------- */

static void do_getattr(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	(void)info;
	reply_attributes(request, node_of(number));
}

static void do_setattr(fuse_req_t request, fuse_ino_t number, struct stat *wish, int which,
		       struct fuse_file_info *info)
{
	struct hf_tmpfs_node *node = node_of(number);
	struct hf_tmpfs_attributes to = { .mode = wish->st_mode,
					  .uid = wish->st_uid,
					  .gid = wish->st_gid,
					  .atime = wish->st_atim,
					  .mtime = wish->st_mtim };
	int error = 0;

	(void)info;
	if (which & FUSE_SET_ATTR_MODE)
		to.set |= HF_TMPFS_SET_MODE;
	if (which & FUSE_SET_ATTR_UID)
		to.set |= HF_TMPFS_SET_UID;
	if (which & FUSE_SET_ATTR_GID)
		to.set |= HF_TMPFS_SET_GID;
	if (which & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW))
		to.set |= HF_TMPFS_SET_ATIME;
	if (which & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW))
		to.set |= HF_TMPFS_SET_MTIME;
	if (which & FUSE_SET_ATTR_ATIME_NOW)
		clock_gettime(CLOCK_REALTIME, &to.atime);
	if (which & FUSE_SET_ATTR_MTIME_NOW)
		clock_gettime(CLOCK_REALTIME, &to.mtime);
	/* The kernel has asked whether the descriptor is for writing. */
	if (which & FUSE_SET_ATTR_SIZE)
		error = hf_tmpfs_node_truncate(node, wish->st_size);
	if (!error && to.set)
		error = hf_tmpfs_node_setattr(node, &to);
	if (error)
		reply(request, error);
	else
		reply_attributes(request, node);
}

static void do_statfs(fuse_req_t request, fuse_ino_t number)
{
	struct statvfs to;

	(void)number;
	(void)hf_tmpfs_statfs(fs, &to);
	fuse_reply_statfs(request, &to);
}

/* ---- open files ---------------------------------------------------------------------------- */

static void do_create(fuse_req_t request, fuse_ino_t dir, const char *name, mode_t mode,
		      struct fuse_file_info *info)
{
	const int flags = O_ACCMODE | O_EXCL | O_TRUNC;
	struct hf_tmpfs_node *node = NULL;
	struct fuse_entry_param entry;
	int fd = hf_tmpfs_node_create(table, node_of(dir), name, (info->flags & flags) | O_NOFOLLOW,
				      mode, &node);

	if (fd < 0) {
		reply(request, fd);
		return;
	}
	give_to_caller(request, node);
	info->fh = (uint64_t)fd;
	info->keep_cache = 1;
	entry = entry_of(node);
	if (fuse_reply_create(request, &entry, info)) {
		(void)hf_tmpfs_close(table, fd);
		hf_tmpfs_node_put(node, 1);
	}
}

static void do_open(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	reply_open(request,
		   hf_tmpfs_node_open(table, node_of(number), info->flags & (O_ACCMODE | O_TRUNC)),
		   info);
}

static void do_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	reply_open(request, hf_tmpfs_node_open(table, node_of(number), O_RDONLY | O_DIRECTORY),
		   info);
}

static void do_release(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	(void)number;
	reply(request, hf_tmpfs_close(table, fd_of(info)));
}

static void do_read(fuse_req_t request, fuse_ino_t number, size_t size, off_t at,
		    struct fuse_file_info *info)
{
	char *data = malloc(size);
	ssize_t got = data ? hf_tmpfs_pread(table, fd_of(info), data, size, at) : -ENOMEM;

	(void)number;
	if (got < 0)
		reply(request, (int)got);
	else
		fuse_reply_buf(request, data, (size_t)got);
	free(data);
}

static void do_write(fuse_req_t request, fuse_ino_t number, const char *from, size_t size, off_t at,
		     struct fuse_file_info *info)
{
	ssize_t done = hf_tmpfs_pwrite(table, fd_of(info), from, size, at);

	(void)number;
	/* Of a mapping's pages the kernel takes a short count for all: it gets the error in its place. */
	while (info->writepage && done > 0 && (size_t)done < size) {
		ssize_t more = hf_tmpfs_pwrite(table, fd_of(info), from + done, size - (size_t)done,
					       at + done);

		done = more < 0 ? more : done + more;
	}
	if (done < 0)
		reply(request, (int)done);
	else
		fuse_reply_write(request, (size_t)done);
}

static void do_fsync(fuse_req_t request, fuse_ino_t number, int only_data,
		     struct fuse_file_info *info)
{
	(void)number;
	(void)only_data;
	(void)info;
	reply(request, 0); /* there is nothing behind it */
}

static void do_fallocate(fuse_req_t request, fuse_ino_t number, int mode, off_t at, off_t size,
			 struct fuse_file_info *info)
{
	(void)number;
	reply(request, hf_tmpfs_fallocate(table, fd_of(info), mode, at, size));
}

static void do_lseek(fuse_req_t request, fuse_ino_t number, off_t at, int whence,
		     struct fuse_file_info *info)
{
	off_t found = hf_tmpfs_lseek(table, fd_of(info), at, whence);

	(void)number;
	if (found < 0)
		reply(request, (int)found);
	else
		fuse_reply_lseek(request, found);
}

/* As many entries from `at` on as there is room for; the next call goes on behind the last. */
static ssize_t fill(fuse_req_t request, char *to, size_t size, off_t at, int fd)
{
	struct hf_tmpfs_dirent entry;
	struct stat st = { .st_ino = 0 };
	size_t used = 0, needs;
	off_t start = hf_tmpfs_lseek(table, fd, at, SEEK_SET);
	int count;

	if (start < 0)
		return start;
	while ((count = hf_tmpfs_readdir(table, fd, &entry, 1)) > 0) {
		st.st_ino = entry.inode;
		st.st_mode = (mode_t)DTTOIF(entry.type);
		needs = fuse_add_direntry(request, to + used, size - used, entry.name, &st,
					  entry.next);
		if (needs > size - used)
			break;
		used += needs;
	}
	return count < 0 ? count : (ssize_t)used;
}

static void do_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t at,
		       struct fuse_file_info *info)
{
	char *data = malloc(size);
	ssize_t used = data ? fill(request, data, size, at, fd_of(info)) : -ENOMEM;

	(void)number;
	if (used < 0)
		reply(request, (int)used);
	else
		fuse_reply_buf(request, data, (size_t)used);
	free(data);
}

/* Nobody else changes what is in a file: the kernel need not look whether its pages are still right. */
static void do_init(void *data, struct fuse_conn_info *connection)
{
	(void)data;
	connection->want &= ~(unsigned int)FUSE_CAP_AUTO_INVAL_DATA;
	connection->want |= connection->capable & FUSE_CAP_EXPLICIT_INVAL_DATA;
}

static const struct fuse_lowlevel_ops operations = {
	.init = do_init,
	.lookup = do_lookup,
	.forget = do_forget,
	.getattr = do_getattr,
	.setattr = do_setattr,
	.readlink = do_readlink,
	.mknod = do_mknod,
	.mkdir = do_mkdir,
	.unlink = do_unlink,
	.rmdir = do_rmdir,
	.symlink = do_symlink,
	.rename = do_rename,
	.link = do_link,
	.open = do_open,
	.read = do_read,
	.write = do_write,
	.release = do_release,
	.fsync = do_fsync,
	.opendir = do_opendir,
	.readdir = do_readdir,
	.releasedir = do_release,
	.fsyncdir = do_fsync,
	.statfs = do_statfs,
	.create = do_create,
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

static int begin(void)
{
	if (hf_tmpfs_new(&fs, &limits))
		return -1;
	if (hf_tmpfs_table_new(&table, fs, HF_TMPFS_DESCRIPTORS_MAX)) {
		(void)hf_tmpfs_free(fs);
		return -1;
	}
	root = hf_tmpfs_node_root(fs);
	return 0;
}

/* After the last call: every count is right, and nothing stays. */
static int end(void)
{
	int faults = hf_tmpfs_check(fs, NULL, NULL);

	if (faults)
		fprintf(stderr, "hf-tmpfs-fuse: %d counts were wrong at the end\n", faults);
	for (int kind = 0; kind < HF_REPORT_KINDS; kind++)
		faults |= hf_report_count((enum hf_report_kind)kind) != 0;
	hf_tmpfs_table_free(table);
	hf_tmpfs_nodes_put(fs); /* what the kernel has not forgotten, and the root */
	if (hf_tmpfs_free(fs)) {
		fprintf(stderr, "hf-tmpfs-fuse: not all was freed at the end\n");
		faults = 1;
	}
	return faults != 0;
}

static void help(const char *program)
{
	printf("usage: %s [options] <mountpoint>\n\n"
	       "    -o size=SIZE           bytes of data, with k, m, g or t (default: no limit)\n"
	       "    -o nr_inodes=N         files, directories and further links\n\n"
	       "FUSE options:\n",
	       program);
	fuse_cmdline_help();
	fuse_lowlevel_help();
}

static int loop(struct fuse_session *session, const struct fuse_cmdline_opts *how)
{
	struct fuse_loop_config *config;
	int result;

	if (how->singlethread)
		return fuse_session_loop(session);
	config = fuse_loop_cfg_create();
	if (!config)
		return -ENOMEM;
	fuse_loop_cfg_set_clone_fd(config, (unsigned int)how->clone_fd);
	if (how->max_idle_threads !=
	    UINT_MAX) /* which stands for the default, and is told off here */
		fuse_loop_cfg_set_idle_threads(config, how->max_idle_threads);
	fuse_loop_cfg_set_max_threads(config, how->max_threads);
	result = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	return result;
}

/* Until it is unmounted. Gives the exit statuses that libfuse's own main function has. */
static int serve(struct fuse_session *session, const struct fuse_cmdline_opts *how)
{
	int status = 0;

	if (fuse_session_mount(session, how->mountpoint))
		return 4;
	if (fuse_daemonize(how->foreground)) {
		status = 5;
	} else if (fuse_set_signal_handlers(session)) {
		status = 6;
	} else {
		/* Not before: a daemon has forked here, and liburcu's threads would not be in the child. */
		if (begin()) {
			fprintf(stderr, "hf-tmpfs-fuse: no memory\n");
			status = 1;
		} else {
			status = loop(session, how) ? 8 : 0;
			if (end())
				status = 1;
		}
		fuse_remove_signal_handlers(session);
	}
	fuse_session_unmount(session);
	return status;
}

static int run(struct fuse_args *args)
{
	struct fuse_cmdline_opts how;
	struct fuse_session *session;
	int status = 0;

	if (fuse_parse_cmdline(args, &how))
		return 1;
	if (how.show_help) {
		help(args->argv[0]);
	} else if (how.show_version) {
		printf("FUSE library version %s\n", fuse_pkgversion());
		fuse_lowlevel_version();
	} else if (!how.mountpoint) {
		fprintf(stderr, "error: no mountpoint specified\n");
		status = 2;
	} else if (!how.nodefault_subtype &&
		   fuse_opt_insert_arg(args, 1, "-osubtype=hf-tmpfs-fuse")) {
		status = 1;
	} else {
		session = fuse_session_new(args, &operations, sizeof(operations), NULL);
		status = 3;
		if (session) {
			status = serve(session, &how);
			fuse_session_destroy(session);
		}
	}
	free(how.mountpoint);
	return status;
}

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct arguments arguments = { NULL, NULL };
	int status = 2;

	if (fuse_opt_parse(&args, &arguments, options, NULL) != 0)
		return 2;
	if (!number(arguments.size, &limits.size) || !number(arguments.inodes, &limits.inodes))
		fprintf(stderr, "hf-tmpfs-fuse: size and nr_inodes take a number, as 100m\n");
	else
		status = run(&args);
	free(arguments.size);
	free(arguments.inodes);
	fuse_opt_free_args(&args);
	return status;
}
