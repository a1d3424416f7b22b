/* SPDX-License-Identifier: MIT */
#ifndef HF_RUN_TESTS_CASES_H
#define HF_RUN_TESTS_CASES_H
/* cases - CASE(name) { ... } defines a case of a test program, and run_case("name") runs it. */
#include <stdbool.h>
#include <string.h>

struct test_case {
	const char *name;
	void (*function)(void);
};

/* The linker makes these for a section with such a name. */
extern const struct test_case __start_cases[], __stop_cases[];

#define CASE(name)                                                                                 \
	static void case_##name(void);                                                             \
	static const struct test_case row_##name                                                   \
		__attribute__((used, section("cases"))) = { #name, case_##name };                  \
	static void case_##name(void)

static inline bool run_case(const char *name)
{
	const struct test_case *row = __start_cases;

	while (row < __stop_cases && strcmp(row->name, name) != 0)
		row++;
	if (row == __stop_cases)
		return false;
	row->function();
	return true;
}

#endif
