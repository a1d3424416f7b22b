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
 * Operations  hf_extern_constant, hf_extern_constant_name
 *
 * The rule for functions
 *   libholdfast-extern has a symbol for each inline function of Holdfast, under its own name and
 *   with the signature that its header documents: hf_refcount_inc, hf_mutex_lock,
 *   hf_spinlock_ticket_lock. A function that is not inline, such as hf_nofault_install, is a symbol
 *   of libholdfast, which libholdfast-extern links. Macros have no symbols; instead of an
 *   initialiser use
 *
 *     hf_mutex_t, hf_cond_t, their _shared_ forms, each spinlock    memory whose bytes are all 0
 *     hf_refcount_t, hf_rcuref_t, hf_lockref_t                      hf_refcount_set(), ..._init()
 *
 *   Sizes and alignments ("sizeof hf_mutex_t") are the same on every 64-bit processor. The call
 *   site in a report of misuse is in libholdfast-extern, or in its caller.
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
