/* SPDX-License-Identifier: MIT */
/*
 * holes FOLDER - clears and copies of the kernel, at a hole, by system calls: in the guest of
 * run.py.
 *
 *   zero     read of /dev/zero            clear_user()
 *   hole     read of a hole on tmpfs      copy_to_user() of the zero page
 *   data     read of a file on tmpfs      copy_to_user()
 *   write    write to a pipe, read back   copy_from_user()
 *   splice   a hole on tmpfs to a pipe    no user memory: iov_iter_zero() of a pipe
 *   dd       a hole on tmpfs, read into a buffer and written to a pipe
 *   vm       process_vm_readv             copy_to_user() across pages
 *
 * The buffer ends at a page that is unmapped, inaccessible or read-only. A read must return
 * the bytes before it, and have written these only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, ROOM = 1024, MOST = 300, BEFORE = 0xa5, BIG = 2 << 20 };

static unsigned char *hole, source[2 * PAGE], expected[ROOM], big[1 << 20];
static long bad, early;
static bool may_be_early; /* argument "early": the kernel's own functions may stop early */

static void must(bool worked, const char *step)
{
	if (!worked) {
		printf("HOLES FAILED: %s: %s\n", step, strerror(errno));
		exit(1);
	}
}

static void wrong(const char *name, size_t size, size_t good, ssize_t got)
{
	if (bad++ < 5)
		printf("HOLES FAILED: %s: size %zu with %zu good: %zd\n", name, size, good, got);
}

static void map(int kind)
{
	unsigned char *at =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(at != MAP_FAILED, "map");
	hole = at + PAGE;
	must(kind == 0 ? !munmap(hole, PAGE)
		       : !mprotect(hole, PAGE, kind == 1 ? PROT_NONE : PROT_READ),
	     "make a hole");
}

/* Reads at every size up to MOST, with the hole at every place near both ends. */
static void reads(const char *name, int file, const unsigned char *data)
{
	long cases = 0;

	for (size_t size = 1; size <= MOST; size += size < 140 ? 1 : 23) {
		for (size_t good = 0; good <= size + 3; good++) {
			size_t done = good < size ? good : size;
			ssize_t got;

			if (good > 35 && good + 35 < size && good % 16 > 1)
				continue;
			memset(hole - ROOM, BEFORE, ROOM);
			memset(expected, BEFORE, ROOM);
			memcpy(expected + ROOM - good, data, done);
			errno = 0;
			got = pread(file, hole - good, size, 0);
			if (may_be_early && done && got < (ssize_t)done) {
				size_t so_far = got > 0 ? (size_t)got : 0;

				early++;
				if (got == 0 || (got < 0 && errno != EFAULT) ||
				    memcmp(hole - ROOM, expected, ROOM - good + so_far))
					wrong(name, size, good, got);
			} else if (done ? got != (ssize_t)done : got != -1 || errno != EFAULT)
				wrong(name, size, good, got);
			else if (memcmp(hole - ROOM, expected, ROOM))
				wrong(name, size, good, -2);
			cases++;
		}
	}
	printf("HOLES %s: %ld cases\n", name, cases);
}

static void writes(void)
{
	long cases = 0;

	for (size_t size = 1; size <= MOST; size += size < 140 ? 1 : 23) {
		for (size_t good = 0; good <= size + 3;
		     good += good < 20 || good + 20 > size ? 1 : 7) {
			unsigned char found[MOST + 8];
			size_t done = good < size ? good : size;
			int ends[2];
			ssize_t got, back;

			memcpy(hole - good, source, good);
			must(!pipe2(ends, O_NONBLOCK), "make a pipe");
			got = write(ends[1], hole - good, size);
			back = read(ends[0], found, sizeof(found));
			/* A pipe drops a page that it could not fill: all or nothing. */
			if (done == size ? got != (ssize_t)size || back != got ||
						   memcmp(found, source, size)
					 : got != -1 || back != -1)
				wrong("write", size, good, got);
			close(ends[0]);
			close(ends[1]);
			cases++;
		}
	}
	printf("HOLES write: %ld cases\n", cases);
}

static void vm(void)
{
	for (size_t size = 1; size <= PAGE; size += 61) {
		struct iovec here = { hole - size, size }, there = { source, size };

		memset(hole - PAGE, BEFORE, PAGE);
		if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != (ssize_t)size ||
		    memcmp(hole - size, source, size))
			wrong("vm", size, size, 0);
		here.iov_len++;
		there.iov_len++;
		(void)process_vm_readv(getpid(), &here, 1, &there, 1, 0);
		if (memcmp(hole - size, source, size))
			wrong("vm over", size, size, 0);
	}
	printf("HOLES vm: done\n");
}

