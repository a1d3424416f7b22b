/* SPDX-License-Identifier: MIT */
/*
 * pages - a radix tree of a file's pages by index, or a directory's entries by cookie; its height
 * depends on the largest index.
 *
 *   root  shift 12   [ . | . | . ]            one slot: 4096 items
 *                      |
 *         shift 6    [ . |   | . ]            one slot: 64 items
 *                      |       |
 *         shift 0    [p|p|..] [ | |p]         one slot: an item
 *
 * Readers descend from the root in a read-side section; slots are stored with release and loaded
 * with acquire (T6). Removed blocks are chained and freed after a grace period (T5).
 */
#include <errno.h>

#include "pages.h"

#define LEVELS 11        /* of 6 bits: more than an index has */
#define PIECE (1u << 20) /* bytes that are removed before they are freed */

static struct tmpfs_node *as_node(struct tmpfs_block *block)
{
	return TMPFS_OBJECT(block, struct tmpfs_node, block);
}

static struct tmpfs_page *as_page(struct tmpfs_block *block)
{
	return TMPFS_OBJECT(block, struct tmpfs_page, block);
}

static struct tmpfs_block *load(_Atomic(struct tmpfs_block *) *slot)
{
	return atomic_load_explicit(slot, memory_order_acquire);
}

static void store(_Atomic(struct tmpfs_block *) *slot, struct tmpfs_block *block)
{
	atomic_store_explicit(slot, block, memory_order_release);
}

/* Whether the index is within the node's range. */
static bool covers(const struct tmpfs_node *node, uint64_t index)
{
	return index >> node->shift < TMPFS_NODE_SLOTS;
}

static unsigned int slot_of(const struct tmpfs_node *node, uint64_t index)
{
	return (unsigned int)(index >> node->shift) % TMPFS_NODE_SLOTS;
}

TMPFS_PRIVATE struct tmpfs_block *tmpfs_tree_find(struct tmpfs_tree *tree, uint64_t index,
						  uint64_t *hole)
{
	struct tmpfs_node *node = atomic_load_explicit(&tree->root, memory_order_acquire);

	if (!node || !covers(node, index)) {
		*hole = TMPFS_INDEX_END - index;
		return NULL;
	}
	for (;;) {
		unsigned int i = slot_of(node, index);
		struct tmpfs_block *block = load(&node->slot[i]);
		uint64_t end;

		if (block && node->shift == 0)
			return block;
		if (block) {
			node = as_node(block);
			continue;
		}
		/* The hole ends with the last of this and the following empty slots. */
		for (end = (index >> node->shift) + 1, i++;
		     i < TMPFS_NODE_SLOTS && !load(&node->slot[i]); i++)
			end++;
		end = end > TMPFS_INDEX_END >> node->shift ? TMPFS_INDEX_END : end << node->shift;
		*hole = end - index;
		return NULL;
	}
}

TMPFS_PRIVATE struct tmpfs_page *tmpfs_page_find(struct tmpfs_tree *tree, uint64_t index,
						 uint64_t *hole)
{
	struct tmpfs_block *block = tmpfs_tree_find(tree, index, hole);

	return block ? as_page(block) : NULL;
}

/* ---- in ------------------------------------------------------------------------------------ */

TMPFS_PRIVATE int tmpfs_page_new(struct hf_tmpfs *fs, struct tmpfs_page **page)
{
	struct tmpfs_page *made;

	if (!tmpfs_reserve(&fs->pages_used, fs->page_limit, 1))
		return -ENOSPC;
	made = tmpfs_object_new(fs, TMPFS_KIND_PAGE, sizeof(*made));
	if (!made) {
		tmpfs_unreserve(&fs->pages_used, 1);
		return -ENOMEM;
	}
	atomic_init(&made->written, false);
	made->fresh = false;
	*page = made;
	return 0;
}

TMPFS_PRIVATE void tmpfs_page_free(struct tmpfs_page *page)
{
	tmpfs_unreserve(&page->block.fs->pages_used, 1);
	tmpfs_object_delete(&page->block);
}

