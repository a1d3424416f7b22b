/* SPDX-License-Identifier: MIT */
/*
 * check - walk every reachable object and compare each count with the references found.
 *
 *   tables  -> files, and how many descriptors each has   -> a dentry for each
 *   root    -> dentries                                   -> an inode for each, and its pages
 *   dentries of open files that are in no directory       -> their inodes
 *   nodes, and files opened by node                       -> their inodes
 *
 * Then each object's count is compared with the references found, and the number of objects of each
 * kind with the number allocated, which differs if an object was lost.
 */
#include <errno.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "table.h"

#define N(number) ((unsigned long long)(number)) /* for %llu */

/* An object, and the references to it that have been found. */
struct found {
	const void *object;
	enum tmpfs_kind kind; /* TMPFS_KIND_FILES: one file */
	int64_t refs;
	int64_t links; /* dentries in the tree; of a directory: subdirectories */
	bool in_tree;
	struct found *next, *next_dir; /* all objects; directories to be visited */
};

struct check {
	struct hf_tmpfs *fs;
	void (*tell)(void *data, const char *line);
	void *data;
	int faults;
	bool no_memory;
	void *tree; /* tsearch() by address */
	struct found *all, *dirs, spare;
	uint64_t objects[TMPFS_KINDS], other_pages;
};

__attribute__((format(printf, 3, 4))) static bool expect(struct check *c, bool ok,
							 const char *format, ...)
{
	char line[400];
	va_list arguments;

	if (ok)
		return true;
	c->faults++;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (c->tell)
		c->tell(c->data, line);
	else
		fprintf(stderr, "tmpfs check: %s\n", line);
	return false;
}

/* ---- objects found ------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	uintptr_t one = (uintptr_t)((const struct found *)a)->object;
	uintptr_t other = (uintptr_t)((const struct found *)b)->object;

	return (one > other) - (one < other);
}

/* The entry of an object, which is new if it has no references. Without memory, an unused entry. */
static struct found *find(struct check *c, const void *object, enum tmpfs_kind kind)
{
	struct found *made = malloc(sizeof(*made)), **at;

	c->spare = (struct found){ .object = object, .kind = kind, .next = c->all };
	if (made)
		*made = c->spare;
	at = made ? tsearch(made, &c->tree, compare) : NULL;
	if (!at || *at != made)
		free(made);
	if (!at) {
		c->no_memory = true;
		return &c->spare;
	}
	if (*at == made)
		c->all = made;
	return *at;
}

/* ---- pages --------------------------------------------------------------------------------- */

static void check_page(struct check *c, struct tmpfs_inode *inode, struct tmpfs_page *page,
		       uint64_t index)
{
	uint64_t size = atomic_load(&inode->size), begin = index * HF_TMPFS_PAGE, from = 0;

	c->objects[TMPFS_KIND_PAGE]++;
	expect(c, page->index == index, "inode %llu: page %llu is labelled %llu", N(inode->number),
	       N(index), N(page->index));
	if (size > begin)
		from = size - begin < HF_TMPFS_PAGE ? size - begin : HF_TMPFS_PAGE;
	for (; from < HF_TMPFS_PAGE; from++) {
		if (!expect(c, page->data[from] == 0, "inode %llu: not 0 after the end, page %llu",
			    N(inode->number), N(index)))
			break;
	}
}

static void check_node(struct check *c, struct tmpfs_inode *inode, struct tmpfs_node *node,
		       uint64_t base, uint64_t *items, uint64_t *nodes)
{
	unsigned int used = 0;

	(*nodes)++;
	c->objects[TMPFS_KIND_NODE]++;
	for (uint64_t i = 0; i < TMPFS_NODE_SLOTS; i++) {
		struct tmpfs_block *block = atomic_load(&node->slot[i]);
		uint64_t index = base + (i << node->shift);

		if (!block)
			continue;
		used++;
		if (node->shift == 0) {
			(*items)++;
			if (!tmpfs_is_dir(inode)) /* else check_dir() */
				check_page(c, inode, TMPFS_OBJECT(block, struct tmpfs_page, block),
					   index);
			continue;
		}
		struct tmpfs_node *below = TMPFS_OBJECT(block, struct tmpfs_node, block);

		if (expect(c, below->shift + TMPFS_NODE_BITS == node->shift,
			   "inode %llu: a node of shift %u below one of %u", N(inode->number),
			   below->shift, node->shift))
			check_node(c, inode, below, index, items, nodes);
	}
	expect(c, used == node->used && used > 0, "inode %llu: a node has %u slots in use, says %u",
	       N(inode->number), used, node->used);
}

