/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_INTERNAL_H
#define HF_TMPFS_INTERNAL_H
/* internal - the objects of tmpfs. Invariants T1.. and L1.. are those of docs/design/0012-tmpfs.md. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "holdfast/lockref.h"
#include "holdfast/mutex.h"
#include "holdfast/nofault.h"
#include "holdfast/refcount.h"
#include "holdfast/spinlock.h"

#include "base.h"
#include "memory.h"
#include "rcu.h"
#include "siphash.h"
#include "tmpfs.h"

#define TMPFS_SIZE_MAX INT64_MAX /* of a file */
#define TMPFS_RW_MAX 0x7ffff000  /* bytes that one call moves */

/* Bytes that wait for a grace period: one call collects them from here on, all wait from there on. */
#define TMPFS_WAITING_SOFT (256u << 10)
#define TMPFS_WAITING_HARD (4u << 20)
#define TMPFS_TRIM_MILLISECONDS 20 /* how long less than that waits at most */

enum tmpfs_kind {
	TMPFS_KIND_DENTRY,
	TMPFS_KIND_INODE,
	TMPFS_KIND_TARGET, /* of a symlink */
	TMPFS_KIND_PAGE,
	TMPFS_KIND_NODE,
	TMPFS_KIND_NAMES,
	TMPFS_KIND_XATTR,
	TMPFS_KIND_FILES,
	TMPFS_KIND_TABLE,
	TMPFS_KIND_BUFFER,
	TMPFS_KINDS
};

/* Every object that is allocated begins with this. */
struct tmpfs_block {
	struct tmpfs_block *next; /* of those that wait for a grace period */
	struct hf_tmpfs *fs;
	enum tmpfs_kind kind;
	uint32_t size; /* of the whole object */
};

/* ---- a radix tree, read without a lock: a file's pages, a directory's entries -------------- */

#define TMPFS_NODE_BITS 6
#define TMPFS_NODE_SLOTS (1 << TMPFS_NODE_BITS)

/*
 * slot[i] covers 2^shift items: an item where the shift is 0, else a node. Changed under the inode's
 * mutex. A node has at least one slot in use.
 */
struct tmpfs_node {
	struct tmpfs_block block;
	unsigned int shift;
	unsigned int used;
	_Atomic(struct tmpfs_block *) slot[TMPFS_NODE_SLOTS];
};

/* An index that no item has: a page's bytes are still counted in 64 bits. */
#define TMPFS_INDEX_END (UINT64_MAX / HF_TMPFS_PAGE)

struct tmpfs_page {
	struct tmpfs_block block;
	/* false: memory that fallocate took; reads as a hole, and is one to SEEK_HOLE. */
	atomic_bool written;
	bool fresh;     /* inserted by the fallocate under way; under the inode's mutex */
	uint64_t index; /* for the check */
	_Alignas(64) char data[HF_TMPFS_PAGE];
};

/* ---- names --------------------------------------------------------------------------------- */

struct tmpfs_list {
	struct tmpfs_list *next, *previous;
};

struct tmpfs_inode;

struct tmpfs_dentry {
	struct tmpfs_block block;
	/* T8: two chains, of which a table uses one and the next table the other. */
	_Atomic(struct tmpfs_dentry *) chain[2];
	hf_lockref_t ref; /* T2 */
	/* These never change. */
	struct tmpfs_inode *dir;   /* whose entry; only compared once the entry is out */
	struct tmpfs_inode *inode; /* a reference (T3) */
	uint64_t hash;
	uint64_t cookie; /* T9: its index in the directory's tree */
	uint8_t length;
	char name[];
};

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
	_Atomic(struct tmpfs_node *) root;
	uint64_t items, nodes;
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

/* ---- descriptors --------------------------------------------------------------------------- */

struct tmpfs_file {
	_Alignas(64) hf_refcount_t refs; /* T4: its memory stays a file's */
	int flags;
	struct tmpfs_dentry *dentry; /* NULL: opened by node, the file has the inode's reference */
	struct tmpfs_inode *inode;   /* the dentry's, if there is one */
	hf_mutex_t lock;             /* held over a read or write that moves the position */
	int64_t position;
	uint64_t listing_end; /* T9: cookies from here on are not of this listing */
	struct tmpfs_file *next_free;
};

#define TMPFS_FILES 32

