/* SPDX-License-Identifier: MIT */
/*
 * fuse_remount - mount -o remount,...: mount(8) runs the program again.
 *
 * New limits are passed to the running server by an ioctl on the root directory, since the kernel
 * does not know these options; flags such as `ro` are set by mount(2). mount(8) repeats the options
 * of the mount and those of fstab, so an option that can't be changed is an error only if it
 * differs from what the mount has.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuse_front.h"

#define SERVED (MS_NOATIME | MS_NODIRATIME) /* the server must know these, too */

static int refused(const char *mountpoint, const char *why)
{
	fprintf(stderr, "hf-tmpfs-fuse: %s: remount: %s\n", mountpoint, why);
	return 4;
}

/* The flags of the mount, without asking its server, which may be this process. */
static unsigned long current_flags(const char *mountpoint)
{
	unsigned long all = front_is_mounted(mountpoint, "relatime") ? MS_RELATIME : 0;

	for (const struct front_flag *at = front_flags; at->name; at++) {
		if (at->set && front_is_mounted(mountpoint, at->name))
			all |= at->flag;
	}
	return all;
}

/*
 * mount(8), which passes a source, names all flags that the mount is to have; else those that are
 * not named stay.
 */
static unsigned long wanted_flags(const struct front_options *options, unsigned long now)
{
	const unsigned long chosen = options->source ? ~(unsigned long)MS_RELATIME
						     : options->chosen;

	return (now & ~chosen) | (options->flags & chosen);
}

int front_set_flags(const struct front_options *options)
{
	const unsigned long more = options->flags & (MS_NODIRATIME | MS_NOSYMFOLLOW);
	unsigned long all = MS_REMOUNT | MS_BIND | more;

	if (!more)
		return 0;
	all |= current_flags(options->mountpoint);
	if (mount(NULL, options->mountpoint, NULL, all, NULL) == 0)
		return 0;
	fprintf(stderr, "hf-tmpfs-fuse: nodiratime, nosymfollow: %s\n", strerror(errno));
	return -1;
}

/* An option that would change what a remount can't; NULL = none. */
static const char *unchangeable(const struct front_options *options, const struct stat *top,
				int64_t score)
{
	const char *at = options->mountpoint;
	const unsigned long now = current_flags(at);

	if ((options->given & FRONT_GIVEN_MODE) && (top->st_mode & 07777) != options->mode)
		return "mode= can't be changed, but chmod can";
	if (((options->given & FRONT_GIVEN_UID) && top->st_uid != options->uid) ||
	    ((options->given & FRONT_GIVEN_GID) && top->st_gid != options->gid))
		return "uid= and gid= can't be changed, but chown can";
	if ((wanted_flags(options, now) ^ now) & SERVED)
		return "noatime, atime, relatime and nodiratime can't be changed";
	if ((options->given & FRONT_GIVEN_PERMISSIONS) &&
	    options->permissions != front_is_mounted(at, "default_permissions"))
		return "no_default_permissions can't be changed";
	if ((options->given & FRONT_GIVEN_ALLOW) && !front_is_mounted(at, "allow_other"))
		return "allow_other and allow_root can't be changed";
	if (options->oom_score_adj && strtoll(options->oom_score_adj, NULL, 10) != score)
		return "oom_score_adj= can't be changed";
	return NULL;
}

int front_remount(const struct front_options *options)
{
	const unsigned int limited = FRONT_GIVEN_SIZE | FRONT_GIVEN_INODES | FRONT_GIVEN_MAX_OPEN;
	const char *mountpoint = options->mountpoint, *why = NULL;
	struct front_limits limits;
	unsigned long now, then;
	struct stat st;
	int top, error = 0;

	if (!front_is_mounted(mountpoint, NULL))
		return refused(mountpoint, "no hf-tmpfs-fuse is mounted there");
	top = open(mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0 || fstat(top, &st) || ioctl(top, FRONT_GET_LIMITS, &limits)) {
		error = errno;
	} else {
		why = unchangeable(options, &st, limits.score);
		if (options->given & FRONT_GIVEN_SIZE)
			limits.size = options->limits.size;
		if (options->given & FRONT_GIVEN_INODES)
			limits.inodes = options->limits.inodes;
		if (options->given & FRONT_GIVEN_MAX_OPEN)
			limits.max_open = options->limits.max_open;
		if (!why && (options->given & limited) && ioctl(top, FRONT_SET_LIMITS, &limits))
			error = errno;
	}
	if (top >= 0)
		close(top);
	if (why || error)
		return refused(mountpoint, why               ? why
					   : error == EINVAL ? "more is in use"
							     : strerror(error));
	now = current_flags(mountpoint);
	then = wanted_flags(options, now);
	if (now != then && mount(NULL, mountpoint, NULL, MS_REMOUNT | then, NULL))
		return refused(mountpoint, strerror(errno));
	return 0;
}
