/* SPDX-License-Identifier: MIT */
/* truncated - read a mapped file that another process truncates, and say how much was read. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/nofault.h>

int main(void)
{
	static char to[200000];
	int file = fileno(tmpfile());
	const char *from = mmap(NULL, sizeof(to), PROT_READ, MAP_SHARED, file, 0);
	size_t left;

	if (ftruncate(file, sizeof(to)) || hf_nofault_install())
		return 1;
	if (fork() == 0)
		return ftruncate(file, 65536); /* another process truncates the file */
	wait(NULL);
	left = hf_copy_nofault(to, from, sizeof(to)); /* memcpy() would be killed by SIGBUS */
	printf("%zu of %zu bytes were there\n", sizeof(to) - left, sizeof(to));
	return 0;
}
