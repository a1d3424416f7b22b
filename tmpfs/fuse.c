/* SPDX-License-Identifier: MIT */
/*
 * fuse - the kernel's requests: each becomes one or two library calls, whose errors it returns.
 *
 *   inode in the kernel   a node of the library: its address is the kernel's number for it. Each
 *                         entry in a reply is a reference, dropped when the kernel forgets it
 *   file open in it       a descriptor (fuse_files.c)
 *
 * So all names of a file, and open files without a name, refer to the same inode in the kernel.
 *
 * Permissions
 *   The kernel checks them before it sends a request (default_permissions), using the attributes
 *   that this server returns.
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
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "fuse_front.h"
#include "holdfast/report.h"

#define FOR_EVER ((double)FRONT_FOR_EVER)
#define RENAME_FLAGS (HF_TMPFS_NOREPLACE | HF_TMPFS_EXCHANGE | HF_TMPFS_WHITEOUT)

static struct hf_tmpfs *fs;
static struct hf_tmpfs_node *root;
static bool noatime, nodiratime;
static bool no_open;                    /* the kernel opens files without a request */
static struct hf_tmpfs_table *unopened; /* for requests on such files */
static int64_t score = FRONT_NO_SCORE;

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

/* Opens the node and replies with the open file. */
static void reply_open(fuse_req_t request, struct hf_tmpfs_node *node, int flags,
		       struct fuse_file_info *info)
{
	int error = front_open(fuse_req_ctx(request)->uid, node, NULL, flags, 0, NULL, &info->fh);

	if (error)
		reply(request, error);
	else if (fuse_reply_open(request, info))
		(void)front_close(info->fh);
}

static void reply_attributes(fuse_req_t request, struct hf_tmpfs_node *node)
{
	struct stat to;

	hf_tmpfs_stat(node, &to);
	fuse_reply_attr(request, &to, FOR_EVER);
}

#define CAP_FSETID_BIT 4

/*
 * Whether the request's caller is in this group or has CAP_FSETID. Called only if a setgid bit
 * depends on it. In /proc/PID/status the groups come before the capabilities; if they do not fit
 * the buffer, the answer is false and the bit is cleared.
 */
static bool keeps_setgid(void *data, gid_t group)
{
	char path[64], status[16384], *at, *end;
	ssize_t got = -1;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)fuse_req_ctx(data)->pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file >= 0) {
		got = read(file, status, sizeof(status) - 1);
		close(file);
	}
	status[got > 0 ? got : 0] = '\0';
	at = strstr(status, "\nCapEff:");
	if (at && strtoull(at + 8, NULL, 16) >> CAP_FSETID_BIT & 1)
		return true;
	at = strstr(status, "\nGroups:");
	for (at = at ? at + 8 : status; at; at = end) {
		gid_t one = (gid_t)strtoul(at, &end, 10);

		if (end == at)
			return false;
		if (one == group)
			return true;
	}
	return false;
}

/*
 * Makes the request's caller the owner of new inodes. `clears`: the kernel asked to clear setuid
 * and setgid. From the mode of a new inode the kernel has already removed them.
 */
static void act_for(fuse_req_t request, bool clears)
{
	const struct fuse_ctx *from = fuse_req_ctx(request);
	const struct hf_tmpfs_caller caller = { .uid = from->uid,
						.gid = from->gid,
						.privileged = !clears,
						.keeps_setgid = keeps_setgid,
						.data = request };

	hf_tmpfs_act_as(&caller);
}

/* ---- names --------------------------------------------------------------------------------- */

static void do_lookup(fuse_req_t request, fuse_ino_t dir, const char *name)
{
	struct hf_tmpfs_node *node = NULL;
	struct fuse_entry_param none = { .entry_timeout = FOR_EVER };
	int error = hf_tmpfs_lookup(node_of(dir), name, false, &node);

	if (error == -ENOENT)
		fuse_reply_entry(request, &none);
	else
		reply_entry(request, error, &node);
}

void front_forget(uint64_t number, uint64_t count)
{
	if (number != FUSE_ROOT_ID)
		hf_tmpfs_node_put(node_of(number), count);
}

