/* SPDX-License-Identifier: MIT */
#ifndef BATTERY_H
#define BATTERY_H
/*
 * battery - one list of cases for every world: user space, a kernel, bare metal.
 *
 * Nothing here uses a C library, only Holdfast's headers. A world (main.c is user space's) supplies
 * battery_world_line() and battery_world_edge(), and calls battery_run(). The output is KTAP version 1, nested: a subtest for
 * each implementation, a line for each case.
 *
 * A case belongs to a family and is written once, in <family>_cases.h, which <family>_cases.c
 * includes for each implementation:
 *
 *   V(verb)       the implementation's function for a verb
 *   CASE(name)    the name of a case's function, unique for the implementation
 *   SUITE         its name, as it is printed
 *
 * In a case, misuse is expected by name: after BATTERY_QUIET() or BATTERY_REPORTED() the slate is
 * clean, and a report that no case asked for fails the case that it happened in.
 */
#include "holdfast/report.h"

struct battery_case {
	const char *name;
	void (*run)(void);
};

struct battery_suite {
	const char *name;
	const struct battery_case *cases;
	unsigned int count;
};

#define BATTERY_COUNT(array) ((unsigned int)(sizeof(array) / sizeof((array)[0])))

/* Supplied by the world: put out one line; it has no newline of its own. */
void battery_world_line(const char *line);

/*
 * Supplied by the world: an address with 512 good bytes before it and none behind, for nofault, aligned to
 * 16; in a kernel a user's. NULL: it can't be had, and the cases fail.
 */
unsigned char *battery_world_edge(void);

/* Runs every case of every suite. Returns how many cases failed. */
unsigned int battery_run(void);

/* Has nobody reported anything? If so, or not, the slate is clean afterwards. */
#define BATTERY_QUIET() battery_quiet(__LINE__)

/* Was there one report, of this kind, for this object, and no other? Cleans the slate. */
#define BATTERY_REPORTED(kind, object) battery_reported(kind, object, __LINE__)

/* These return whether it is so, for a case that cannot go on if it is not. */
#define BATTERY_TRUE(what) battery_true(what, #what, __LINE__)
#define BATTERY_EQ(what, expected) battery_equal((long)(what), (long)(expected), #what, __LINE__)

bool battery_quiet(int line);
bool battery_reported(enum hf_report_kind kind, const volatile void *object, int line);
bool battery_true(bool is_so, const char *what, int line);
bool battery_equal(long actual, long expected, const char *what, int line);

/* Cleans the slate: reports, their counters, and what the recording handler saw. */
void battery_forget(void);

/* How often the recording handler was called since then, and with what the last time. */
struct battery_seen {
	unsigned int calls;
	enum hf_report_kind kind;
	const void *object;
};
const struct battery_seen *battery_seen(void);

/* Makes the recording handler the one that is called, as it is when a case starts. */
void battery_record(void);

/* The suites, one an implementation. */
extern const struct battery_suite report_suite;
extern const struct battery_suite refcount_unchecked_suite;
extern const struct battery_suite refcount_cmpxchg_suite;
extern const struct battery_suite refcount_saturating_suite;
extern const struct battery_suite refcount_asm_suite;
extern const struct battery_suite refcount_default_suite;
extern const struct battery_suite refcount_lock_suite;
extern const struct battery_suite rcuref_suite;
extern const struct battery_suite spinlock_cas_suite;
extern const struct battery_suite spinlock_cas_release_suite;
extern const struct battery_suite spinlock_cas_prefetch_suite;
extern const struct battery_suite spinlock_wfe_suite;
extern const struct battery_suite spinlock_ticket_suite;
extern const struct battery_suite spinlock_mcs_suite;
extern const struct battery_suite spinlock_queued_suite;
extern const struct battery_suite spinlock_default_suite;
extern const struct battery_suite lockref_unbounded_suite;
extern const struct battery_suite lockref_bounded_suite;
extern const struct battery_suite lockref_locked_suite;
extern const struct battery_suite lockref_default_suite;
extern const struct battery_suite lockref_waitfree_suite;
extern const struct battery_suite nofault_suite;

#endif
