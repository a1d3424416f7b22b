/* SPDX-License-Identifier: MIT */
/* maps - reads /proc/self/maps: maps.h. */
#define _GNU_SOURCE
#include <string.h>
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
