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
#define TABLES 1024 /* for 67 million open files */

struct share {
	struct share *next;
	uid_t user;
	uint64_t open;
};

static struct {
	struct hf_tmpfs_table *table;
	unsigned int used;
	uid_t *users; /* of each descriptor */
} tables[TABLES];

static struct hf_tmpfs *fs;
static hf_mutex_t lock; /* guards everything here but `limit` */
static _Atomic uint64_t limit;
static uint64_t opened;
static struct share *shares[CHAINS];

/* The link that points to a user's share, or the end of the chain. */
static struct share **share_of(uid_t user)
{
	struct share **at = &shares[user % CHAINS];

	while (*at && (*at)->user != user)
		at = &(*at)->next;
	return at;
}

static int count(uid_t user)
{
	struct share **at = share_of(user);
	const uint64_t most = limit;

	if (most && opened >= most)
		return -ENFILE;
	if (most && user != 0 && *at && (*at)->open >= (most + 1) / 2)
		return -EMFILE;
	if (!*at) {
		*at = malloc(sizeof(**at));
		if (!*at)
			return -ENOMEM;
		**at = (struct share){ .user = user };
	}
	(*at)->open++;
	opened++;
	return 0;
}

static void uncount(uid_t user)
{
	struct share **at = share_of(user), *share = *at;

	opened--;
	if (--share->open > 0)
		return;
	*at = share->next;
	free(share);
}

static void free_table(unsigned int at)
{
	hf_tmpfs_table_free(tables[at].table);
	free(tables[at].users);
	tables[at].table = NULL;
}

/* Reserves a descriptor in the first table with room, so that later tables become empty. */
static int reserve(unsigned int *number)
{
	unsigned int at = 0;
	int error = 0;

	while (tables[at].used == HF_TMPFS_DESCRIPTORS_MAX) {
		if (++at == TABLES)
			return -ENFILE;
	}
	if (!tables[at].table) {
		error = hf_tmpfs_table_new(&tables[at].table, fs, HF_TMPFS_DESCRIPTORS_MAX);
		if (error)
			return error;
		tables[at].users = calloc(HF_TMPFS_DESCRIPTORS_MAX, sizeof(uid_t));
		if (!tables[at].users) {
			free_table(at);
			return -ENOMEM;
		}
	}
	tables[at].used++;
	*number = at;
	return 0;
}

static void unreserve(unsigned int number)
{
	if (--tables[number].used == 0 && number > 0)
		free_table(number);
}

int front_open(uid_t user, struct hf_tmpfs_node *dir, const char *path, int flags, mode_t mode,
	       struct hf_tmpfs_node **node, uint64_t *handle)
{
	unsigned int number = 0;
	int error, fd;

	hf_mutex_lock(&lock);
	error = count(user);
	if (!error) {
		error = reserve(&number);
		if (error)
			uncount(user);
	}
	hf_mutex_unlock(&lock);
	if (error)
		return error;
	fd = hf_tmpfs_open(tables[number].table, dir, path, flags, mode, node);
	if (fd >= 0) {
		tables[number].users[fd] = user;
		*handle = (uint64_t)number * HF_TMPFS_DESCRIPTORS_MAX + (unsigned int)fd + 1;
		return 0;
	}
	hf_mutex_lock(&lock);
	unreserve(number);
	uncount(user);
	hf_mutex_unlock(&lock);
	return fd;
}

struct front_file front_file(uint64_t handle)
{
	handle--;
	return (struct front_file){ tables[handle / HF_TMPFS_DESCRIPTORS_MAX].table,
				    (int)(handle % HF_TMPFS_DESCRIPTORS_MAX) };
}

int front_close(uint64_t handle)
{
	struct front_file file;
	unsigned int number;
	uid_t user;
	int result;

	if (handle == FRONT_NO_HANDLE)
		return 0;
	file = front_file(handle);
	number = (unsigned int)((handle - 1) / HF_TMPFS_DESCRIPTORS_MAX);
	user = tables[number].users[file.fd]; /* before the descriptor is reused */
	result = hf_tmpfs_close(file.table, file.fd);
	hf_mutex_lock(&lock);
	unreserve(number);
	uncount(user);
	hf_mutex_unlock(&lock);
	return result;
}

/* ---- beginning and end --------------------------------------------------------------------- */

int front_files_begin(struct hf_tmpfs *of, uint64_t max_open)
{
	unsigned int first;
	int error;

	fs = of;
	limit = max_open;
	hf_mutex_init(&lock);
	error = reserve(&first); /* allocates the first table, which is kept */
	if (!error)
		unreserve(first);
	return error;
}

uint64_t front_files_limit(void)
{
	return limit;
}

void front_files_set_limit(uint64_t max_open)
{
	limit = max_open;
}

void front_files_end(void)
{
	for (unsigned int at = 0; at < TABLES; at++) {
		if (tables[at].table)
			free_table(at);
	}
	for (int at = 0; at < CHAINS; at++) {
		while (shares[at]) {
			struct share *next = shares[at]->next;

			free(shares[at]);
			shares[at] = next;
		}
	}
}
