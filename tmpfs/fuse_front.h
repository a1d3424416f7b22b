/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_FUSE_FRONT_H
#define HF_TMPFS_FUSE_FRONT_H
/*
 * fuse_front - what the files of hf-tmpfs-fuse share.
 *
 *   fuse.c          the requests of the kernel
 *   fuse_files.c    open files, and how many there may be
 *   fuse_options.c  the command line
 *   fuse_remount.c  new limits for a server that runs
 *   fuse_wire.c     the kernel's protocol where libfuse does not know it, or needs memory
 *   fuse_workers.c  the threads
 *   fuse_main.c     the program: mount, serve, end
 */
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "tmpfs.h"

/* ---- fuse_options.c ------------------------------------------------------------------------ */

/* What a remount can change. */
struct front_limits {
	uint64_t size, inodes, max_open; /* 0 = no limit */
};

struct front_options {
	struct front_limits limits;
	unsigned int given; /* FRONT_GIVEN_*: the limits that the command line sets */
	bool permissions;   /* the kernel checks permissions */
	bool noatime;
	bool remount;
	mode_t mode; /* of the root directory */
	uid_t uid;
	gid_t gid;
	char *oom_score_adj; /* NULL = as it is */
	char *source;        /* NULL = none was given */
	char *mountpoint;    /* an absolute path; NULL = none was given */
};

#define FRONT_GIVEN_SIZE 1u
#define FRONT_GIVEN_INODES 2u
#define FRONT_GIVEN_MAX_OPEN 4u

/*
 * Takes our options out of `args`, and puts in what libfuse is to know. 0, or -1, and standard
 * error names the option.
 */
int front_options(struct fuse_args *args, struct front_options *to);
void front_options_free(struct front_options *options);
void front_options_help(void);

/* Whether the path can be a mountpoint; if not, prints the reason to standard error. */
bool front_mountpoint(const char *path);
/* Whether an hf-tmpfs-fuse is mounted there. */
bool front_is_mounted(const char *path);

/* ---- fuse_remount.c ------------------------------------------------------------------------ */

/* Ioctls on the root directory, for root and the user who mounted. */
#define FRONT_GET_LIMITS _IOR('H', 1, struct front_limits)
#define FRONT_SET_LIMITS _IOW('H', 2, struct front_limits)

/* The exit status; standard error says what was wrong. */
int front_remount(const struct front_options *options);

/* ---- fuse_files.c -------------------------------------------------------------------------- */

/* A file that the kernel has open: a descriptor in one of the tables, and its user's share. */
struct front_file {
	struct hf_tmpfs_table *table;
	int fd;
	unsigned int number; /* of the table */
	struct front_share *share;
	struct front_file *next, **link; /* list of all; the pointer that points to this one */
};

int front_files_begin(struct hf_tmpfs *fs, uint64_t max_open);
uint64_t front_files_limit(void);
void front_files_set_limit(uint64_t max_open);
/* Closes all of them. */
void front_files_end(void);

/*
 * A place for an open file of this user's; the caller then fills in the descriptor, or gives the
 * place back. -ENFILE: there are max_open; -EMFILE: this user has half of them; -ENOMEM.
 */
int front_file_new(uid_t user, struct front_file **file);
void front_file_give_back(struct front_file *file);
/* The same, after closing its descriptor. */
int front_file_close(struct front_file *file);

/* ---- fuse_wire.c --------------------------------------------------------------------------- */

#define FRONT_NAMELESS "/"        /* create: a file without a name (O_TMPFILE) */
#define FRONT_FOR_EVER 1000000000 /* seconds that the kernel may rely on a name, or attributes */
#define FRONT_MAX_WRITE ((size_t)256 << 10)
#define FRONT_HEADER ((size_t)4096) /* of a request: all but the data of a write */
#define FRONT_BUFFER (FRONT_HEADER + FRONT_MAX_WRITE)

struct front_worker {
	pthread_t thread;
	int device; /* a descriptor of /dev/fuse */
	int error;  /* of its start */
	bool clears;
	char *buffer; /* FRONT_BUFFER bytes: the request, and then what a reply needs */
};

/* Installs our I/O functions in a mounted session. 0, or an error. */
int front_wire(struct fuse_session *session);
/* Reads a request and serves it. 0; 1: unmounted; or an error of the device. */
int front_serve(struct fuse_session *session, struct front_worker *me);
/* Whether this thread's request asks to clear setuid and setgid. */
bool front_clears(void);
/*
 * FRONT_MAX_WRITE bytes for the reply of a request that has no data. The request's names, which lie
 * before them, stay.
 */
char *front_buffer(void);

/* ---- fuse_workers.c ------------------------------------------------------------------------ */

#define FRONT_WORKERS_MAX 64
#define FRONT_WORKERS 10

/* Blocks signals until front_workers() waits for them. Before mounting, with one thread. */
void front_signals(void);
/* Serves until unmounted or signalled. 0, or an error. */
int front_workers(struct fuse_session *session, unsigned int count, bool clone);

/* ---- fuse.c -------------------------------------------------------------------------------- */

extern const struct fuse_lowlevel_ops front_operations;
extern const size_t front_operations_size;

/* Served without allocating and without libfuse. */
void front_forget(uint64_t number, uint64_t count);
int front_release(uint64_t handle);
void front_stat(uint64_t number, struct stat *to, struct timespec *birth);

/* Called at the first request. In fuse_main.c. */
void front_ready(void);

/* 0, or an error with everything freed again. */
int front_begin(const struct front_options *options);
/* After the last request. 0, or nonzero if a count was wrong or an object was left. */
int front_end(void);

#endif
