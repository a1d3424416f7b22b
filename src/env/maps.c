/* SPDX-License-Identifier: MIT */
/* maps - PROCMAP_QUERY and /proc/self/maps, by system calls alone: maps.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "maps.h"

/* Returns the next character, or -1 at the end. */
static int next_char(struct hf_detail_maps *maps)
{
	if (maps->at == maps->got) {
		maps->at = 0;
		maps->got = (int)syscall(SYS_read, maps->file, maps->buffer, sizeof(maps->buffer));
		if (maps->got <= 0) {
			maps->got = 0;
			return -1;
		}
	}
	return (unsigned char)maps->buffer[maps->at++];
}

/* Reads a number, and returns the character behind it. */
static int read_number(struct hf_detail_maps *maps, unsigned int base, uint64_t *value)
{
	*value = 0;
	for (;;) {
		int c = next_char(maps);
		unsigned int digit = c >= '0' && c <= '9'   ? (unsigned int)(c - '0')
				     : c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a' + 10)
							    : 16;

		if (digit >= base)
			return c;
		*value = *value * base + digit;
	}
}

/* A line: 7f0000000000-7f0000002000 r--p 00001000 fe:00 4711      /a/file */
bool hf_detail_maps_next(struct hf_detail_maps *maps, struct hf_detail_mapping *m, char *path,
			 size_t room)
{
	uint64_t from, to, major, minor;
	size_t len = 0;
	int c;

	if (read_number(maps, 16, &from) != '-' || read_number(maps, 16, &to) != ' ')
		return false;
	m->from = (uintptr_t)from;
	m->to = (uintptr_t)to;
	m->readable = next_char(maps) == 'r';
	m->writable = next_char(maps) == 'w';
	m->executable = next_char(maps) == 'x';
	m->shared = next_char(maps) == 's';
	if (next_char(maps) != ' ' || read_number(maps, 16, &m->offset) != ' ' ||
	    read_number(maps, 16, &major) != ':' || read_number(maps, 16, &minor) != ' ')
		return false;
	m->device = hf_detail_mapping_device((unsigned int)major, (unsigned int)minor);
	c = read_number(maps, 10, &m->inode);
	while (c == ' ')
		c = next_char(maps);
	for (; c >= 0 && c != '\n'; c = next_char(maps)) {
		if (!path)
			continue;
		if (len == room - 1)
			memmove(path, path + 1, --len);
		path[len++] = (char)c;
	}
	if (path)
		path[len] = 0;
	return c == '\n';
}

/* struct procmap_query of <linux/fs.h>: Linux 6.11; older headers don't have it. */
struct maps_query {
	uint64_t size, request, address;
	uint64_t from, to, flags, page_size, offset, inode;
	uint32_t major, minor;
	uint32_t name_size, build_id_size; /* 0 = not wanted */
	uint64_t name, build_id;
};

#define MAPS_QUERY _IOWR('f', 17, struct maps_query)

_Static_assert(sizeof(struct maps_query) == 104, "as the kernel has it");

enum {
	IS_READABLE = 1,
	IS_WRITABLE = 2,
	IS_EXECUTABLE = 4,
	IS_SHARED = 8,
	WANT_COVERING_OR_NEXT = 0x10,
};

static int ask_maps(int maps, uintptr_t address, struct hf_detail_mapping *m, char *path,
		    size_t room)
{
	struct maps_query q = { .size = sizeof(q),
				.request = WANT_COVERING_OR_NEXT,
				.address = address,
				.name_size = (uint32_t)room,
				.name = (uintptr_t)path };

	if (syscall(SYS_ioctl, maps, MAPS_QUERY, &q))
		return -errno;
	if (path && !q.name_size)
		path[0] = 0;
	m->from = (uintptr_t)q.from;
	m->to = (uintptr_t)q.to;
	m->device = hf_detail_mapping_device(q.major, q.minor);
	m->inode = q.inode;
	m->offset = q.offset;
	m->readable = q.flags & IS_READABLE;
	m->writable = q.flags & IS_WRITABLE;
	m->executable = q.flags & IS_EXECUTABLE;
	m->shared = q.flags & IS_SHARED;
	m->page = q.page_size;
	return 0;
}

static int search_maps(int maps, uintptr_t address, struct hf_detail_mapping *m, char *path,
		       size_t room)
{
	struct hf_detail_maps text = { .file = maps };
	int error = -ESRCH; /* nothing is mapped: not our process's lines */

	m->page = 0;
	while (hf_detail_maps_next(&text, m, path, room)) {
		if (m->to > address)
			return 0;
		error = -ENOENT;
	}
	return error;
}

static int mapping_in(const char *file, uintptr_t address, struct hf_detail_mapping *m, char *path,
		      size_t room)
{
	int maps = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC);
	int error;

	if (maps < 0)
		return errno == ENOENT ? -ESRCH : -errno; /* there is no /proc */
	error = ask_maps(maps, address, m, path, room);
	if (error && error != -ENOENT)
		error = search_maps(maps, address, m, path, room);
	(void)syscall(SYS_close, maps);
	return error;
}

/* In a process whose first thread has ended, /proc/self/maps is empty. */
int hf_detail_mapping_named(uintptr_t address, struct hf_detail_mapping *mapping, char *path,
			    size_t room)
{
	int error = mapping_in("/proc/self/maps", address, mapping, path, room);

	if (error && error != -ENOENT)
		error = mapping_in("/proc/thread-self/maps", address, mapping, path, room);
	return error;
}

int hf_detail_mapping_at(uintptr_t address, struct hf_detail_mapping *mapping)
{
	return hf_detail_mapping_named(address, mapping, NULL, 0);
}