static void do_mkdir(fuse_req_t request, fuse_ino_t dir, const char *name, mode_t mode)
{
	struct hf_tmpfs_node *node = NULL;

	act_for(request, front_clears());
	reply_entry(request, hf_tmpfs_mkdir(node_of(dir), name, mode, &node), &node);
}

static void do_symlink(fuse_req_t request, const char *target, fuse_ino_t dir, const char *name)
{
	struct hf_tmpfs_node *node = NULL;

	act_for(request, front_clears());
	reply_entry(request, hf_tmpfs_symlink(target, node_of(dir), name, &node), &node);
}

static void do_mknod(fuse_req_t request, fuse_ino_t dir, const char *name, mode_t mode,
		     dev_t device)
{
	struct hf_tmpfs_node *node = NULL;

	act_for(request, front_clears());
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
	act_for(request, front_clears()); /* the owner of a whiteout */
	if (flags & ~RENAME_FLAGS)
		reply(request, -EINVAL);
	else
		reply(request,
		      hf_tmpfs_rename(node_of(from_dir), from, node_of(to_dir), to, flags));
}

static void do_readlink(fuse_req_t request, fuse_ino_t number)
{
	char to[HF_TMPFS_PATH_MAX];
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
	/*
	 * A request that sets nothing is a chown(-1, -1), or precedes the fallocate of a file with
	 * setuid or setgid: both must clear the bits.
	 */
	act_for(request, front_clears() || which == 0);
	if (which == 0)
		to.set |= HF_TMPFS_CLEAR_SETUID;
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
	if (!error && to.set)
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

/* ---- extended attributes ------------------------------------------------------------------- */

static void do_setxattr(fuse_req_t request, fuse_ino_t number, const char *name, const char *from,
			size_t size, int flags)
{
	reply(request, hf_tmpfs_setxattr(node_of(number), name, from, size, flags));
}

static void do_removexattr(fuse_req_t request, fuse_ino_t number, const char *name)
{
	reply(request, hf_tmpfs_removexattr(node_of(number), name));
}

/* Serves getxattr, or listxattr if `name` is NULL. Size 0 asks for the size. */
static void reply_xattr(fuse_req_t request, struct hf_tmpfs_node *node, const char *name,
			size_t size)
{
	char *data = front_buffer();
	ssize_t got;

	if (size > FRONT_MAX_WRITE)
		size = FRONT_MAX_WRITE;
	got = name ? hf_tmpfs_getxattr(node, name, data, size)
		   : hf_tmpfs_listxattr(node, data, size);
	if (got < 0)
		reply(request, (int)got);
	else if (size == 0)
		fuse_reply_xattr(request, (size_t)got);
	else
		fuse_reply_buf(request, data, (size_t)got);
}

static void do_getxattr(fuse_req_t request, fuse_ino_t number, const char *name, size_t size)
{
	reply_xattr(request, node_of(number), name, size);
}

static void do_listxattr(fuse_req_t request, fuse_ino_t number, size_t size)
{
	reply_xattr(request, node_of(number), NULL, size);
}

/* ---- open files ---------------------------------------------------------------------------- */

/* A slash, which no name contains, stands for a file without a name. */
static void do_create(fuse_req_t request, fuse_ino_t dir, const char *name, mode_t mode,
		      struct fuse_file_info *info)
{
	const bool nameless = strcmp(name, FRONT_NAMELESS) == 0;
	const int flags = info->flags & (O_ACCMODE | O_EXCL | (nameless ? 0 : O_TRUNC));
	struct hf_tmpfs_node *node = NULL;
	struct fuse_entry_param entry;
	int error;

	act_for(request, front_clears());
	error = front_open(fuse_req_ctx(request)->uid, node_of(dir), nameless ? NULL : name,
			   flags | (nameless ? O_TMPFILE : O_CREAT | O_NOFOLLOW), mode, &node,
			   &info->fh);
	if (error) {
		reply(request, error);
		return;
	}
	if (no_open) { /* then the kernel does not release it, either */
		(void)front_close(info->fh);
		info->fh = FRONT_NO_HANDLE;
	}
	info->keep_cache = 1;
	entry = entry_of(node);
	if (fuse_reply_create(request, &entry, info)) {
		(void)front_close(info->fh);
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

/*
 * If reads need not update access times and open files are not limited, ENOSYS makes the kernel
 * open and close files without a request.
 */
static void do_open(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	const int flags = info->flags & (O_ACCMODE | O_NOATIME);

	if (no_open) {
		reply(request, -ENOSYS);
		return;
	}
	info->keep_cache = !(reads(flags) && access_time_due(node_of(number)));
	reply_open(request, node_of(number), flags, info);
}

static void do_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	const int flags = O_RDONLY | O_DIRECTORY | (info->flags & O_NOATIME);

	reply_open(request, node_of(number), nodiratime ? flags | O_NOATIME : flags, info);
}

void front_stat(uint64_t number, struct stat *to, struct timespec *birth)
{
	hf_tmpfs_stat(node_of(number), to);
	*birth = hf_tmpfs_birth(node_of(number));
}

/* The file of a request; one that was opened without a request is open for this one only. */
static struct front_file begin_use(fuse_ino_t number, const struct fuse_file_info *info)
{
	struct front_file file = { .table = unopened };

	if (info->fh != FRONT_NO_HANDLE)
		return front_file(info->fh);
	file.fd = hf_tmpfs_open(unopened, node_of(number), NULL, O_RDWR | O_NOATIME, 0, NULL);
	return file;
}

static void end_use(struct front_file file)
{
	if (file.table == unopened && file.fd >= 0)
		(void)hf_tmpfs_close(file.table, file.fd);
}

static void do_read(fuse_req_t request, fuse_ino_t number, size_t size, off_t at,
		    struct fuse_file_info *info)
{
	const struct front_file file = begin_use(number, info);
	char *data = front_buffer();
	ssize_t got;

	if (size > FRONT_MAX_WRITE)
		size = FRONT_MAX_WRITE;
	got = file.fd < 0 ? file.fd : hf_tmpfs_pread(file.table, file.fd, data, size, at);
	end_use(file);
	if (got < 0)
		reply(request, (int)got);
	else
		fuse_reply_buf(request, data, (size_t)got);
}

static void do_write(fuse_req_t request, fuse_ino_t number, const char *from, size_t size, off_t at,
		     struct fuse_file_info *info)
{
	const struct front_file file = begin_use(number, info);
	ssize_t done;

	act_for(request, front_clears());
	done = file.fd < 0 ? file.fd : hf_tmpfs_pwrite(file.table, file.fd, from, size, at);
	/*
	 * When the kernel writes back a mapping's pages it takes a short count for success, so
	 * write the rest, and return the error if that fails.
	 */
	while (info->writepage && done > 0 && (size_t)done < size) {
		ssize_t more = hf_tmpfs_pwrite(file.table, file.fd, from + done,
					       size - (size_t)done, at + done);

		done = more < 0 ? more : done + more;
	}
	end_use(file);
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
	const struct front_file file = begin_use(number, info);
	int error;

	act_for(request, front_clears());
	error = file.fd < 0 ? file.fd : hf_tmpfs_fallocate(file.table, file.fd, mode, at, size);
	end_use(file);
	reply(request, error);
}

static void do_lseek(fuse_req_t request, fuse_ino_t number, off_t at, int whence,
		     struct fuse_file_info *info)
{
	const struct front_file file = begin_use(number, info);
	off_t found = file.fd < 0 ? file.fd : hf_tmpfs_lseek(file.table, file.fd, at, whence);

	end_use(file);
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
	    hf_tmpfs_lookup(dir, from->name, false, &node) == 0)
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
		 struct front_file file)
{
	char *data = front_buffer();
	struct hf_tmpfs_dirent entry;
	size_t used = 0, needs;
	int count;

	if (size > FRONT_MAX_WRITE)
		size = FRONT_MAX_WRITE;
	(void)hf_tmpfs_lseek(file.table, file.fd, at, SEEK_SET);
	while ((count = hf_tmpfs_readdir(file.table, file.fd, &entry, 1)) > 0) {
		needs = add_entry(request, dir, plus, data + used, size - used, &entry);
		if (needs > size - used)
			break;
		used += needs;
	}
	if (count < 0 && used == 0)
		reply(request, count);
	else
		fuse_reply_buf(request, data, used);
}

static void do_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t at,
		       struct fuse_file_info *info)
{
	list(request, node_of(number), false, size, at, front_file(info->fh));
}

