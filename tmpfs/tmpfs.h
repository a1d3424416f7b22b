/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_H
#define HF_TMPFS_H
/*
 * tmpfs - a tree of files in memory, with POSIX meaning, made of Holdfast's primitives.
 *
 * Use when / not when
 *   Not as a store for one file or a few: a map of buffers is simpler. Not across processes: mount
 *   it (hf-tmpfs-fuse) for that. Use it where many threads of one program share a tree of files, and
 *   to see refcounts, lockrefs, spinlocks and nofault carry a system.
 *
 * State
 *   A file system has any number of descriptor tables; a descriptor means something in its own table
 *   only, as in a process. Threads may share a table or have one each; each then has its own lock.
 *
 *     table --descriptor--> file --> dentry --> inode --> pages
 *     (spinlock, bitmap)   refcount  lockref   refcount   (no count)
 *
 * Meaning
 *   As Linux's tmpfs has it, errors included, but: there are no users, so nothing is ever refused
 *   with EACCES or EPERM (but for a link to a directory); paths start at the root, with or without
 *   a slash; reading does not set the access time.
 *
 * Errors
 *   -errno. Where several are due, the one that Linux gives. Each call may give -ENOMEM, and has then
 *   changed nothing (a write may have been short before). A buffer that faults gives a short count,
 *   or -EFAULT if not one byte was moved.
 *
 * Context
 *   Any thread, any number at once; not in a signal handler. Not in a child of fork() that does not
 *   exec, unless the program calls liburcu's fork hooks.
 *
 * Ordering
 *   Who sees a name, or a size, sees all that was there when it was made so. A read beside a write of
 *   the same bytes may see a part of it; the order of the two is the caller's business.
 *
 * Example  examples/tmpfs.c
 * Source   docs/design/0012-tmpfs.md, docs/tmpfs.md
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Whoever includes all of the sources in one file makes this `static`. */
#ifndef HF_TMPFS_API
#define HF_TMPFS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HF_TMPFS_NAME_MAX 255
#define HF_TMPFS_PATH_MAX 4096 /* with the terminating 0 */
#define HF_TMPFS_PAGE 4096
#define HF_TMPFS_SYMLINKS 40 /* that a walk follows */
#define HF_TMPFS_DESCRIPTORS_MAX 65536

#define HF_TMPFS_NOREPLACE 1u /* rename: -EEXIST if there is something */
#define HF_TMPFS_EXCHANGE 2u  /* rename: the two change places */

#define HF_TMPFS_FALLOC_KEEP_SIZE 1
#define HF_TMPFS_FALLOC_PUNCH_HOLE 2 /* with KEEP_SIZE */

struct hf_tmpfs;
struct hf_tmpfs_table;

/* All 0 = no limits, malloc, handlers installed. */
struct hf_tmpfs_options {
	uint64_t size;   /* bytes of data, rounded up to pages; 0 = no limit */
	uint64_t inodes; /* the root's is one; each further link to a file is one; 0 = no limit */
	/*
	 * Memory for all objects, aligned to 64 bytes; NULL = ENOMEM. Called under mutexes and never
	 * under a spinlock; `release` also in liburcu's thread.
	 */
	void *(*allocate)(void *data, size_t size);
	void (*release)(void *data, void *memory);
	void *data;
	bool own_handler; /* the program calls hf_nofault_handle() in a handler of its own */
};

/* ---- file system and tables ---------------------------------------------------------------- */

/**
 * hf_tmpfs_new - an empty file system: a root directory
 * @options: NULL = all 0
 *
 * Errors:   -ENOMEM; -errno of hf_nofault_install(); -EINVAL: only one of allocate and release
 * Return:   0, or an error, and *fs is not changed
 */
HF_TMPFS_API int hf_tmpfs_new(struct hf_tmpfs **fs, const struct hf_tmpfs_options *options);

/**
 * hf_tmpfs_free - the end of it, with all files
 *
 * Context:  no other call is under way; waits for a grace period
 * Errors:   -EBUSY: it has tables, nothing is done; -EUCLEAN: done, but an object was not freed, or
 *           twice, which is a bug
 * Return:   0, or an error
 */
HF_TMPFS_API int hf_tmpfs_free(struct hf_tmpfs *fs);

/**
 * hf_tmpfs_table_new - a table of descriptors
 * @limit: descriptors, at most HF_TMPFS_DESCRIPTORS_MAX; 0 = 1024
 *
 * Errors:   -ENOMEM; -EINVAL: the limit
 */
HF_TMPFS_API int hf_tmpfs_table_new(struct hf_tmpfs_table **table, struct hf_tmpfs *fs,
				    unsigned int limit);

