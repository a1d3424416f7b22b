/* SPDX-License-Identifier: MIT */
/*
 * cat by mmap(). If a file is truncated while it is read, it prints an error, and SIGBUS does not
 * kill it.
 *
 *   example_nofault_cat [FILE...]     without files: a demonstration with a temporary file
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <holdfast/nofault.h>

static int complain(const char *name, const char *what)
{
	fprintf(stderr, "cat: %s: %s: %s\n", name, what, strerror(errno));
	return 1;
}

/* Copies the mapped file to standard output. Returns the program's exit status. */
static int put(const char *name, const char *map, size_t size)
{
	char buffer[1 << 14];

	for (size_t at = 0; at < size;) {
		size_t len = size - at < sizeof(buffer) ? size - at : sizeof(buffer);
		size_t left = hf_copy_from_nofault(buffer, map + at, len);

		if (fwrite(buffer, 1, len - left, stdout) != len - left)
			return complain("standard output", "can't write");
		at += len - left;
		if (left) {
			fflush(stdout);
			fprintf(stderr,
				"cat: %s: truncated while it was read: only %zu of %zu bytes are "
				"there\n",
				name, at, size);
			return 1;
		}
	}
	return 0;
}

static int cat(const char *name, off_t truncate_to)
{
	int file = open(name, O_RDWR | O_CLOEXEC), status = 1;
	struct stat stat;
	char *map;

	if (file < 0)
		file = open(name, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return complain(name, "can't open");
	if (fstat(file, &stat)) {
		complain(name, "can't find its size");
	} else if (stat.st_size == 0) {
		status = 0;
	} else {
		map = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_SHARED, file, 0);
		if (map == MAP_FAILED) {
			complain(name, "can't map");
		} else {
			if (truncate_to >= 0 && ftruncate(file, truncate_to))
				complain(name, "can't truncate");
			status = put(name, map, (size_t)stat.st_size);
			munmap(map, (size_t)stat.st_size);
		}
	}
	close(file);
	return status;
}

int main(int argc, char **argv)
{
	char name[] = "/tmp/nofault_cat_XXXXXX";
	char line[] = "a line of text\n";
	int file, status = 0;

	errno = -hf_nofault_install();
	if (errno)
		return complain("SIGBUS", "can't handle it");
	for (int i = 1; i < argc; i++)
		status |= cat(argv[i], -1);
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
	status = cat(name, 8192); /* it is mapped with 30000 bytes, and then has 8192 */
	unlink(name);
	return status == 1 ? 0 : 1;
}
