/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_FUSE_FRONT_H
#define HF_TMPFS_FUSE_FRONT_H
/*
 * fuse_front - declarations shared by the files of hf-tmpfs-fuse.
 *
 *   fuse.c          the kernel's requests
 *   fuse_files.c    open files and their limits
 *   fuse_options.c  the command line
 *   fuse_remount.c  changing the limits of a running server
 *   fuse_wire.c     requests that libfuse does not support, or may lose without memory
 *   fuse_workers.c  the threads
 *   fuse_main.c     the program: mount, serve, unmount
 */
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mount.h>

#include "tmpfs.h"

/* ---- fuse_options.c ------------------------------------------------------------------------ */

/* The limits, which a remount can change, and the score, which it can't. */
struct front_limits {
	uint64_t size, inodes, max_open; /* 0 = no limit */
	int64_t score;                   /* oom_score_adj; FRONT_NO_SCORE = not set */
};
#define FRONT_NO_SCORE INT64_MIN

struct front_options {
	struct front_limits limits;
	unsigned int given;          /* FRONT_GIVEN_*: which of these the command line sets */
	unsigned long flags, chosen; /* MS_*: of the mount; which the command line sets */
	int permissions, remount;    /* of type int for fuse_opt; the kernel checks permissions */
	mode_t mode;                 /* of the root directory */
	uid_t uid;
	gid_t gid;
	char *oom_score_adj; /* NULL = unchanged */
	char *source;        /* NULL = none given */
	char *mountpoint;    /* an absolute path; NULL = none given */
};

#ifndef MS_NOSYMFOLLOW
#define MS_NOSYMFOLLOW 256
#endif

/* Options that set a flag of the mount, or clear it; ends with a name of NULL. */
struct front_flag {
	const char *name;
	unsigned long flag;
	bool set;
};
extern const struct front_flag front_flags[];

#define FRONT_GIVEN_SIZE 1u
#define FRONT_GIVEN_INODES 2u
#define FRONT_GIVEN_MAX_OPEN 4u
#define FRONT_GIVEN_MODE 8u
#define FRONT_GIVEN_UID 16u
#define FRONT_GIVEN_GID 32u
#define FRONT_GIVEN_PERMISSIONS 64u
#define FRONT_GIVEN_ALLOW 128u /* allow_other or allow_root */

/*
 * Parses our options, removes them from `args`, and adds those that libfuse needs. Returns -1 on an
 * error, after printing the option and the reason to standard error.
 */
int front_options(struct fuse_args *args, struct front_options *to);
void front_options_free(struct front_options *options);
void front_options_help(void);

/* Whether the path can be a mountpoint; if not, prints the reason to standard error. */
bool front_mountpoint(const char *path);
/* Whether an hf-tmpfs-fuse is mounted there, with this option, such as allow_other, if not NULL. */
bool front_is_mounted(const char *path, const char *option);

/* ---- fuse_remount.c ------------------------------------------------------------------------ */

/* Ioctls on the root directory, for root and the user who mounted. */
#define FRONT_GET_LIMITS _IOR('H', 1, struct front_limits)
#define FRONT_SET_LIMITS _IOW('H', 2, struct front_limits)

/* Returns the exit status; prints errors to standard error. */
int front_remount(const struct front_options *options);
/* Sets the flags of a new mount that libfuse does not know. Returns 0, or -1 after a message. */
int front_set_flags(const struct front_options *options);

/* ---- fuse_files.c -------------------------------------------------------------------------- */

/* A file that the kernel has open; its handle is the number of the table and the descriptor. */
struct front_file {
	struct hf_tmpfs_table *table;
	int fd;
};

/* The handle of a file that the kernel opened without a request: FUSE_CAP_NO_OPEN_SUPPORT. */
#define FRONT_NO_HANDLE 0

int front_files_begin(struct hf_tmpfs *fs, uint64_t max_open);
uint64_t front_files_limit(void);
void front_files_set_limit(uint64_t max_open);
/* Closes all files. */
void front_files_end(void);

/*
 * hf_tmpfs_open() for this user. -ENFILE: max_open files are open; -EMFILE: this user has half of
 * max_open.
 */
int front_open(uid_t user, struct hf_tmpfs_node *dir, const char *path, int flags, mode_t mode,
	       struct hf_tmpfs_node **node, uint64_t *handle);
/* Closes a file, without allocating. */
int front_close(uint64_t handle);
struct front_file front_file(uint64_t handle);

/* ---- fuse_wire.c --------------------------------------------------------------------------- */

#define FRONT_NAMELESS "/"        /* the name in a request for a file without one (O_TMPFILE) */
#define FRONT_FOR_EVER 1000000000 /* seconds that the kernel may cache a name or attributes */
#define FRONT_MAX_WRITE ((size_t)256 << 10)
#define FRONT_HEADER ((size_t)4096) /* maximum size of a request without the data of a write */
#define FRONT_BUFFER (FRONT_HEADER + FRONT_MAX_WRITE)

struct front_worker {
	pthread_t thread;
	int device;   /* a descriptor of /dev/fuse */
	int error;    /* if the thread could not start */
	bool clears;  /* the request asks to clear setuid and setgid */
	char *buffer; /* FRONT_BUFFER bytes, for the request and then for the reply's data */
};

/* Installs our I/O functions in a mounted session. */
int front_wire(struct fuse_session *session);
/* Reads a request and serves it. Returns 0; 1 = unmounted; or an error of the device. */
int front_serve(struct fuse_session *session, struct front_worker *me);
/* Whether this thread's request asks to clear setuid and setgid. */
bool front_clears(void);
/*
 * FRONT_MAX_WRITE bytes for the reply to a request without data. The names in the request lie
 * before them and stay valid.
 */
char *front_buffer(void);

/* ---- fuse_workers.c ------------------------------------------------------------------------ */

#define FRONT_WORKERS_MAX 64
#define FRONT_WORKERS 10

/* Blocks signals until front_workers() waits for them. Call it before there are threads. */
void front_signals(void);
/* Serves requests until unmounted or signalled. */
int front_workers(struct fuse_session *session, unsigned int count, bool clone);

/* ---- fuse.c -------------------------------------------------------------------------------- */

extern const struct fuse_lowlevel_ops front_operations;
extern const size_t front_operations_size;

/* These serve requests without allocating, and without libfuse. */
void front_forget(uint64_t number, uint64_t count);
void front_stat(uint64_t number, struct stat *to, struct timespec *birth);

/* Called at the first request. In fuse_main.c. */
void front_ready(void);

/* Creates the file system; on an error, everything is freed again. */
int front_begin(const struct front_options *options);
/* After the last request. Returns nonzero if a count was wrong or an object leaked. */
int front_end(void);

#endif