/**
 * hf_tmpfs_table_free - close all and be gone
 *
 * Context:  no other call on this table is under way
 */
HF_TMPFS_API void hf_tmpfs_table_free(struct hf_tmpfs_table *table);

/* What the limits and their use are: blocks and files of struct statvfs; 0 = no limit. */
HF_TMPFS_API int hf_tmpfs_statfs(struct hf_tmpfs *fs, struct statvfs *to);

/* ---- names --------------------------------------------------------------------------------- */

/*
 * ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG come from any path. Beyond these:
 *
 *   mkdir     EEXIST; ENOSPC: no inode left
 *   rmdir     ENOTEMPTY; EINVAL: ends in "."; EBUSY: the root
 *   link      EEXIST; EPERM: a directory; ENOSPC; a symlink is linked, not followed
 *   symlink   EEXIST; ENOSPC; ENOENT: empty target
 *   readlink  EINVAL: no symlink, or size 0; returns the bytes, without a terminating 0
 *   unlink    EISDIR
 *   rename    EINVAL: bad flags, or a directory into itself; EBUSY: ends in "." or ".."; EEXIST;
 *             EISDIR; ENOTEMPTY
 */
HF_TMPFS_API int hf_tmpfs_mkdir(struct hf_tmpfs *fs, const char *path, mode_t mode);
HF_TMPFS_API int hf_tmpfs_rmdir(struct hf_tmpfs *fs, const char *path);
HF_TMPFS_API int hf_tmpfs_link(struct hf_tmpfs *fs, const char *from, const char *to);
HF_TMPFS_API int hf_tmpfs_symlink(struct hf_tmpfs *fs, const char *target, const char *path);
HF_TMPFS_API ssize_t hf_tmpfs_readlink(struct hf_tmpfs *fs, const char *path, char *to,
				       size_t size);
HF_TMPFS_API int hf_tmpfs_unlink(struct hf_tmpfs *fs, const char *path);
HF_TMPFS_API int hf_tmpfs_rename(struct hf_tmpfs *fs, const char *from, const char *to,
				 unsigned int flags);

/* ---- attributes ---------------------------------------------------------------------------- */

HF_TMPFS_API int hf_tmpfs_stat(struct hf_tmpfs *fs, const char *path, struct stat *to);
HF_TMPFS_API int hf_tmpfs_lstat(struct hf_tmpfs *fs, const char *path, struct stat *to);
HF_TMPFS_API int hf_tmpfs_fstat(struct hf_tmpfs_table *table, int fd, struct stat *to);

#define HF_TMPFS_SET_MODE 1u
#define HF_TMPFS_SET_UID 2u
#define HF_TMPFS_SET_GID 4u
#define HF_TMPFS_SET_ATIME 8u
#define HF_TMPFS_SET_MTIME 16u

struct hf_tmpfs_attributes {
	unsigned int set; /* which of these */
	mode_t mode;
	uid_t uid;
	gid_t gid;
	struct timespec atime, mtime;
};

/* Sets what `set` names, of a symlink itself if so wished. -EINVAL: unknown bits. */
HF_TMPFS_API int hf_tmpfs_setattr(struct hf_tmpfs *fs, const char *path, bool follow,
				  const struct hf_tmpfs_attributes *to);
HF_TMPFS_API int hf_tmpfs_fsetattr(struct hf_tmpfs_table *table, int fd,
				   const struct hf_tmpfs_attributes *to);

/* ---- open files ---------------------------------------------------------------------------- */

/**
 * hf_tmpfs_open - open, or create, a file
 * @flags: O_RDONLY, O_WRONLY or O_RDWR; O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_DIRECTORY, O_NOFOLLOW;
 *         others have no effect
 * @mode:  of a file that is created
 *
 * Errors:   EEXIST, EISDIR, ENOTDIR, ELOOP; EMFILE: the table is full; ENOSPC: no inode left;
 *           EINVAL: no such access mode
 * Return:   the lowest descriptor that is free, or an error
 */
HF_TMPFS_API int hf_tmpfs_open(struct hf_tmpfs_table *table, const char *path, int flags,
			       mode_t mode);

/* EBADF: not open. A call under way on the descriptor goes on to its end. */
HF_TMPFS_API int hf_tmpfs_close(struct hf_tmpfs_table *table, int fd);

/* Another descriptor of the same open file, with one position. EBADF, EMFILE. */
HF_TMPFS_API int hf_tmpfs_dup(struct hf_tmpfs_table *table, int fd);

/*
 * Data. EBADF: not open, or not for that; EISDIR; EFAULT; EINVAL: negative position, bad iovec;
 * ENOSPC: no page left; EFBIG. Moves at most 0x7ffff000 bytes.
 * A hole is cleared into the buffer (hf_clear_nofault), data copied (hf_copy_to_nofault).
 */
