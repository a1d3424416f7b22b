/* SPDX-License-Identifier: MIT */
/* libc - functions that a compiler may call even in freestanding code. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t len);
void *memset(void *to, int byte, size_t len);

void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((char *)to)[i] = ((const char *)from)[i];
	return to;
}

void *memset(void *to, int byte, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((char *)to)[i] = (char)byte;
	return to;
}