static void do_readdirplus(fuse_req_t request, fuse_ino_t number, size_t size, off_t at,
			   struct fuse_file_info *info)
{
	list(request, node_of(number), true, size, at, front_file(info->fh));
}

/* Reads or sets the limits, for a remount (fuse_remount.c). */
static void do_ioctl(fuse_req_t request, fuse_ino_t number, unsigned int command, void *argument,
		     struct fuse_file_info *info, unsigned int flags, const void *in,
		     size_t in_size, size_t out_size)
{
	const uid_t user = fuse_req_ctx(request)->uid;
	struct front_limits limits;
	struct statvfs now;
	int error = -ENOTTY;

	(void)argument;
	(void)info;
	(void)flags;
	if (number == FUSE_ROOT_ID && command == FRONT_GET_LIMITS && out_size == sizeof(limits)) {
		(void)hf_tmpfs_statfs(fs, &now);
		limits.size = now.f_blocks * HF_TMPFS_PAGE;
		limits.inodes = now.f_files;
		limits.max_open = front_files_limit();
		limits.score = score;
		fuse_reply_ioctl(request, 0, &limits, sizeof(limits));
		return;
	}
	if (number == FUSE_ROOT_ID && command == FRONT_SET_LIMITS && in_size == sizeof(limits)) {
		memcpy(&limits, in, sizeof(limits));
		if (user != 0 && user != geteuid())
			error = -EPERM;
		else if (no_open && limits.max_open)
			error = -EOPNOTSUPP; /* it is not asked when a file is opened */
		else
			error = hf_tmpfs_resize(fs, limits.size, limits.inodes);
		if (!error)
			front_files_set_limit(limits.max_open);
	}
	if (error)
		reply(request, error);
	else
		fuse_reply_ioctl(request, 0, NULL, 0);
}

