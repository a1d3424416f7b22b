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
#ifndef HF_DETAIL_TMPFS
#define HF_DETAIL_TMPFS __attribute__((visibility("hidden")))
#endif

#define HF_DETAIL_SIZE_MAX INT64_MAX /* of a file */
#define HF_DETAIL_RW_MAX 0x7ffff000  /* bytes that one call moves */

/* Bytes that wait for a grace period: one call collects them from here on, all wait from there on. */
#define HF_DETAIL_WAITING_SOFT (256u << 10)
#define HF_DETAIL_WAITING_HARD (4u << 20)
#define HF_DETAIL_TRIM_MILLISECONDS 20 /* how long less than that waits at most */

enum hf_detail_kind {
	HF_DETAIL_KIND_DENTRY,
	HF_DETAIL_KIND_INODE,
	HF_DETAIL_KIND_TARGET, /* of a symlink */
	HF_DETAIL_KIND_PAGE,
	HF_DETAIL_KIND_NODE,
	HF_DETAIL_KIND_NAMES,
	HF_DETAIL_KIND_XATTR,
	HF_DETAIL_KIND_FILES,
	HF_DETAIL_KIND_TABLE,
	HF_DETAIL_KIND_BUFFER,
	HF_DETAIL_KINDS
};

/* Every object that is allocated begins with this. */
struct hf_detail_block {
	struct hf_detail_block *next; /* of those that wait for a grace period */
	struct hf_tmpfs *fs;
	enum hf_detail_kind kind;
	uint32_t size; /* of the whole object */
};

/* ---- a radix tree, read without a lock: a file's pages, a directory's entries -------------- */

#define HF_DETAIL_NODE_BITS 6
#define HF_DETAIL_NODE_SLOTS (1 << HF_DETAIL_NODE_BITS)

/*
 * slot[i] covers 2^shift items: an item where the shift is 0, else a node. Changed under the inode's
 * mutex. A node has at least one slot in use.
 */
struct hf_detail_node {
	struct hf_detail_block block;
	unsigned int shift;
	unsigned int used;
	_Atomic(struct hf_detail_block *) slot[HF_DETAIL_NODE_SLOTS];
};

/* An index that no item has: a page's bytes are still counted in 64 bits. */
#define HF_DETAIL_INDEX_END (UINT64_MAX / HF_TMPFS_PAGE)

struct hf_detail_page {
	struct hf_detail_block block;
	/* false: memory that fallocate took; reads as a hole, and is one to SEEK_HOLE. */
	atomic_bool written;
	uint64_t index;
	HF_ALIGNED(64) char data[HF_TMPFS_PAGE];
};

/* ---- names --------------------------------------------------------------------------------- */

struct hf_detail_list {
	struct hf_detail_list *next, *previous;
};

struct hf_detail_inode;

struct hf_detail_dentry {
	struct hf_detail_block block;
	/* T8: two chains, of which a table uses one and the next table the other. */
	_Atomic(struct hf_detail_dentry *) chain[2];
	hf_lockref_t ref; /* T2 */
	/* These never change. */
	struct hf_detail_inode *dir;   /* whose entry; only compared once the entry is out */
	struct hf_detail_inode *inode; /* a reference (T3) */
	uint64_t hash;
	uint64_t cookie; /* T9: its index in the directory's tree */
	uint8_t length;
	char name[];
};

/* The hash table of a directory's names: read without a lock, changed under its mutex (T8). */
struct hf_detail_names {
	struct hf_detail_block block;
	uint64_t mask; /* of the buckets: their number - 1 */
	unsigned int which;
	_Atomic(struct hf_detail_dentry *) bucket[];
};

/* An extended attribute. Under its inode's mutex. */
struct hf_detail_xattr {
	struct hf_detail_block block;
	uint32_t length; /* of the value */
	uint8_t name_length;
	char data[]; /* the name, a 0, the value */
};

/* What the program has of an inode (T7). Under the file system's spinlock. */
struct hf_tmpfs_node {
	struct hf_detail_list siblings; /* of those that have references */
	uint64_t references;
};

struct hf_detail_inode {
	struct hf_detail_block block;
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
	struct hf_detail_block *xattrs;
	uint32_t xattr_bytes, xattr_names; /* of all of them; of their names */

	/* A file's pages, or a directory's entries by their cookies. */
	_Atomic(struct hf_detail_node *) root;
	uint64_t items, nodes;
	atomic_uint_least64_t size; /* of a file */

	/* A directory. */
	_Atomic(struct hf_detail_names *) names; /* NULL: never had one */
	uint64_t names_stamp;                    /* T8: when this table took over from another */
	/* T9. Below HF_DETAIL_INDEX_END: 140 years at a million names a second. */
	atomic_uint_least64_t next_cookie;
	atomic_bool removed;                      /* set under L2 */
	_Atomic(struct hf_detail_inode *) parent; /* a reference; the root's is itself, without one */
	_Atomic(struct hf_detail_dentry *) self; /* its dentry; NULL once it has been removed */

