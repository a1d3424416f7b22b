/* SPDX-License-Identifier: MIT */
/*
 * fuse - the kernel's requests: each becomes one or two library calls, whose errors it returns.
 *
 *   inode in the kernel   a node of the library: its address is the kernel's number for it. Each
 *                         entry in a reply is a reference, dropped when the kernel forgets it
 *   file open in it       a descriptor of the one table
 *
 * So all names of a file, and open files without a name, refer to the same inode in the kernel.
 *
 * Permissions
 *   The kernel checks them before it sends a request (default_permissions), using the attributes
 *   that this server returns. It also clears setuid and setgid when a file changes.
 *
 * Caches
 *   The kernel caches names, missing names and attributes until it changes them itself: all changes
 *   pass through it. So most lookups and stats need no request. For a long listing it asks for
 *   attributes along with the names (readdirplus).
 *
 *   The kernel's page cache keeps a file's data, shared by all its links, across open() and
 *   close(), because only this kernel changes it; so shared writable mappings work. This costs a
 *   second copy of the data, which the kernel drops when memory is short, and slower writes. Only
 *   if the next read has to update the access time does open() invalidate the cached data.
 *
 *   Each write() goes through the cache to the library at once, so that the call which exceeds the
 *   limit returns ENOSPC. A page modified through a mapping arrives later; if there is no space for
 *   it then, msync() returns ENOSPC and the page is lost.
 *
 * The kernel, which knows the size, implements O_APPEND: the library must not. A modified page of a
 * mapping may arrive by a descriptor that was opened for appending, and belongs at its own offset.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fuse_front.h"
#include "holdfast/report.h"

#define FOR_EVER 1e9 /* seconds that the kernel may cache a name or attributes */
#define MAX_WRITE (256u << 10)

static struct hf_tmpfs *fs;
static struct hf_tmpfs_node *root;
static struct hf_tmpfs_table *table;
static bool noatime, nodiratime;

static struct hf_tmpfs_node *node_of(fuse_ino_t number)
{
	return number == FUSE_ROOT_ID ? root : (struct hf_tmpfs_node *)(uintptr_t)number;
}

/* ---- replies ------------------------------------------------------------------------------- */

/* Replies with 0 or with an error of the library. */
static void reply(fuse_req_t request, int error)
{
	fuse_reply_err(request, -error);
}

static struct fuse_entry_param entry_of(struct hf_tmpfs_node *node)
{
	struct fuse_entry_param entry = { .ino = (uintptr_t)node,
					  .attr_timeout = FOR_EVER,
					  .entry_timeout = FOR_EVER };

	hf_tmpfs_stat(node, &entry.attr);
	/* Addresses are reused, inode numbers are not. */
	entry.generation = entry.attr.st_ino;
	return entry;
}

/* Passes the reference to the kernel, or drops it if the reply fails. */
static void reply_entry(fuse_req_t request, int error, struct hf_tmpfs_node **node)
{
	struct fuse_entry_param entry;

	if (error) {
		reply(request, error);
		return;
	}
	entry = entry_of(*node);
	if (fuse_reply_entry(request, &entry))
		hf_tmpfs_node_put(*node, 1);
}

/* Replies with as much of a buffer as a call has filled, or with its error; frees the buffer. */
static void reply_data(fuse_req_t request, char *data, ssize_t got)
{
	if (got < 0)
		reply(request, (int)got);
	else
		fuse_reply_buf(request, data, (size_t)got);
	free(data);
}

static void close_file(const struct fuse_file_info *info)
{
	(void)hf_tmpfs_close(table, (int)info->fh);
}

/* -ENFILE, not -EMFILE: the limit is the mount's, not the process's. */
static int open_file(struct hf_tmpfs_node *dir, const char *name, int flags, mode_t mode,
		     struct hf_tmpfs_node **node, struct fuse_file_info *info)
{
	int fd = hf_tmpfs_open(table, dir, name, flags, mode, node);

	if (fd < 0)
		return fd == -EMFILE ? -ENFILE : fd;
	info->fh = (uint64_t)fd;
	return 0;
}

/* Opens the node and replies with the open file. */
static void reply_open(fuse_req_t request, struct hf_tmpfs_node *node, int flags,
		       struct fuse_file_info *info)
{
	int error = open_file(node, NULL, flags, 0, NULL, info);

	if (error)
		reply(request, error);
	else if (fuse_reply_open(request, info))
		close_file(info);
}

static void reply_attributes(fuse_req_t request, struct hf_tmpfs_node *node)
{
	struct stat to;

	hf_tmpfs_stat(node, &to);
	fuse_reply_attr(request, &to, FOR_EVER);
}

