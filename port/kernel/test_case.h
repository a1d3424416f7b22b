/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef KERNEL_TEST_CASE_H
#define KERNEL_TEST_CASE_H
/*
 * test_case - test_case() and its counts, for one file of each module that has tests. Defined
 * before, TEST_PREFIX begins each line.
 */
#include <linux/printk.h>

#include "test.h"

#ifndef TEST_PREFIX
#define TEST_PREFIX ""
#endif

static unsigned int cases, failed;

void test_case(bool ok, const char *name, const char *format, ...)
{
	struct va_format text;
	va_list list;

	va_start(list, format);
	text.fmt = format;
	text.va = &list;
	pr_info(TEST_PREFIX "%s %u %s # %pV\n", ok ? "ok" : "not ok", ++cases, name, &text);
	va_end(list);
	failed += !ok;
}

#endif
