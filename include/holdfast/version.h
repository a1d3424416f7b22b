/* SPDX-License-Identifier: MIT */
#ifndef HF_VERSION_H
#define HF_VERSION_H
#pragma GCC system_header
/*
 * version - which headers these are, and which library the program runs with.
 *
 * Use when / not when
 *   To report both, and to ask for a least version: #if HF_VERSION_NUMBER < 100. Not to find out
 *   whether a function exists: a program that does not link says so.
 *
 * Before 1.0 a minor version may change what callers rely on; a patch may not.
 */
#include "internal/compiler.h"

/* Of these headers. */
#define HF_VERSION_MAJOR 0
#define HF_VERSION_MINOR 1
#define HF_VERSION_PATCH 0

/*
 * The layout: what the inlined parts of the headers and the library, and several copies of the
 * library in one process, must agree on: the words of locks, queue nodes, what a thread knows of
 * itself, the table of parked threads, exception table entries, and the functions that inlined code
 * calls. Whoever changes one of them takes the next number. Then inlined code does not link, and does
 * not load, with a library of another layout: the linker, or the loader, names what it lacks, as
 * hf_detail_mutex_lock_slow_layout3. And of two copies in one process the second one reports so and aborts
 * (src/process/process.h).
 */
#define HF_DETAIL_LAYOUT 3

/* The three as one number, to compare: 1.2.3 is 10203. */
#define HF_VERSION_NUMBER (HF_VERSION_MAJOR * 10000 + HF_VERSION_MINOR * 100 + HF_VERSION_PATCH)

/* The three as a string: "1.2.3". */
#define HF_VERSION HF_DETAIL_VERSION_TEXT(HF_VERSION_MAJOR, HF_VERSION_MINOR, HF_VERSION_PATCH)
#define HF_DETAIL_VERSION_TEXT(major, minor, patch) HF_DETAIL_VERSION_TEXT_(major, minor, patch)
#define HF_DETAIL_VERSION_TEXT_(major, minor, patch) #major "." #minor "." #patch

HF_BEGIN_DECLS

/**
 * hf_version - the version of the library that is linked, as HF_VERSION is that of the headers
 *
 * Context:  any thread, any signal handler
 * Ordering: none
 * Return:   a constant string, never NULL
 */
const char *hf_version(void) HF_API;

HF_END_DECLS

#endif
