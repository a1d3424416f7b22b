/* SPDX-License-Identifier: MIT */
#ifndef HF_EXTERN_H
#define HF_EXTERN_H
#pragma GCC system_header
/*
 * extern - for languages that can't include C: every function as a symbol, and what the headers define.
 *
 * Use when / not when
 *   From Python, Rust, Java, C#, OCaml and others that call C functions by name. Not from C or C++,
 *   nor where the compiler reads C headers (Zig, Swift, Go's cgo): inline functions cost less than a
 *   call. Linux user space only.
 *
 * Operations
 *   hf_extern_constant         a type's size and alignment, a constant
 *   hf_extern_constant_name    their names, one after the other
 *
 * The rule for functions
 *   libholdfast-extern has a symbol for each inline function of Holdfast, under its own name and
 *   with the signature that its header documents: hf_refcount_inc, hf_mutex_lock,
 *   hf_spinlock_ticket_lock. What is not inline, as hf_nofault_install, is a symbol of
 *   libholdfast, which the other is linked with. Macros (guards, initialisers) have none; this
 *   takes their place:
 *
 *     hf_mutex_t, hf_cond_t, their _shared_ forms, each spinlock    free when all bytes are 0
 *     hf_refcount_t, hf_rcuref_t, hf_lockref_t                      hf_refcount_set(), ..._init()
 *
 *   Sizes and alignments are the same on every 64-bit processor: sizeof hf_mutex_t and the like
 *   below. A report of misuse names a place in libholdfast-extern, or what called it.
 *
 * Example     docs/guide/other-languages.md
 * Ordering    none, of these two
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
 * Context:  any thread, any signal handler
 * Ordering: none
 * Return:   the value; of HF_ENV_FOREVER, which is UINT64_MAX, -1; HF_EXTERN_UNKNOWN: no such name
 */
int64_t hf_extern_constant(const char *name) HF_API;

/**
 * hf_extern_constant_name - the names that hf_extern_constant() knows
 * @index: from 0 on
 *
 * Context:  any thread, any signal handler
 * Ordering: none
 * Return:   a constant string; NULL: there is no more
 */
const char *hf_extern_constant_name(size_t index) HF_API;

HF_END_DECLS

#endif
