/* SPDX-License-Identifier: MIT */
#ifndef HF_REPORT_H
#define HF_REPORT_H
#pragma GCC system_header
/*
 * report - reports misuse: its kind, the object's address, and the call that did it.
 *
 * Use when / not when
 *   The primitives call hf_report() themselves; a program sets the mode, or a handler, and reads
 *   the counters. It is not a log: each kind is reported once, then only counted.
 *
 * Modes (hf_report_set_mode(), or the environment variable HOLDFAST_REPORT at start)
 *   warn    the default: the first report of each kind calls the handler, or prints a line on
 *           standard error; then a summary of the others is printed at exit (Linux user space)
 *   abort   every report calls the handler, or prints its line, and then abort()
 *   count   only counted
 *   quiet   nothing, not even counted
 *
 * The line
 *   holdfast: 0x7ffe38c0ffee: refcount: underflow; use after free; at 0x55d0c4a012b3 (/app+0x12b3)
 *
 *   The object, the misuse, and the call site: docs/guide/reports.md shows how to find its line.
 *   There are no symbols, because looking one up takes the dynamic linker's lock.
 *
 * Guarantees
 *   Reporting takes no lock, allocates nothing and is async-signal-safe: misuse is found inside of
 *   locks and in signal handlers. To name the object of a site it reads /proc/self/maps, and omits
 *   the name if it cannot: a process that must not open files sets a handler, or the mode count.
 *   A counter stops at UINT32_MAX, and only hf_report_reset() lowers it.
 *   No report changes the object: the function that found the misuse makes it safe.
 *
 * Context    any thread
 * Ordering   none
 * Example    examples/report.c
 */
#include "internal/compiler.h"
#include "internal/env.h"

/* The kinds of misuse. */
enum hf_report_kind {
	HF_REPORT_ADD_NOT_ZERO_OVF, /* inc_not_zero, add_not_zero past INT32_MAX: saturated */
	HF_REPORT_ADD_OVF,          /* inc, add past INT32_MAX: saturated, leaks */
	HF_REPORT_ADD_UAF,          /* inc, add on 0: use after free */
	HF_REPORT_SUB_UAF,          /* sub, dec_and_test below 0: use after free */
	HF_REPORT_DEC_LEAK,         /* dec that reached 0, untested: it leaks */
	HF_REPORT_LOCKREF_OVF,      /* lockref get past INT32_MAX: pinned, leaks */
	HF_REPORT_LOCKREF_DEAD,     /* lockref get on a dead object */
	HF_REPORT_LOCKREF_UNLOCKED, /* lockref mark_dead, revive without its lock */
	HF_REPORT_LOCKREF_PUT,      /* waitfree lockref put without a reference: leaks, or dead */
	HF_REPORT_LOCKREF_UNPROTECTED, /* the same, outside of a read-side section (HF_VALIDATE) */
	HF_REPORT_RCUREF_OVF,          /* rcuref get beyond its top: saturated, leaks */
	HF_REPORT_RCUREF_DEAD,         /* rcuref put on a dead object: one put too many */
	HF_REPORT_RCUREF_UNPROTECTED,  /* rcuref put outside of a read-side section (HF_VALIDATE) */
	HF_REPORT_LOCK_RECURSION,      /* lock by the thread that holds it (HF_VALIDATE) */
	HF_REPORT_LOCK_WRONG_OWNER,    /* unlock by a thread that does not hold it (HF_VALIDATE) */
	HF_REPORT_LOCK_UNLOCKED,       /* unlock of a lock that is not held (HF_VALIDATE) */
	HF_REPORT_LOCK_HELD_LONG,      /* held beyond the limit (HF_VALIDATE) */
	HF_REPORT_LOCK_ORDER,          /* locks taken in orders that can deadlock (HF_VALIDATE) */
	HF_REPORT_SATURATED,         /* any of inc to sub on a saturated count: it leaks already */
	HF_REPORT_LOCK_HELD_AT_EXIT, /* held by a thread that ends (HF_VALIDATE) */
	HF_REPORT_REGION_OPEN_AT_EXIT, /* region open in a thread that ends: it is closed */
	HF_REPORT_LOCK_UPGRADE, /* write-lock by a thread that reads it: deadlock (HF_VALIDATE) */
	HF_REPORT_LOCK_WRONG_KIND, /* a reader unlocks as a writer, or the reverse (HF_VALIDATE) */
	HF_REPORT_LOCK_DEPTH_OVF,  /* a recursive mutex locked too often: it stays locked */
	HF_REPORT_KINDS
};

