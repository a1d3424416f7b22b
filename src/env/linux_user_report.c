/* SPDX-License-Identifier: MIT */
/*
 * linux_user_report - Linux user space: variables, memory, reports, the object of a call site.
 * Apart from linux_user.c: a program that waits for nothing does not link that.
 */
#define _GNU_SOURCE /* secure_getenv */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "holdfast/report.h"

#include "../process/process.h"
#include "../report/report.h"
#include "env.h"
#include "maps.h"

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

void *hf_detail_env_map(size_t bytes)
{
	int kept = errno;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = kept;
	return at == MAP_FAILED ? NULL : at;
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

size_t hf_detail_env_place(char *to, size_t room, const void *site)
{
	struct hf_detail_maps maps = { 0 };
	struct hf_detail_mapping m;
	char path[97], object[sizeof(path)] = "", *at = to, *end = to + room;
	uintptr_t address = (uintptr_t)site, start = 0;
	int kept = errno;

	maps.file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	while (maps.file >= 0 && hf_detail_maps_next(&maps, &m, path, sizeof(path))) {
		/* The mappings of an object follow each other; it starts with the first one. */
		if (strcmp(path, object) != 0) {
			memcpy(object, path, sizeof(path));
			start = m.from;
		}
		if (address < m.from || address >= m.to)
			continue;
		if (*path && strlen(path) + 24 <= room) { /* 24: for the rest of the text */
			at = hf_detail_put_text(at, end, " (");
			at = hf_detail_put_text(at, end, path);
			at = hf_detail_put_text(at, end, "+0x");
			at = hf_detail_put_number(at, end, address - start, 16);
			at = hf_detail_put_text(at, end, ")");
		}
		break;
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