/* Makes the request's caller the owner of new inodes. */
static void act_for(fuse_req_t request)
{
	hf_tmpfs_act_as(fuse_req_ctx(request)->uid, fuse_req_ctx(request)->gid);
}

/* ---- names --------------------------------------------------------------------------------- */

static void do_lookup(fuse_req_t request, fuse_ino_t dir, const char *name)
{
	struct hf_tmpfs_node *node = NULL;
	struct fuse_entry_param none = { .entry_timeout = FOR_EVER };
	int error = hf_tmpfs_lookup(node_of(dir), name, &node);

	if (error == -ENOENT)
		fuse_reply_entry(request, &none);
	else
		reply_entry(request, error, &node);
}

static void forget(fuse_ino_t number, uint64_t count)
{
	if (number != FUSE_ROOT_ID)
		hf_tmpfs_node_put(node_of(number), count);
}

static void do_forget(fuse_req_t request, fuse_ino_t number, uint64_t count)
{
	forget(number, count);
	fuse_reply_none(request);
}

static void do_forget_multi(fuse_req_t request, size_t count, struct fuse_forget_data *all)
{
	for (size_t i = 0; i < count; i++)
		forget(all[i].ino, all[i].nlookup);
	fuse_reply_none(request);
}

static void do_mkdir(fuse_req_t request, fuse_ino_t dir, const char *name, mode_t mode)
{
	struct hf_tmpfs_node *node = NULL;

	act_for(request);
	reply_entry(request, hf_tmpfs_mkdir(node_of(dir), name, mode, &node), &node);
}

static void do_symlink(fuse_req_t request, const char *target, fuse_ino_t dir, const char *name)
{
	struct hf_tmpfs_node *node = NULL;

	act_for(request);
	reply_entry(request, hf_tmpfs_symlink(target, node_of(dir), name, &node), &node);
}

static void do_mknod(fuse_req_t request, fuse_ino_t dir, const char *name, mode_t mode,
		     dev_t device)
{
	struct hf_tmpfs_node *node = NULL;

	act_for(request);
	reply_entry(request, hf_tmpfs_mknod(node_of(dir), name, mode, device, &node), &node);
}

static void do_link(fuse_req_t request, fuse_ino_t number, fuse_ino_t dir, const char *name)
{
	struct hf_tmpfs_node *node = node_of(number);
	int error = hf_tmpfs_link(node, node_of(dir), name);

	if (!error)
		hf_tmpfs_node_get(node);
	reply_entry(request, error, &node);
}

static void do_unlink(fuse_req_t request, fuse_ino_t dir, const char *name)
{
	reply(request, hf_tmpfs_unlink(node_of(dir), name));
}

static void do_rmdir(fuse_req_t request, fuse_ino_t dir, const char *name)
{
	reply(request, hf_tmpfs_rmdir(node_of(dir), name));
}

static void do_rename(fuse_req_t request, fuse_ino_t from_dir, const char *from, fuse_ino_t to_dir,
		      const char *to, unsigned int flags)
{
	reply(request, hf_tmpfs_rename(node_of(from_dir), from, node_of(to_dir), to, flags));
}

static void do_readlink(fuse_req_t request, fuse_ino_t number)
{
	char to[HF_TMPFS_TARGET_MAX + 1];
	ssize_t length = hf_tmpfs_readlink(node_of(number), to, sizeof(to) - 1);

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
		to.atime.tv_nsec = UTIME_NOW;
	if (which & FUSE_SET_ATTR_MTIME_NOW)
		to.mtime.tv_nsec = UTIME_NOW;
	/* The kernel has checked that the descriptor is open for writing. */
	if (which & FUSE_SET_ATTR_SIZE)
		error = hf_tmpfs_truncate(node, wish->st_size);
	/* A request that sets nothing is a chown(-1, -1), which changes ctime. */
	if (!error && (to.set || !(which & FUSE_SET_ATTR_SIZE)))
		error = hf_tmpfs_setattr(node, &to);
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
	const int flags = O_CREAT | (info->flags & (O_ACCMODE | O_EXCL | O_TRUNC));
	struct hf_tmpfs_node *node = NULL;
	struct fuse_entry_param entry;
	int error;

	act_for(request);
	error = open_file(node_of(dir), name, flags, mode, &node, info);
	if (error) {
		reply(request, error);
		return;
	}
	info->keep_cache = 1;
	entry = entry_of(node);
	if (fuse_reply_create(request, &entry, info)) {
		close_file(info);
		hf_tmpfs_node_put(node, 1);
	}
}

