/* SPDX-License-Identifier: MIT */
/*
 * hf-tmpfs-fuse [SOURCE] MOUNTPOINT [-o OPTION,...] [-f] [-d] [-s] - mounts the file system.
 *
 * Serves it until umount, fusermount3 -u or SIGTERM, then checks every count and frees everything.
 * Exits with 1 if a count was wrong or a misuse was reported. In the background, a child process is
 * the server; the parent exits when the first request has been served, or with the error that
 * prevented it.
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
 * If libfuse has no memory for its first request it drops it: then the file system is mounted and
 * the server waits for requests, but each call on the mount fails. (Before, calls would wait.)
 */
static int is_refused(const char *mountpoint)
{
	struct statfs st;

	return statfs(mountpoint, &st) && errno == ECONNREFUSED;
}

/*
 * Forks. The parent does not return: it exits with the status that the child sends by a pipe. Must
 * be called before there are threads, which the child would lack. Returns 0 in the child, or -1.
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
		struct pollfd sent = { .fd = ends[0], .events = POLLIN };

		close(ends[1]);
		while (poll(&sent, 1, 100) == 0) {
			if (is_refused(mountpoint)) {
				fprintf(stderr, "hf-tmpfs-fuse: the first request failed\n");
				kill(child, SIGTERM); /* it unmounts and sends a status */
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

/* Sends the status to the parent, if there is one and it has not been sent. */
static void send_status(int status)
{
	unsigned char byte = (unsigned char)status;

	if (parent < 0)
		return;
	while (write(parent, &byte, 1) < 0 && errno == EINTR)
		;
	close(parent);
	parent = -1;
}

/* At the first request a background server leaves its terminal and its working directory. */
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
	send_status(chdir("/") ? 5 : 0);
}

/* ---- serving ------------------------------------------------------------------------------- */

/* Adjusts the score by which the out-of-memory killer chooses a process. */
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

/* Serves until unmounted. The exit statuses are those of libfuse's fuse_main(). */
static int serve(struct fuse_session *session, const struct fuse_cmdline_opts *how,
		 const struct front_options *options)
{
	int status = 0, error;

	if (!how->foreground && background(options->mountpoint)) {
		fprintf(stderr, "hf-tmpfs-fuse: %s\n", strerror(errno));
		return 5;
	}
	if (options->oom_score_adj && set_score(options->oom_score_adj)) {
		send_status(2);
		return 2;
	}
	front_signals();
	error = front_begin(options);
	if (error) {
		fprintf(stderr, "hf-tmpfs-fuse: can't create the file system: %s\n",
			strerror(-error));
		send_status(1);
		return 1;
	}
	if (fuse_session_mount(session, options->mountpoint)) {
		status = 4;
	} else if (front_set_flags(options)) {
		status = 4;
		fuse_session_unmount(session);
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
	send_status(status ? status : 8);
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
		fflush(stdout); /* before fusermount3 prints its version */
		fuse_lowlevel_version();
	} else if (how.max_threads < 1 || how.max_threads > FRONT_WORKERS_MAX) {
		fprintf(stderr, "hf-tmpfs-fuse: max_threads=%u: expected a number from 1 to %d\n",
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
				"hf-tmpfs-fuse: warning: no_default_permissions: everyone with "
				"access to %s may read and change every file in it\n",
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
	 * glibc raises these thresholds when large blocks are freed, and then keeps more memory.
	 * Fixed ones make it return large blocks to the system.
	 */
	mallopt(M_MMAP_THRESHOLD, LARGE);
	mallopt(M_TRIM_THRESHOLD, LARGE);
	if (front_options(&args, &options) == 0)
		status = run(&args, &options);
	front_options_free(&options);
	fuse_opt_free_args(&args);
	return status;
}
