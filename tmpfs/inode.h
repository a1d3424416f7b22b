/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_INODE_H
#define HF_TMPFS_INODE_H
/*
 * inode - a file, directory, symlink or special file: attributes, contents, references. T3, T7, L3.
 */
#include "holdfast/refcount.h"

#include "pages.h"

struct tmpfs_dentry;

/* The hash table of a directory's names: read without a lock, changed under its mutex (T8). */
struct tmpfs_names {
	struct tmpfs_block block;
	uint64_t mask; /* of the buckets: their number - 1 */
	unsigned int which;
	_Atomic(struct tmpfs_dentry *) bucket[];
};

/* The program's references to an inode (T7). Under the file system's nodes_lock. */
struct hf_tmpfs_node {
	struct tmpfs_list siblings; /* all nodes with references */
	uint64_t references;
};

struct tmpfs_inode {
	struct tmpfs_block block;
	/*
	 * One for each dentry, each file opened by node, each subdirectory's `parent`, each call in
	 * progress on a directory, and one for all references to the node together.
	 */
	hf_refcount_t refs;
	struct hf_tmpfs_node node;
	mode_t type; /* S_IFMT bits; type, number and device never change */
	uint64_t number;
	dev_t device;
	hf_mutex_t contents;  /* L3: of a file: changes of its size and pages, however long */
	hf_mutex_t lock;      /* L2, L3: guards the other fields below; never held for long */
	_Atomic(mode_t) mode; /* without the type; changed under `lock` */
	uint64_t links;
	uid_t uid;
	gid_t gid;
	hf_spinlock_t times; /* L4: guards the next three, which readers also set */
	struct timespec atime, mtime, ctime;
	atomic_int_least64_t atime_due; /* reads before this second don't set atime */

	/* A file's pages, or a directory's entries by their cookies. */
	struct tmpfs_tree tree;
	atomic_uint_least64_t size; /* of a file */

	/* A directory. */
	_Atomic(struct tmpfs_names *) names; /* NULL: never had an entry */
	uint64_t names_stamp;                /* T8: when this table replaced the previous one */
	/* T9. Below TMPFS_INDEX_END: 140 years at a million names a second. */
	atomic_uint_least64_t next_cookie;
	atomic_bool removed;                  /* set under L2 */
	_Atomic(struct tmpfs_inode *) parent; /* a reference; the root's is itself, without one */

	/* A symlink. */
	struct tmpfs_target *target;
};

struct tmpfs_target {
	struct tmpfs_block block;
	char text[];
};

/* Pages that a target of this length counts as. */
static inline uint64_t tmpfs_target_pages(uint64_t length)
{
	return length >= 128;
}

static inline bool tmpfs_is_dir(const struct tmpfs_inode *inode)
{
	return inode->type == S_IFDIR;
}

static inline struct tmpfs_inode *tmpfs_inode_of(struct hf_tmpfs_node *node)
{
	return TMPFS_OBJECT(node, struct tmpfs_inode, node);
}

/* The kind of inode to create. */
struct tmpfs_made {
	mode_t mode; /* with the type */
	dev_t device;
	const char *target; /* of a symlink; else NULL */
};

/*
 * Creates an inode with one link and one reference; `dir` is the directory that owner and mode
 * depend on, or NULL. -ENOSPC if the inode limit is reached.
 */
TMPFS_PRIVATE int tmpfs_inode_new(struct hf_tmpfs *fs, const struct tmpfs_inode *dir,
				  const struct tmpfs_made *what, struct tmpfs_inode **inode);
TMPFS_PRIVATE void tmpfs_inode_put(struct tmpfs_inode *inode);
TMPFS_PRIVATE void tmpfs_inode_stat(struct tmpfs_inode *inode, struct stat *to);
TMPFS_PRIVATE int tmpfs_set_attributes(struct tmpfs_inode *inode,
				       const struct hf_tmpfs_attributes *to);
/* Updates the times after a change of the contents, or of attributes only. */
TMPFS_PRIVATE void tmpfs_touch(struct tmpfs_inode *inode);
TMPFS_PRIVATE void tmpfs_touch_attributes(struct tmpfs_inode *inode);
/* Updates the access time after a read. */
TMPFS_PRIVATE void tmpfs_accessed(struct tmpfs_inode *inode);

#endif
