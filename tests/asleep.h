/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_ASLEEP_H
#define HF_TESTS_ASLEEP_H
/* asleep - whether a thread of this process sleeps in the kernel, as /proc says. For C and C++. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static inline bool is_asleep(int thread)
{
	char path[64], text[512], *state = NULL;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (fgets(text, sizeof(text), file))
		state = strrchr(text, ')'); /* the end of the thread's name */
	(void)fclose(file);
	return state && state[1] == ' ' && state[2] == 'S';
}

#endif
