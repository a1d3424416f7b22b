/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_H
#define HF_TMPFS_H
/*
 * tmpfs - a tree of files in memory, with POSIX meaning, made of Holdfast's primitives.
 *
 * Use when / not when
 *   Use it where many threads of one program share a tree of files, and as an example of refcounts,
 *   lockrefs, spinlocks and nofault in one system. For a few files a map of buffers is simpler; to
 *   share files between processes, mount it (hf-tmpfs-fuse).
 *
 * State
 *   A file system has any number of descriptor tables; a descriptor is valid in its own table only,
 *   as in a process. Threads may share a table or have one each, with a lock for each table.
 *
 *     table --descriptor--> file --> dentry --> inode --> pages
 *     (spinlock, bitmap)   refcount  lockref   refcount   (no count)
 *
 *   A node is the program's handle of an inode: it keeps the inode alive, with or without a name,
 *   until the last reference is put. Each call by name takes a node and a path that starts at it,
 *   as mkdirat() and the like. A mount's kernel passes one name at a time.
 *
 *     node ----------------> inode          table --descriptor--> file --> inode
 *     64-bit count           refcount
 *
 * Meaning
 *   The calls behave as on Linux's tmpfs, including their errors, except that what the kernel does
 *   for a mount is not done here: no permission is checked (EACCES), a write leaves setuid as it
 *   is, symlinks are not followed (as with `nosymfollow`), and "." and ".." are listed but not
 *   looked up. FIFOs, sockets and devices can be created but not opened (ENXIO). The access time is
 *   updated as with `relatime`. Times are ordered with those of the kernel's file systems: what is
 *   changed later, here or there, is not older. From Linux 6.13 on a file descriptor is kept for
 *   that.
 *
 * Errors
 *   -errno. If several errors apply, the one that Linux returns. Each call may return -ENOMEM, and
 *   has then changed nothing (a write may instead return a short count). If a buffer faults, the
 *   result is a short count, or -EFAULT if no byte was moved.
 *
 * Context
 *   Any thread, any number at once; not in a signal handler. Not in a child of fork() that does not
 *   exec, unless the program calls liburcu's fork hooks. Not inside a read-side section of urcu-bp:
 *   a call may wait for a grace period. A buffer must not be memory that is paged in from this
 *   file system. Not in threads of different real-time priorities on one processor: short sections
 *   are under spinlocks, and a waiter of higher priority would keep the holder from running.
 *
 * Memory
 *   Memory that has been removed from the tree is freed after a grace period: by the file system's
 *   own thread after 20 ms, or by a freeing call if more than 256 KiB wait; above 4 MiB each
 *   freeing call waits for it. So resident memory stays below 1.25 times the limit of data, plus
 *   the inodes and names, plus 4 MiB and one for each thread. Unused memory is returned to the
 *   system.
 *
 *   A call that allocates or frees much of a file makes only writers of that file wait; its space
 *   becomes free bit by bit.
 *
 *   If memory runs out, each call can return ENOMEM. One thing aborts instead: a thread's first
 *   call registers the thread with liburcu, which aborts if it can't allocate. hf_tmpfs_new()
 *   registers its caller; other threads should call hf_tmpfs_thread_begin() while there is memory.
 *
 * Ordering
 *   A thread that sees a name or a size also sees everything written before it was set. A read that
 *   is concurrent with a write of the same bytes may see a part of it; callers order the two.
 *
 * Example  examples/tmpfs.c
 * Source   docs/design/0012-tmpfs.md, tmpfs/docs/tmpfs.md
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

/* A program that includes all of the sources in one file defines this as `static`. */
#ifndef HF_TMPFS_API
#define HF_TMPFS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HF_TMPFS_NAME_MAX 255
#define HF_TMPFS_TARGET_MAX 4095 /* of a symlink */
#define HF_TMPFS_PAGE 4096
#define HF_TMPFS_DESCRIPTORS_MAX 1048576 /* as in a process: Linux's fs.nr_open */

#define HF_TMPFS_NOREPLACE 1u /* rename: -EEXIST if the new name exists */
#define HF_TMPFS_EXCHANGE 2u  /* rename: exchanges the two names */

#define HF_TMPFS_FALLOC_KEEP_SIZE 1
#define HF_TMPFS_FALLOC_PUNCH_HOLE 2 /* with KEEP_SIZE */

struct hf_tmpfs;
struct hf_tmpfs_table;

