/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_MUST_H
#define EXAMPLES_MUST_H
/*
 * must - checks a condition of an example; prints it and exits if it does not hold.
 *
 * Like assert(), but -DNDEBUG does not remove it, so the condition may have side effects.
 */
#include <stdio.h>
#include <stdlib.h>

static inline void must_failed(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	exit(1);
}

#define must(...) ((__VA_ARGS__) ? (void)0 : must_failed(__FILE__, __LINE__, #__VA_ARGS__))

#endif
