/* SPDX-License-Identifier: MIT */
/*
 * fuse_options - the command line, with the options of the kernel's tmpfs where it has them. An
 * option that is not supported is an error, which names it.
 *
 *   hf-tmpfs-fuse [SOURCE] MOUNTPOINT [-o OPTION,...]
 *
 * SOURCE is for mount(8) and fstab, whose syntax requires one; it may be any name.
 */
#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "fuse_front.h"

#define MAX_OPEN 262144 /* of which each takes 8 bytes when the server begins */

/* Our own options. */
enum { SIZE, BLOCKS, INODES, OPEN_FILES, MODE, USER, GROUP };

static const struct fuse_opt options[] = {
	FUSE_OPT_KEY("size=", SIZE),        FUSE_OPT_KEY("nr_blocks=", BLOCKS),
	FUSE_OPT_KEY("nr_inodes=", INODES), FUSE_OPT_KEY("max_open=", OPEN_FILES),
	FUSE_OPT_KEY("mode=", MODE),        FUSE_OPT_KEY("uid=", USER),
	FUSE_OPT_KEY("gid=", GROUP),        FUSE_OPT_END,
};

/* In the lists below, a name that ends in = takes a value, and one that ends in - is a prefix. */

/* Passed on: options of libfuse, and those of the kernel for every file system. */
static const char *const passed[] = {
	"-h",          "--help",       "-V",           "--version", "-d",        "debug",
	"-f",          "-s",           "clone_fd",     "fsname=",   "max_read=", "allow_other",
	"allow_root",  "context=",     "max_threads=", "ro",        "rw",        "suid",
	"nosuid",      "dev",          "nodev",        "exec",      "noexec",    "sync",
	"async",       "dirsync",      "auto_unmount", "atime",     "noatime",   "fscontext=",
	"defcontext=", "rootcontext=",
};

/*
 * Ignored: options of mount(8), which fstab may contain; and options of the kernel that ask for
 * what is so in any case, or that the server serves by itself.
 */
static const char *const dropped[] = {
	"defaults",     "auto",       "noauto",    "nofail",   "user",       "user=",
	"nouser",       "users",      "owner",     "group",    "_netdev",    "comment=",
	"subtype=",     "x-",         "X-",        "relatime", "norelatime", "nostrictatime",
	"lazytime",     "nolazytime", "silent",    "loud",     "iversion",   "noiversion",
	"nomand",       "diratime",   "symfollow", "inode64",  "nodiratime", "default_permissions",
	"mpol=default", "huge=never",
};

/* Options of the kernel's tmpfs, and of mount(8), that are an error here. */
static const char *const refused[] = {
	"strictatime", "noswap",   "huge=",    "mpol=",   "inode32",     "mand",
	"quota",       "usrquota", "grpquota", "remount", "nosymfollow",
};

static bool is_in(const char *const *list, size_t count, const char *option)
{
	for (size_t i = 0; i < count; i++) {
		const size_t length = strlen(list[i]);
		const char last = list[i][length - 1];

		if (strncmp(option, list[i], length) == 0 &&
		    (last == '=' || last == '-' || !option[length]))
			return true;
	}
	return false;
}

#define IS_IN(list, option) is_in(list, sizeof(list) / sizeof((list)[0]), option)

static uint64_t memory(void)
{
	struct sysinfo info;

	return sysinfo(&info) ? 0 : (uint64_t)info.totalram * info.mem_unit;
}

static int wrong(const char *option, const char *why)
{
	fprintf(stderr, "hf-tmpfs-fuse: %s: %s\n", option, why);
	return -1;
}

/* Parses a number with an optional k, m, g, t, p or e; or, if `whole` is not 0, a percentage. */
static bool number(const char *text, uint64_t whole, uint64_t *to)
{
	const char *units = "kmgtpe", *unit;
	char *end;

	/* strtoull() would skip blanks and accept a sign. */
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
		/* A nonzero percentage that rounds down to 0 must not mean `no limit`. */
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

/* The number of an option "name=number". */
static int take(const char *option, uint64_t whole, uint64_t *to)
{
	if (number(strchr(option, '=') + 1, whole, to))
		return 0;
	return wrong(option, whole ? "expected a number, optionally with k, m, g, t, p or e, or a "
				     "percentage of memory such as 50%"
				   : "expected a number, optionally with k, m, g, t, p or e");
}

static int take_blocks(const char *option, uint64_t *size)
{
	uint64_t blocks;

	if (take(option, 0, &blocks))
		return -1;
	if (blocks > UINT64_MAX / HF_TMPFS_PAGE)
		return wrong(option, "too many");
	*size = blocks * HF_TMPFS_PAGE;
	return 0;
}

static int take_open_files(const char *option, uint64_t *to)
{
	if (take(option, 0, to))
		return -1;
	if (*to == 0 || *to > HF_TMPFS_DESCRIPTORS_MAX)
		return wrong(option, "expected a number from 1 to 1024k");
	return 0;
}

/* Parses "name=number" in this base, up to `most`. */
static int take_id(const char *option, int base, unsigned long most, unsigned int *to)
{
	const char *text = strchr(option, '=') + 1;
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, base);
	if (*text < '0' || *text > '9' || *end || errno || value > most)
		return wrong(option, base == 8 ? "expected an octal mode such as 1777"
					       : "expected the number of a user or group");
	*to = (unsigned int)value;
	return 0;
}

/* Takes a word: of one it is the mountpoint, of two the first is the source. */
static int take_word(const char *word, struct front_options *to)
{
	char *copy;

	if (to->source)
		return wrong(word, "unexpected argument after the source and the mountpoint");
	copy = strdup(word);
	if (!copy)
		return wrong(word, strerror(ENOMEM));
	to->source = to->mountpoint;
	to->mountpoint = copy;
	return 0;
}