/* Allocates all nodes of one insertion before the tree is changed. */
static bool take_nodes(struct hf_tmpfs *fs, struct tmpfs_node **nodes, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		nodes[i] = tmpfs_object_new(fs, TMPFS_KIND_NODE, sizeof(struct tmpfs_node));
		if (!nodes[i]) {
			while (i > 0)
				tmpfs_object_delete(&nodes[--i]->block);
			return false;
		}
		nodes[i]->used = 0;
		for (unsigned int j = 0; j < TMPFS_NODE_SLOTS; j++)
			atomic_init(&nodes[i]->slot[j], NULL);
	}
	return true;
}

static uint64_t items_of(const struct tmpfs_tree *tree)
{
	return atomic_load_explicit(&tree->items, memory_order_relaxed);
}

/* Under the tree's mutex; stat reads the number without it. */
static void set_items(struct tmpfs_tree *tree, uint64_t items)
{
	atomic_store_explicit(&tree->items, items, memory_order_relaxed);
}

/* `charged`: its nodes count against the limit, tmpfs_tree_pages(). */
static int insert(struct tmpfs_tree *tree, uint64_t index, struct tmpfs_block *item, bool charged)
{
	struct hf_tmpfs *fs = item->fs;
	uint64_t before, after;
	struct tmpfs_node *root = atomic_load_explicit(&tree->root, memory_order_relaxed);
	struct tmpfs_node *node, *at = root, *nodes[2 * LEVELS];
	unsigned int shift, above = 0, below = 0, next = 0;

	/*
	 * Count the nodes to add above the root, and below the deepest existing node on the path.
	 */
	shift = root ? root->shift : 0;
	while (index >> shift >= TMPFS_NODE_SLOTS) {
		shift += TMPFS_NODE_BITS;
		above += root != NULL;
	}
	if (!root) {
		below = shift / TMPFS_NODE_BITS + 1;
	} else if (above) {
		below = shift / TMPFS_NODE_BITS;
	} else {
		while (at->shift > 0 && load(&at->slot[slot_of(at, index)]))
			at = as_node(load(&at->slot[slot_of(at, index)]));
		below = at->shift / TMPFS_NODE_BITS;
	}
	before = charged ? tmpfs_tree_pages(items_of(tree), tree->nodes) : 0;
	after = charged ? tmpfs_tree_pages(items_of(tree) + 1, tree->nodes + above + below) : 0;
	if (after > before && !tmpfs_reserve(&fs->pages_used, fs->page_limit, after - before))
		return -ENOSPC;
	if (!take_nodes(fs, nodes, above + below)) {
		if (after > before)
			tmpfs_unreserve(&fs->pages_used, after - before);
		return -ENOMEM;
	}
	if (after < before)
		tmpfs_unreserve(&fs->pages_used, before - after);
	tree->nodes += above + below;

	while (next < above) {
		node = nodes[next++];
		node->shift = root->shift + TMPFS_NODE_BITS;
		node->used = 1;
		store(&node->slot[0], &root->block);
		root = node;
	}
	if (!root) {
		root = nodes[next++];
		root->shift = shift;
	}
	/* At each step readers still find the existing items. */
	atomic_store_explicit(&tree->root, root, memory_order_release);
	for (at = root; at->shift > 0; at = node) {
		_Atomic(struct tmpfs_block *) *slot = &at->slot[slot_of(at, index)];

		if (load(slot)) {
			node = as_node(load(slot));
			continue;
		}
		node = nodes[next++];
		node->shift = at->shift - TMPFS_NODE_BITS;
		at->used++;
		store(slot, &node->block);
	}
	at->used++;
	store(&at->slot[slot_of(at, index)], item);
	set_items(tree, items_of(tree) + 1);
	return 0;
}

TMPFS_PRIVATE int tmpfs_tree_insert(struct tmpfs_tree *tree, uint64_t index,
				    struct tmpfs_block *item)
{
	return insert(tree, index, item, false);
}

