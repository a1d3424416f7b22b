/* SPDX-License-Identifier: MIT */
#ifndef TMPFS_CLOCK_H
#define TMPFS_CLOCK_H
/*
 * clock - the time of a change, by the clock that the kernel's file systems use.
 *
 * CLOCK_REALTIME would not do: it is ahead of what they use, by up to a tick of the kernel's timer.
 * A file on a disk, written after one of ours, would be older, and make would build it again.
 *
 *   before Linux 6.13   they use CLOCK_REALTIME_COARSE, the time of the last tick
 *   since then          the same; but a file whose time was looked at since the tick gets a finer
 *                       one at its next change, and all later times of other files are at least
 *                       that (multigrain timestamps). No clock shows this, only the times of a file
 *                       do. So each time here is one that the kernel has given to a file without a
 *                       name: two system calls, 0.4 us.
 */
#include <time.h>

#include "base.h"

struct tmpfs_clock {
	int file; /* -1 = CLOCK_REALTIME_COARSE */
};

/* Without a file descriptor left, times are coarse. */
TMPFS_PRIVATE void tmpfs_clock_begin(struct tmpfs_clock *clock);
TMPFS_PRIVATE void tmpfs_clock_end(struct tmpfs_clock *clock);
TMPFS_PRIVATE struct timespec tmpfs_clock_now(const struct tmpfs_clock *clock);

#endif