HF_TMPFS_API ssize_t hf_tmpfs_read(struct hf_tmpfs_table *table, int fd, void *to, size_t size);
HF_TMPFS_API ssize_t hf_tmpfs_pread(struct hf_tmpfs_table *table, int fd, void *to, size_t size,
				    off_t at);
HF_TMPFS_API ssize_t hf_tmpfs_readv(struct hf_tmpfs_table *table, int fd, const struct iovec *to,
				    int count);
HF_TMPFS_API ssize_t hf_tmpfs_write(struct hf_tmpfs_table *table, int fd, const void *from,
				    size_t size);
HF_TMPFS_API ssize_t hf_tmpfs_pwrite(struct hf_tmpfs_table *table, int fd, const void *from,
				     size_t size, off_t at);
HF_TMPFS_API ssize_t hf_tmpfs_writev(struct hf_tmpfs_table *table, int fd, const struct iovec *from,
				     int count);

/* SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE. EINVAL; ENXIO: no data behind it. */
HF_TMPFS_API off_t hf_tmpfs_lseek(struct hf_tmpfs_table *table, int fd, off_t offset, int whence);

/* EINVAL: negative, or the descriptor is no file open for writing; EISDIR; EFBIG. */
HF_TMPFS_API int hf_tmpfs_truncate(struct hf_tmpfs *fs, const char *path, off_t size);
HF_TMPFS_API int hf_tmpfs_ftruncate(struct hf_tmpfs_table *table, int fd, off_t size);

/*
 * Memory for a range (mode 0, or KEEP_SIZE), or a hole in its place (PUNCH_HOLE | KEEP_SIZE).
 * EBADF; EINVAL: negative or empty; EOPNOTSUPP: other modes; EFBIG; ENOSPC: nothing is changed.
 */
HF_TMPFS_API int hf_tmpfs_fallocate(struct hf_tmpfs_table *table, int fd, int mode, off_t at,
				    off_t size);

struct hf_tmpfs_dirent {
	uint64_t inode;
	int64_t next;       /* where a later readdir goes on behind this entry: for lseek */
	unsigned char type; /* DT_DIR, DT_REG, DT_LNK */
	char name[HF_TMPFS_NAME_MAX + 1];
};

/**
 * hf_tmpfs_readdir - the next names of a directory, "." and ".." first
 *
 * A name that is there all the time is given exactly once, however the directory changes.
 *
 * Errors:   EBADF, ENOTDIR; ENOENT: it has been removed; EFAULT
 * Return:   how many were put into `to`; 0 = no more
 */
HF_TMPFS_API int hf_tmpfs_readdir(struct hf_tmpfs_table *table, int fd, struct hf_tmpfs_dirent *to,
				  int count);

/*
 * A piece of a file that a sink of hf_tmpfs_splice() may keep, and change: it is nobody else's, holes
 * included. hf_tmpfs_buffer_free() when done, in any thread, before hf_tmpfs_free().
 */
struct hf_tmpfs_buffer {
	struct hf_tmpfs *fs;
	size_t size;
	char *data; /* HF_TMPFS_PAGE bytes, of which `size` are the file's */
};

/**
 * hf_tmpfs_splice - hand a range of a file to a pipe or the like, page by page
 * @sink: gets a buffer, which is its own from then on; returns 0, or an error, and the buffer is not
 *        taken
 *
 * Errors:   as pread; the sink's own, if it took nothing
 * Return:   bytes that the sink took
 */
HF_TMPFS_API ssize_t hf_tmpfs_splice(struct hf_tmpfs_table *table, int fd, size_t size, off_t at,
				     int (*sink)(void *data, struct hf_tmpfs_buffer *buffer),
				     void *data);
HF_TMPFS_API void hf_tmpfs_buffer_free(struct hf_tmpfs_buffer *buffer);

/* ---- proof --------------------------------------------------------------------------------- */

/**
 * hf_tmpfs_check - walk the tree and prove every count
 * @tell: gets a line for each fault found; NULL = standard error
 *
 * Dentries, inodes, open files, pages, tree nodes, links, descriptors, free files, space and inodes
 * used: each count is what the objects that are really there come to.
 *
 * Context:  no other call is under way; waits for a grace period
 * Return:   faults found; 0 = all counts are right; -ENOMEM: no memory to count with
 */
HF_TMPFS_API int hf_tmpfs_check(struct hf_tmpfs *fs, void (*tell)(void *data, const char *line),
				void *data);

#ifdef __cplusplus
}
#endif

#endif