/* An option without a key. Returns as option(). */
static int take_other(const char *text, struct front_options *to)
{
	if (strcmp(text, "nodiratime") == 0)
		to->nodiratime = true;
	if (strcmp(text, "noatime") == 0 || strcmp(text, "atime") == 0 ||
	    strcmp(text, "relatime") == 0)
		to->noatime = *text == 'n';
	if (IS_IN(dropped, text))
		return 0;
	if (IS_IN(refused, text))
		return wrong(text, "not supported");
	return IS_IN(passed, text) ? 1 : wrong(text, "unknown option");
}

/* Returns 1: pass it on to libfuse; 0: done; -1: an error. */
static int option(void *data, const char *text, int key, struct fuse_args *rest)
{
	struct front_options *to = data;
	uint64_t whole = memory();

	(void)rest;
	switch (key) {
	case FUSE_OPT_KEY_NONOPT:
		return take_word(text, to);
	case FUSE_OPT_KEY_OPT:
		return take_other(text, to);
	case SIZE:
		return take(text, whole, &to->size);
	case BLOCKS:
		return take_blocks(text, &to->size);
	case INODES:
		return take(text, 0, &to->inodes);
	case OPEN_FILES:
		return take_open_files(text, &to->max_open);
	case MODE:
		return take_id(text, 8, 07777, &to->mode);
	case USER:
		return take_id(text, 10, UINT_MAX - 1, &to->uid);
	default: /* GROUP */
		return take_id(text, 10, UINT_MAX - 1, &to->gid);
	}
}

/* Passes the source to libfuse. One with a slash is an error: it is probably a misplaced path. */
static int pass_source(struct fuse_args *args, const char *source)
{
	char words[256];

	if (!*source || strpbrk(source, "/,\\"))
		return wrong(*source ? source : "''",
			     "the source must be a name without slashes, such as none");
	if ((size_t)snprintf(words, sizeof(words), "-ofsname=%s", source) >= sizeof(words))
		return wrong(source, "the source is too long");
	return fuse_opt_insert_arg(args, 1, words);
}

int front_options(struct fuse_args *args, struct front_options *to)
{
	uint64_t total = memory();
	char *whole;

	/* An odd page is not rounded up, as in the kernel's tmpfs. */
	*to = (struct front_options){ .size = total / HF_TMPFS_PAGE / 2 * HF_TMPFS_PAGE,
				      .inodes = total / HF_TMPFS_PAGE / 2,
				      .max_open = MAX_OPEN,
				      .mode = S_ISVTX | 0777,
				      .uid = geteuid(),
				      .gid = getegid() };
	if (fuse_opt_parse(args, to, options, option))
		return -1;
	if (to->source && pass_source(args, to->source))
		return -1;
	/* The type is always fuse.hf-tmpfs, whatever the program's file is called. */
	if (fuse_opt_insert_arg(args, 1, "-osubtype=hf-tmpfs"))
		return -1;
	if (fuse_opt_insert_arg(args, 1, "-odefault_permissions"))
		return -1;
	whole = to->mountpoint ? realpath(to->mountpoint, NULL) : NULL;
	if (whole) { /* else front_mountpoint() reports the error */
		free(to->mountpoint);
		to->mountpoint = whole;
	}
	return 0;
}

void front_options_free(struct front_options *to)
{
	free(to->source);
	free(to->mountpoint);
}

void front_options_help(void)
{
	printf("    -o size=SIZE           limit of data: bytes, optionally with k, m, g, t, p or "
	       "e,\n"
	       "                           or a percentage of memory (default: 50%%; 0: no limit)\n"
	       "    -o nr_blocks=N         the same limit in pages of 4096 bytes\n"
	       "    -o nr_inodes=N         limit of files, directories and additional hard links\n"
	       "                           (default: one for two pages of memory; 0: no limit)\n"
	       "    -o max_open=N          limit of open files (default: %d)\n"
	       "    -o mode=MODE,uid=N,gid=N\n"
	       "                           root directory (default: 1777, the caller's)\n"
	       "    -o noatime             reads do not update the access time\n"
	       "    -o nodiratime          listings do not update the access time\n"
	       "\n"
	       "    -f                     stay in the foreground\n"
	       "    -d, -o debug           the same, and print most requests\n"
	       "    -s                     use one thread\n"
	       "    -o max_threads=N       number of threads (default: 10)\n"
	       "    -o clone_fd            use a separate device descriptor for each thread\n"
	       "    -o allow_other         allow access by all users\n"
	       "    -o allow_root          allow access by root\n"
	       "    -o auto_unmount        unmount when the server dies\n"
	       "    -o ro, rw, suid, nosuid, dev, nodev, exec, noexec, sync, async, dirsync,\n"
	       "       context=, fsname=, max_read=\n"
	       "                           as in mount(8)\n"
	       "    -h, --help    -V, --version\n",
	       MAX_OPEN);
}

/* ---- the mountpoint ------------------------------------------------------------------------ */

/* Whether an hf-tmpfs-fuse is mounted there. */
static bool is_mounted(const char *path)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *mount;
	bool found = false;

	if (!mounts)
		return false;
	while ((mount = getmntent(mounts))) {
		/* The last mount at a path is the visible one. */
		if (strcmp(mount->mnt_dir, path) == 0)
			found = strcmp(mount->mnt_type, "fuse.hf-tmpfs") == 0;
	}
	endmntent(mounts);
	return found;
}

bool front_mountpoint(const char *path)
{
	struct stat st;

	if (is_mounted(path))
		wrong(path, "in use: hf-tmpfs-fuse is mounted there");
	else if (stat(path, &st))
		wrong(path, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		wrong(path, "not a directory");
	else
		return true;
	return false;
}