static void stream(const char *name, int file, size_t offset)
{
	size_t total = 0;

	for (size_t at = 0; at < BIG; at += sizeof(big) - offset) {
		ssize_t got;

		memset(big, BEFORE, sizeof(big));
		got = pread(file, big + offset, sizeof(big) - offset, (off_t)at);
		for (ssize_t i = 0; i < got; i++)
			if (big[offset + (size_t)i])
				wrong(name, at, (size_t)i, big[offset + (size_t)i]);
		if (offset && big[offset - 1] != BEFORE)
			wrong(name, at, 0, -3);
		total += got > 0 ? (size_t)got : 0;
	}
	printf("HOLES %s: %zu bytes of zero, offset %zu\n", name, total, offset);
}

static void spliced(int file)
{
	int ends[2];
	size_t total = 0;

	must(!pipe(ends), "make a pipe");
	for (int i = 0; i < 64; i++) {
		loff_t at = (loff_t)i * PAGE; /* one buffer of the pipe */
		ssize_t got = splice(file, &at, ends[1], NULL, 4093, 0), back;
		size_t good = (size_t)i * 60;

		must(got > 0, "splice a hole");
		/* A pipe keeps a page that it could not hand over whole. */
		memset(hole - PAGE, BEFORE, PAGE);
		errno = 0;
		back = read(ends[0], hole - good, (size_t)got);
		if (back != -1 || errno != EFAULT)
			wrong("splice into the hole", (size_t)got, good, back);
		for (size_t j = 0; j < PAGE; j++)
			if (!may_be_early &&
			    hole[(ssize_t)j - PAGE] != (j < PAGE - good ? BEFORE : 0))
				wrong("splice into the hole", (size_t)got, good, (ssize_t)j);
		memset(big, BEFORE, PAGE);
		back = read(ends[0], big, PAGE);
		if (back != got)
			wrong("splice", (size_t)got, 0, back);
		for (ssize_t j = 0; j < back; j++)
			if (big[j])
				wrong("splice", (size_t)got, (size_t)j, big[j]);
		total += (size_t)back;
	}
	printf("HOLES splice: %zu bytes of zero\n", total);
}

/* As dd does: each block is read and written on. */
static void dd(int file)
{
	size_t total = 0;
	int ends[2];

	must(!pipe(ends), "make a pipe");
	for (off_t at = 0; at < BIG; at += 61441) {
		ssize_t got, back;

		memset(big, BEFORE, 61441);
		got = pread(file, big, 61441, at);
		if (got <= 0 || write(ends[1], big, (size_t)got) != got)
			wrong("dd", (size_t)at, 0, got);
		memset(big, BEFORE, 61441);
		back = read(ends[0], big, 61441);
		if (back != got)
			wrong("dd", (size_t)got, 0, back);
		for (ssize_t i = 0; i < back; i++)
			if (big[i])
				wrong("dd", (size_t)got, (size_t)i, big[i]);
		total += back > 0 ? (size_t)back : 0;
	}
	if (total != BIG)
		wrong("dd", BIG, 0, (ssize_t)total);
	printf("HOLES dd: %zu bytes of zero\n", total);
}

int main(int argc, char **argv)
{
	static const unsigned char zeros[MOST + 8];
	static const char *const kinds[] = { "unmapped", "no access", "read-only" };
	char name[64];
	int zero = open("/dev/zero", O_RDONLY), sparse, data;

	may_be_early = argc > 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	sprintf(name, "%s/sparse", argv[1]);
	sparse = open(name, O_RDWR | O_CREAT, 0600);
	sprintf(name, "%s/data", argv[1]);
	data = open(name, O_RDWR | O_CREAT, 0600);
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (unsigned char)(i * 13 + 5);
	must(zero >= 0 && sparse >= 0 && data >= 0 && !ftruncate(sparse, BIG) &&
		     write(data, source, sizeof(source)) == sizeof(source),
	     "make the files");
	for (int kind = 0; kind < 3; kind++) {
		map(kind);
		printf("HOLES hole: %s\n", kinds[kind]);
		reads("zero", zero, zeros);
		reads("hole", sparse, zeros);
		reads("data", data, source);
		if (kind < 2)
			writes();
		vm();
	}
	spliced(sparse);
	dd(sparse);
	stream("zero", zero, 0);
	stream("zero", zero, 3);
	stream("hole", sparse, 0);
	stream("hole", sparse, 3);
	if (may_be_early)
		printf("HOLES early: %ld reads\n", early);
	printf("HOLES END, %ld wrong\n", bad);
	return bad != 0;
}
