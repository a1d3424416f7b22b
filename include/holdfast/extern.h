/* SPDX-License-Identifier: MIT */
#ifndef HF_EXTERN_H
#define HF_EXTERN_H
#pragma GCC system_header
/*
 * extern - for languages that can't include C: every function as a symbol, and the headers'
 * constants.
 *
 * Use when / not when
 *   From Python, Rust, Java, C#, OCaml and others that call C functions by name. Not from C or C++,
 *   nor where the compiler reads C headers (Zig, Swift, Go's cgo): inline functions cost less than
 *   a call. Linux user space only.
 *
 *   libholdfast-extern has a symbol for each inline function of Holdfast, with its name and
 *   signature. docs/guide/other-languages.md has the rules for types, initialisers and reports.
 *
 * Example     docs/guide/other-languages.md
 * Context     any thread, any signal handler
 * Ordering    none
 */
#include "internal/compiler.h"
#include "internal/env.h"

/* What hf_extern_constant() returns for a name that it does not know. */
#define HF_EXTERN_UNKNOWN INT64_MIN

HF_BEGIN_DECLS

/**
 * hf_extern_constant - the value of a constant, or the size or alignment of a type
 * @name: as in C: "HF_REFCOUNT_SATURATED", "HF_REPORT_ADD_OVF", "sizeof hf_mutex_t", "alignof
 *        hf_mutex_t"
 *
 * Return:   the value (-1 for HF_ENV_FOREVER, which is UINT64_MAX); HF_EXTERN_UNKNOWN: no such name
 */
int64_t hf_extern_constant(const char *name) HF_API;

/**
 * hf_extern_constant_name - list the names that hf_extern_constant() knows
 * @index: 0, 1, 2, ...
 *
 * Return:   a constant string; NULL: there are no more
 */
const char *hf_extern_constant_name(size_t index) HF_API;

HF_END_DECLS

#endif