static bool later(const struct timespec *one, const struct timespec *other)
{
	return one->tv_sec != other->tv_sec ? one->tv_sec > other->tv_sec
					    : one->tv_nsec > other->tv_nsec;
}

static bool reads(int flags)
{
	return (flags & O_ACCMODE) != O_WRONLY && !(flags & O_NOATIME) && !noatime;
}

/*
 * Whether the next read of the file has to update its access time (relatime). Then it must reach
 * the library, and not be served from pages that the kernel has cached.
 */
static bool access_time_due(struct hf_tmpfs_node *node)
{
	struct timespec now;
	struct stat st;

	hf_tmpfs_stat(node, &st);
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return !later(&st.st_atim, &st.st_mtim) || !later(&st.st_atim, &st.st_ctim) ||
	       now.tv_sec - st.st_atim.tv_sec >= 24 * 60 * 60;
}

static void do_open(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	const int flags = info->flags & (O_ACCMODE | O_NOATIME);

	info->keep_cache = !(reads(flags) && access_time_due(node_of(number)));
	reply_open(request, node_of(number), flags, info);
}

static void do_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	const int flags = O_RDONLY | O_DIRECTORY | (info->flags & O_NOATIME);

	reply_open(request, node_of(number), nodiratime ? flags | O_NOATIME : flags, info);
}

static void do_release(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	(void)number;
	reply(request, hf_tmpfs_close(table, (int)info->fh));
}

/* The memory for a reply of `size` bytes, limited to what the kernel reads at once; or an error. */
static char *reply_buffer(fuse_req_t request, size_t *size)
{
	char *data;

	if (*size > MAX_WRITE)
		*size = MAX_WRITE;
	data = malloc(*size);
	if (!data)
		reply(request, -ENOMEM);
	return data;
}

static void do_read(fuse_req_t request, fuse_ino_t number, size_t size, off_t at,
		    struct fuse_file_info *info)
{
	char *data = reply_buffer(request, &size);

	(void)number;
	if (data)
		reply_data(request, data, hf_tmpfs_pread(table, (int)info->fh, data, size, at));
}

static void do_write(fuse_req_t request, fuse_ino_t number, const char *from, size_t size, off_t at,
		     struct fuse_file_info *info)
{
	const int fd = (int)info->fh;
	ssize_t done = hf_tmpfs_pwrite(table, fd, from, size, at);

	(void)number;
	/*
	 * When the kernel writes back a mapping's pages it takes a short count for success, so
	 * write the rest, and return the error if that fails.
	 */
	while (info->writepage && done > 0 && (size_t)done < size) {
		ssize_t more =
			hf_tmpfs_pwrite(table, fd, from + done, size - (size_t)done, at + done);

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
	reply(request, 0); /* there is no storage to write to */
}

static void do_fallocate(fuse_req_t request, fuse_ino_t number, int mode, off_t at, off_t size,
			 struct fuse_file_info *info)
{
	(void)number;
	reply(request, hf_tmpfs_fallocate(table, (int)info->fh, mode, at, size));
}

static void do_lseek(fuse_req_t request, fuse_ino_t number, off_t at, int whence,
		     struct fuse_file_info *info)
{
	off_t found = hf_tmpfs_lseek(table, (int)info->fh, at, whence);

	(void)number;
	if (found < 0)
		reply(request, (int)found);
	else
		fuse_reply_lseek(request, found);
}

/*
 * Adds one entry; with `plus` also its attributes, and a reference for the kernel. "." and "..",
 * and files removed since they were read from the directory, get no reference. Returns the bytes
 * that the entry needs; if more than `size`, it was not added.
 */
static size_t add_entry(fuse_req_t request, struct hf_tmpfs_node *dir, bool plus, char *to,
			size_t size, const struct hf_tmpfs_dirent *from)
{
	struct fuse_entry_param entry = { .ino = 0 };
	struct hf_tmpfs_node *node = NULL;
	size_t needs;

	if (plus && strcmp(from->name, ".") != 0 && strcmp(from->name, "..") != 0 &&
	    hf_tmpfs_lookup(dir, from->name, &node) == 0)
		entry = entry_of(node);
	if (!node) {
		entry.attr.st_ino = from->inode;
		entry.attr.st_mode = (mode_t)DTTOIF(from->type);
	}
	if (!plus)
		return fuse_add_direntry(request, to, size, from->name, &entry.attr, from->next);
	needs = fuse_add_direntry_plus(request, to, size, from->name, &entry, from->next);
	if (node && needs > size)
		hf_tmpfs_node_put(node, 1);
	return needs;
}

/* Replies with as many entries as fit, from position `at`. */
static void list(fuse_req_t request, struct hf_tmpfs_node *dir, bool plus, size_t size, off_t at,
		 const struct fuse_file_info *info)
{
	char *data = reply_buffer(request, &size);
	const int fd = (int)info->fh;
	struct hf_tmpfs_dirent entry;
	size_t used = 0, needs;
	int count;

	if (!data)
		return;
	(void)hf_tmpfs_lseek(table, fd, at, SEEK_SET);
	while ((count = hf_tmpfs_readdir(table, fd, &entry, 1)) > 0) {
		needs = add_entry(request, dir, plus, data + used, size - used, &entry);
		if (needs > size - used)
			break;
		used += needs;
	}
	reply_data(request, data, count < 0 && used == 0 ? count : (ssize_t)used);
}

static void do_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t at,
		       struct fuse_file_info *info)
{
	list(request, node_of(number), false, size, at, info);
}