/* ---- inodes and dentries ------------------------------------------------------------------- */

/* Counts a reference to an inode; if the inode is new, also what it refers to. */
static void refer(struct check *c, struct tmpfs_inode *inode, bool in_tree)
{
	while (inode) {
		struct found *found = find(c, inode, TMPFS_KIND_INODE);
		struct tmpfs_node *root;
		uint64_t items = 0, nodes = 0;

		if (in_tree && !tmpfs_is_dir(inode)) {
			found->links++;
		} else if (in_tree && !found->in_tree && !c->no_memory) {
			found->next_dir = c->dirs;
			c->dirs = found;
		}
		found->in_tree |= in_tree;
		if (found->refs++ > 0)
			return;
		c->objects[TMPFS_KIND_INODE]++;
		c->objects[TMPFS_KIND_TARGET] += inode->target != NULL;
		if (inode->target)
			c->other_pages += tmpfs_target_pages(inode->size);
		if (inode->type == S_IFREG)
			c->other_pages += tmpfs_tree_pages(inode->tree.items, inode->tree.nodes);
		c->objects[TMPFS_KIND_NAMES] += atomic_load(&inode->names) != NULL;
		root = atomic_load(&inode->tree.root);
		if (root)
			check_node(c, inode, root, 0, &items, &nodes);
		expect(c, items == inode->tree.items && nodes == inode->tree.nodes,
		       "inode %llu: %llu items, count %llu; %llu nodes, count %llu",
		       N(inode->number), N(items), N(inode->tree.items), N(nodes),
		       N(inode->tree.nodes));
		if (!tmpfs_is_dir(inode) || inode == c->fs->root)
			return;
		/* Its `parent`, which no dentry reaches if both have been removed. */
		inode = atomic_load(&inode->parent);
		in_tree = false;
	}
}

/* The hash table contains exactly the names that the directory lists. */
static void check_names(struct check *c, struct tmpfs_inode *dir)
{
	struct tmpfs_names *names = atomic_load(&dir->names);
	uint64_t hashed = 0;

	if (!names)
		return;
	for (uint64_t i = 0; i <= names->mask; i++) {
		for (struct tmpfs_dentry *at = atomic_load(&names->bucket[i]); at;
		     at = atomic_load(&at->chain[names->which])) {
			hashed++;
			expect(c, (at->hash & names->mask) == i && at->dir == dir,
			       "%s: in the wrong chain", at->name);
		}
	}
	expect(c, hashed == dir->tree.items,
	       "directory %llu lists %llu names, and its hash table has %llu", N(dir->number),
	       N(dir->tree.items), N(hashed));
}

static void check_dir(struct check *c, struct tmpfs_inode *dir)
{
	uint64_t entries = 0;
	int64_t subdirs = 0;
	uint64_t cookie = 2;
	struct tmpfs_dentry *dentry;
	struct found *found;

	for (dentry = tmpfs_dentry_from(dir, 0); dentry;
	     dentry = tmpfs_dentry_from(dir, dentry->cookie + 1)) {
		struct tmpfs_inode *inode = dentry->inode;

		entries++;
		expect(c, dentry->dir == dir, "%s: listed by the wrong directory", dentry->name);
		expect(c, dentry->cookie > cookie && dentry->cookie < dir->next_cookie,
		       "%s: cookie out of order", dentry->name);
		cookie = dentry->cookie;
		expect(c, tmpfs_lookup(dir, dentry->name, dentry->length) == dentry,
		       "%s: listed, but not found by its name", dentry->name);
		found = find(c, dentry, TMPFS_KIND_DENTRY);
		expect(c, !found->in_tree, "%s: listed twice", dentry->name);
		found->in_tree = true;
		found->refs++;
		refer(c, inode, true);
		if (!tmpfs_is_dir(inode))
			continue;
		subdirs++;
		expect(c, atomic_load(&inode->parent) == dir, "%s: `parent` is another directory",
		       dentry->name);
		expect(c, !inode->removed, "%s: marked as removed, but listed", dentry->name);
	}
	check_names(c, dir);
	expect(c, entries == dir->tree.items, "directory %llu has %llu entries, its count is %llu",
	       N(dir->number), N(entries), N(dir->tree.items));
	find(c, dir, TMPFS_KIND_INODE)->links += subdirs;
}

