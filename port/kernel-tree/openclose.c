/* SPDX-License-Identifier: MIT */
/*
 * openclose - counts the instructions of one open and close of a hot file.
 *
 * For a guest whose time stamp counter counts instructions (QEMU's -icount shift=0). Prints the
 * minimum of many rounds, since interrupts lengthen some.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <x86intrin.h>

enum { ROUNDS = 200, CALLS = 50 };

static void open_close(void)
{
	close(open("/t/folder/hot", O_RDONLY));
}

static void status(void)
{
	struct stat it;

	(void)!stat("/t/folder/hot", &it);
}

static void nothing(void)
{
	(void)getppid();
}

/* Returns the minimum of all rounds, for one call. */
static double least(void (*call)(void))
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t before = __rdtsc(), spent;

		for (int i = 0; i < CALLS; i++)
			call();
		spent = __rdtsc() - before;
		best = spent < best ? spent : best;
	}
	return (double)best / CALLS;
}

int main(void)
{
	int file;

	mkdir("/t/folder", 0700);
	file = open("/t/folder/hot", O_RDWR | O_CREAT, 0600);
	if (file < 0 || close(file))
		return 1;
	printf("INSTRUCTIONS open and close %.0f\n", least(open_close));
	printf("INSTRUCTIONS stat %.0f\n", least(status));
	printf("INSTRUCTIONS getppid %.0f\n", least(nothing));
	return 0;
}
