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

#include "memory.h"
#include "rcu.h"
#include "siphash.h"
#include "tmpfs.h"

/* Shared by the files of tmpfs only. */
#ifndef HF__TMPFS
#define HF__TMPFS __attribute__((visibility("hidden")))
#endif

#define HF__SIZE_MAX INT64_MAX /* of a file */
#define HF__RW_MAX 0x7ffff000  /* bytes that one call moves */

/* Bytes that wait for a grace period: one call collects them from here on, all wait from there on. */
#define HF__WAITING_SOFT (256u << 10)
#define HF__WAITING_HARD (4u << 20)
#define HF__TRIM_MILLISECONDS 20 /* how long less than that waits at most */

enum hf__kind {
	HF__KIND_DENTRY,
	HF__KIND_INODE,
	HF__KIND_TARGET, /* of a symlink */
	HF__KIND_PAGE,
	HF__KIND_NODE,
	HF__KIND_NAMES,
	HF__KIND_XATTR,
	HF__KIND_FILES,
	HF__KIND_TABLE,
	HF__KIND_BUFFER,
	HF__KINDS
};

/* Every object that is allocated begins with this. */
struct hf__block {
	struct hf__block *next; /* of those that wait for a grace period */
	struct hf_tmpfs *fs;
	enum hf__kind kind;
	uint32_t size; /* of the whole object */
};

/* ---- a radix tree, read without a lock: a file's pages, a directory's entries -------------- */

#define HF__NODE_BITS 6
#define HF__NODE_SLOTS (1 << HF__NODE_BITS)

/*
 * slot[i] covers 2^shift items: an item where the shift is 0, else a node. Changed under the inode's
 * mutex. A node has at least one slot in use.
 */
struct hf__node {
	struct hf__block block;
	unsigned int shift;
	unsigned int used;
	_Atomic(struct hf__block *) slot[HF__NODE_SLOTS];
};

/* An index that no item has: a page's bytes are still counted in 64 bits. */
#define HF__INDEX_END (UINT64_MAX / HF_TMPFS_PAGE)

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
	struct hf__block block;
	/* T8: two chains, of which a table uses one and the next table the other. */
	_Atomic(struct hf__dentry *) chain[2];
	hf_lockref_t ref; /* T2 */
	/* These never change. */
	struct hf__inode *dir;   /* whose entry; only compared once the entry is out */
	struct hf__inode *inode; /* a reference (T3) */
	uint64_t hash;
	uint64_t cookie; /* T9: its index in the directory's tree */
	uint8_t length;
	char name[];
};

/* The hash table of a directory's names: read without a lock, changed under its mutex (T8). */
struct hf__names {
	struct hf__block block;
	uint64_t mask; /* of the buckets: their number - 1 */
	unsigned int which;
	_Atomic(struct hf__dentry *) bucket[];
};

/* An extended attribute. Under its inode's mutex. */
struct hf__xattr {
	struct hf__block block;
	uint32_t length; /* of the value */
	uint8_t name_length;
	char data[]; /* the name, a 0, the value */
};

/* What the program has of an inode (T7). Under the file system's spinlock. */
struct hf_tmpfs_node {
	struct hf__list siblings; /* of those that have references */
	uint64_t references;
};

struct hf__inode {
	struct hf__block block;
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
	atomic_int_least64_t atime_due; /* a read from this second on sets the access time */
	bool linkable;                  /* O_TMPFILE: without a link, and may get one */
	struct hf__block *xattrs;
	uint32_t xattr_bytes, xattr_names; /* of all of them; of their names */

	/* A file's pages, or a directory's entries by their cookies. */
	_Atomic(struct hf__node *) root;
	uint64_t items, nodes;
	atomic_uint_least64_t size; /* of a file */

