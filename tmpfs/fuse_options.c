/* SPDX-License-Identifier: MIT */
/*
 * fuse_options - the options of hf-tmpfs-fuse: as the kernel's tmpfs has them, where it has them.
 */
#include <errno.h>
#include <mntent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "fuse_front.h"

#define MAX_OPEN 1048576 /* what Linux lets one process have at most (fs.nr_open) */

struct texts {
	char *size, *inodes, *max_open;
	int permissions;
};

static const struct fuse_opt options[] = {
	{ "size=%s", offsetof(struct texts, size), 0 },
	{ "nr_inodes=%s", offsetof(struct texts, inodes), 0 },
	{ "max_open=%s", offsetof(struct texts, max_open), 0 },
	{ "default_permissions", offsetof(struct texts, permissions), 1 },
	{ "no_default_permissions", offsetof(struct texts, permissions), 0 },
	FUSE_OPT_END,
};

static uint64_t memory(void)
{
	struct sysinfo info;

	return sysinfo(&info) ? 0 : (uint64_t)info.totalram * info.mem_unit;
}

/* A number, with k, m, g, t, p or e behind it; or so many % of `whole`, unless that is 0. */
static bool number(const char *text, uint64_t whole, uint64_t *to)
{
	const char *units = "kmgtpe", *unit;
	char *end;

	/* strtoull() passes over blanks, and takes a sign behind them. */
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*to = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (*end == '%' && whole) {
		if (__builtin_mul_overflow(*to, whole, to))
			return false;
		*to /= 100;
		/* So little that it is less than a byte is not what 0 stands for. */
		if (*to == 0 && strtoull(text, NULL, 10) != 0)
			*to = 1;
		end++;
	} else if (*end && (unit = strchr(units, *end | 0x20))) {
		unsigned int shift = 10 * (unsigned int)(unit - units + 1);

		if (*to > UINT64_MAX >> shift)
			return false;
		*to <<= shift;
		end++;
	}
	return *end == '\0';
}

static bool take(const char *name, const char *text, uint64_t whole, uint64_t *to)
{
	if (!text || number(text, whole, to))
		return true;
	fprintf(stderr, "hf-tmpfs-fuse: %s=%s: not a number, with k, m, g, t, p or e behind it%s\n",
		name, text, whole ? ", or a percentage of memory, as 50%" : "");
	return false;
}

int front_options(struct fuse_args *args, struct front_options *to)
{
	struct texts texts = { .permissions = 1 };
	uint64_t total = memory();
	int result = -1;

	to->size = total / HF_TMPFS_PAGE / 2 * HF_TMPFS_PAGE; /* an odd page is not rounded up */
	to->inodes = total / 2 / HF_TMPFS_PAGE;
	to->max_open = MAX_OPEN;
	if (fuse_opt_parse(args, &texts, options, NULL) == 0 &&
	    take("size", texts.size, total, &to->size) &&
	    take("nr_inodes", texts.inodes, 0, &to->inodes) &&
	    take("max_open", texts.max_open, 0, &to->max_open))
		result = 0;
	to->permissions = texts.permissions;
	if (!result && to->permissions)
		result = fuse_opt_insert_arg(args, 1, "-odefault_permissions");
	free(texts.size);
	free(texts.inodes);
	free(texts.max_open);
	return result;
}

void front_options_help(void)
{
	printf("    -o size=SIZE           bytes of data, with k, m, g, t, p or e, or a percentage "
	       "of\n"
	       "                           memory (default: 50%%; 0: no limit)\n"
	       "    -o nr_inodes=N         files, directories and further links (default: one for\n"
	       "                           every two pages of memory; 0: no limit)\n"
	       "    -o max_open=N          open files, of which a user other than root may have "
	       "half\n"
	       "                           (default: %d; 0: no limit)\n"
	       "    -o no_default_permissions\n"
	       "                           whoever can reach the mount may do anything in it\n",
	       MAX_OPEN);
}

/* ---- the mountpoint ------------------------------------------------------------------------ */

static bool is_ours(const char *path)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *mount;
	bool found = false;

	if (!mounts)
		return false;
	while ((mount = getmntent(mounts))) {
		/* The last one there is the one that is seen. */
		if (strcmp(mount->mnt_dir, path) == 0)
			found = strcmp(mount->mnt_type, "fuse.hf-tmpfs-fuse") == 0;
	}
	endmntent(mounts);
	return found;
}

bool front_mountpoint(const char *path)
{
	struct stat st;

	if (is_ours(path))
		fprintf(stderr, "hf-tmpfs-fuse: %s: in use: hf-tmpfs-fuse is mounted there\n",
			path);
	else if (stat(path, &st))
		fprintf(stderr, "hf-tmpfs-fuse: %s: %s\n", path, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		fprintf(stderr, "hf-tmpfs-fuse: %s: not a directory\n", path);
	else
		return true;
	return false;
}