/* All 0 = no limits, malloc, handlers installed. */
struct hf_tmpfs_options {
	/*
	 * Bytes of data, rounded up to pages; 0 = no limit. Symlink targets of 128 bytes or more
	 * and the trees of very sparse files count as pages, too.
	 */
	uint64_t size;
	uint64_t inodes; /* with the root and each additional link to a file; 0 = no limit */
	/*
	 * Memory for all objects, aligned to 64 bytes; NULL = ENOMEM. Called under mutexes and
	 * never under a spinlock; `release` also in the file system's own thread.
	 */
	void *(*allocate)(void *data, size_t size);
	void (*release)(void *data, void *memory);
	void *data;
	bool own_handler; /* the program's own signal handler calls hf_nofault_handle() */
	bool noatime;     /* reads never update the access time; otherwise as with `relatime` */
};

/* ---- file system and tables ---------------------------------------------------------------- */

/**
 * hf_tmpfs_new - create a file system with an empty root directory
 * @options: NULL = all 0
 *
 * Errors:   -ENOMEM; -errno of hf_nofault_install(), getrandom(), pthread_create();
 *           -EINVAL: only one of allocate and release is set
 * Return:   0; on an error *fs is not changed
 */
HF_TMPFS_API int hf_tmpfs_new(struct hf_tmpfs **fs, const struct hf_tmpfs_options *options);

/**
 * hf_tmpfs_free - free a file system with all files
 *
 * Context:  no concurrent call; waits for a grace period
 * Errors:   -EBUSY: tables or nodes remain, and nothing is freed; -EUCLEAN: everything is freed,
 *           but an object had leaked or was freed twice, which is a bug
 */
HF_TMPFS_API int hf_tmpfs_free(struct hf_tmpfs *fs);

/**
 * hf_tmpfs_thread_begin - register this thread with liburcu
 *
 * Otherwise the thread's first call registers it, and aborts if there is no memory.
 *
 * Errors:   -ENOMEM
 */
HF_TMPFS_API int hf_tmpfs_thread_begin(void);

/**
 * hf_tmpfs_resize - change the limits
 * @size, @inodes: as in hf_tmpfs_options
 *
 * Errors:   -EINVAL: more is in use; neither limit is changed
 */
HF_TMPFS_API int hf_tmpfs_resize(struct hf_tmpfs *fs, uint64_t size, uint64_t inodes);

/**
 * hf_tmpfs_table_new - create a table of descriptors
 * @limit: descriptors, at most HF_TMPFS_DESCRIPTORS_MAX; 0 = 1024
 *
 * Errors:   -ENOMEM; -EINVAL: the limit
 */
HF_TMPFS_API int hf_tmpfs_table_new(struct hf_tmpfs_table **table, struct hf_tmpfs *fs,
				    unsigned int limit);

/**
 * hf_tmpfs_table_free - close all descriptors and free the table
 *
 * Context:  no concurrent call on this table
 */
HF_TMPFS_API void hf_tmpfs_table_free(struct hf_tmpfs_table *table);

/* Limits and usage, in the blocks and files of struct statvfs; 0 = no limit. */
HF_TMPFS_API int hf_tmpfs_statfs(struct hf_tmpfs *fs, struct statvfs *to);

/* ---- the caller ---------------------------------------------------------------------------- */

/**
 * hf_tmpfs_act_as - set the user on whose behalf this thread creates files
 *
 * A new inode gets these ids; before the first call, the effective ids of the process. In a
 * directory with S_ISGID it gets the directory's gid instead, and a new directory S_ISGID too.
 *
 * Context:  applies to this thread, in all file systems
 */
HF_TMPFS_API void hf_tmpfs_act_as(uid_t uid, gid_t gid);

/* ---- nodes --------------------------------------------------------------------------------- */

/*
 * A node stays the same inode, whatever its names are, as long as it has references; until they are
 * dropped an unlinked inode counts against the limits. The caller needs a reference to each node
 * that it passes.
 *
 * A path is names with slashes between them; one that begins with a slash starts at the root, any
 * other at the node. Every path can cause ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP (a symlink is not
 * the last name) and EINVAL (no name, "." or ".."); ENOTDIR also if the node is not a directory,
 * ENOENT also if it has been removed. Two nodes of different file systems cause EXDEV.
 *
 * *node is set to the node that was found or made, with a reference. Except in lookup, `node` may
 * be NULL.
 */
struct hf_tmpfs_node;

/* The root, which needs no reference. */
HF_TMPFS_API struct hf_tmpfs_node *hf_tmpfs_root(struct hf_tmpfs *fs);

HF_TMPFS_API int hf_tmpfs_lookup(struct hf_tmpfs_node *dir, const char *path,
				 struct hf_tmpfs_node **node);

