/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_PAGES_H
#define HF_TMPFS_PAGES_H
/* pages - a radix tree, read without a lock: a file's pages, a directory's entries. See pages.c; T5, T6. */
#include "objects.h"

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

struct tmpfs_tree {
	_Atomic(struct tmpfs_node *) root;
	uint64_t items, nodes; /* under the mutex of the inode that has the tree */
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

/* Read side or mutex held. NULL: a hole, of *hole items at least. */
TMPFS_PRIVATE struct tmpfs_block *tmpfs_tree_find(struct tmpfs_tree *tree, uint64_t index,
						  uint64_t *hole);
/* The rest: mutex held, or nobody else has the inode. Insertion: -ENOMEM, and nothing is changed. */
TMPFS_PRIVATE int tmpfs_tree_insert(struct tmpfs_tree *tree, uint64_t index,
				    struct tmpfs_block *item);
/* In the place of one that is there. */
TMPFS_PRIVATE void tmpfs_tree_replace(struct tmpfs_tree *tree, uint64_t index,
				      struct tmpfs_block *item);
/* Takes one item out, which stays; the tree's nodes go. */
TMPFS_PRIVATE void tmpfs_tree_remove(struct tmpfs_tree *tree, uint64_t index);

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
TMPFS_PRIVATE struct tmpfs_page *tmpfs_page_find(struct tmpfs_tree *tree, uint64_t index,
						 uint64_t *hole);
TMPFS_PRIVATE int tmpfs_page_new(struct hf_tmpfs *fs, struct tmpfs_page **page);
TMPFS_PRIVATE void tmpfs_page_free(struct tmpfs_page *page); /* never inserted */
TMPFS_PRIVATE int tmpfs_page_insert(struct tmpfs_tree *tree, uint64_t index,
				    struct tmpfs_page *page);
/* From `first` up to and without `end`. */
TMPFS_PRIVATE void tmpfs_pages_remove(struct tmpfs_tree *tree, uint64_t first, uint64_t end);
TMPFS_PRIVATE void tmpfs_pages_free(struct tmpfs_tree *tree); /* all, at once: the inode is dead */

#endif
