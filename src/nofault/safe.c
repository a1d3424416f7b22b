/* SPDX-License-Identifier: MIT */
/* safe - Linux user space: reading memory without taking a fault. */
#define _GNU_SOURCE /* SYS_process_vm_readv, O_CLOEXEC */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "implementation.h"

/* Would a fault reach our handler? By system calls, without wrappers of sanitizers. */
static bool faults_are_ours(void)
{
	sigset_t mask;

	(void)sigemptyset(&mask); /* the kernel sets only a part */
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &mask, _NSIG / 8))
		return false;
	return !sigismember(&mask, SIGSEGV) && !sigismember(&mask, SIGBUS) && hf_nofault_owned();
}

/* S1 of safe.h: returns how many bytes from the start lie in one page on both sides. */
static size_t piece(const char *dst, const char *src, size_t len)
{
	size_t to = hf_detail_to_page_end(dst), from = hf_detail_to_page_end(src);

	if (len > to)
		len = to;
	return len < from ? len : from;
}

/*
 * Fails not only where memory is not accessible: the system may forbid a process to read itself,
 * and cannot read some memory this way (memfd_secret, the vDSO's data, a device's).
 */
static bool by_readv(char *dst, const char *src, size_t bytes)
{
	struct iovec to = { dst, bytes }, from = { (void *)(uintptr_t)src, bytes };

	return syscall(SYS_process_vm_readv, getpid(), &to, 1ul, &from, 1ul, 0ul) == (long)bytes;
}

/* @ends: -1 until there is a pipe. Data left in it after a failure is dropped with it. */
static bool by_pipe(int ends[2], char *dst, const char *src, size_t bytes)
{
	return (ends[0] >= 0 || !syscall(SYS_pipe2, ends, O_CLOEXEC | O_NONBLOCK)) &&
	       syscall(SYS_write, ends[1], src, bytes) == (long)bytes &&
	       syscall(SYS_read, ends[0], dst, bytes) == (long)bytes;
}

size_t hf_copy_safe(void *dst, const void *src, size_t len)
{
	char *to = (char *)dst;
	const char *from = (const char *)src;
	int error = errno, ends[2] = { -1, -1 };
	size_t done = 0, bytes;
	bool by_system = !faults_are_ours();

	if (!by_system)
		done = len - hf_copy_nofault(dst, src, len);
	for (; by_system && done < len; done += bytes) {
		bytes = piece(to + done, from + done, len - done);
		if (!by_readv(to + done, from + done, bytes) &&
		    !by_pipe(ends, to + done, from + done, bytes))
			break;
	}
	if (ends[0] >= 0) {
		(void)syscall(SYS_close, ends[0]);
		(void)syscall(SYS_close, ends[1]);
	}
	errno = error;
	return len - done;
}
