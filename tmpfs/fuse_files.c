/* SPDX-License-Identifier: MIT */
/*
 * fuse_files - the open files of a mount, and their limits.
 *
 *   table[0]  65536 descriptors, used 65536
 *   table[1]  65536 descriptors, used    12      made when all are full, freed when empty
 *   table[2]  NULL
 *
 *   shares    user 1000: 4711 open    a user without open files has no entry
 *
 * `used` is raised before a descriptor is opened and lowered after it is closed. So a table is not
 * freed while it is in use, and a table whose `used` is below its size has a free descriptor.
 */
#include <errno.h>
#include <stdlib.h>

#include "fuse_front.h"
#include "holdfast/mutex.h"

#define CHAINS 64

struct front_share {
	struct front_share *next;
	uid_t user;
	uint64_t open;
};

static struct counted_table {
	struct hf_tmpfs_table *table;
	unsigned int used;
} * tables;

static struct hf_tmpfs *fs;
static hf_mutex_t lock;   /* guards everything here */
static unsigned int made; /* entries of `tables` */
static uint64_t limit, opened;
static struct front_share *shares[CHAINS];
static struct front_file *files;

/* ---- tables -------------------------------------------------------------------------------- */

/* Takes the first table with room, so that later tables become empty and can be freed. */
static int reserve_descriptor(struct front_file *file)
{
	unsigned int at, free_entry = made;

	for (at = 0; at < made; at++) {
		if (tables[at].table && tables[at].used < HF_TMPFS_DESCRIPTORS_MAX)
			break;
		if (!tables[at].table && free_entry == made)
			free_entry = at;
	}
	if (at == made) {
		at = free_entry;
		if (at == made) {
			struct counted_table *more =
				realloc(tables, (made + 1) * sizeof(tables[0]));

			if (!more)
				return -ENOMEM;
			tables = more;
			tables[made++] = (struct counted_table){ NULL, 0 };
		}
		if (hf_tmpfs_table_new(&tables[at].table, fs, HF_TMPFS_DESCRIPTORS_MAX))
			return -ENOMEM;
	}
	tables[at].used++;
	file->table = tables[at].table;
	file->number = at;
	return 0;
}

static void unreserve_descriptor(const struct front_file *file)
{
	struct counted_table *at = &tables[file->number];

	if (--at->used == 0 && file->number > 0) {
		hf_tmpfs_table_free(at->table);
		at->table = NULL;
	}
}

/* ---- shares -------------------------------------------------------------------------------- */

static int count_for_user(uid_t user, struct front_share **share)
{
	struct front_share **chain = &shares[user % CHAINS], *at = *chain;

	if (limit && opened >= limit)
		return -ENFILE;
	while (at && at->user != user)
		at = at->next;
	if (!at) {
		at = malloc(sizeof(*at));
		if (!at)
			return -ENOMEM;
		*at = (struct front_share){ *chain, user, 0 };
		*chain = at;
	}
	if (limit && user != 0 && at->open >= (limit + 1) / 2)
		return -EMFILE;
	at->open++;
	opened++;
	*share = at;
	return 0;
}

static void uncount(struct front_share *share)
{
	struct front_share **at = &shares[share->user % CHAINS];

	opened--;
	if (--share->open > 0)
		return;
	while (*at != share)
		at = &(*at)->next;
	*at = share->next;
	free(share);
}

/* ---- files --------------------------------------------------------------------------------- */

static void link_file(struct front_file *file)
{
	file->next = files;
	file->link = &files;
	if (files)
		files->link = &file->next;
	files = file;
}

static void unlink_file(struct front_file *file)
{
	*file->link = file->next;
	if (file->next)
		file->next->link = file->link;
}

int front_file_new(uid_t user, struct front_file **file)
{
	struct front_file *made_file = malloc(sizeof(*made_file));
	int error;

	if (!made_file)
		return -ENOMEM;
	hf_mutex_lock(&lock);
	error = count_for_user(user, &made_file->share);
	if (!error) {
		error = reserve_descriptor(made_file);
		if (error)
			uncount(made_file->share);
	}
	if (!error)
		link_file(made_file);
	hf_mutex_unlock(&lock);
	if (error) {
		free(made_file);
		return error;
	}
	made_file->fd = -1;
	*file = made_file;
	return 0;
}

void front_file_free(struct front_file *file)
{
	hf_mutex_lock(&lock);
	unlink_file(file);
	unreserve_descriptor(file);
	uncount(file->share);
	hf_mutex_unlock(&lock);
	free(file);
}

int front_file_close(struct front_file *file)
{
	int result = hf_tmpfs_close(file->table, file->fd);

	front_file_free(file);
	return result;
}

/* ---- beginning and end --------------------------------------------------------------------- */

int front_files_begin(struct hf_tmpfs *of, uint64_t max_open)
{
	struct front_file first;
	int error;

	fs = of;
	limit = max_open;
	hf_mutex_init(&lock);
	error = reserve_descriptor(&first); /* allocates the first table, which is kept */
	if (!error)
		unreserve_descriptor(&first);
	return error;
}

uint64_t front_files_limit(void)
{
	uint64_t now;

	hf_mutex_lock(&lock);
	now = limit;
	hf_mutex_unlock(&lock);
	return now;
}

void front_files_set_limit(uint64_t max_open)
{
	hf_mutex_lock(&lock);
	limit = max_open;
	hf_mutex_unlock(&lock);
}

void front_files_end(void)
{
	while (files)
		(void)front_file_close(files); /* files that the kernel has not released yet */
	for (unsigned int at = 0; at < made; at++) {
		if (tables[at].table)
			hf_tmpfs_table_free(tables[at].table);
	}
	free(tables);
	tables = NULL;
	made = 0;
}
