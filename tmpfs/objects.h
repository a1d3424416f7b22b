/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_OBJECTS_H
#define HF_TMPFS_OBJECTS_H
/* objects - the memory of all objects, what waits to be freed, and the limits. T10, L5 in docs/design/0012-tmpfs.md. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "holdfast/mutex.h"
#include "holdfast/spinlock.h"

#include "base.h"
#include "list.h"
#include "memory.h"
#include "rcu.h"
#include "siphash.h"
#include "tmpfs.h"

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

struct tmpfs_dentry;

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

/* Functions of our own, where the program has none. */
TMPFS_PRIVATE void tmpfs_choose_memory(struct hf_tmpfs_options *options);

/* The thread that frees what has waited long enough. */
TMPFS_PRIVATE int tmpfs_begin_trim(struct hf_tmpfs *fs);
TMPFS_PRIVATE void tmpfs_end_trim(struct hf_tmpfs *fs);

#endif