struct tmpfs_files {
	struct tmpfs_block block;
	struct tmpfs_file file[TMPFS_FILES];
};

struct hf_tmpfs_table {
	struct tmpfs_block block;
	struct tmpfs_list siblings;
	unsigned int limit;
	struct tmpfs_block *slabs;
	_Alignas(64) hf_spinlock_t lock; /* L4: of all that follows, but for reading slots */
	struct tmpfs_file *free;
	unsigned int files;  /* in all slabs */
	unsigned int lowest; /* no free descriptor is in a word of the bitmap before this */
	uint64_t *used;      /* a bit a descriptor: taken, or about to be */
	_Atomic(struct tmpfs_file *) slot[];
};

struct hf_tmpfs {
	struct tmpfs_siphash_key key;
	struct tmpfs_dentry *root;  /* its name is empty, and in no directory */
	struct tmpfs_memory memory; /* if no other is chosen */
	struct hf_tmpfs_options options;
	atomic_uint_least64_t page_limit, inode_limit; /* UINT64_MAX = none */
	hf_mutex_t rename;                             /* L1 */
	hf_mutex_t tables_lock;
	struct tmpfs_list tables;
	hf_spinlock_t nodes_lock; /* L4 */
	struct tmpfs_list nodes;
	atomic_uint_least64_t next_inode;
	_Alignas(64) atomic_uint_least64_t pages_used;
	atomic_uint_least64_t inodes_used;
	atomic_uint_least64_t allocated[TMPFS_KINDS];
	/* What waits for a grace period, and in `waiting_bytes` also what a collector has taken. */
	_Alignas(64) _Atomic(struct tmpfs_block *) waiting;
	atomic_uint_least64_t waiting_bytes;
	hf_mutex_t collecting;    /* L5 */
	sem_t to_trim, trim_ends; /* something waits, where nothing did; go */
	pthread_t trimmer;
	atomic_uint_least64_t begun, ended; /* grace periods */
};

static inline bool tmpfs_is_dir(const struct tmpfs_inode *inode)
{
	return inode->type == S_IFDIR;
}

static inline struct tmpfs_inode *tmpfs_root(struct hf_tmpfs *fs)
{
	return fs->root->inode;
}

/* ---- fs.c ---------------------------------------------------------------------------------- */

/*
 * An object that begins with its block; NULL = no memory. Not cleared but for the block. May wait for
 * a grace period, as tmpfs_object_delete_later() may: not inside a read side, nor under a spinlock.
 */
TMPFS_PRIVATE void *tmpfs_object_new(struct hf_tmpfs *fs, enum tmpfs_kind kind, size_t size);
/* At once, or all of a chain after a grace period. */
TMPFS_PRIVATE void tmpfs_object_delete(struct tmpfs_block *block);
TMPFS_PRIVATE void tmpfs_object_delete_later(struct tmpfs_block *chain);
/* Waits for a grace period and frees all that has waited for it. */
TMPFS_PRIVATE void tmpfs_collect(struct hf_tmpfs *fs);
/* Has a grace period begun since the stamp was taken, and ended? */
TMPFS_PRIVATE uint64_t tmpfs_stamp(struct hf_tmpfs *fs);
TMPFS_PRIVATE bool tmpfs_passed(struct hf_tmpfs *fs, uint64_t stamp);

/* So many more in use, if the limit allows. */
TMPFS_PRIVATE bool tmpfs_reserve(atomic_uint_least64_t *used, uint64_t limit, uint64_t count);
TMPFS_PRIVATE void tmpfs_unreserve(atomic_uint_least64_t *used, uint64_t count);

TMPFS_PRIVATE struct timespec tmpfs_now(void);

/* For whom this thread acts: hf_tmpfs_act_as(). */
TMPFS_PRIVATE struct hf_tmpfs_caller tmpfs_caller(void);

/* ---- dentry.c ------------------------------------------------------------------------------ */

TMPFS_PRIVATE struct tmpfs_dentry *tmpfs_dentry_new(struct hf_tmpfs *fs, const char *name,
						    size_t length);
TMPFS_PRIVATE void tmpfs_dentry_put(struct tmpfs_dentry *dentry);
/* Read side held, or the directory's mutex: then nothing can take the name out. */
TMPFS_PRIVATE struct tmpfs_dentry *tmpfs_lookup(struct tmpfs_inode *dir, const char *name,
						size_t length);
