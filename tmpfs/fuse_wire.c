/* SPDX-License-Identifier: MIT */
/*
 * fuse_wire - reads requests from the device, serves those that libfuse 3.14 does not support or
 * may lose, and passes the others on to libfuse.
 *
 *   FUSE_FORGET, FUSE_BATCH_FORGET, FUSE_RELEASE, FUSE_RELEASEDIR drop references. Without memory
 *   libfuse would drop the request instead, and the kernel does not repeat it. Here they need no
 *   memory.
 *
 *   FUSE_INTERRUPT needs no answer, because no request waits for anything.
 *
 *   FUSE_STATX returns the time of birth.
 *
 *   O_TMPFILE is a separate request (TMPFILE) with the layout and the reply of FUSE_CREATE; its
 *   name is "/", which no file has. So it is passed on as FUSE_CREATE.
 *
 *   FUSE_HANDLE_KILLPRIV_V2: the server clears setuid and setgid when a bit in the request asks for
 *   it. Otherwise the kernel would ask for the extended attribute security.capability before each
 *   write, so that each write needs two requests. The reply to the first request turns this on; the
 *   bit is kept in the worker that serves the request.
 *
 * A reply is written to the descriptor from which its request was read.
 */
#include <errno.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fuse_front.h"

/* Opcodes of Linux 6.2 and 6.6, which an older <linux/fuse.h> does not define. */
#define TMPFILE 51
#define STATX 52

struct statx_in {
	uint32_t getattr_flags, reserved;
	uint64_t fh;
	uint32_t flags, mask;
};

struct statx_time {
	int64_t seconds;
	uint32_t nanoseconds;
	int32_t reserved;
};

struct statx_out {
	uint64_t valid_seconds;
	uint32_t valid_nanoseconds, flags;
	uint64_t spare[2];
	uint32_t mask, block_size;
	uint64_t attributes;
	uint32_t links, uid, gid;
	uint16_t mode, spare0;
	uint64_t inode, size, blocks, attributes_mask;
	struct statx_time atime, birth, ctime, mtime;
	uint32_t device_major, device_minor, on_major, on_minor;
	uint64_t spare2[14];
};

_Static_assert(sizeof(struct statx_out) == 32 + 256, "the kernel's size");

#define STATX_BASIC_AND_BIRTH 0xfffu

static _Thread_local struct front_worker *worker;
static uint64_t first; /* number of the first request, which one thread serves; then 0 */

bool front_clears(void)
{
	return worker->clears;
}

char *front_buffer(void)
{
	return worker->buffer + FRONT_HEADER;
}

static bool asks_to_clear(const struct fuse_in_header *header)
{
	const void *body = header + 1;

	if (header->opcode == FUSE_WRITE)
		return ((const struct fuse_write_in *)body)->write_flags & FUSE_WRITE_KILL_SUIDGID;
	if (header->opcode == FUSE_SETATTR)
		return ((const struct fuse_setattr_in *)body)->valid & FATTR_KILL_SUIDGID;
	return false;
}

/* ---- served here --------------------------------------------------------------------------- */

static void answer(const struct fuse_in_header *to, int error, const void *body, size_t size)
{
	struct fuse_out_header header = { .len = (uint32_t)(sizeof(header) + size),
					  .error = error,
					  .unique = to->unique };
	struct iovec parts[2] = { { &header, sizeof(header) }, { (void *)(uintptr_t)body, size } };

	/* Fails if the request was aborted: then nothing waits for the reply. */
	if (writev(worker->device, parts, size ? 2 : 1) < 0)
		return;
}

static void forget_batch(const struct fuse_in_header *header)
{
	const struct fuse_batch_forget_in *batch = (const void *)(header + 1);
	const struct fuse_forget_one *one = (const void *)(batch + 1);

	for (uint32_t i = 0; i < batch->count; i++)
		front_forget(one[i].nodeid, one[i].nlookup);
}