	/* A symlink. */
	struct hf_detail_target *target;
};

struct hf_detail_target {
	struct hf_detail_block block;
	char text[];
};

/* ---- descriptors --------------------------------------------------------------------------- */

struct hf_detail_file {
	HF_ALIGNED(64) hf_refcount_t refs; /* T4: its memory stays a file's */
	int flags;
	struct hf_detail_dentry
		*dentry; /* NULL: opened by node, the file has the inode's reference */
	struct hf_detail_inode *inode; /* the dentry's, if there is one */
	hf_mutex_t lock;               /* held over a read or write that moves the position */
	int64_t position;
	uint64_t listing_end; /* T9: cookies from here on are not of this listing */
	struct hf_detail_file *next_free;
};

#define HF_DETAIL_FILES 32

struct hf_detail_files {
	struct hf_detail_block block;
	struct hf_detail_file file[HF_DETAIL_FILES];
};

struct hf_tmpfs_table {
	struct hf_detail_block block;
	struct hf_detail_list siblings;
	unsigned int limit;
	struct hf_detail_block *slabs;
	HF_ALIGNED(64) hf_spinlock_t lock; /* L4: of all that follows, but for reading slots */
	struct hf_detail_file *free;
	unsigned int files;  /* in all slabs */
	unsigned int lowest; /* no free descriptor is in a word of the bitmap before this */
	uint64_t *used;      /* a bit a descriptor: taken, or about to be */
	_Atomic(struct hf_detail_file *) slot[];
};

struct hf_tmpfs {
	struct hf_detail_siphash_key key;
	struct hf_detail_dentry *root;  /* its name is empty, and in no directory */
	struct hf_detail_memory memory; /* if no other is chosen */
	struct hf_tmpfs_options options;
	uint64_t page_limit, inode_limit; /* UINT64_MAX = none */
	hf_mutex_t rename;                /* L1 */
	hf_mutex_t tables_lock;
	struct hf_detail_list tables;
	hf_spinlock_t nodes_lock; /* L4 */
	struct hf_detail_list nodes;
	atomic_uint_least64_t next_inode;
	HF_ALIGNED(64) atomic_uint_least64_t pages_used;
	atomic_uint_least64_t inodes_used;
	atomic_uint_least64_t allocated[HF_DETAIL_KINDS];
	/* What waits for a grace period, and in `waiting_bytes` also what a collector has taken. */
	HF_ALIGNED(64) _Atomic(struct hf_detail_block *) waiting;
	atomic_uint_least64_t waiting_bytes;
	hf_mutex_t collecting;    /* L5 */
	sem_t to_trim, trim_ends; /* something waits, where nothing did; go */
	pthread_t trimmer;
	atomic_uint_least64_t begun, ended; /* grace periods */
};

static inline bool hf_detail_is_dir(const struct hf_detail_inode *inode)
{
	return inode->type == S_IFDIR;
}

static inline struct hf_detail_inode *hf_detail_root(struct hf_tmpfs *fs)
{
	return fs->root->inode;
}

/* ---- fs.c ---------------------------------------------------------------------------------- */

/*
 * An object that begins with its block; NULL = no memory. Not cleared but for the block. May wait for
 * a grace period, as hf_detail_delete_later() may: not inside a read side, nor under a spinlock.
 */
HF_DETAIL_TMPFS void *hf_detail_new(struct hf_tmpfs *fs, enum hf_detail_kind kind, size_t size);
/* At once, or all of a chain after a grace period. */
HF_DETAIL_TMPFS void hf_detail_delete(struct hf_detail_block *block);
HF_DETAIL_TMPFS void hf_detail_delete_later(struct hf_detail_block *chain);
/* Waits for a grace period and frees all that has waited for it. */
HF_DETAIL_TMPFS void hf_detail_collect(struct hf_tmpfs *fs);
/* Has a grace period begun since the stamp was taken, and ended? */
HF_DETAIL_TMPFS uint64_t hf_detail_stamp(struct hf_tmpfs *fs);
HF_DETAIL_TMPFS bool hf_detail_passed(struct hf_tmpfs *fs, uint64_t stamp);

/* So many more in use, if the limit allows. */
HF_DETAIL_TMPFS bool hf_detail_reserve(atomic_uint_least64_t *used, uint64_t limit, uint64_t count);
HF_DETAIL_TMPFS void hf_detail_unreserve(atomic_uint_least64_t *used, uint64_t count);

HF_DETAIL_TMPFS struct timespec hf_detail_now(void);