	/* A directory. */
	_Atomic(struct hf__names *) names; /* NULL: never had one */
	uint64_t names_stamp;              /* T8: when this table took over from another */
	/* T9. Below HF__INDEX_END: 140 years at a million names a second. */
	atomic_uint_least64_t next_cookie;
	atomic_bool removed;                /* set under L2 */
	_Atomic(struct hf__inode *) parent; /* a reference; the root's is itself, without one */
	_Atomic(struct hf__dentry *) self;  /* its dentry; NULL once it has been removed */

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
	struct hf__dentry *dentry; /* NULL: opened by node, the file has the inode's reference */
	struct hf__inode *inode;   /* the dentry's, if there is one */
	hf_mutex_t lock;           /* held over a read or write that moves the position */
	int64_t position;
	uint64_t listing_end; /* T9: cookies from here on are not of this listing */
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
	struct hf__siphash_key key;
	struct hf__dentry *root;  /* its name is empty, and in no directory */
	struct hf__memory memory; /* if no other is chosen */
	struct hf_tmpfs_options options;
	uint64_t page_limit, inode_limit; /* UINT64_MAX = none */
	hf_mutex_t rename;                /* L1 */
	hf_mutex_t tables_lock;
	struct hf__list tables;
	hf_spinlock_t nodes_lock; /* L4 */
	struct hf__list nodes;
	atomic_uint_least64_t next_inode;
	HF_ALIGNED(64) atomic_uint_least64_t pages_used;
	atomic_uint_least64_t inodes_used;
	atomic_uint_least64_t allocated[HF__KINDS];
	/* What waits for a grace period, and in `waiting_bytes` also what a collector has taken. */
	HF_ALIGNED(64) _Atomic(struct hf__block *) waiting;
	atomic_uint_least64_t waiting_bytes;
	hf_mutex_t collecting;    /* L5 */
	sem_t to_trim, trim_ends; /* something waits, where nothing did; go */
	pthread_t trimmer;
	atomic_uint_least64_t begun, ended; /* grace periods */
};

static inline bool hf__is_dir(const struct hf__inode *inode)
{
	return inode->type == S_IFDIR;
}

static inline struct hf__inode *hf__root(struct hf_tmpfs *fs)
{
	return fs->root->inode;
}

/* ---- fs.c ---------------------------------------------------------------------------------- */

/*
 * An object that begins with its block; NULL = no memory. Not cleared but for the block. May wait for
 * a grace period, as hf__delete_later() may: not inside a read side, nor under a spinlock.
 */
HF__TMPFS void *hf__new(struct hf_tmpfs *fs, enum hf__kind kind, size_t size);
/* At once, or all of a chain after a grace period. */
HF__TMPFS void hf__delete(struct hf__block *block);
HF__TMPFS void hf__delete_later(struct hf__block *chain);
/* Waits for a grace period and frees all that has waited for it. */
HF__TMPFS void hf__collect(struct hf_tmpfs *fs);
/* Has a grace period begun since the stamp was taken, and ended? */
HF__TMPFS uint64_t hf__stamp(struct hf_tmpfs *fs);
HF__TMPFS bool hf__passed(struct hf_tmpfs *fs, uint64_t stamp);

/* So many more in use, if the limit allows. */
HF__TMPFS bool hf__reserve(atomic_uint_least64_t *used, uint64_t limit, uint64_t count);
HF__TMPFS void hf__unreserve(atomic_uint_least64_t *used, uint64_t count);

HF__TMPFS struct timespec hf__now(void);

/* For whom this thread acts: hf_tmpfs_act_as(). */
HF__TMPFS struct hf_tmpfs_caller hf__caller(void);

/* ---- dentry.c ------------------------------------------------------------------------------ */

HF__TMPFS struct hf__dentry *hf__dentry_new(struct hf_tmpfs *fs, const char *name, size_t length);
HF__TMPFS void hf__dentry_put(struct hf__dentry *dentry);
/* Read side held, or the directory's mutex: then nothing can take the name out. */
HF__TMPFS struct hf__dentry *hf__lookup(struct hf__inode *dir, const char *name, size_t length);
/*
 * The directory's mutex is held. The dentry gets the inode, whose reference it takes over. `add` may
 * fail with -ENOMEM, and nothing is changed; `replace` keeps the name's cookie (T9).
 */
HF__TMPFS int hf__dentry_add(struct hf__inode *dir, struct hf__dentry *dentry,
			     struct hf__inode *inode);
HF__TMPFS void hf__dentry_replace(struct hf__inode *dir, struct hf__dentry *old,
				  struct hf__dentry *dentry, struct hf__inode *inode);
