/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef KERNEL_NOFAULT_H
#define KERNEL_NOFAULT_H
/* nofault - the table of implementations, for the tests; the last one is the default. */
#include "holdfast/nofault.h"

struct kernel_implementation {
	const char *name;
	size_t (*clear)(void *dst, size_t len);
	size_t (*copy_to)(void *dst, const void *src, size_t len);
	size_t (*copy_from)(void *dst, const void *src, size_t len);
};

extern const struct kernel_implementation kernel_implementations[];
extern const unsigned int kernel_implementation_count;

#endif