/* For whom this thread acts: hf_tmpfs_act_as(). */
HF_DETAIL_TMPFS struct hf_tmpfs_caller hf_detail_caller(void);

/* ---- dentry.c ------------------------------------------------------------------------------ */

HF_DETAIL_TMPFS struct hf_detail_dentry *hf_detail_dentry_new(struct hf_tmpfs *fs, const char *name,
							      size_t length);
HF_DETAIL_TMPFS void hf_detail_dentry_put(struct hf_detail_dentry *dentry);
/* Read side held, or the directory's mutex: then nothing can take the name out. */
HF_DETAIL_TMPFS struct hf_detail_dentry *hf_detail_lookup(struct hf_detail_inode *dir,
							  const char *name, size_t length);
/*
 * The directory's mutex is held. The dentry gets the inode, whose reference it takes over. `add` may
 * fail with -ENOMEM, and nothing is changed; `replace` keeps the name's cookie (T9).
 */
HF_DETAIL_TMPFS int hf_detail_dentry_add(struct hf_detail_inode *dir,
					 struct hf_detail_dentry *dentry,
					 struct hf_detail_inode *inode);
HF_DETAIL_TMPFS void hf_detail_dentry_replace(struct hf_detail_inode *dir,
					      struct hf_detail_dentry *old,
					      struct hf_detail_dentry *dentry,
					      struct hf_detail_inode *inode);
HF_DETAIL_TMPFS void hf_detail_dentry_remove(struct hf_detail_inode *dir,
					     struct hf_detail_dentry *dentry);
/* Of a directory's entries the first with this cookie or a later one. Read side, or mutex, held. */
HF_DETAIL_TMPFS struct hf_detail_dentry *hf_detail_dentry_from(struct hf_detail_inode *dir,
							       uint64_t cookie);
/* Of a name, with the key of the file system. */
HF_DETAIL_TMPFS uint64_t hf_detail_hash(const struct hf_tmpfs *fs, const char *name, size_t length);

/* ---- walk.c -------------------------------------------------------------------------------- */

enum hf_detail_last {
	HF_DETAIL_LAST_NAME,
	HF_DETAIL_LAST_DOT,
	HF_DETAIL_LAST_DOTDOT,
	HF_DETAIL_LAST_ROOT
};

/* Where a path leads: the last component, and the directory that it is to be looked up in. */
struct hf_detail_walk {
	struct hf_tmpfs *fs;
	struct hf_detail_inode *dir; /* hf_detail_walk_parent(): a reference */
	enum hf_detail_last last;
	bool slash;    /* something ended in a slash: it must be a directory */
	bool too_long; /* hf_detail_walk_parent(): as name it is; said when it is looked up */
	const char *name;
	size_t length;
	/* What is still to be walked: this, then the stack from its top. */
	const char *rest;
	unsigned int links, depth;
	const char *stack[HF_TMPFS_SYMLINKS];
	char copy[HF_TMPFS_NAME_MAX + 1]; /* hf_detail_walk_parent(): of the name */
};

/* All from `dir`, or from the root if the path begins with a slash. The caller has `dir`. */

/* The entry that a path leads to, with a reference. */
HF_DETAIL_TMPFS int hf_detail_walk_entry(struct hf_detail_inode *dir, const char *path, bool follow,
					 struct hf_detail_dentry **found);
/* The directory of its last component, with a reference; the last one is not followed. */
HF_DETAIL_TMPFS int hf_detail_walk_parent(struct hf_detail_inode *dir, const char *path,
					  struct hf_detail_walk *walk);
/* The same for open(O_CREAT): the last one is followed, until it is no symlink. */
HF_DETAIL_TMPFS int hf_detail_walk_create(struct hf_detail_inode *dir, const char *path,
					  bool follow, struct hf_detail_walk *walk);

/* ---- inode.c ------------------------------------------------------------------------------- */

/* What is to be made. */
struct hf_detail_made {
	mode_t mode; /* with the type */
	dev_t device;
	const char *target; /* of a symlink; else NULL */
};

/*
 * One link, one reference; owner and mode as in `dir`, or without one. Takes an inode of the limit:
 * -ENOSPC.
 */
HF_DETAIL_TMPFS int hf_detail_inode_new(struct hf_tmpfs *fs, const struct hf_detail_inode *dir,
					const struct hf_detail_made *what,
					struct hf_detail_inode **inode);
HF_DETAIL_TMPFS void hf_detail_inode_put(struct hf_detail_inode *inode);
HF_DETAIL_TMPFS void hf_detail_inode_stat(struct hf_detail_inode *inode, struct stat *to);
/* Its contents, or only its attributes, have changed. */
HF_DETAIL_TMPFS void hf_detail_touch(struct hf_detail_inode *inode);
HF_DETAIL_TMPFS void hf_detail_touch_attributes(struct hf_detail_inode *inode);
/* Its contents have been read. */
HF_DETAIL_TMPFS void hf_detail_accessed(struct hf_detail_inode *inode);
/* The mutex is held: its contents change, so it loses the bits that its new contents may not have. */
HF_DETAIL_TMPFS void hf_detail_drop_setuid(struct hf_detail_inode *inode);

