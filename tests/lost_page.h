/* SPDX-License-Identifier: MIT */
/* lost_page - does SIGBUS carry the address of a page that the file lost? qemu-s390x's does not. */
#ifndef HOLDFAST_TESTS_LOST_PAGE_H
#define HOLDFAST_TESTS_LOST_PAGE_H

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOST_PAGE_HAS_NO_ADDRESS "SIGBUS has a wrong address here (qemu-s390x)"

static volatile char *lost_page;

static void lost_page_met(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	_exit(info->si_addr == lost_page ? 0 : 1);
}

/* Tried in a child. */
static inline bool lost_page_has_its_address(void)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0) {
		int file = (int)syscall(SYS_memfd_create, "lost", 0u);
		struct sigaction action;

		memset(&action, 0, sizeof(action));
		action.sa_flags = SA_SIGINFO;
		action.sa_sigaction = lost_page_met;
		if (sigaction(SIGBUS, &action, NULL))
			_exit(1);
		lost_page = (volatile char *)mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
		(void)*lost_page;
		_exit(1);
	}
	waitpid(child, &status, 0);
	return status == 0;
}
#endif
