/* SPDX-License-Identifier: MIT */
#ifndef BATTERY_H
#define BATTERY_H
/*
 * battery - one list of cases for every environment: user space, a kernel, bare metal.
 *
 * Nothing here uses a C library, only Holdfast's headers. An environment (main.c is user space's)
 * supplies battery_env_line() and battery_env_edge(), and calls battery_run(). The output is KTAP
 * version 1, nested: a subtest for each implementation, a line for each case.
 *
 * A case belongs to a family and is written once, in <family>_cases.c. A family with several
 * implementations has a table of them, <family>_ops.h; a case calls the selected one.
 *
 * A case must name each misuse report that it expects; an unexpected report fails the case.
 * BATTERY_QUIET() and BATTERY_REPORTED() check the reports so far and clear them.
 */
#include "holdfast/report.h"

#if defined(__clang__)
/* Cases lock inside BATTERY_TRUE(), and misuse locks on purpose: the analysis can't follow. */
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

struct battery_case {
	const char *name;
	void (*run)(void);
	bool (*applies)(void); /* to the selected implementation; NULL = to all */
};

struct battery_suite {
	const char *name;
	const struct battery_case *cases;
	unsigned int count;

	/*
	 * NULL: the cases run once. Else they run once for each implementation: select() makes them
	 * call the one with this index, from 0, and returns its name, or NULL behind the last.
	 */
	const char *(*select)(unsigned int index);
};

/*
 * The suites, in the order in which they run: <name>_cases.c defines <name>_suite. BATTERY_ONLY
 * names the only suite of a program that runs its cases with a variant of the lab.
 */
#ifdef BATTERY_ONLY
#define BATTERY_SUITES(X) BATTERY_SUITE_ALONE(X, BATTERY_ONLY)
#define BATTERY_SUITE_ALONE(X, name) X(name)
#else
#define BATTERY_SUITES(X)                                                                          \
	X(report)                                                                                  \
	X(refcount)                                                                                \
	X(refcount_lock)                                                                           \
	X(rcuref)                                                                                  \
	X(spinlock)                                                                                \
	X(lockref)                                                                                 \
	X(lockref_waitfree)                                                                        \
	X(nofault)
#endif

#define X(name) extern const struct battery_suite name##_suite;
BATTERY_SUITES(X)
#undef X

#define BATTERY_COUNT(array) ((unsigned int)(sizeof(array) / sizeof((array)[0])))
#define BATTERY_FAMILY(name, cases, select)                                                        \
	{                                                                                          \
		name, cases, BATTERY_COUNT(cases), select                                          \
	}
#define BATTERY_SUITE(name, cases) BATTERY_FAMILY(name, cases, NULL)

/* Supplied by the environment: prints a line, which comes without its newline. */
void battery_env_line(const char *line);

/*
 * Supplied by the environment, for nofault: an address, aligned to 16, with 512 accessible bytes
 * before it and none after it; in a kernel, a user address. NULL = not available: the cases
 * fail.
 */
unsigned char *battery_env_edge(void);

/* Runs every case of every suite. Returns how many cases failed. */
unsigned int battery_run(void);

/* Checks that nothing was reported. Clears the reports in any case. */
#define BATTERY_QUIET() battery_quiet(__LINE__)

/* Checks for exactly one report, of this kind and object; QUIET: for none. Clears the reports. */
enum { QUIET = -1 };
#define BATTERY_REPORTED(kind, object) battery_reported(kind, object, __LINE__)

/* These return whether the check passed, for a case that must end if it failed. */
#define BATTERY_TRUE(what) battery_true(what, #what, __LINE__)
#define BATTERY_EQ(what, expected) battery_equal((long)(what), (long)(expected), #what, __LINE__)

bool battery_quiet(int line);
bool battery_reported(int expected, const volatile void *object, int line);
bool battery_true(bool condition, const char *what, int line);
bool battery_equal(long actual, long expected, const char *what, int line);

/* Clears the report counters and the recording handler's state. */
void battery_forget(void);

/* The calls of the recording handler since battery_forget(), and its last arguments. */
struct battery_seen {
	unsigned int calls;
	enum hf_report_kind kind;
	const void *object;
};
const struct battery_seen *battery_seen(void);

/* Installs the recording handler, as it is when a case starts. */
void battery_record(void);

#endif
