/* SPDX-License-Identifier: MIT */
/*
 * Computes the checksum of a mapped file, which is truncated meanwhile, with code that does not
 * expect that; and reads memory that may be unmapped while SIGSEGV is blocked.
 *
 *   example_region [FILE...]     without files: a demonstration with a temporary file
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <holdfast/region.h>

static int complain(const char *name, const char *what)
{
	fprintf(stderr, "region: %s: %s: %s\n", name, what, strerror(errno));
	return 1;
}

/* Stands for code that you cannot change. */
static unsigned long checksum(const unsigned char *bytes, size_t len)
{
	unsigned long sum = 5381;

	for (size_t i = 0; i < len; i++)
		sum = sum * 33 ^ bytes[i];
	return sum;
}

/* Returns the program's exit status; 2: the file became shorter. */
static int sum(const char *name, off_t truncate_to)
{
	int file = open(name, truncate_to < 0 ? O_RDONLY | O_CLOEXEC : O_RDWR | O_CLOEXEC),
	    status = 1;
	struct hf_region_fault fault;
	struct stat stat;
	hf_region_t region;
	unsigned long result;
	size_t size;
	void *map;

	if (file < 0)
		return complain(name, "can't open");
	if (fstat(file, &stat) || stat.st_size == 0) {
		close(file);
		return complain(name, "has no bytes");
	}
	size = (size_t)stat.st_size;
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
	if (map == MAP_FAILED) {
		close(file);
		return complain(name, "can't map");
	}
	errno = -hf_region_begin_file(&region, map, size, PROT_READ, MAP_SHARED, file, 0);
	if (errno) {
		complain(name, "no region");
	} else {
		if (truncate_to >= 0 && ftruncate(file, truncate_to))
			complain(name, "can't truncate");
		result = checksum((const unsigned char *)map, size);
		/* Only hf_region_end() shows whether these were the file's bytes. */
		if (hf_region_end(&region, &fault) == size) {
			printf("%016lx  %s\n", result, name);
			status = 0;
		} else {
			printf("%s: no checksum: only %zu of %zu bytes are there\n", name,
			       fault.bad, size);
			status = 2;
		}
	}
	munmap(map, size);
	close(file);
	return status;
}

/* Reads memory as a crash reporter does in its signal handler. Returns 0 on success. */
static int read_with_signals_blocked(void)
{
	unsigned int value = 7, found = 0;
	sigset_t blocked, before;
	int there, not_there;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGSEGV);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	there = hf_load32_safe(&found, &value);
	not_there = hf_load32_safe(&found, (const void *)16);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return there == 0 && not_there == -EFAULT && found == value ? 0 : 1;
}

int main(int argc, char **argv)
{
	char name[] = "/tmp/region_XXXXXX";
	char line[] = "a line of text\n";
	int file, status = 0;

	errno = -hf_nofault_install();
	if (errno)
		return complain("SIGBUS", "can't handle it");
	for (int i = 1; i < argc; i++)
		status |= sum(argv[i], -1);
	if (argc > 1)
		return status;

	file = mkstemp(name);
	if (file < 0)
		return complain(name, "can't make it");
	for (int i = 0; i < 2000; i++) {
		if (write(file, line, sizeof(line) - 1) < 0)
			return complain(name, "can't write");
	}
	close(file);
	status = sum(name, -1);
	if (status == 0)
		status = sum(name, 10000) != 2; /* 30000 bytes mapped, 10000 left */
	unlink(name);
	return status | read_with_signals_blocked();
}
