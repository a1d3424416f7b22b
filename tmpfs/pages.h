/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_PAGES_H
#define HF_TMPFS_PAGES_H
/*
 * pages - a radix tree, read without a lock, of a file's pages or a directory's entries. T5, T6 in
 * docs/design/0012-tmpfs.md.
 */
#include "objects.h"

#define TMPFS_NODE_BITS 6
#define TMPFS_NODE_SLOTS (1 << TMPFS_NODE_BITS)

/*
 * slot[i] covers 2^shift items; it points to an item if shift is 0, else to a node. Changed under
 * the tree's mutex: a file's `contents`, or a directory's `lock`. Every node has at least one slot
 * in use.
 */
struct tmpfs_node {
	struct tmpfs_block block;
	unsigned int shift;
	unsigned int used;
	_Atomic(struct tmpfs_block *) slot[TMPFS_NODE_SLOTS];
};

struct tmpfs_tree {
	_Atomic(struct tmpfs_node *) root;
	atomic_uint_least64_t items; /* changed under the mutex of the tree */
	uint64_t nodes;              /* under the mutex */
};

/* Above every index: byte offsets of pages below it fit in 64 bits. */
#define TMPFS_INDEX_END (UINT64_MAX / HF_TMPFS_PAGE)

struct tmpfs_page {
	struct tmpfs_block block;
	/*
	 * false: allocated by fallocate and not written; read() and SEEK_HOLE treat it as a hole.
	 */
	atomic_bool written;
	bool fresh;     /* inserted by the current fallocate; under `contents` */
	uint64_t index; /* for the check */
	_Alignas(64) char data[HF_TMPFS_PAGE];
};

/* In a read-side section or under the mutex. NULL = a hole of at least *hole items. */
TMPFS_PRIVATE struct tmpfs_block *tmpfs_tree_find(struct tmpfs_tree *tree, uint64_t index,
						  uint64_t *hole);
/*
 * The rest: under the mutex, or with the only reference. Insertion may fail with -ENOMEM, changing
 * nothing.
 */
TMPFS_PRIVATE int tmpfs_tree_insert(struct tmpfs_tree *tree, uint64_t index,
				    struct tmpfs_block *item);
/* Replaces an existing item. */
TMPFS_PRIVATE void tmpfs_tree_replace(struct tmpfs_tree *tree, uint64_t index,
				      struct tmpfs_block *item);
/* Removes one item without freeing it; empty nodes are freed. */
TMPFS_PRIVATE void tmpfs_tree_remove(struct tmpfs_tree *tree, uint64_t index);

/*
 * How many pages the nodes of a file's tree count as. One node for each page and TMPFS_NODES_FREE
 * more are free, so only very sparse files are charged. Removing pages never increases the total of
 * pages and charge, because each leaf has a page.
 */
#define TMPFS_NODES_FREE 4
static inline uint64_t tmpfs_tree_pages(uint64_t items, uint64_t nodes)
{
	uint64_t free_nodes = items + TMPFS_NODES_FREE;
	uint64_t bytes = nodes > free_nodes ? (nodes - free_nodes) * sizeof(struct tmpfs_node) : 0;

	return (bytes + HF_TMPFS_PAGE - 1) / HF_TMPFS_PAGE;
}

/* The same for pages. Insertion may also fail with -ENOSPC. */
TMPFS_PRIVATE struct tmpfs_page *tmpfs_page_find(struct tmpfs_tree *tree, uint64_t index,
						 uint64_t *hole);
TMPFS_PRIVATE int tmpfs_page_new(struct hf_tmpfs *fs, struct tmpfs_page **page);
TMPFS_PRIVATE void tmpfs_page_free(struct tmpfs_page *page); /* never inserted */
TMPFS_PRIVATE int tmpfs_page_insert(struct tmpfs_tree *tree, uint64_t index,
				    struct tmpfs_page *page);
/*
 * From `first` up to and without `end`, in pieces: the space of a piece becomes free when its
 * memory begins to wait for a grace period, so memory that still waits is bounded.
 */
TMPFS_PRIVATE void tmpfs_pages_remove(struct tmpfs_tree *tree, uint64_t first, uint64_t end);
/* All of them, without a grace period: the inode is dead. */
TMPFS_PRIVATE void tmpfs_pages_free(struct tmpfs_tree *tree);

#endif