static void do_readdirplus(fuse_req_t request, fuse_ino_t number, size_t size, off_t at,
			   struct fuse_file_info *info)
{
	list(request, node_of(number), true, size, at, info);
}

/*
 * Only this kernel changes files, so it need not check whether its cached pages are valid.
 * The kernel clears setuid and setgid itself unless the server promises to do so, but not before an
 * atomic O_TRUNC: so both are turned off.
 *
 * Without FUSE_CAP_ASYNC_DIO the kernel completes an asynchronous O_DIRECT write (io_submit) before
 * it returns. With it, pages that a read caches while the write is under way would stay, with the
 * old data: the kernel invalidates them only after a synchronous write.
 */
static void do_init(void *data, struct fuse_conn_info *connection)
{
	(void)data;
	connection->want &= ~(unsigned int)(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_HANDLE_KILLPRIV |
					    FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_ASYNC_DIO);
	connection->want |= connection->capable & FUSE_CAP_EXPLICIT_INVAL_DATA;
	if (connection->max_write > MAX_WRITE)
		connection->max_write = MAX_WRITE;
}

const struct fuse_lowlevel_ops front_operations = {
	.init = do_init,
	.lookup = do_lookup,
	.forget = do_forget,
	.forget_multi = do_forget_multi,
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
	.release = do_release,
	.read = do_read,
	.write = do_write,
	.fsync = do_fsync,
	.opendir = do_opendir,
	.releasedir = do_release,
	.readdir = do_readdir,
	.readdirplus = do_readdirplus,
	.fsyncdir = do_fsync,
	.statfs = do_statfs,
	.create = do_create,
	.fallocate = do_fallocate,
	.lseek = do_lseek,
};

const size_t front_operations_size = sizeof(front_operations);

/* ---- beginning and end --------------------------------------------------------------------- */

/* Sets the root directory's attributes from the options. */
static int begin_root(const struct front_options *options)
{
	const struct hf_tmpfs_attributes to = { .set = HF_TMPFS_SET_MODE | HF_TMPFS_SET_UID |
						       HF_TMPFS_SET_GID,
						.mode = options->mode,
						.uid = options->uid,
						.gid = options->gid };

	root = hf_tmpfs_root(fs);
	return hf_tmpfs_setattr(root, &to);
}

int front_begin(const struct front_options *options)
{
	const struct hf_tmpfs_options how = { .size = options->size,
					      .inodes = options->inodes,
					      .noatime = options->noatime };
	int error = hf_tmpfs_new(&fs, &how);

	if (error)
		return error;
	noatime = options->noatime;
	nodiratime = options->nodiratime;
	error = hf_tmpfs_table_new(&table, fs, (unsigned int)options->max_open);
	if (error) {
		(void)hf_tmpfs_free(fs);
		return error;
	}
	return begin_root(options);
}

int front_end(void)
{
	int faults = hf_tmpfs_check(fs, NULL, NULL);

	if (faults > 0)
		fprintf(stderr, "hf-tmpfs-fuse: %d wrong counts at the end\n", faults);
	if (faults < 0) {
		fprintf(stderr, "hf-tmpfs-fuse: too little memory to check the counts\n");
		faults = 0;
	}
	for (int kind = 0; kind < HF_REPORT_KINDS; kind++)
		faults |= hf_report_count((enum hf_report_kind)kind) != 0;
	hf_tmpfs_table_free(table);
	hf_tmpfs_nodes_put(fs); /* those that the kernel has not forgotten */
	if (hf_tmpfs_free(fs)) {
		fprintf(stderr, "hf-tmpfs-fuse: objects leaked\n");
		faults = 1;
	}
	return faults;
}
