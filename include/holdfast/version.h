/* SPDX-License-Identifier: MIT */
#ifndef HF_VERSION_H
#define HF_VERSION_H
#pragma GCC system_header
/*
 * version - the version of these headers, and of the library that the program runs with.
 *
 * Use when / not when
 *   To report both, and to require a version: #if HF_VERSION_NUMBER < 100. Not to detect a
 *   function: if it is missing, the program does not link.
 *
 * Before 1.0 a minor version may change what callers rely on; a patch may not.
 */
#include "internal/compiler.h"

/* The version of these headers. */
#define HF_VERSION_MAJOR 0
#define HF_VERSION_MINOR 2
#define HF_VERSION_PATCH 0

/*
 * The layout number. Inlined code and the library, and all copies of the library in one process,
 * must agree on the words of locks, queue nodes, per-thread state, the table of parked threads,
 * exception table entries, and the functions that inlined code calls. A change to any of them
 * increments the number. Inlined code then neither links nor loads with a library of another
 * layout: the linker or loader names the missing symbol, such as hf_detail_mutex_lock_slow_layout4.
 * If a process loads two copies of different layouts, the second reports that and aborts
 * (src/process/process.h).
 */
#define HF_DETAIL_LAYOUT 4

/* The version as one number, for comparisons: 1.2.3 is 10203. */
#define HF_VERSION_NUMBER (HF_VERSION_MAJOR * 10000 + HF_VERSION_MINOR * 100 + HF_VERSION_PATCH)

/* The version as a string: "1.2.3". */
#define HF_VERSION HF_DETAIL_VERSION_TEXT(HF_VERSION_MAJOR, HF_VERSION_MINOR, HF_VERSION_PATCH)
#define HF_DETAIL_VERSION_TEXT(major, minor, patch) HF_DETAIL_VERSION_TEXT_(major, minor, patch)
#define HF_DETAIL_VERSION_TEXT_(major, minor, patch) #major "." #minor "." #patch

HF_BEGIN_DECLS

/**
 * hf_version - the version of the library that is linked, in the form of HF_VERSION
 *
 * Context:  any thread, any signal handler
 * Ordering: none
 * Return:   a constant string, never NULL
 */
const char *hf_version(void) HF_API;

HF_END_DECLS

#endif
