/* SPDX-License-Identifier: MIT */
/*
 * storm FOLDER PROCESSES SECONDS - many processes operate on a few names, in the guest of run.py.
 *
 *   hot files     all processes open, read, stat and close them; they are never removed
 *   cold files    each process makes, renames, links and unlinks its own; every step must succeed
 *   shared names  all processes create, rename and unlink them, so that each step may fail
 *   directories   all processes make and remove them, while others walk into them or have one as
 *                 their working directory
 *   rivals        one folder: a seek in it and a lookup of an uncached name take the lock of its
 *                 lockref, while other processes get and put the folder by compare-and-swap
 *   shrinking     the first process makes the kernel drop unused dentries: it marks them dead under
 *                 their locks, while other processes look up the same names
 *
 * An unexpected failure of a step ends the process with a message.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HOT = 4, SHARED = 8, DIRECTORIES = 3, BATCH = 32, RIVALS = 4, MANY = 200 };

static const char *folder;
static unsigned int self;

static void fail(const char *step)
{
	fprintf(stderr, "storm: FAILED: process %u: %s: %s\n", self, step, strerror(errno));
	exit(1);
}

/* The step must succeed. */
static void must(bool worked, const char *step)
{
	if (!worked)
		fail(step);
}

/* The step may fail because of other processes: a name was removed, or exists already. */
static void may(bool worked, const char *step)
{
	if (!worked && errno != ENOENT && errno != EEXIST && errno != ENOTEMPTY && errno != ESTALE)
		fail(step);
}

static const char *path(char *to, const char *format, ...)
{
	va_list list;
	int n = sprintf(to, "%s/", folder);

	va_start(list, format);
	vsprintf(to + n, format, list);
	va_end(list);
	return to;
}

static void make(const char *name, const char *text)
{
	int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	must(file >= 0 && write(file, text, 4) == 4 && !close(file), "make a file");
}

static void check_text(int file, const char *text)
{
	char found[4];

	must(pread(file, found, 4, 0) == 4 && !memcmp(found, text, 4), "read what was written");
}

static void hot(unsigned int random)
{
	char name[64];
	struct stat status;
	int file;

	path(name, "hot/%u", random % HOT);
	must(!stat(name, &status) && status.st_nlink == 1, "stat a hot file");
	file = open(name, O_RDONLY);
	must(file >= 0, "open a hot file");
	check_text(file, "hot.");
	must(!close(file), "close a hot file");
}

static void cold(void)
{
	char name[64], other[64];
	struct stat status;
	int file;

	make(path(name, "cold%u", self), "cold");
	must(!rename(name, path(other, "hot/cold%u", self)), "rename a cold file");
	must(stat(name, &status) && errno == ENOENT, "miss its old name");
	must(!link(other, name) && !stat(name, &status) && status.st_nlink == 2,
	     "link a cold file");
	file = open(other, O_RDONLY);
	must(file >= 0 && !unlink(other) && !unlink(name), "unlink a cold file that is open");
	must(!fstat(file, &status) && status.st_nlink == 0, "find it without a name");
	check_text(file, "cold");
	must(!close(file), "close a cold file");
}

static void shared(unsigned int random)
{
	char name[64], other[64];
	struct stat status;
	int file;

	path(name, "shared%u", random % SHARED);
	path(other, "shared%u", random / SHARED % SHARED);
	switch (random >> 16 & 3) {
	case 0:
		file = open(name, O_RDWR | O_CREAT, 0600);
		must(file >= 0 && !fstat(file, &status) && !close(file), "open a shared name");
		break;
	case 1:
		may(!rename(name, other), "rename a shared name");
		break;
	case 2:
		may(!link(name, other), "link a shared name");
		break;
	default:
		may(!unlink(name), "unlink a shared name");
		may(!stat(other, &status), "stat a shared name");
	}
}

static void directories(unsigned int random)
{
	char outer[64], inner[80], leaf[96];
	struct stat status;
	int file;

	path(outer, "dir%u", random % DIRECTORIES);
	sprintf(inner, "%s/in", outer);
	sprintf(leaf, "%s/leaf", inner);
	may(!mkdir(outer, 0700), "make a directory");
	may(!mkdir(inner, 0700), "make a directory in it");
	file = open(leaf, O_RDWR | O_CREAT, 0600);
	may(file >= 0, "walk into a directory");
	if (file >= 0)
		close(file);
	if (!chdir(inner)) {
		must(!stat(".", &status), "stat the directory it is in");
		may(!stat("../in/leaf", &status), "walk out and in");
		may(!stat("../../hot/0", &status), "walk far");
		must(!chdir("/"), "leave");
	} else {
		may(false, "enter a directory");
	}
	may(!unlink(leaf), "unlink in a directory");
	may(!rmdir(inner), "remove a directory in another");
	may(!rmdir(outer), "remove a directory");
}

static void rivals(void)
{
	char directory[64], absent[64];
	struct stat status;
	int file = open(path(directory, "hot"), O_RDONLY | O_DIRECTORY);

	must(file >= 0, "open the folder of hot files");
	path(absent, "hot/absent%u", self);
	for (int i = 0; i < RIVALS; i++) {
		/* On tmpfs the seek walks past so many names with the lock held. */
		must(lseek(file, HOT + MANY, SEEK_SET) >= 0 && !lseek(file, 0, SEEK_SET), "seek");
		must(stat(absent, &status) && errno == ENOENT, "miss an absent name");
		must(!stat(directory, &status), "stat the folder of hot files");
	}
	must(!close(file), "close the folder of hot files");
}

static void shrink(void)
{
	int file = open("/proc/sys/vm/drop_caches", O_WRONLY);

	must(file >= 0 && write(file, "2", 1) == 1 && !close(file), "shrink the caches");
}

static long work(int seconds)
{
	unsigned int seed = self + 1;
	time_t end = time(NULL) + seconds;
	long rounds = 0;

	do {
		for (int i = 0; i < BATCH; i++, rounds++) {
			unsigned int random = (unsigned int)rand_r(&seed);

			hot(random);
			shared(random);
			rivals();
			if (self == 0)
				shrink();
			if (i % 4 == 0)
				cold();
			if (i % 4 == 1)
				directories(random);
		}
	} while (time(NULL) < end);
	return rounds;
}

int main(int argc, char **argv)
{
	int processes = argc > 2 ? atoi(argv[2]) : 8, seconds = argc > 3 ? atoi(argv[3]) : 5;
	int bad = 0;
	char name[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	folder = argv[1];
	must(!mkdir(path(name, "hot"), 0700), "make a folder");
	for (unsigned int i = 0; i < HOT; i++)
		make(path(name, "hot/%u", i), "hot.");
	for (unsigned int i = 0; i < MANY; i++)
		make(path(name, "hot/many%u", i), "many");
	for (int i = 0; i < processes; i++) {
		self = (unsigned int)i;
		if (!fork()) {
			printf("storm: process %d: %ld rounds\n", i, work(seconds));
			exit(0);
		}
	}
	for (int i = 0, status; i < processes; i++)
		bad |= wait(&status) < 0 || status;
	printf("storm: %s on %s\n", bad ? "FAILED" : "done", folder);
	return bad;
}
