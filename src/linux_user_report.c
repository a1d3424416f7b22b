/* SPDX-License-Identifier: MIT */
/* linux_user_report - Linux user space: where a report goes, and what is to be done with it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "holdfast/report.h"

#include "env.h"

void hf__env_print(const char *line, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDERR_FILENO, line, len);

		if (n <= 0)
			return;
		line += n;
		len -= (size_t)n;
	}
}

void hf__env_abort(void)
{
	abort();
}

void hf__env_complain(const char *variable, const char *value, const char *what)
{
	static const char before[] = "holdfast: ";

	hf__env_print(before, sizeof(before) - 1);
	hf__env_print(variable, strlen(variable));
	hf__env_print("=", 1);
	hf__env_print(value, strlen(value));
	hf__env_print(what, strlen(what));
}

__attribute__((constructor(101))) static void read_report_mode(void)
{
	static const char *const names[] = { "warn", "abort", "count", "quiet" };
	const char *value = getenv("HOLDFAST_REPORT");

	if (!value || !*value)
		return;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(value, names[i]) == 0) {
			(void)hf_report_set_mode((enum hf_report_mode)i);
			return;
		}
	}
	hf__env_complain("HOLDFAST_REPORT", value,
			 " is not known; using warn. Known: warn, abort, count, quiet\n");
}
