/* SPDX-License-Identifier: MIT */
/* clock - the time of a change: clock.h. */
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"

/* Changes the file and returns the time that the kernel gave the change. */
static bool changed_at(int file, struct timespec *time)
{
	struct stat st;

	if (futimens(file, NULL) || fstat(file, &st))
		return false;
	*time = st.st_ctim;
	return true;
}

/* Does each change have a time of its own? Two coarse times differ only if a tick lies between. */
static bool has_fine_times(int file)
{
	struct timespec one, next;

	if (!changed_at(file, &one))
		return false;
	for (int i = 0; i < 3; i++, one = next) {
		if (!changed_at(file, &next) ||
		    (next.tv_sec == one.tv_sec && next.tv_nsec == one.tv_nsec))
			return false;
	}
	return true;
}

TMPFS_PRIVATE void tmpfs_clock_begin(struct tmpfs_clock *clock)
{
	clock->file = memfd_create("tmpfs clock", MFD_CLOEXEC);
	if (clock->file >= 0 && !has_fine_times(clock->file))
		tmpfs_clock_end(clock);
}

TMPFS_PRIVATE void tmpfs_clock_end(struct tmpfs_clock *clock)
{
	if (clock->file >= 0)
		close(clock->file);
	clock->file = -1;
}

TMPFS_PRIVATE struct timespec tmpfs_clock_now(const struct tmpfs_clock *clock)
{
	struct timespec now;

	if (clock->file < 0 || !changed_at(clock->file, &now))
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now;
}