static struct statx_time time_of(struct timespec at)
{
	return (struct statx_time){ .seconds = at.tv_sec, .nanoseconds = (uint32_t)at.tv_nsec };
}

static void answer_statx(const struct fuse_in_header *header)
{
	struct statx_out out = { .mask = STATX_BASIC_AND_BIRTH, .block_size = HF_TMPFS_PAGE };
	struct timespec birth;
	struct stat st;

	front_stat(header->nodeid, &st, &birth);
	out.valid_seconds = FRONT_FOR_EVER;
	out.links = (uint32_t)st.st_nlink;
	out.uid = st.st_uid;
	out.gid = st.st_gid;
	out.mode = (uint16_t)st.st_mode;
	out.inode = st.st_ino;
	out.size = (uint64_t)st.st_size;
	out.blocks = (uint64_t)st.st_blocks;
	out.device_major = major(st.st_rdev);
	out.device_minor = minor(st.st_rdev);
	out.atime = time_of(st.st_atim);
	out.mtime = time_of(st.st_mtim);
	out.ctime = time_of(st.st_ctim);
	out.birth = time_of(birth);
	answer(header, 0, &out, sizeof(out));
}

/* Serves some requests, without allocating. Returns whether it has served this one. */
static bool serve_here(const struct fuse_in_header *header)
{
	const void *body = header + 1;

	switch (header->opcode) {
	case FUSE_FORGET:
		front_forget(header->nodeid, ((const struct fuse_forget_in *)body)->nlookup);
		return true;
	case FUSE_BATCH_FORGET:
		forget_batch(header);
		return true;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		answer(header, front_close(((const struct fuse_release_in *)body)->fh), NULL, 0);
		return true;
	case FUSE_INTERRUPT:
		return true;
	case STATX:
		answer_statx(header);
		return true;
	default:
		return false;
	}
}

/* ---- to and from the device ---------------------------------------------------------------- */

/* The kernel delivers whole requests, at least as long as their struct. */
int front_serve(struct fuse_session *session, struct front_worker *me)
{
	struct fuse_in_header *header = (void *)me->buffer;
	struct fuse_buf request = { .mem = me->buffer };
	ssize_t got = read(me->device, me->buffer, FRONT_BUFFER);

	if (got < 0) {
		/* The request was aborted while it was read, or a signal arrived. */
		if (errno == ENOENT || errno == EINTR || errno == EAGAIN)
			return 0;
		/* Unmounted; ECONNABORTED if a read was under way. */
		return errno == ENODEV || errno == ECONNABORTED ? 1 : -errno;
	}
	if (got < (ssize_t)sizeof(*header))
		return -EIO;
	worker = me;
	me->clears = asks_to_clear(header);
	if (serve_here(header))
		return 0;
	if (header->opcode == TMPFILE)
		header->opcode = FUSE_CREATE;
	else if (header->opcode == FUSE_INIT &&
		 ((struct fuse_init_in *)(void *)(header + 1))->flags & FUSE_HANDLE_KILLPRIV_V2)
		first = header->unique;
	request.size = (size_t)got;
	fuse_session_process_buf(session, &request);
	return 0;
}

static ssize_t transmit(int fd, struct iovec *from, int count, void *data)
{
	const struct fuse_out_header *header = from[0].iov_base;

	(void)fd;
	(void)data;
	if (first && header->unique == first) {
		first = 0;
		if (header->error == 0 && count > 1)
			((struct fuse_init_out *)from[1].iov_base)->flags |=
				FUSE_HANDLE_KILLPRIV_V2;
	}
	return writev(worker->device, from, count);
}

/* libfuse requires a read function, but front_serve() reads. */
static ssize_t receive(int fd, void *to, size_t size, void *data)
{
	(void)data;
	return read(fd, to, size);
}

int front_wire(struct fuse_session *session)
{
	const struct fuse_custom_io io = { .writev = transmit, .read = receive };

	return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}
