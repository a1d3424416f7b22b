/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_FUSE_FRONT_H
#define HF_TMPFS_FUSE_FRONT_H
/*
 * fuse_front - what the files of hf-tmpfs-fuse share.
 *
 *   fuse.c          the requests of the kernel
 *   fuse_files.c    open files, and how many there may be
 *   fuse_options.c  the command line
 *   fuse_wire.c     what libfuse does not know of the kernel's protocol
 *   fuse_main.c     the program: mount, serve, end
 */
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stdint.h>

#include "tmpfs.h"

/* ---- fuse_options.c ------------------------------------------------------------------------ */

struct front_options {
	uint64_t size, inodes; /* 0 = no limit */
	uint64_t max_open;     /* 0 = no limit */
	bool permissions;      /* the kernel checks them */
};

/*
 * Takes our options out of `args`, and puts in what libfuse is to know. 0, or -1, and standard
 * error has the option and its value.
 */
int front_options(struct fuse_args *args, struct front_options *to);
void front_options_help(void);

/* Whether something can be mounted there; if not, the reason goes to standard error. */
bool front_mountpoint(const char *path);

/* ---- fuse_files.c -------------------------------------------------------------------------- */

/* An open file of the kernel's: a descriptor in one of the tables, and whose share it counts in. */
struct front_file {
	struct hf_tmpfs_table *table;
	int fd;
	unsigned int number; /* of the table */
	struct front_share *share;
	struct front_file *next, **link; /* of all that are open, and what points to this one */
};

int front_files_begin(struct hf_tmpfs *fs, uint64_t max_open);
/* Closes all of them. */
void front_files_end(void);

/*
 * A place for an open file of this user's; the caller then fills in the descriptor, or gives the
 * place back. -ENFILE: there are max_open; -EMFILE: this user has half of them; -ENOMEM.
 */
int front_file_new(uid_t user, struct front_file **file);
void front_file_give_back(struct front_file *file);
/* With its descriptor. */
int front_file_close(struct front_file *file);

/* ---- fuse_wire.c --------------------------------------------------------------------------- */

#define FRONT_NAMELESS "/" /* create: a file without a name (O_TMPFILE) */

/* Of a session that is mounted. 0, or an error. */
int front_wire(struct fuse_session *session);
/* Whether the request that this thread serves is to clear setuid and setgid. */
bool front_clears(void);

/* ---- fuse.c -------------------------------------------------------------------------------- */

extern const struct fuse_lowlevel_ops front_operations;
extern const size_t front_operations_size;

/* The first request has come. In fuse_main.c. */
void front_ready(void);

/* 0, or an error, and nothing is left. */
int front_begin(const struct front_options *options);
/* After the last request. How many counts were wrong, or objects left: 0 = all is well. */
int front_end(void);

#endif
