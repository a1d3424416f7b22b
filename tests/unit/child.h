/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_UNIT_CHILD_H
#define HF_TESTS_UNIT_CHILD_H
/* child - a case that may kill its process runs in a child. */
#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace unit
{

/* How the child ended: 0 = well, 1 to 250 = the line (mod 250) of a MUST, -n = by signal n. */
inline int end_of_child(const std::function<void()> &body)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		alarm(60);
		body();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace unit

/* In the child. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ % 250 + 1);                                                 \
	} while (0)

#endif