/*
 * The directory's mutex is held. The dentry gets the inode, whose reference it takes over. `add` may
 * fail with -ENOMEM, and nothing is changed; `replace` keeps the name's cookie (T9).
 */
TMPFS_PRIVATE int tmpfs_dentry_add(struct tmpfs_inode *dir, struct tmpfs_dentry *dentry,
				   struct tmpfs_inode *inode);
TMPFS_PRIVATE void tmpfs_dentry_replace(struct tmpfs_inode *dir, struct tmpfs_dentry *old,
					struct tmpfs_dentry *dentry, struct tmpfs_inode *inode);
TMPFS_PRIVATE void tmpfs_dentry_remove(struct tmpfs_inode *dir, struct tmpfs_dentry *dentry);
/* Of a directory's entries the first with this cookie or a later one. Read side, or mutex, held. */
TMPFS_PRIVATE struct tmpfs_dentry *tmpfs_dentry_from(struct tmpfs_inode *dir, uint64_t cookie);
/* Of a name, with the key of the file system. */
TMPFS_PRIVATE uint64_t tmpfs_hash(const struct hf_tmpfs *fs, const char *name, size_t length);

/* ---- walk.c -------------------------------------------------------------------------------- */

enum tmpfs_last { TMPFS_LAST_NAME, TMPFS_LAST_DOT, TMPFS_LAST_DOTDOT, TMPFS_LAST_ROOT };

/* Where a path leads: the last component, and the directory that it is to be looked up in. */
struct tmpfs_walk {
	struct hf_tmpfs *fs;
	struct tmpfs_inode *dir; /* tmpfs_walk_parent(): a reference */
	enum tmpfs_last last;
	bool slash;    /* something ended in a slash: it must be a directory */
	bool too_long; /* tmpfs_walk_parent(): as name it is; said when it is looked up */
	const char *name;
	size_t length;
	/* What is still to be walked: this, then the stack from its top. */
	const char *rest;
	unsigned int links, depth;
	const char *stack[HF_TMPFS_SYMLINKS];
	char copy[HF_TMPFS_NAME_MAX + 1]; /* tmpfs_walk_parent(): of the name */
};

/* All from `dir`, or from the root if the path begins with a slash. The caller has `dir`. */

/* The entry that a path leads to, with a reference. */
TMPFS_PRIVATE int tmpfs_walk_entry(struct tmpfs_inode *dir, const char *path, bool follow,
				   struct tmpfs_dentry **found);
/* The directory of its last component, with a reference; the last one is not followed. */
TMPFS_PRIVATE int tmpfs_walk_parent(struct tmpfs_inode *dir, const char *path,
				    struct tmpfs_walk *walk);
/* The same for open(O_CREAT): the last one is followed, until it is no symlink. */
TMPFS_PRIVATE int tmpfs_walk_create(struct tmpfs_inode *dir, const char *path, bool follow,
				    struct tmpfs_walk *walk);

/* ---- inode.c ------------------------------------------------------------------------------- */

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
/* Its contents, or only its attributes, have changed. */
TMPFS_PRIVATE void tmpfs_touch(struct tmpfs_inode *inode);
TMPFS_PRIVATE void tmpfs_touch_attributes(struct tmpfs_inode *inode);
/* Its contents have been read. */
TMPFS_PRIVATE void tmpfs_accessed(struct tmpfs_inode *inode);
/* The mutex is held: its contents change, so it loses the bits that its new contents may not have. */
TMPFS_PRIVATE void tmpfs_drop_setuid(struct tmpfs_inode *inode);

/* ---- node.c -------------------------------------------------------------------------------- */

/* One more reference to the node of an inode that the caller has. */
TMPFS_PRIVATE struct hf_tmpfs_node *tmpfs_node_get(struct tmpfs_inode *inode);

/* ---- name.c -------------------------------------------------------------------------------- */

/* open(O_CREAT): the entry, made if it is not there. */
TMPFS_PRIVATE int tmpfs_create(struct tmpfs_inode *dir, const char *path, int flags, mode_t mode,
			       struct tmpfs_dentry **found);
/* open(O_TMPFILE): an inode without a name, in the directory that the path leads to. */
TMPFS_PRIVATE int tmpfs_create_nameless(struct tmpfs_inode *dir, const char *path, int flags,
					mode_t mode, struct tmpfs_inode **made);

