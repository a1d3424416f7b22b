/* SPDX-License-Identifier: MIT */
/*
 * openclose - counts the instructions of one open and close of a hot file, and of reads of a hole.
 *
 * For a guest whose time stamp counter counts instructions (QEMU's -icount shift=0). Prints the
 * minimum of several rounds, since interrupts lengthen some. Each repetition of a repeated
 * instruction counts as one.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <x86intrin.h>

enum { ROUNDS = 200, CALLS = 50, MOST = 1 << 20 };

static char buffer[MOST];
static int hole;
static size_t size;

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

static void read_hole(void)
{
	(void)!pread(hole, buffer, size, 0);
}

/* Returns the minimum of the rounds, for one call. */
static double least(void (*call)(void), int rounds, int calls)
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < rounds; round++) {
		uint64_t before = __rdtsc(), spent;

		for (int i = 0; i < calls; i++)
			call();
		spent = __rdtsc() - before;
		best = spent < best ? spent : best;
	}
	return (double)best / calls;
}

int main(void)
{
	int file;

	mkdir("/t/folder", 0700);
	file = open("/t/folder/hot", O_RDWR | O_CREAT, 0600);
	if (file < 0 || close(file))
		return 1;
	printf("INSTRUCTIONS open and close %.0f\n", least(open_close, ROUNDS, CALLS));
	printf("INSTRUCTIONS stat %.0f\n", least(status, ROUNDS, CALLS));
	printf("INSTRUCTIONS getppid %.0f\n", least(nothing, ROUNDS, CALLS));
	hole = open("/t/folder/hole", O_RDWR | O_CREAT, 0600);
	if (hole < 0 || ftruncate(hole, MOST))
		return 1;
	memset(buffer, 1, sizeof(buffer));
	for (size = 4096; size <= MOST; size *= 4)
		printf("INSTRUCTIONS read %zu %.0f\n", size, least(read_hole, 8, 2));
	return 0;
}