/* Adds a reference. */
HF_TMPFS_API void hf_tmpfs_node_get(struct hf_tmpfs_node *node);

/**
 * hf_tmpfs_node_put - drop references
 * @count: how many; 0 = none
 *
 * Errors:   if there are fewer, SUB_UAF is reported and none is dropped
 */
HF_TMPFS_API void hf_tmpfs_node_put(struct hf_tmpfs_node *node, uint64_t count);

/* Drops all references to all nodes. No concurrent call may use a node. */
HF_TMPFS_API void hf_tmpfs_nodes_put(struct hf_tmpfs *fs);

/* ---- names --------------------------------------------------------------------------------- */

/*
 * Errors, beyond those above:
 *
 *   mkdir     EEXIST; ENOSPC: no inode left
 *   mknod     EEXIST; ENOSPC; EINVAL: neither a file, FIFO, socket nor device; EPERM: a directory
 *   rmdir     ENOTEMPTY
 *   symlink   EEXIST; ENOSPC; ENOENT: empty target
 *   readlink  EINVAL: no symlink, or size 0; returns the bytes, without a terminating 0
 *   link      EEXIST; EPERM: a directory; ENOSPC; ENOENT: the node was unlinked
 *   unlink    EISDIR
 *   rename    EINVAL: bad flags, or a directory into itself; EEXIST; EISDIR; ENOTEMPTY
 */
HF_TMPFS_API int hf_tmpfs_mkdir(struct hf_tmpfs_node *dir, const char *path, mode_t mode,
				struct hf_tmpfs_node **node);
HF_TMPFS_API int hf_tmpfs_mknod(struct hf_tmpfs_node *dir, const char *path, mode_t mode,
				dev_t device, struct hf_tmpfs_node **node);
HF_TMPFS_API int hf_tmpfs_rmdir(struct hf_tmpfs_node *dir, const char *path);
HF_TMPFS_API int hf_tmpfs_symlink(const char *target, struct hf_tmpfs_node *dir, const char *path,
				  struct hf_tmpfs_node **node);
HF_TMPFS_API ssize_t hf_tmpfs_readlink(struct hf_tmpfs_node *node, char *to, size_t size);
HF_TMPFS_API int hf_tmpfs_link(struct hf_tmpfs_node *node, struct hf_tmpfs_node *dir,
			       const char *path);
HF_TMPFS_API int hf_tmpfs_unlink(struct hf_tmpfs_node *dir, const char *path);
HF_TMPFS_API int hf_tmpfs_rename(struct hf_tmpfs_node *from_dir, const char *from,
				 struct hf_tmpfs_node *to_dir, const char *to, unsigned int flags);

/* ---- attributes ---------------------------------------------------------------------------- */

HF_TMPFS_API void hf_tmpfs_stat(struct hf_tmpfs_node *node, struct stat *to);
HF_TMPFS_API int hf_tmpfs_fstat(struct hf_tmpfs_table *table, int fd, struct stat *to);

#define HF_TMPFS_SET_MODE 1u
#define HF_TMPFS_SET_UID 2u
#define HF_TMPFS_SET_GID 4u
#define HF_TMPFS_SET_ATIME 8u
#define HF_TMPFS_SET_MTIME 16u

struct hf_tmpfs_attributes {
	unsigned int set; /* HF_TMPFS_SET_*: which to change */
	mode_t mode;
	uid_t uid;
	gid_t gid;
	struct timespec atime, mtime;
};

/*
 * Sets what `set` names, and always the time of change (ctime). A time whose tv_nsec is UTIME_NOW
 * becomes the time of change, too. EINVAL: unknown bits in `set`.
 */
HF_TMPFS_API int hf_tmpfs_setattr(struct hf_tmpfs_node *node, const struct hf_tmpfs_attributes *to);

/* ---- open files ---------------------------------------------------------------------------- */

/**
 * hf_tmpfs_open - open a file, or create it
 * @dir:   where the path starts; NULL = the root
 * @path:  NULL = open `dir` itself, of whatever type, named or not; O_CREAT is ignored then
 * @flags: O_RDONLY, O_WRONLY or O_RDWR, and any of O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_DIRECTORY,
 *         O_NOATIME. Other flags are ignored.
 * @mode:  of a file that is created
 * @node:  gets the file's node, with a reference; NULL = not needed
 *
 * Errors:   EEXIST, EISDIR, ENOTDIR, ELOOP; EMFILE: the table is full; ENOSPC: no inode left;
 *           EINVAL: no such access mode; ENXIO: a FIFO, socket or device; EXDEV
 * Return:   the lowest free descriptor
 */
