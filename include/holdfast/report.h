/* SPDX-License-Identifier: MIT */
#ifndef HF_REPORT_H
#define HF_REPORT_H
#pragma GCC system_header
/*
 * report - reports misuse: its kind and the object's address.
 *
 * Use when / not when
 *   The primitives call hf_report() themselves; a program sets the mode, or a handler, and reads
 *   the counters. It is not a log: each kind is reported once, then only counted.
 *
 * Modes (hf_report_set_mode(), or the environment variable HOLDFAST_REPORT at start)
 *   warn    the first of each kind: a handler's call, or else one line on standard error; default
 *   abort   the same for every one, and then abort()
 *   count   the counters only
 *   quiet   nothing at all, counters included
 *
 * Invariants
 *   R1  Reporting takes no lock, allocates nothing and is async-signal-safe: misuse is found
 *       inside of locks and in signal handlers.
 *   R2  A counter never goes down, but for hf_report_reset(); it stops at UINT32_MAX.
 *   R3  No report changes the object: the function that found the misuse has made it safe, or will.
 *
 * Example  examples/report.c
 */
#include "compiler.h"
#include "env.h"

/* One kind a misuse, as the field names them. */
enum hf_report_kind {
	HF_REPORT_ADD_NOT_ZERO_OVF, /* inc_not_zero, add_not_zero past INT32_MAX: saturated, leaks */
	HF_REPORT_ADD_OVF,          /* inc, add past INT32_MAX: saturated, leaks */
	HF_REPORT_ADD_UAF,          /* inc, add on 0: use after free */
	HF_REPORT_SUB_UAF,          /* sub, dec_and_test below 0: use after free */
	HF_REPORT_DEC_LEAK,         /* dec that reached 0, untested: it leaks */
	HF_REPORT_LOCKREF_OVF,      /* lockref get past INT32_MAX: pinned, leaks */
	HF_REPORT_LOCKREF_DEAD,     /* lockref get on a dead object */
	HF_REPORT_LOCKREF_UNLOCKED, /* lockref mark_dead, revive without its lock */
	HF_REPORT_LOCKREF_PUT,      /* waitfree lockref put without a reference: leaks, or dead */
	HF_REPORT_LOCKREF_UNPROTECTED, /* the same where nothing keeps the memory (HF_VALIDATE) */
	HF_REPORT_RCUREF_OVF,          /* rcuref get beyond its top: saturated, leaks */
	HF_REPORT_RCUREF_DEAD,         /* rcuref put on a dead object: one put too many */
	HF_REPORT_RCUREF_UNPROTECTED,  /* rcuref put where nothing keeps the memory (HF_VALIDATE) */
	HF_REPORT_LOCK_RECURSION,      /* lock by the thread that holds it (HF_VALIDATE) */
	HF_REPORT_LOCK_WRONG_OWNER,    /* unlock by a thread that does not hold it (HF_VALIDATE) */
	HF_REPORT_LOCK_UNLOCKED,       /* unlock of a lock that is not held (HF_VALIDATE) */
	HF_REPORT_LOCK_HELD_LONG,      /* held beyond the limit (HF_VALIDATE) */
	HF_REPORT_KINDS
};

enum hf_report_mode {
	HF_REPORT_MODE_WARN,
	HF_REPORT_MODE_ABORT,
	HF_REPORT_MODE_COUNT,
	HF_REPORT_MODE_QUIET
};

/* Called in place of the line on standard error; R1 holds for it too. */
typedef void (*hf_report_handler_t)(enum hf_report_kind kind, const void *object, void *data);

HF_BEGIN_DECLS

/**
 * hf_report - report that an object was misused
 * @kind:   what was done
 * @object: to which object
 *
 * Context:  anywhere, async-signal-safe
 * Ordering: none
 * Errors:   a kind out of range is reported as unknown
 */
void hf_report(enum hf_report_kind kind, const volatile void *object) HF_API
	__attribute__((cold, __noinline__));

/**
 * hf_report_set_handler - call a function on each report
 * @handler: NULL = the line on standard error again
 * @data:    is passed on to it
 *
 * Context:  any thread, but not while another sets it; a report under way may still call the old
 * Ordering: release
 */
void hf_report_set_handler(hf_report_handler_t handler, void *data) HF_API;

/**
 * hf_report_set_mode - warn, abort, count or quiet
 *
 * Ordering: none
 * Return:   the mode before
 */
enum hf_report_mode hf_report_set_mode(enum hf_report_mode mode) HF_API;

/**
 * hf_report_count - how often has this kind been reported?
 *
 * Ordering: none
 * Return:   reports since the start or hf_report_reset(); 0 for a kind out of range
 */
uint32_t hf_report_count(enum hf_report_kind kind) HF_API;

/**
 * hf_report_reset - all counters to 0, and each kind may warn again
 *
 * Ordering: none
 */
void hf_report_reset(void) HF_API;

/**
 * hf_report_text - what a kind means, in the words of the warning
 *
 * Return:   a constant string, never NULL
 */
const char *hf_report_text(enum hf_report_kind kind) HF_API;

HF_END_DECLS

#endif
