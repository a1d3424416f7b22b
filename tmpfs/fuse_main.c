/* SPDX-License-Identifier: MIT */
/*
 * hf-tmpfs-fuse [SOURCE] MOUNTPOINT [-o OPTION,...] [-f] [-d] [-s] - the file system as a mount.
 *
 * Ends with umount, fusermount3 -u, or SIGTERM; then everything is freed, and every count has been
 * proved: exits with 1 if one was wrong, or a misuse was reported. All that can fail at the start
 * has failed or not before the program that was called ends: a server in the background goes on as
 * its child.
 */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuse_front.h"

#define LARGE (128 << 10) /* bytes */

static void help(const char *program)
{
	printf("usage: %s [options] [source] <mountpoint>\n\n", program);
	front_options_help();
}

/* ---- into the background ------------------------------------------------------------------- */

static int parent = -1; /* pipe to the parent, until the status has been sent */

/*
 * libfuse drops its first request if it has no memory for it: the mount is there then, and each
 * call on it fails, but the server waits for requests. (A call that comes earlier waits.)
 */
static int is_refused(const char *mountpoint)
{
	struct statfs st;

	return statfs(mountpoint, &st) && errno == ECONNREFUSED;
}

/*
 * The parent does not return: it exits with the status that comes by a pipe. Not later than this
 * are threads made, which would not be in the child. 0, or -1.
 */
static int background(const char *mountpoint)
{
	unsigned char status = 1;
	int ends[2];
	pid_t child;

	if (pipe(ends))
		return -1;
	child = fork();
	if (child < 0) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	if (child > 0) {
		struct pollfd told = { .fd = ends[0], .events = POLLIN };

		close(ends[1]);
		while (poll(&told, 1, 100) == 0) {
			if (is_refused(mountpoint)) {
				fprintf(stderr, "hf-tmpfs-fuse: the first request failed\n");
				kill(child, SIGTERM); /* it unmounts, and has a status */
				break;
			}
		}
		if (read(ends[0], &status, 1) != 1)
			status = 1; /* it died */
		_exit(status);
	}
	close(ends[0]);
	setsid();
	parent = ends[1];
	return 0;
}

/* Sends the status to the parent, once, if there is one. */
static void tell(int status)
{
	unsigned char byte = (unsigned char)status;

	if (parent < 0)
		return;
	while (write(parent, &byte, 1) < 0 && errno == EINTR)
		;
	close(parent);
	parent = -1;
}

/* At the first request a server in the background releases the terminal and the directory. */
void front_ready(void)
{
	int null;

	if (parent < 0)
		return;
	null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		if (null > 2)
			close(null);
	}
	tell(chdir("/") ? 5 : 0);
}

/* ---- serving ------------------------------------------------------------------------------- */

/* Sets the score by which the out-of-memory killer chooses. */
static int set_score(const char *score)
{
	int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC), error = 0;
	size_t length = strlen(score);

	if (file < 0 || write(file, score, length) != (ssize_t)length)
		error = -1;
	if (error)
		fprintf(stderr, "hf-tmpfs-fuse: oom_score_adj=%s: %s\n", score, strerror(errno));
	if (file >= 0)
		close(file);
	return error;
}

/* Serves until unmounted. The exit statuses are those of libfuse's own main function. */
static int serve(struct fuse_session *session, const struct fuse_cmdline_opts *how,
		 const struct front_options *options)
{
	int status = 0, error;

	if (!how->foreground && background(options->mountpoint)) {
		fprintf(stderr, "hf-tmpfs-fuse: %s\n", strerror(errno));
		return 5;
	}
	if (options->oom_score_adj && set_score(options->oom_score_adj)) {
		tell(2);
		return 2;
	}
	front_signals();
	error = front_begin(options);
	if (error) {
		fprintf(stderr, "hf-tmpfs-fuse: can't begin: %s\n", strerror(-error));
		tell(1);
		return 1;
	}
	if (fuse_session_mount(session, options->mountpoint)) {
		status = 4;
	} else {
		unsigned int threads = how->singlethread ? 1 : how->max_threads;

		if (front_wire(session)) {
			status = 6;
		} else {
			error = front_workers(session, threads, how->clone_fd);
			status = error ? 8 : 0;
		}
		fuse_session_unmount(session);
	}
	if (error)
		fprintf(stderr, "hf-tmpfs-fuse: can't serve: %s\n", strerror(-error));
	if (front_end())
		status = 1;
	/* A server that ends before its first request has failed. */
	tell(status ? status : 8);
	return status;
}

static int run(struct fuse_args *args, const struct front_options *options)
{
	struct fuse_cmdline_opts how;
	struct fuse_session *session;
	int status = 0;

	if (fuse_parse_cmdline(args, &how))
		return 1;
	if (how.show_help) {
		help(args->argv[0]);
	} else if (how.show_version) {
		printf("hf-tmpfs-fuse of Holdfast %s\nFUSE library version %s\n", HF_FRONT_VERSION,
		       fuse_pkgversion());
		fflush(stdout); /* fusermount3 comes next */
		fuse_lowlevel_version();
	} else if (how.max_threads < 1 || how.max_threads > FRONT_WORKERS_MAX) {
		fprintf(stderr, "hf-tmpfs-fuse: max_threads=%u: not from 1 to %d\n",
			how.max_threads, FRONT_WORKERS_MAX);
		status = 2;
	} else if (!options->mountpoint) {
		fprintf(stderr, "hf-tmpfs-fuse: no mountpoint\n");
		status = 2;
	} else if (options->remount) {
		status = front_remount(options);
	} else if (!front_mountpoint(options->mountpoint)) {
		status = 4;
	} else {
		if (!options->permissions)
			fprintf(stderr,
				"hf-tmpfs-fuse: warning: no_default_permissions: whoever can reach "
				"%s may read and change every file in it\n",
				options->mountpoint);
		session = fuse_session_new(args, &front_operations, front_operations_size, NULL);
		status = 3;
		if (session) {
			status = serve(session, &how, options);
			fuse_session_destroy(session);
		}
	}
	free(how.mountpoint);
	return status;
}

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct front_options options;
	int status = 2;

	/*
	 * By itself glibc keeps more the larger the requests have been: so the data of large ones
	 * goes back.
	 */
	mallopt(M_MMAP_THRESHOLD, LARGE);
	mallopt(M_TRIM_THRESHOLD, LARGE);
	if (front_options(&args, &options) == 0)
		status = run(&args, &options);
	front_options_free(&options);
	fuse_opt_free_args(&args);
	return status;
}
