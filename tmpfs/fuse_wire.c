/* SPDX-License-Identifier: MIT */
/*
 * fuse_wire - the kernel's protocol where libfuse 3.14 does not know it.
 *
 *   O_TMPFILE comes as a request of its own that is laid out as FUSE_CREATE's, and answered as
 *   that is; its name is "/", which no file has. So it goes on as FUSE_CREATE.
 *
 *   FUSE_HANDLE_KILLPRIV_V2: the server clears setuid and setgid when the kernel asks it to, by a
 *   bit in a request. Without it the kernel looks for itself before each write, and asks for the
 *   extended attribute security.capability: two requests for each write in place of one. The reply
 *   to the first request turns it on; the bit is kept for the thread that serves the request.
 *
 *   A read that is under way when the file system is unmounted may give ECONNABORTED, which libfuse
 *   takes for a failure of the device. It is the end, as ENODEV is.
 */
#include <errno.h>
#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fuse_front.h"

#define TMPFILE 51 /* FUSE_TMPFILE, which headers before Linux 6.2 do not have */

static _Thread_local bool clears;
static uint64_t first; /* request; by one thread */

static bool asks_to_clear(const struct fuse_in_header *header)
{
	const void *body = header + 1;

	if (header->opcode == FUSE_WRITE)
		return ((const struct fuse_write_in *)body)->write_flags & FUSE_WRITE_KILL_SUIDGID;
	if (header->opcode == FUSE_SETATTR)
		return ((const struct fuse_setattr_in *)body)->valid & FATTR_KILL_SUIDGID;
	return false;
}

bool front_clears(void)
{
	return clears;
}

/* Requests come whole, and with at least the struct of their kind. */
static ssize_t receive(int fd, void *to, size_t size, void *data)
{
	struct fuse_in_header *header = to;
	ssize_t got = read(fd, to, size);

	(void)data;
	if (got < 0 && errno == ECONNABORTED)
		errno = ENODEV;
	if (got < (ssize_t)sizeof(*header))
		return got;
	clears = asks_to_clear(header);
	if (header->opcode == TMPFILE)
		header->opcode = FUSE_CREATE;
	else if (header->opcode == FUSE_INIT &&
		 ((struct fuse_init_in *)(void *)(header + 1))->flags & FUSE_HANDLE_KILLPRIV_V2)
		first = header->unique;
	return got;
}

static ssize_t transmit(int fd, struct iovec *from, int count, void *data)
{
	const struct fuse_out_header *header = from[0].iov_base;

	(void)data;
	if (first && header->unique == first) {
		first = 0;
		if (header->error == 0 && count > 1)
			((struct fuse_init_out *)from[1].iov_base)->flags |=
				FUSE_HANDLE_KILLPRIV_V2;
	}
	return writev(fd, from, count);
}

int front_wire(struct fuse_session *session)
{
	const struct fuse_custom_io io = { .writev = transmit, .read = receive };

	return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}
