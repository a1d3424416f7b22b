/* SPDX-License-Identifier: MIT */
/*
 * fuse_remount - mount -o remount,size=...: mount(8) runs the program again, which passes the new
 * limits to the running server by an ioctl on the root directory, since the kernel does not know
 * these options.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fuse_front.h"

static int refused(const char *mountpoint, const char *why)
{
	fprintf(stderr, "hf-tmpfs-fuse: %s: remount: %s\n", mountpoint, why);
	return 4;
}

int front_remount(const struct front_options *options)
{
	const char *mountpoint = options->mountpoint;
	struct front_limits limits;
	int top, error = 0;

	if (!front_is_mounted(mountpoint))
		return refused(mountpoint, "no hf-tmpfs-fuse is mounted there");
	top = open(mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0 || ioctl(top, FRONT_GET_LIMITS, &limits)) {
		error = errno;
	} else {
		if (options->given & FRONT_GIVEN_SIZE)
			limits.size = options->limits.size;
		if (options->given & FRONT_GIVEN_INODES)
			limits.inodes = options->limits.inodes;
		if (options->given & FRONT_GIVEN_MAX_OPEN)
			limits.max_open = options->limits.max_open;
		if (ioctl(top, FRONT_SET_LIMITS, &limits))
			error = errno;
	}
	if (top >= 0)
		close(top);
	if (error)
		return refused(mountpoint, error == EINVAL ? "more is in use" : strerror(error));
	return 0;
}