HF__TMPFS void hf__dentry_remove(struct hf__inode *dir, struct hf__dentry *dentry);
/* Of a directory's entries the first with this cookie or a later one. Read side, or mutex, held. */
HF__TMPFS struct hf__dentry *hf__dentry_from(struct hf__inode *dir, uint64_t cookie);
/* Of a name, with the key of the file system. */
HF__TMPFS uint64_t hf__hash(const struct hf_tmpfs *fs, const char *name, size_t length);

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

/* All from `dir`, or from the root if the path begins with a slash. The caller has `dir`. */

/* The entry that a path leads to, with a reference. */
HF__TMPFS int hf__walk_entry(struct hf__inode *dir, const char *path, bool follow,
			     struct hf__dentry **found);
/* The directory of its last component, with a reference; the last one is not followed. */
HF__TMPFS int hf__walk_parent(struct hf__inode *dir, const char *path, struct hf__walk *walk);
/* The same for open(O_CREAT): the last one is followed, until it is no symlink. */
HF__TMPFS int hf__walk_create(struct hf__inode *dir, const char *path, bool follow,
			      struct hf__walk *walk);

/* ---- inode.c ------------------------------------------------------------------------------- */

/* What is to be made. */
struct hf__made {
	mode_t mode; /* with the type */
	dev_t device;
	const char *target; /* of a symlink; else NULL */
};

/*
 * One link, one reference; owner and mode as in `dir`, or without one. Takes an inode of the limit:
 * -ENOSPC.
 */
HF__TMPFS int hf__inode_new(struct hf_tmpfs *fs, const struct hf__inode *dir,
			    const struct hf__made *what, struct hf__inode **inode);
HF__TMPFS void hf__inode_put(struct hf__inode *inode);
HF__TMPFS void hf__inode_stat(struct hf__inode *inode, struct stat *to);
/* Its contents, or only its attributes, have changed. */
HF__TMPFS void hf__touch(struct hf__inode *inode);
HF__TMPFS void hf__touch_attributes(struct hf__inode *inode);
/* Its contents have been read. */
HF__TMPFS void hf__accessed(struct hf__inode *inode);
/* The mutex is held: its contents change, so it loses the bits that its new contents may not have. */
HF__TMPFS void hf__drop_setuid(struct hf__inode *inode);

/* ---- node.c -------------------------------------------------------------------------------- */

/* One more reference to the node of an inode that the caller has. */
HF__TMPFS struct hf_tmpfs_node *hf__node_get(struct hf__inode *inode);

/* ---- name.c -------------------------------------------------------------------------------- */

/* open(O_CREAT): the entry, made if it is not there. */
HF__TMPFS int hf__create(struct hf__inode *dir, const char *path, int flags, mode_t mode,
			 struct hf__dentry **found);
/* open(O_TMPFILE): an inode without a name, in the directory that the path leads to. */
HF__TMPFS int hf__create_nameless(struct hf__inode *dir, const char *path, int flags, mode_t mode,
				  struct hf__inode **made);

/* ---- xattr.c ------------------------------------------------------------------------------- */

/* Nobody else has the inode. */
HF__TMPFS void hf__xattrs_free(struct hf__inode *inode);
/* The pages of the limit that so many bytes take. */
HF__TMPFS uint64_t hf__xattr_pages(uint64_t bytes);

/* ---- pages.c ------------------------------------------------------------------------------- */

/* Read side or mutex held. NULL: a hole, of *hole items at least. */
HF__TMPFS struct hf__block *hf__tree_find(struct hf__inode *inode, uint64_t index, uint64_t *hole);
/* The rest: mutex held, or nobody else has the inode. Insertion: -ENOMEM, and nothing is changed. */
HF__TMPFS int hf__tree_insert(struct hf__inode *inode, uint64_t index, struct hf__block *item);
/* In the place of one that is there. */
HF__TMPFS void hf__tree_replace(struct hf__inode *inode, uint64_t index, struct hf__block *item);
/* Takes one item out, which stays; the tree's nodes go. */
HF__TMPFS void hf__tree_remove(struct hf__inode *inode, uint64_t index);

/* The same of pages. */
HF__TMPFS struct hf__page *hf__page_find(struct hf__inode *inode, uint64_t index, uint64_t *hole);
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

static inline struct hf__inode *hf__inode_of(struct hf_tmpfs_node *node)
{
	return HF__OBJECT(node, struct hf__inode, node);
}

#endif
