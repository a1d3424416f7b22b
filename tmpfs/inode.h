/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_INODE_H
#define HF_TMPFS_INODE_H
/* inode - what a name stands for: attributes, contents, and who has it. T3, T7, L3. */
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

/* An extended attribute. Under its inode's mutex. */
struct tmpfs_xattr {
	struct tmpfs_block block;
	uint32_t length; /* of the value */
	uint8_t name_length;
	char data[]; /* the name, a 0, the value */
};

/* What the program has of an inode (T7). Under the file system's spinlock. */
struct hf_tmpfs_node {
	struct tmpfs_list siblings; /* of those that have references */
	uint64_t references;
};

struct tmpfs_inode {
	struct tmpfs_block block;
	/*
	 * One for each dentry, each file opened by node, each subdirectory's `parent`, each call under
	 * way on a directory, and one for all references to the node.
	 */
	hf_refcount_t refs;
	struct hf_tmpfs_node node;
	mode_t type; /* of S_IFMT; it, the number and the device never change */
	uint64_t number;
	dev_t device;
	hf_mutex_t lock; /* L2, L3: of all that follows, but for what is atomic */
	mode_t mode;     /* without the type */
	uint64_t links;
	uid_t uid;
	gid_t gid;
	hf_spinlock_t times; /* L4: of the next three, which readers set, too */
	struct timespec atime, mtime, ctime;
	struct timespec birth;          /* never changes */
	atomic_int_least64_t atime_due; /* a read from this second on sets the access time */
	bool linkable;                  /* O_TMPFILE: without a link, and may get one */
	struct tmpfs_block *xattrs;
	uint32_t xattr_bytes, xattr_names; /* of all of them; of their names */

	/* A file's pages, or a directory's entries by their cookies. */
	struct tmpfs_tree tree;
	atomic_uint_least64_t size; /* of a file */

	/* A directory. */
	_Atomic(struct tmpfs_names *) names; /* NULL: never had one */
	uint64_t names_stamp;                /* T8: when this table took over from another */
	/* T9. Below TMPFS_INDEX_END: 140 years at a million names a second. */
	atomic_uint_least64_t next_cookie;
	atomic_bool removed;                  /* set under L2 */
	_Atomic(struct tmpfs_inode *) parent; /* a reference; the root's is itself, without one */
	_Atomic(struct tmpfs_dentry *) self;  /* its dentry; NULL once it has been removed */

	/* A symlink. */
	struct tmpfs_target *target;
};

struct tmpfs_target {
	struct tmpfs_block block;
	char text[];
};

/* Of the limit, for a target of this length. */
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

/* What is to be made. */
struct tmpfs_made {
	mode_t mode; /* with the type */
	dev_t device;
	const char *target; /* of a symlink; else NULL */
};

/*
 * One link, one reference; owner and mode as in `dir`, or without one. Takes an inode of the limit:
 * -ENOSPC.
 */
TMPFS_PRIVATE int tmpfs_inode_new(struct hf_tmpfs *fs, const struct tmpfs_inode *dir,
				  const struct tmpfs_made *what, struct tmpfs_inode **inode);
TMPFS_PRIVATE void tmpfs_inode_put(struct tmpfs_inode *inode);
TMPFS_PRIVATE void tmpfs_inode_stat(struct tmpfs_inode *inode, struct stat *to);
TMPFS_PRIVATE int tmpfs_set_attributes(struct tmpfs_inode *inode,
				       const struct hf_tmpfs_attributes *to);
/* Its contents, or only its attributes, have changed. */
TMPFS_PRIVATE void tmpfs_touch(struct tmpfs_inode *inode);
TMPFS_PRIVATE void tmpfs_touch_attributes(struct tmpfs_inode *inode);
/* Its contents have been read. */
TMPFS_PRIVATE void tmpfs_accessed(struct tmpfs_inode *inode);
/* The mutex is held: its contents change, so it loses the bits that its new contents may not have. */
TMPFS_PRIVATE void tmpfs_drop_setuid(struct tmpfs_inode *inode);

/* What one takes, and the pages of the limit that so many bytes take. */
static inline uint64_t tmpfs_xattr_bytes(const struct tmpfs_block *block)
{
	return (block->size + 63u) / 64 * 64;
}
TMPFS_PRIVATE uint64_t tmpfs_xattr_pages(uint64_t bytes);

#endif
