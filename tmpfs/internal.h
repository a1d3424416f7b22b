/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_INTERNAL_H
#define HF_TMPFS_INTERNAL_H
/* internal - the objects of tmpfs. Invariants T1.. and L1.. are those of docs/design/0012-tmpfs.md. */
#include <pthread.h>
#include <stdatomic.h>

#include "holdfast/lockref.h"
#include "holdfast/nofault.h"
#include "holdfast/refcount.h"
#include "holdfast/spinlock.h"

#include "rcu.h"
#include "tmpfs.h"

/* Shared by the files of tmpfs only. */
#ifndef HF__TMPFS
#define HF__TMPFS __attribute__((visibility("hidden")))
#endif

#define HF__SIZE_MAX INT64_MAX /* of a file */
#define HF__RW_MAX 0x7ffff000  /* bytes that one call moves */

enum hf__kind {
	HF__KIND_DENTRY,
	HF__KIND_INODE,
	HF__KIND_TARGET, /* of a symlink */
	HF__KIND_PAGE,
	HF__KIND_NODE,
	HF__KIND_FILES,
	HF__KIND_TABLE,
	HF__KIND_BUFFER,
	HF__KINDS
};

/* Every object that is allocated begins with this. */
struct hf__block {
	struct rcu_head rcu;
	struct hf__block *next; /* of those that are freed together */
	struct hf_tmpfs *fs;
	enum hf__kind kind;
};

/* ---- pages: a radix tree, read without a lock ---------------------------------------------- */

#define HF__NODE_BITS 6
#define HF__NODE_SLOTS (1 << HF__NODE_BITS)

/*
 * slot[i] covers 2^shift pages: a page where the shift is 0, else a node. Changed under the inode's
 * mutex. A node other than an empty root's has at least one slot in use.
 */
struct hf__node {
	struct hf__block block;
	unsigned int shift;
	unsigned int used;
	_Atomic(struct hf__block *) slot[HF__NODE_SLOTS];
};

struct hf__page {
	struct hf__block block;
	/* false: memory that fallocate took; reads as a hole, and is one to SEEK_HOLE. */
	atomic_bool written;
	uint64_t index;
	HF_ALIGNED(64) char data[HF_TMPFS_PAGE];
};

/* ---- names --------------------------------------------------------------------------------- */

struct hf__list {
	struct hf__list *next, *previous;
};

struct hf__inode;

struct hf__dentry {
	struct cds_lfht_node node;
	hf_lockref_t ref; /* T2 */
	/* These never change. */
	struct hf__inode *dir;   /* whose entry; only compared once the entry is out */
	struct hf__inode *inode; /* a reference (T3) */
	uint64_t hash;
	struct hf__list siblings; /* in the order of their cookies; under the directory's mutex */
	int64_t cookie;
	struct hf__block block;
	uint8_t length;
	char name[];
};

struct hf__inode {
	struct hf__block block;
	/* One for each dentry, each subdirectory's `parent`, and each call under way on a directory. */
	hf_refcount_t refs;
	mode_t type; /* of S_IFMT; it and the number never change */
	uint64_t number;
	pthread_mutex_t lock; /* L2, L3: of all that follows, but for what is atomic */
	mode_t mode;          /* without the type */
	uint64_t links;
	uid_t uid;
	gid_t gid;
	struct timespec atime, mtime, ctime;

	/* A file. */
	atomic_uint_least64_t size;
	_Atomic(struct hf__node *) root;
	uint64_t pages, nodes;

	/* A directory. */
	struct hf__list children;
	uint64_t entries;
	int64_t next_cookie;
	bool removed;                       /* L2 */
	_Atomic(struct hf__inode *) parent; /* a reference; the root's is itself, without one */
	_Atomic(struct hf__dentry *) self;  /* the one dentry that a directory has */

	/* A symlink. */
	struct hf__target *target;
};

struct hf__target {
	struct hf__block block;
	char text[];
};

