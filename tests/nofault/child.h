/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_NOFAULT_CHILD_H
#define HF_TESTS_NOFAULT_CHILD_H
/* child - a function that may die, in a child process without a core dump. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Calls run(), and exits with 9 if it returns. Returns the status of waitpid(); @text gets what it
 * printed to standard error.
 */
static inline int status_of_child(void (*run)(void), char *text, size_t size)
{
	size_t length = 0;
	ssize_t got;
	int ends[2], status = 0;
	pid_t child;

	if (pipe(ends)) {
		perror("pipe");
		exit(2);
	}
	child = fork();
	if (child == 0) {
		(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		(void)dup2(ends[1], STDERR_FILENO);
		run();
		_exit(9);
	}
	(void)close(ends[1]);
	while ((got = read(ends[0], text + length, size - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = 0;
	(void)close(ends[0]);
	(void)waitpid(child, &status, 0);
	return status;
}

#endif
