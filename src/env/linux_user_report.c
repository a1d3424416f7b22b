/* SPDX-License-Identifier: MIT */
/*
 * linux_user_report - Linux user space: variables, prints reports, finds the object of a call site.
 * Apart from linux_user.c, which a program with counts only does not link.
 */
#define _GNU_SOURCE /* secure_getenv */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "holdfast/report.h"

#include "../process/process.h"
#include "../report/report.h"
#include "env.h"

void hf_detail_env_print(const char *line, size_t len)
{
	int kept = errno;

	while (len > 0) {
		ssize_t n = write(STDERR_FILENO, line, len);

		if (n <= 0)
			break;
		line += n;
		len -= (size_t)n;
	}
	errno = kept;
}

void hf_detail_env_abort(void)
{
	abort();
}

const char *hf_detail_env_variable(const char *name)
{
	return secure_getenv(name);
}

void hf_detail_env_warn(const char *variable, const char *value, const char *what)
{
	int kept = errno;

	(void)dprintf(STDERR_FILENO, "holdfast: %s=%s%s", variable, value, what);
	errno = kept;
}

/* 1: the layout of struct hf_detail_report_state, and of a handler's arguments. */
HF_DETAIL_PROCESS_STATE(report, 1);

__attribute__((constructor(101))) static void read_report_mode(void)
{
	static const char *const names[] = { "warn", "abort", "count", "quiet" };
	const char *value = hf_detail_env_variable("HOLDFAST_REPORT");
	struct hf_detail_report_state *state =
		hf_detail_process_share(report, sizeof(*state), HF_DETAIL_PROCESS_KEEP);

	/* Another copy has read the variable; the program may have changed the mode since. */
	if (state && !hf_detail_report_share(state))
		return;
	if (!value || !*value)
		return;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(value, names[i]) == 0) {
			(void)hf_report_set_mode((enum hf_report_mode)i);
			return;
		}
	}
	hf_detail_env_warn("HOLDFAST_REPORT", value,
			   " is unknown; using warn. Valid: warn, abort, count, quiet\n");
}

/* /proc/self/maps, a byte at a time: no allocation, no lock. */
struct maps {
	int file;
	size_t at, len;
	char bytes[512];
};

/* Returns the next byte, or -1 at the end. */
static int next(struct maps *maps)
{
	if (maps->at == maps->len) {
		ssize_t n;

		do
			n = read(maps->file, maps->bytes, sizeof(maps->bytes));
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return -1;
		maps->at = 0;
		maps->len = (size_t)n;
	}
	return (unsigned char)maps->bytes[maps->at++];
}

/* Reads a hexadecimal number and the byte after it. */
static uintptr_t next_number(struct maps *maps)
{
	static const char digits[] = "0123456789abcdef";
	uintptr_t number = 0;
	int c;

	while ((c = next(maps)) > 0 && strchr(digits, c))
		number = number << 4 | (uintptr_t)(strchr(digits, c) - digits);
	return number;
}

/* One mapping; of a long path only the end is kept. */
struct mapping {
	uintptr_t start, end;
	size_t len;
	char path[96];
};

/* "55d0c4a01000-55d0c4a02000 r-xp 00001000 fe:01 1234      /bin/app". Returns false at the end. */
static bool next_mapping(struct maps *maps, struct mapping *mapping)
{
	int c;

	mapping->start = next_number(maps);
	mapping->end = next_number(maps);
	mapping->len = 0;
	for (int field = 0; field < 4; field++) {
		while ((c = next(maps)) != ' ') {
			if (c < 0)
				return false;
			if (c == '\n')
				return true;
		}
	}
	while ((c = next(maps)) == ' ')
		;
	for (; c >= 0 && c != '\n'; c = next(maps)) {
		if (mapping->len == sizeof(mapping->path)) {
			memmove(mapping->path, mapping->path + 1, sizeof(mapping->path) - 1);
			mapping->len--;
		}
		mapping->path[mapping->len++] = (char)c;
	}
	return true;
}

size_t hf_detail_env_place(char *to, size_t room, const void *site)
{
	struct maps maps = { .file = -1 };
	struct mapping object = { 0 }, mapping;
	uintptr_t address = (uintptr_t)site;
	char *at = to, *end = to + room;
	int kept = errno;

	do
		maps.file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	while (maps.file < 0 && errno == EINTR);
	while (maps.file >= 0 && next_mapping(&maps, &mapping)) {
		/* The mappings of an object follow each other; it starts with the first one. */
		if (mapping.len != object.len || memcmp(mapping.path, object.path, object.len))
			object = mapping;
		if (address - mapping.start < mapping.end - mapping.start) {
			/* 24: for the rest of the text. */
			if (!mapping.len || mapping.len + 24 > room)
				break;
			at = hf_detail_put_text(at, end, " (");
			memcpy(at, mapping.path, mapping.len);
			at = hf_detail_put_text(at + mapping.len, end, "+0x");
			at = hf_detail_put_number(at, end, address - object.start, 16);
			at = hf_detail_put_text(at, end, ")");
			break;
		}
	}
	if (maps.file >= 0)
		(void)close(maps.file);
	errno = kept;
	return (size_t)(at - to);
}

__attribute__((constructor(101))) static void start_report(void)
{
	(void)pthread_atfork(NULL, NULL, hf_detail_report_forked);
}

/* Runs after all other destructors, so misuse in the program's is in the summary. */
__attribute__((destructor(101))) static void end_report(void)
{
	hf_detail_report_summary();
#ifndef HF_STAYS_LOADED
	hf_detail_report_leave();
#endif
}