/* ---- descriptors --------------------------------------------------------------------------- */

struct hf__file {
	HF_ALIGNED(64) hf_refcount_t refs; /* T4: its memory stays a file's */
	int flags;
	struct hf__dentry *dentry;
	struct hf__inode *inode; /* the dentry's */
	pthread_mutex_t lock;    /* held over a read or write that moves the position */
	int64_t position;
	struct hf__file *next_free;
};

#define HF__FILES 32

struct hf__files {
	struct hf__block block;
	struct hf__file file[HF__FILES];
};

struct hf_tmpfs_table {
	struct hf__block block;
	struct hf__list siblings;
	unsigned int limit;
	struct hf__block *slabs;
	HF_ALIGNED(64) hf_spinlock_t lock; /* L4: of all that follows, but for reading slots */
	struct hf__file *free;
	unsigned int files;  /* in all slabs */
	unsigned int lowest; /* no free descriptor is in a word of the bitmap before this */
	uint64_t *used;      /* a bit a descriptor: taken, or about to be */
	_Atomic(struct hf__file *) slot[];
};

struct hf_tmpfs {
	struct cds_lfht *names;
	struct hf__dentry *root; /* its name is empty, and not in the table */
	struct hf_tmpfs_options options;
	uint64_t page_limit, inode_limit; /* UINT64_MAX = none */
	pthread_mutex_t rename;           /* L1 */
	pthread_mutex_t tables_lock;
	struct hf__list tables;
	atomic_uint_least64_t next_inode;
	HF_ALIGNED(64) atomic_uint_least64_t pages_used;
	atomic_uint_least64_t inodes_used;
	atomic_uint_least64_t allocated[HF__KINDS];
};

static inline bool hf__is_dir(const struct hf__inode *inode)
{
	return inode->type == S_IFDIR;
}

/* ---- fs.c ---------------------------------------------------------------------------------- */

/* The object around its block at `offset`; NULL = no memory. Not cleared but for the block. */
HF__TMPFS void *hf__new(struct hf_tmpfs *fs, enum hf__kind kind, size_t size, size_t offset);
/* At once, or all of a chain after a grace period. */
HF__TMPFS void hf__delete(struct hf__block *block);
HF__TMPFS void hf__delete_later(struct hf__block *chain);

/* So many more in use, if the limit allows. */
HF__TMPFS bool hf__reserve(atomic_uint_least64_t *used, uint64_t limit, uint64_t count);
HF__TMPFS void hf__unreserve(atomic_uint_least64_t *used, uint64_t count);

HF__TMPFS struct timespec hf__now(void);

/* ---- dentry.c ------------------------------------------------------------------------------ */

HF__TMPFS struct hf__dentry *hf__dentry_new(struct hf_tmpfs *fs, const char *name, size_t length);
HF__TMPFS void hf__dentry_put(struct hf__dentry *dentry);
/* Read side held. */
HF__TMPFS struct hf__dentry *hf__lookup(struct hf_tmpfs *fs, const struct hf__inode *dir,
					const char *name, size_t length);
/* The directory's mutex is held. `add` gives the dentry the inode, whose reference it takes over. */
HF__TMPFS void hf__dentry_add(struct hf__inode *dir, struct hf__dentry *dentry,
			      struct hf__inode *inode);
HF__TMPFS void hf__dentry_replace(struct hf__inode *dir, struct hf__dentry *old,
				  struct hf__dentry *dentry, struct hf__inode *inode);
HF__TMPFS void hf__dentry_remove(struct hf__inode *dir, struct hf__dentry *dentry);
/* The name in a directory whose mutex is held: nothing can take it out. */
HF__TMPFS struct hf__dentry *hf__lookup_locked(struct hf__inode *dir, const char *name,
					       size_t length);

/* ---- walk.c -------------------------------------------------------------------------------- */

enum hf__last { HF__LAST_NAME, HF__LAST_DOT, HF__LAST_DOTDOT, HF__LAST_ROOT };

