/* SPDX-License-Identifier: MIT */
#ifndef HF_VERSION_H
#define HF_VERSION_H
#pragma GCC system_header
/*
 * version - the version of these headers, and of the library that the program runs with.
 *
 * Use when / not when
 *   To report both, and to require a version: #if HF_VERSION_NUMBER < 100. Not to detect a
 *   function: if it is missing, the program does not link. Before 1.0 a minor version may change
 *   what callers rely on; a patch may not.
 */
#include "internal/compiler.h"

/* The version of these headers. */
#define HF_VERSION_MAJOR 0
#define HF_VERSION_MINOR 2
#define HF_VERSION_PATCH 0

/*
 * The layout number: of the words of locks, queue nodes, per-thread state, the table of parked
 * threads, exception table entries, and the functions that inlined code calls. A change to any of
 * them increments it, since inlined code and all copies of the library in a process must agree on
 * them: they neither link nor load, or abort, if they don't (docs/design/0032-layout.md).
 */
#define HF_DETAIL_LAYOUT 4

/* The version as one number, for comparisons: 1.2.3 is 10203. */
#define HF_VERSION_NUMBER (HF_VERSION_MAJOR * 10000 + HF_VERSION_MINOR * 100 + HF_VERSION_PATCH)

/* The version as a string: "1.2.3". */
#define HF_VERSION                                                                                 \
	HF_DETAIL_STRING(HF_VERSION_MAJOR)                                                         \
	"." HF_DETAIL_STRING(HF_VERSION_MINOR) "." HF_DETAIL_STRING(HF_VERSION_PATCH)

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
