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

enum { PIECES = 16 };

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
 * Returns the bytes copied. It can be less than what is readable: the system may forbid a process
 * to read itself, and cannot read some memory this way (memfd_secret, the vDSO's data, a device's).
 */
static size_t by_readv(char *dst, const char *src, size_t len)
{
	size_t done = 0;

	while (done < len) {
		struct iovec to[PIECES], from[PIECES];
		size_t wanted = 0, n = 0;
		long got;

		for (; n < PIECES && done + wanted < len; n++) {
			size_t at = done + wanted, bytes = piece(dst + at, src + at, len - at);

			to[n].iov_base = dst + at;
			from[n].iov_base = (void *)(uintptr_t)(src + at);
			to[n].iov_len = from[n].iov_len = bytes;
			wanted += bytes;
		}
		got = syscall(SYS_process_vm_readv, getpid(), to, n, from, n, 0ul);
		if (got > 0)
			done += (size_t)got;
		if (got < 0 || (size_t)got != wanted)
			break;
	}
	return done;
}

/* Returns the bytes copied. Data left in the pipe after a failure is dropped with it. */
static size_t by_pipe(char *dst, const char *src, size_t len)
{
	size_t done = 0;
	int ends[2];

	if (syscall(SYS_pipe2, ends, O_CLOEXEC | O_NONBLOCK))
		return 0;
	while (done < len) {
		size_t bytes = piece(dst + done, src + done, len - done);

		if (syscall(SYS_write, ends[1], src + done, bytes) != (long)bytes ||
		    syscall(SYS_read, ends[0], dst + done, bytes) != (long)bytes)
			break;
		done += bytes;
	}
	(void)syscall(SYS_close, ends[0]);
	(void)syscall(SYS_close, ends[1]);
	return done;
}

size_t hf_copy_safe(void *dst, const void *src, size_t len)
{
	char *to = (char *)dst;
	const char *from = (const char *)src;
	int error = errno;
	size_t done;

	if (faults_are_ours()) {
		done = len - hf_copy_nofault(dst, src, len);
	} else {
		done = by_readv(to, from, len);
		if (done < len)
			done += by_pipe(to + done, from + done, len - done);
	}
	errno = error;
	return len - done;
}