/* ---- open files ---------------------------------------------------------------------------- */

static void check_table(struct check *c, struct hf_tmpfs_table *table)
{
	uint64_t open = 0, free_files = 0, slabs = 0, lowest = table->limit;

	c->objects[TMPFS_KIND_TABLE]++;
	expect(c, !hf_spinlock_is_locked(&table->lock), "a table's lock is held");
	for (unsigned int fd = 0; fd < table->limit; fd++) {
		struct tmpfs_file *file = atomic_load(&table->slot[fd]);

		expect(c, !!file == (table->used[fd / 64] >> fd % 64 & 1),
		       "descriptor %u: its slot and its bit differ", fd);
		if (!file && fd < lowest)
			lowest = fd;
		if (!file)
			continue;
		if (find(c, file, TMPFS_KIND_FILES)->refs++ > 0)
			continue; /* a duplicate */
		open++;
		if (!expect(c, file->inode && (!file->dentry || file->inode == file->dentry->inode),
			    "descriptor %u: no inode, or a dentry of another inode", fd))
			continue;
		if (file->dentry)
			find(c, file->dentry, TMPFS_KIND_DENTRY)->refs++;
		else
			refer(c, file->inode, false);
	}
	expect(c, lowest == table->limit || table->lowest <= lowest / 64,
	       "descriptor %llu is free, but the search starts above it", N(lowest));
	for (struct tmpfs_file *file = table->free; file; file = file->next_free) {
		free_files++;
		expect(c, hf_refcount_read(&file->refs) == 0 && !file->dentry && !file->inode,
		       "a free file has references");
	}
	for (struct tmpfs_block *slab = table->slabs; slab; slab = slab->next)
		slabs++;
	c->objects[TMPFS_KIND_FILES] += slabs;
	expect(c, slabs * TMPFS_FILES == table->files && open + free_files == table->files,
	       "of %u files %llu are open and %llu free", table->files, N(open), N(free_files));
}

/* ---- nodes --------------------------------------------------------------------------------- */

static void check_nodes(struct check *c)
{
	struct tmpfs_list *nodes = &c->fs->nodes, *before = nodes;

	expect(c, !hf_spinlock_is_locked(&c->fs->nodes_lock), "the nodes' lock is held");
	for (struct tmpfs_list *at = nodes->next; at != nodes; before = at, at = at->next) {
		struct hf_tmpfs_node *node = TMPFS_OBJECT(at, struct hf_tmpfs_node, siblings);

		/* In a broken list the walk might not come back to its head. */
		if (!expect(c, at->previous == before, "the list of nodes is broken at inode %llu",
			    N(tmpfs_inode_of(node)->number)))
			break;
		expect(c, node->references > 0, "inode %llu: a node without references is listed",
		       N(tmpfs_inode_of(node)->number));
		refer(c, tmpfs_inode_of(node), false);
	}
}

/* ---- unlinked, but open -------------------------------------------------------------------- */

/* Adds the references of open files' dentries that are in no directory. */
static void check_unlinked(struct check *c)
{
	for (struct tmpfs_list *at = c->fs->tables.next; at != &c->fs->tables; at = at->next) {
		struct hf_tmpfs_table *table = TMPFS_OBJECT(at, struct hf_tmpfs_table, siblings);

		for (unsigned int fd = 0; fd < table->limit; fd++) {
			struct tmpfs_file *file = atomic_load(&table->slot[fd]);
			struct found *found;

			if (!file || !file->dentry)
				continue;
			found = find(c, file->dentry, TMPFS_KIND_DENTRY);
			if (found->in_tree || found->links)
				continue;
			found->links = 1; /* its inode's reference is counted */
			refer(c, file->dentry->inode, false);
		}
	}
}

