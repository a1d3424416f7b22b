/* SPDX-License-Identifier: MIT */
/*
 * own - a program with functions of its own in place of a library's, which a profile must not call:
 * a malloc() that locks a mutex, as jemalloc does, and fstat(). It registers unwind tables with
 * libgcc, as a JIT compiler does: libgcc then allocates memory for its search, under a mutex of its
 * own.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern void __register_frame(void *);

static pthread_mutex_t heaps[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static int heap; /* which one malloc() locks */
static char memory[1 << 24] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t size)
{
	pthread_mutex_t *lock = &heaps[heap];
	char *found;

	pthread_mutex_lock(lock);
	found = memory + used;
	used += (size + 31) & ~(size_t)15; /* never 0 */
	if (used > sizeof(memory))
		abort();
	pthread_mutex_unlock(lock);
	return found;
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size); /* zeroed, since nothing is used twice */
}

void *realloc(void *old, size_t size)
{
	void *found = malloc(size);

	if (old)
		memcpy(found, old, size); /* perhaps some of what follows: it is in `memory` */
	return found;
}

void free(void *unused)
{
	(void)unused;
}

int fstat(int file, struct stat *status)
{
	(void)file;
	(void)status;
	abort();
}

/* A table of one function at @code: a CIE, an FDE, and the end. */
static void register_code(uint32_t *at, const void *code)
{
	static const unsigned char cie[] = { 1,    0, 1, 0x78, 16, 0x0c, 7, 8,
					     0x90, 1, 0, 0,    0,  0,    0, 0 };
	uint64_t start = (uintptr_t)code, len = 64;

	at[0] = 4 + sizeof(cie);
	memcpy(at + 2, cie, sizeof(cie));
	at[6] = 4 + 16 + 8;
	at[7] = 7 * 4; /* back to the CIE */
	memcpy(at + 8, &start, 8);
	memcpy(at + 10, &len, 8);
	__register_frame(at);
}

int main(void)
{
	static uint32_t table[16];
	static const char code[64];
	void *found;

	register_code(table, code);
	heap = 1; /* its first use: a profile takes a stack while it is locked */
	found = malloc(1);
	return found ? 7 : 1;
}