/* ---- node.c -------------------------------------------------------------------------------- */

/* One more reference to the node of an inode that the caller has. */
HF_DETAIL_TMPFS struct hf_tmpfs_node *hf_detail_node_get(struct hf_detail_inode *inode);

/* ---- name.c -------------------------------------------------------------------------------- */

/* open(O_CREAT): the entry, made if it is not there. */
HF_DETAIL_TMPFS int hf_detail_create(struct hf_detail_inode *dir, const char *path, int flags,
				     mode_t mode, struct hf_detail_dentry **found);
/* open(O_TMPFILE): an inode without a name, in the directory that the path leads to. */
HF_DETAIL_TMPFS int hf_detail_create_nameless(struct hf_detail_inode *dir, const char *path,
					      int flags, mode_t mode,
					      struct hf_detail_inode **made);

/* ---- xattr.c ------------------------------------------------------------------------------- */

/* Nobody else has the inode. */
HF_DETAIL_TMPFS void hf_detail_xattrs_free(struct hf_detail_inode *inode);
/* The pages of the limit that so many bytes take. */
HF_DETAIL_TMPFS uint64_t hf_detail_xattr_pages(uint64_t bytes);

/* ---- pages.c ------------------------------------------------------------------------------- */

/* Read side or mutex held. NULL: a hole, of *hole items at least. */
HF_DETAIL_TMPFS struct hf_detail_block *hf_detail_tree_find(struct hf_detail_inode *inode,
							    uint64_t index, uint64_t *hole);
/* The rest: mutex held, or nobody else has the inode. Insertion: -ENOMEM, and nothing is changed. */
HF_DETAIL_TMPFS int hf_detail_tree_insert(struct hf_detail_inode *inode, uint64_t index,
					  struct hf_detail_block *item);
/* In the place of one that is there. */
HF_DETAIL_TMPFS void hf_detail_tree_replace(struct hf_detail_inode *inode, uint64_t index,
					    struct hf_detail_block *item);
/* Takes one item out, which stays; the tree's nodes go. */
HF_DETAIL_TMPFS void hf_detail_tree_remove(struct hf_detail_inode *inode, uint64_t index);

/* The same of pages. */
HF_DETAIL_TMPFS struct hf_detail_page *hf_detail_page_find(struct hf_detail_inode *inode,
							   uint64_t index, uint64_t *hole);
HF_DETAIL_TMPFS int hf_detail_page_new(struct hf_tmpfs *fs, struct hf_detail_page **page);
HF_DETAIL_TMPFS void hf_detail_page_free(struct hf_detail_page *page); /* never inserted */
HF_DETAIL_TMPFS int hf_detail_page_insert(struct hf_detail_inode *inode, uint64_t index,
					  struct hf_detail_page *page);
/* From `first` up to and without `end`. */
HF_DETAIL_TMPFS void hf_detail_pages_remove(struct hf_detail_inode *inode, uint64_t first,
					    uint64_t end);
HF_DETAIL_TMPFS void
hf_detail_pages_free(struct hf_detail_inode *inode); /* all, at once: the inode is dead */

/* ---- data.c -------------------------------------------------------------------------------- */

HF_DETAIL_TMPFS int hf_detail_truncate(struct hf_detail_inode *inode, int64_t size);

/* ---- table.c ------------------------------------------------------------------------------- */

HF_DETAIL_TMPFS struct hf_detail_file *hf_detail_file_get(struct hf_tmpfs_table *table, int fd);
HF_DETAIL_TMPFS void hf_detail_file_put(struct hf_tmpfs_table *table, struct hf_detail_file *file);

/* ---- lists --------------------------------------------------------------------------------- */

static inline void hf_detail_list_init(struct hf_detail_list *list)
{
	list->next = list->previous = list;
}

static inline void hf_detail_list_add_last(struct hf_detail_list *list,
					   struct hf_detail_list *entry)
{
	entry->previous = list->previous;
	entry->next = list;
	list->previous->next = entry;
	list->previous = entry;
}

static inline void hf_detail_list_remove(struct hf_detail_list *entry)
{
	entry->previous->next = entry->next;
	entry->next->previous = entry->previous;
}

#define HF_DETAIL_OBJECT(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static inline struct hf_detail_inode *hf_detail_inode_of(struct hf_tmpfs_node *node)
{
	return HF_DETAIL_OBJECT(node, struct hf_detail_inode, node);
}

#endif