/* Where a path leads: the last component, and the directory that it is to be looked up in. */
struct hf__walk {
	struct hf_tmpfs *fs;
	struct hf__inode *dir; /* hf__walk_parent(): a reference */
	enum hf__last last;
	bool slash;    /* something ended in a slash: it must be a directory */
	bool too_long; /* hf__walk_parent(): as name it is; said when it is looked up */
	const char *name;
	size_t length;
	/* What is still to be walked: this, then the stack from its top. */
	const char *rest;
	unsigned int links, depth;
	const char *stack[HF_TMPFS_SYMLINKS];
	char copy[HF_TMPFS_NAME_MAX + 1]; /* hf__walk_parent(): of the name */
};

/* The entry that a path leads to, with a reference. */
HF__TMPFS int hf__walk_entry(struct hf_tmpfs *fs, const char *path, bool follow,
			     struct hf__dentry **found);
/* The directory of its last component, with a reference; the last one is not followed. */
HF__TMPFS int hf__walk_parent(struct hf_tmpfs *fs, const char *path, struct hf__walk *walk);
/* The same for open(O_CREAT): the last one is followed, until it is no symlink. */
HF__TMPFS int hf__walk_create(struct hf_tmpfs *fs, const char *path, bool follow,
			      struct hf__walk *walk);

/* ---- inode.c ------------------------------------------------------------------------------- */

/* One link, one reference. Takes an inode of the limit: -ENOSPC. */
HF__TMPFS int hf__inode_new(struct hf_tmpfs *fs, mode_t mode, const char *target,
			    struct hf__inode **inode);
HF__TMPFS void hf__inode_put(struct hf__inode *inode);
HF__TMPFS void hf__inode_stat(struct hf__inode *inode, struct stat *to);

/* ---- name.c -------------------------------------------------------------------------------- */

/* open(O_CREAT): the entry, made if it is not there. */
HF__TMPFS int hf__create(struct hf_tmpfs *fs, const char *path, int flags, mode_t mode,
			 struct hf__dentry **found);

/* ---- pages.c ------------------------------------------------------------------------------- */

/* Read side or mutex held. NULL: a hole, of *hole pages at least. */
HF__TMPFS struct hf__page *hf__page_find(struct hf__inode *inode, uint64_t index, uint64_t *hole);
/* The rest: mutex held, or nobody else has the inode. */
HF__TMPFS int hf__page_new(struct hf_tmpfs *fs, struct hf__page **page);
HF__TMPFS void hf__page_free(struct hf__page *page); /* never inserted */
HF__TMPFS int hf__page_insert(struct hf__inode *inode, uint64_t index, struct hf__page *page);
/* From `first` up to and without `end`. */
HF__TMPFS void hf__pages_remove(struct hf__inode *inode, uint64_t first, uint64_t end);
HF__TMPFS void hf__pages_free(struct hf__inode *inode); /* all, at once: the inode is dead */

/* ---- data.c -------------------------------------------------------------------------------- */

HF__TMPFS int hf__truncate(struct hf__inode *inode, int64_t size);

/* ---- table.c ------------------------------------------------------------------------------- */

HF__TMPFS struct hf__file *hf__file_get(struct hf_tmpfs_table *table, int fd);
HF__TMPFS void hf__file_put(struct hf_tmpfs_table *table, struct hf__file *file);

/* ---- lists --------------------------------------------------------------------------------- */

static inline void hf__list_init(struct hf__list *list)
{
	list->next = list->previous = list;
}

static inline void hf__list_add_last(struct hf__list *list, struct hf__list *entry)
{
	entry->previous = list->previous;
	entry->next = list;
	list->previous->next = entry;
	list->previous = entry;
}

static inline void hf__list_remove(struct hf__list *entry)
{
	entry->previous->next = entry->next;
	entry->next->previous = entry->previous;
}

#define HF__OBJECT(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#endif