/* ---- the counts ---------------------------------------------------------------------------- */

static void check_dentry(struct check *c, const struct found *found)
{
	struct tmpfs_dentry *dentry = (struct tmpfs_dentry *)(uintptr_t)found->object;
	bool is_free = hf_lockref_trylock(&dentry->ref);

	c->objects[TMPFS_KIND_DENTRY]++;
	if (is_free)
		hf_lockref_unlock(&dentry->ref);
	expect(c, is_free, "%s: its lock is held", dentry->name);
	expect(c, hf_lockref_read(&dentry->ref) == found->refs,
	       "%s: the dentry has %lld references, its count is %d", dentry->name,
	       (long long)found->refs, hf_lockref_read(&dentry->ref));
}

static void check_inode(struct check *c, const struct found *found, uint64_t *inodes)
{
	struct tmpfs_inode *inode = (struct tmpfs_inode *)(uintptr_t)found->object;
	int64_t links = found->links;

	if (tmpfs_is_dir(inode))
		links = found->in_tree ? 2 + links : 0;
	*inodes += tmpfs_is_dir(inode) || links == 0 ? 1 : (uint64_t)links;
	expect(c, hf_refcount_read(&inode->refs) == found->refs,
	       "inode %llu has %lld references, its count is %d", N(inode->number),
	       (long long)found->refs, hf_refcount_read(&inode->refs));
	expect(c, inode->links == (uint64_t)links, "inode %llu has %lld links, its count is %llu",
	       N(inode->number), (long long)links, N(inode->links));
}

static void check_file(struct check *c, const struct found *found)
{
	const struct tmpfs_file *file = found->object;

	expect(c, hf_refcount_read(&file->refs) == found->refs,
	       "an open file has %lld descriptors, its count is %d", (long long)found->refs,
	       hf_refcount_read(&file->refs));
}

static void check_counts(struct check *c)
{
	struct hf_tmpfs *fs = c->fs;
	uint64_t inodes = 0, pages = c->objects[TMPFS_KIND_PAGE] + c->other_pages;

	for (const struct found *found = c->all; found; found = found->next) {
		if (found->kind == TMPFS_KIND_DENTRY)
			check_dentry(c, found);
		else if (found->kind == TMPFS_KIND_INODE)
			check_inode(c, found, &inodes);
		else
			check_file(c, found);
	}
	expect(c, atomic_load(&fs->inodes_used) == inodes, "%llu inodes are used, %llu are counted",
	       N(inodes), N(atomic_load(&fs->inodes_used)));
	expect(c, atomic_load(&fs->pages_used) == pages, "%llu pages are used, %llu are counted",
	       N(pages), N(atomic_load(&fs->pages_used)));
	for (int kind = 0; kind < TMPFS_KINDS; kind++) {
		uint64_t allocated = atomic_load(&fs->allocated[kind]);

		expect(c, allocated == c->objects[kind], "%llu objects of kind %d, %llu reached",
		       N(allocated), kind, N(c->objects[kind]));
	}
}

HF_TMPFS_API int hf_tmpfs_check(struct hf_tmpfs *fs, void (*tell)(void *data, const char *line),
				void *data)
{
	struct check c = { .fs = fs, .tell = tell, .data = data };
	struct found *found;

	tmpfs_collect(fs); /* objects that wait to be freed are not reachable */
	for (struct tmpfs_list *at = fs->tables.next; at != &fs->tables; at = at->next)
		check_table(&c, TMPFS_OBJECT(at, struct hf_tmpfs_table, siblings));
	refer(&c, fs->root, true);
	while (c.dirs) {
		found = c.dirs;
		c.dirs = found->next_dir;
		check_dir(&c, (struct tmpfs_inode *)(uintptr_t)found->object);
	}
	check_unlinked(&c);
	check_nodes(&c);
	if (!c.no_memory)
		check_counts(&c);
	tdestroy(c.tree, free);
	return c.no_memory && !c.faults ? -ENOMEM : c.faults;
}
