/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_KTAP_H
#define HF_TESTS_KTAP_H
/*
 * ktap - what a program of test cases prints, for ktap.py to judge.
 *
 *   ktap_begin(2);
 *   ktap_result(works(), "%s %s", family, name);
 *   ktap_skip("one core", "%s", other);
 *   return ktap_end();
 *
 * Lines that start with "# " may stand anywhere in between. (The battery has printing of its own:
 * it runs where no C library is.)
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static unsigned int ktap_cases, ktap_failures;

/* The version and the plan: how many cases are to come. */
static inline void ktap_begin(unsigned int planned)
{
	printf("KTAP version 1\n1..%u\n", planned);
	fflush(stdout);
}

/* One case, by its name; " # " and a remark may follow the name. Returns whether it passed. */
__attribute__((format(printf, 2, 3))) static inline bool ktap_result(bool ok, const char *format,
								     ...)
{
	va_list arguments;

	printf("%sok %u ", ok ? "" : "not ", ++ktap_cases);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	fflush(stdout);
	ktap_failures += !ok;
	return ok;
}

/* One case that can't run here, and why. */
__attribute__((format(printf, 2, 3))) static inline void ktap_skip(const char *reason,
								   const char *format, ...)
{
	va_list arguments;

	printf("ok %u ", ++ktap_cases);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf(" # SKIP %s\n", reason);
	fflush(stdout);
}

/* The program's exit status. */
static inline int ktap_end(void)
{
	return ktap_failures ? 1 : 0;
}

#endif
