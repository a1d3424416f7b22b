/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_FUSE_FRONT_H
#define HF_TMPFS_FUSE_FRONT_H
/*
 * fuse_front - declarations shared by the files of hf-tmpfs-fuse.
 *
 *   fuse.c          the kernel's requests
 *   fuse_options.c  the command line
 *   fuse_main.c     the program: mount, serve, unmount
 */
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stdint.h>

#include "tmpfs.h"

/* ---- fuse_options.c ------------------------------------------------------------------------ */

struct front_options {
	uint64_t size, inodes; /* limits; 0 = none */
	uint64_t max_open;     /* files that may be open */
	bool noatime, nodiratime;
	mode_t mode; /* of the root directory */
	uid_t uid;
	gid_t gid;
	char *source;     /* NULL = none given */
	char *mountpoint; /* an absolute path; NULL = none given */
};

/*
 * Parses our options, removes them from `args`, and adds those that libfuse needs. Returns -1 on an
 * error, after printing the option and the reason to standard error.
 */
int front_options(struct fuse_args *args, struct front_options *to);
void front_options_free(struct front_options *options);
void front_options_help(void);

/* Whether the path can be a mountpoint; if not, prints the reason to standard error. */
bool front_mountpoint(const char *path);

/* ---- fuse.c -------------------------------------------------------------------------------- */

extern const struct fuse_lowlevel_ops front_operations;
extern const size_t front_operations_size;

/* Creates the file system; on an error, everything is freed again. */
int front_begin(const struct front_options *options);
/* After the last request. Returns nonzero if a count was wrong or an object leaked. */
int front_end(void);

#endif