/* ---- xattr.c ------------------------------------------------------------------------------- */

/* Nobody else has the inode. */
TMPFS_PRIVATE void tmpfs_xattrs_free(struct tmpfs_inode *inode);
/* What one takes, and the pages of the limit that so many bytes take. */
static inline uint64_t tmpfs_xattr_bytes(const struct tmpfs_block *block)
{
	return (block->size + 63u) / 64 * 64;
}
TMPFS_PRIVATE uint64_t tmpfs_xattr_pages(uint64_t bytes);

/* ---- pages.c ------------------------------------------------------------------------------- */

/* Read side or mutex held. NULL: a hole, of *hole items at least. */
TMPFS_PRIVATE struct tmpfs_block *tmpfs_tree_find(struct tmpfs_inode *inode, uint64_t index,
						  uint64_t *hole);
/* The rest: mutex held, or nobody else has the inode. Insertion: -ENOMEM, and nothing is changed. */
TMPFS_PRIVATE int tmpfs_tree_insert(struct tmpfs_inode *inode, uint64_t index,
				    struct tmpfs_block *item);
/* In the place of one that is there. */
TMPFS_PRIVATE void tmpfs_tree_replace(struct tmpfs_inode *inode, uint64_t index,
				      struct tmpfs_block *item);
/* Takes one item out, which stays; the tree's nodes go. */
TMPFS_PRIVATE void tmpfs_tree_remove(struct tmpfs_inode *inode, uint64_t index);

/*
 * Pages of the limit that the nodes of a file's tree take. A node for each page and TMPFS_NODES_FREE
 * more take none: so only files that are very sparse pay. Taking pages out never makes the sum of
 * both larger, for each leaf has a page.
 */
#define TMPFS_NODES_FREE 4
static inline uint64_t tmpfs_tree_pages(uint64_t items, uint64_t nodes)
{
	uint64_t free_nodes = items + TMPFS_NODES_FREE;
	uint64_t bytes = nodes > free_nodes ? (nodes - free_nodes) * sizeof(struct tmpfs_node) : 0;

	return (bytes + HF_TMPFS_PAGE - 1) / HF_TMPFS_PAGE;
}

/* The same of pages. Insertion: -ENOSPC, too. */
TMPFS_PRIVATE struct tmpfs_page *tmpfs_page_find(struct tmpfs_inode *inode, uint64_t index,
						 uint64_t *hole);
TMPFS_PRIVATE int tmpfs_page_new(struct hf_tmpfs *fs, struct tmpfs_page **page);
TMPFS_PRIVATE void tmpfs_page_free(struct tmpfs_page *page); /* never inserted */
TMPFS_PRIVATE int tmpfs_page_insert(struct tmpfs_inode *inode, uint64_t index,
				    struct tmpfs_page *page);
/* From `first` up to and without `end`. */
TMPFS_PRIVATE void tmpfs_pages_remove(struct tmpfs_inode *inode, uint64_t first, uint64_t end);
TMPFS_PRIVATE void
tmpfs_pages_free(struct tmpfs_inode *inode); /* all, at once: the inode is dead */

/* ---- data.c -------------------------------------------------------------------------------- */

TMPFS_PRIVATE int tmpfs_truncate(struct tmpfs_inode *inode, int64_t size);

/* ---- table.c ------------------------------------------------------------------------------- */

TMPFS_PRIVATE struct tmpfs_file *tmpfs_file_get(struct hf_tmpfs_table *table, int fd);
TMPFS_PRIVATE void tmpfs_file_put(struct hf_tmpfs_table *table, struct tmpfs_file *file);

/* ---- lists --------------------------------------------------------------------------------- */

static inline void tmpfs_list_init(struct tmpfs_list *list)
{
	list->next = list->previous = list;
}

static inline void tmpfs_list_add_last(struct tmpfs_list *list, struct tmpfs_list *entry)
{
	entry->previous = list->previous;
	entry->next = list;
	list->previous->next = entry;
	list->previous = entry;
}

static inline void tmpfs_list_remove(struct tmpfs_list *entry)
{
	entry->previous->next = entry->next;
	entry->next->previous = entry->previous;
}

#define TMPFS_OBJECT(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static inline struct tmpfs_inode *tmpfs_inode_of(struct hf_tmpfs_node *node)
{
	return TMPFS_OBJECT(node, struct tmpfs_inode, node);
}

#endif