/* What happens to a report. */
enum hf_report_mode {
	HF_REPORT_MODE_WARN,
	HF_REPORT_MODE_ABORT,
	HF_REPORT_MODE_COUNT,
	HF_REPORT_MODE_QUIET
};

/* Called in place of the line on standard error: takes no lock, and is async-signal-safe. */
typedef void (*hf_report_handler_t)(enum hf_report_kind kind, const void *object, void *data);

/* The details of a report. A later version may add members at the end. */
struct hf_report_details {
	enum hf_report_kind kind;
	const void *object;
	const void *site;       /* inside of the call that did it; NULL = not known */
	const void *other;      /* LOCK_ORDER: the lock that is held; else NULL */
	const void *other_site; /* LOCK_ORDER: where an order was taken that leads back */
	/* LOCK_ORDER: the at most 16 places that lead from the object back to the other lock, each
	   of which took a lock under that of the one before it; the first is other_site. */
	const void *const *places;
	uint32_t place_count;
};

/* The same with all details, which are valid until it returns. */
typedef void (*hf_report_details_handler_t)(const struct hf_report_details *details, void *data);

/* An address inside the call of the current function, which must be a cold one, not inlined. */
#define HF_DETAIL_CALL_SITE ((const void *)((const char *)__builtin_return_address(0) - 1))

/* The same in a HF_SLOW function. If validation inlines it, hf_report_at() finds the site. */
#if defined(HF_VALIDATE) && HF_VALIDATE
#define HF_DETAIL_SLOW_CALL_SITE ((const void *)NULL)
#else
#define HF_DETAIL_SLOW_CALL_SITE HF_DETAIL_CALL_SITE
#endif

HF_BEGIN_DECLS

/**
 * hf_report - report that an object was misused
 * @kind:   what was done
 * @object: to which object
 *
 * Context:  anywhere, async-signal-safe
 * Errors:   a kind out of range is reported as unknown
 */
void hf_report(enum hf_report_kind kind, const volatile void *object) HF_API
	__attribute__((cold, __noinline__));

/**
 * hf_report_at - the same, with a call site
 * @site: an address inside the call that did it; NULL = the call of this function
 */
void hf_report_at(enum hf_report_kind kind, const volatile void *object, const void *site) HF_API
	__attribute__((cold, __noinline__));

/**
 * hf_report_set_handler - call a function on each report
 * @handler: NULL = the line on standard error again
 * @data:    is passed on to it
 *
 * Context:  any thread, one at a time; a concurrent report may still call the old handler
 * Ordering: release
 */
void hf_report_set_handler(hf_report_handler_t handler, void *data) HF_API;

/* hf_report_set_details_handler - the same, for one that gets all details: it replaces the other */
void hf_report_set_details_handler(hf_report_details_handler_t handler, void *data) HF_API;

/**
 * hf_report_set_mode - warn, abort, count or quiet
 * @mode: the new mode
 *
 * Context:  any thread; applies to all threads
 * Return:   the previous mode
 */
enum hf_report_mode hf_report_set_mode(enum hf_report_mode mode) HF_API;

/**
 * hf_report_count - how often has this kind been reported?
 * @kind: which one
 *
 * Return:   reports since the start or hf_report_reset(); 0 for a kind out of range
 */
uint32_t hf_report_count(enum hf_report_kind kind) HF_API;

/* hf_report_reset - all counters to 0, and each kind may warn again */
void hf_report_reset(void) HF_API;

/**
 * hf_report_text - the text of the warning about a kind
 * @kind: one out of range is "unknown"
 *
 * Context:  anywhere, async-signal-safe
 * Return:   a constant string, never NULL
 */
const char *hf_report_text(enum hf_report_kind kind) HF_API;

HF_END_DECLS

#endif
