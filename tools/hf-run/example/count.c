/* SPDX-License-Identifier: MIT */
/*
 * count - counts the lines of a file, which another process truncates meanwhile: for
 * docs/guide/bus-error.md. Without `hf-run --lost-pages` it dies of SIGBUS.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static long count_lines(const char *text, long len)
{
	long lines = 0;

	for (long i = 0; i < len; i++)
		lines += text[i] == '\n';
	return lines;
}

int main(int count, char **arguments)
{
	int fd = count == 2 ? open(arguments[1], O_RDONLY) : -1;
	struct stat status;
	const char *text;

	if (fd < 0 || fstat(fd, &status))
		return 2;
	text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (text == MAP_FAILED)
		return 2;
	if (fork() == 0) /* such as one that rotates logs, or a download that starts again */
		_exit(truncate(arguments[1], 4096) != 0);
	(void)wait(NULL);
	printf("%ld lines\n", count_lines(text, status.st_size));
	return 0;
}