/*
 * Only this kernel changes files, so it need not check whether its cached pages are valid.
 * open(O_TRUNC) must arrive as a change of size, which can ask to clear setuid and setgid
 * (fuse_wire.c), so libfuse's atomic O_TRUNC is turned off.
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
	no_open &= (connection->capable & FUSE_CAP_NO_OPEN_SUPPORT) != 0;
	if (connection->max_write > FRONT_MAX_WRITE)
		connection->max_write = FRONT_MAX_WRITE;
	front_ready();
}

const struct fuse_lowlevel_ops front_operations = {
	.init = do_init,
	.lookup = do_lookup,
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
	.fsync = do_fsync,
	.opendir = do_opendir,
	.readdir = do_readdir,
	.readdirplus = do_readdirplus,
	.fsyncdir = do_fsync,
	.statfs = do_statfs,
	.setxattr = do_setxattr,
	.getxattr = do_getxattr,
	.listxattr = do_listxattr,
	.removexattr = do_removexattr,
	.create = do_create,
	.fallocate = do_fallocate,
	.lseek = do_lseek,
	.ioctl = do_ioctl,
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
	const struct hf_tmpfs_options how = { .size = options->limits.size,
					      .inodes = options->limits.inodes,
					      .noatime = options->flags & MS_NOATIME };
	int error = hf_tmpfs_new(&fs, &how);

	if (error)
		return error;
	noatime = options->flags & MS_NOATIME;
	nodiratime = options->flags & MS_NODIRATIME;
	if (options->oom_score_adj)
		score = strtoll(options->oom_score_adj, NULL, 10);
	no_open = noatime && options->limits.max_open == 0;
	error = front_files_begin(fs, options->limits.max_open);
	if (!error && no_open)
		error = hf_tmpfs_table_new(&unopened, fs, FRONT_WORKERS_MAX);
	if (error) {
		front_files_end();
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
	front_files_end();
	if (unopened)
		hf_tmpfs_table_free(unopened);
	hf_tmpfs_nodes_put(fs); /* those that the kernel has not forgotten */
	if (hf_tmpfs_free(fs)) {
		fprintf(stderr, "hf-tmpfs-fuse: objects leaked\n");
		faults = 1;
	}
	return faults;
}