TMPFS_PRIVATE void tmpfs_tree_replace(struct tmpfs_tree *tree, uint64_t index,
				      struct tmpfs_block *item)
{
	struct tmpfs_node *at = atomic_load_explicit(&tree->root, memory_order_relaxed);

	while (at->shift > 0)
		at = as_node(load(&at->slot[slot_of(at, index)]));
	store(&at->slot[slot_of(at, index)], item);
}

TMPFS_PRIVATE int tmpfs_page_insert(struct tmpfs_tree *tree, uint64_t index,
				    struct tmpfs_page *page)
{
	page->index = index;
	return insert(tree, index, &page->block, true);
}

/* ---- out ----------------------------------------------------------------------------------- */

struct removal {
	struct tmpfs_tree *tree;
	uint64_t first, last; /* both included */
	bool keep;            /* free the nodes only, not the items */
	struct tmpfs_block *chain;
	uint64_t bytes; /* of the chain: it ends with PIECE */
};

static void chain_up(struct removal *removal, struct tmpfs_block *block)
{
	block->next = removal->chain;
	removal->chain = block;
	removal->bytes += block->size;
}

/* Recursive, at most LEVELS deep. `base` is the index of the node's first item. */
static void remove_from(struct removal *removal, struct tmpfs_node *node, uint64_t base)
{
	uint64_t first = removal->first > base ? removal->first : base;
	unsigned int end = TMPFS_NODE_SLOTS;

	if (covers(node, removal->last - base))
		end = slot_of(node, removal->last) + 1;
	for (unsigned int i = slot_of(node, first); i < end && removal->bytes < PIECE; i++) {
		struct tmpfs_block *block = load(&node->slot[i]);

		if (!block)
			continue;
		if (node->shift == 0) {
			set_items(removal->tree, items_of(removal->tree) - 1);
		} else {
			remove_from(removal, as_node(block), base + ((uint64_t)i << node->shift));
			if (as_node(block)->used > 0)
				continue;
			removal->tree->nodes--;
		}
		store(&node->slot[i], NULL);
		node->used--;
		if (node->shift > 0 || !removal->keep)
			chain_up(removal, block);
	}
}

/* Takes out a piece of the range; NULL = nothing is left. */
static struct tmpfs_block *take_out(struct tmpfs_tree *tree, uint64_t first, uint64_t end,
				    bool keep)
{
	struct tmpfs_node *root = atomic_load_explicit(&tree->root, memory_order_relaxed);
	struct removal removal = { tree, first, end - 1, keep, NULL, 0 };
	uint64_t before = items_of(tree) + tmpfs_tree_pages(items_of(tree), tree->nodes);

	if (!root || first >= end || !covers(root, first))
		return NULL;
	remove_from(&removal, root, 0);
	if (root->used == 0) {
		atomic_store_explicit(&tree->root, NULL, memory_order_relaxed);
		tree->nodes--;
		chain_up(&removal, &root->block);
	}
	if (!keep)
		tmpfs_unreserve(
			&root->block.fs->pages_used,
			before - items_of(tree) - tmpfs_tree_pages(items_of(tree), tree->nodes));
	return removal.chain;
}

TMPFS_PRIVATE void tmpfs_pages_remove(struct tmpfs_tree *tree, uint64_t first, uint64_t end)
{
	struct tmpfs_block *chain;

	while ((chain = take_out(tree, first, end, false)))
		tmpfs_object_delete_later(chain);
}

TMPFS_PRIVATE void tmpfs_tree_remove(struct tmpfs_tree *tree, uint64_t index)
{
	tmpfs_object_delete_later(take_out(tree, index, index + 1, true));
}

TMPFS_PRIVATE void tmpfs_pages_free(struct tmpfs_tree *tree)
{
	struct tmpfs_block *chain;

	while ((chain = take_out(tree, 0, TMPFS_INDEX_END, false)))
		(void)tmpfs_objects_delete(chain);
}
