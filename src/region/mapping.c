/* SPDX-License-Identifier: MIT */
/* mapping - Linux user space: PROCMAP_QUERY and /proc/self/maps, by system calls alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mapping.h"

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
