/* SPDX-License-Identifier: MIT */
/*
 * hf-tmpfs-fuse [SOURCE] MOUNTPOINT [-o OPTION,...] [-f] [-d] [-s] - mounts the file system.
 *
 * Serves it by libfuse's threads until umount, fusermount3 -u or SIGTERM, then checks every count
 * and frees everything. Exits with 1 if a count was wrong or a misuse was reported.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuse_front.h"

static int loop(struct fuse_session *session, const struct fuse_cmdline_opts *how)
{
	struct fuse_loop_config *config;
	int result;

	if (how->singlethread)
		return fuse_session_loop(session);
	config = fuse_loop_cfg_create();
	fuse_loop_cfg_set_clone_fd(config, (unsigned int)how->clone_fd);
	fuse_loop_cfg_set_max_threads(config, how->max_threads);
	result = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	return result;
}

/* Serves until unmounted. The exit statuses are those of libfuse's fuse_main(). */
static int serve(struct fuse_session *session, const struct fuse_cmdline_opts *how,
		 const struct front_options *options)
{
	int status = 0, error;

	if (fuse_session_mount(session, options->mountpoint))
		return 4;
	/* Into the background first: the child of fork() has no threads of the file system. */
	if (fuse_daemonize(how->foreground)) {
		status = 5;
	} else if (fuse_set_signal_handlers(session)) {
		status = 6;
	} else {
		error = front_begin(options);
		if (error) {
			fprintf(stderr, "hf-tmpfs-fuse: can't create the file system: %s\n",
				strerror(-error));
			status = 1;
		} else {
			/* Positive: the number of a signal that ended it. */
			status = loop(session, how) < 0 ? 8 : 0;
			if (front_end())
				status = 1;
		}
		fuse_remove_signal_handlers(session);
	}
	fuse_session_unmount(session);
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
		printf("usage: %s [options] [source] <mountpoint>\n\n", args->argv[0]);
		front_options_help();
	} else if (how.show_version) {
		printf("hf-tmpfs-fuse of Holdfast %s\nFUSE library version %s\n", HF_FRONT_VERSION,
		       fuse_pkgversion());
		fflush(stdout); /* before fusermount3 prints its version */
		fuse_lowlevel_version();
	} else if (!options->mountpoint) {
		fprintf(stderr, "hf-tmpfs-fuse: no mountpoint\n");
		status = 2;
	} else if (!front_mountpoint(options->mountpoint)) {
		status = 4;
	} else {
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

	if (front_options(&args, &options) == 0)
		status = run(&args, &options);
	front_options_free(&options);
	fuse_opt_free_args(&args);
	return status;
}
