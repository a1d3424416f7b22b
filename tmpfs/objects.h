/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_OBJECTS_H
#define HF_TMPFS_OBJECTS_H
/* objects - allocation, deferred freeing, limits. T10, L5 in docs/design/0012-tmpfs.md. */
#include <pthread.h>
#include <stdatomic.h>

#include "holdfast/cond.h"
#include "holdfast/mutex.h"
#include "holdfast/spinlock.h"

#include "base.h"
#include "clock.h"
#include "list.h"
#include "memory.h"
#include "rcu.h"
#include "siphash.h"
#include "tmpfs.h"

/*
 * Bytes waiting for a grace period: above SOFT a call that frees collects, unless another does so;
 * above HARD it waits for the other.
 */
#define TMPFS_WAITING_SOFT (256u << 10)
#define TMPFS_WAITING_HARD (4u << 20)
#define TMPFS_TRIM_MILLISECONDS 20 /* delay until the trim thread collects less than SOFT */

enum tmpfs_kind {
	TMPFS_KIND_DENTRY,
	TMPFS_KIND_INODE,
	TMPFS_KIND_TARGET, /* of a symlink */
	TMPFS_KIND_PAGE,
	TMPFS_KIND_NODE,
	TMPFS_KIND_NAMES,
	TMPFS_KIND_FILES,
	TMPFS_KIND_TABLE,
	TMPFS_KINDS
};

/* Every object that is allocated begins with this. */
struct tmpfs_block {
	struct tmpfs_block *next; /* waiting for a grace period */
	struct hf_tmpfs *fs;
	enum tmpfs_kind kind;
	uint32_t size; /* of the whole object */
};

struct tmpfs_inode;

struct hf_tmpfs {
	struct tmpfs_siphash_key key;
	struct tmpfs_inode *root;   /* a reference */
	struct tmpfs_memory memory; /* unless the program has its own allocate() */
	struct tmpfs_clock clock;
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
	/*
	 * Blocks waiting for a grace period; `waiting_bytes` includes those that a collector has
	 * taken.
	 */
	_Alignas(64) _Atomic(struct tmpfs_block *) waiting;
	atomic_uint_least64_t waiting_bytes;
	hf_mutex_t collecting; /* L5 */
	hf_mutex_t trim_lock;  /* L5: guards the next three */
	hf_cond_t trim;
	bool to_trim, trim_ends; /* the waiting list is no longer empty; exit */
	pthread_t trimmer;
	atomic_uint_least64_t begun, ended; /* grace periods */
};

/*
 * Allocates an object, which starts with its block; only the block is initialized. NULL = no
 * memory. Not under a spinlock.
 */
TMPFS_PRIVATE void *tmpfs_object_new(struct hf_tmpfs *fs, enum tmpfs_kind kind, size_t size);
/*
 * Frees one object, or a chain, at once; a chain after a grace period, for which it may wait: not
 * in a read-side section.
 */
TMPFS_PRIVATE void tmpfs_object_delete(struct tmpfs_block *block);
TMPFS_PRIVATE uint64_t tmpfs_objects_delete(struct tmpfs_block *chain); /* returns the bytes */
TMPFS_PRIVATE void tmpfs_object_delete_later(struct tmpfs_block *chain);
/* Waits for a grace period, then frees everything on the waiting list. */
TMPFS_PRIVATE void tmpfs_collect(struct hf_tmpfs *fs);
/* passed(): whether a grace period has begun and ended since the stamp was taken. */
TMPFS_PRIVATE uint64_t tmpfs_stamp(struct hf_tmpfs *fs);
TMPFS_PRIVATE bool tmpfs_passed(struct hf_tmpfs *fs, uint64_t stamp);

/* Adds to the amount in use; false, and no change, if that would exceed the limit. */
TMPFS_PRIVATE bool tmpfs_reserve(atomic_uint_least64_t *used, uint64_t limit, uint64_t count);
TMPFS_PRIVATE void tmpfs_unreserve(atomic_uint_least64_t *used, uint64_t count);

/* The user that this thread acts for: hf_tmpfs_act_as(). */
TMPFS_PRIVATE void tmpfs_caller(uid_t *uid, gid_t *gid);

/* Sets the default allocation functions if the program has none. */
TMPFS_PRIVATE void tmpfs_choose_memory(struct hf_tmpfs_options *options);

/* The thread that frees small amounts after a delay. */
TMPFS_PRIVATE int tmpfs_begin_trim(struct hf_tmpfs *fs);
TMPFS_PRIVATE void tmpfs_end_trim(struct hf_tmpfs *fs);

#endif
