/* SPDX-License-Identifier: MIT */
#ifndef HF_RUN_TESTS_PARKED_H
#define HF_RUN_TESTS_PARKED_H
/* parked - waits until a thread has parked, however long the processor is busy with others. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline void await_parked(pid_t thread)
{
	char path[64], text[512], *state;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	do {
		FILE *file = fopen(path, "r");
		size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

		if (file)
			fclose(file);
		text[len] = '\0';
		state = strrchr(text, ')');
		usleep(1000);
	} while (!state || state[2] != 'S');
}

#endif