HF_TMPFS_API int hf_tmpfs_open(struct hf_tmpfs_table *table, struct hf_tmpfs_node *dir,
			       const char *path, int flags, mode_t mode,
			       struct hf_tmpfs_node **node);

/* EBADF: not open. A concurrent call on the descriptor completes. */
HF_TMPFS_API int hf_tmpfs_close(struct hf_tmpfs_table *table, int fd);

/* A second descriptor of the same open file; they share its position. EBADF, EMFILE. */
HF_TMPFS_API int hf_tmpfs_dup(struct hf_tmpfs_table *table, int fd);

/*
 * Read and write data, at most 0x7ffff000 bytes per call. Reading a hole clears the buffer
 * (hf_clear_nofault); data is copied (hf_copy_to_nofault). EBADF: not open, or not for this access;
 * EISDIR; EFAULT; EINVAL: negative position, or a size above SSIZE_MAX; ENOSPC: no page left;
 * EFBIG.
 */
HF_TMPFS_API ssize_t hf_tmpfs_read(struct hf_tmpfs_table *table, int fd, void *to, size_t size);
HF_TMPFS_API ssize_t hf_tmpfs_pread(struct hf_tmpfs_table *table, int fd, void *to, size_t size,
				    off_t at);
HF_TMPFS_API ssize_t hf_tmpfs_write(struct hf_tmpfs_table *table, int fd, const void *from,
				    size_t size);
HF_TMPFS_API ssize_t hf_tmpfs_pwrite(struct hf_tmpfs_table *table, int fd, const void *from,
				     size_t size, off_t at);

/* SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE. EINVAL; ENXIO: no data after the offset. */
HF_TMPFS_API off_t hf_tmpfs_lseek(struct hf_tmpfs_table *table, int fd, off_t offset, int whence);

/*
 * EINVAL: negative size, not a regular file, or a descriptor not open for writing; EISDIR; EFBIG.
 */
HF_TMPFS_API int hf_tmpfs_truncate(struct hf_tmpfs_node *node, off_t size);
HF_TMPFS_API int hf_tmpfs_ftruncate(struct hf_tmpfs_table *table, int fd, off_t size);

/*
 * Allocate the pages of a range (mode 0 or KEEP_SIZE), or make it a hole (PUNCH_HOLE | KEEP_SIZE).
 * EBADF; EINVAL: negative or empty range; EOPNOTSUPP: other modes; EFBIG; ENOSPC: nothing is
 * changed.
 */
HF_TMPFS_API int hf_tmpfs_fallocate(struct hf_tmpfs_table *table, int fd, int mode, off_t at,
				    off_t size);

struct hf_tmpfs_dirent {
	uint64_t inode;
	int64_t next;       /* lseek to it, and the next readdir continues after this entry */
	unsigned char type; /* DT_DIR, DT_REG, DT_LNK, DT_FIFO, DT_SOCK, DT_CHR, DT_BLK */
	char name[HF_TMPFS_NAME_MAX + 1];
};

/**
 * hf_tmpfs_readdir - return the next names of a directory, starting with "." and ".."
 *
 * A name that exists throughout the listing is returned exactly once, however the directory
 * changes. A name created since the listing began (at the first readdir from position 0) may be
 * left out, so each listing ends. `next` is stable: it means the same position in every descriptor,
 * even after the entry has been removed.
 *
 * Cost      each name costs the same in a directory of any size; writers are not blocked
 * Errors:   EBADF, ENOTDIR; ENOENT: the directory has been removed; EFAULT
 * Return:   number of entries stored in `to`; 0 = no more
 */
HF_TMPFS_API int hf_tmpfs_readdir(struct hf_tmpfs_table *table, int fd, struct hf_tmpfs_dirent *to,
				  int count);

/* ---- check --------------------------------------------------------------------------------- */

/**
 * hf_tmpfs_check - walk the tree and compare every count with what is found
 * @tell: called with a line for each fault found; NULL = print it to standard error
 *
 * Checks the counts of dentries, inodes, nodes, open files, pages, tree nodes, links, descriptors,
 * free files, and of space and inodes used.
 *
 * Context:  no concurrent call; waits for a grace period
 * Return:   number of faults; -ENOMEM: not enough memory for the check
 */
HF_TMPFS_API int hf_tmpfs_check(struct hf_tmpfs *fs, void (*tell)(void *data, const char *line),
				void *data);

#ifdef __cplusplus
}
#endif

#endif
