/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef KERNEL_TEST_H
#define KERNEL_TEST_H
/* test - the module's cases in addition to the battery: one KTAP document, without subtests. */
#include <linux/kernel.h>
#include <linux/types.h>

/* Prints the case's result, with details. */
void test_case(bool ok, const char *name, const char *format, ...) __printf(3, 4);

/* Prints a line that is not a result. */
#define test_say(format, ...) pr_info("# " format "\n", ##__VA_ARGS__)

/* Each function prints its cases; test_case() numbers them. */
void contexts_test(void);
void queue_test(void);
void user_memory_test(void);

#endif
