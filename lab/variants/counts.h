/* SPDX-License-Identifier: MIT */
#ifndef LAB_VARIANTS_COUNTS_H
#define LAB_VARIANTS_COUNTS_H
/*
 * counts - lists the refcounts and lockrefs that the lab measures, including Holdfast's own.
 *
 *   X(name, functions)   the name of the rows; the prefix of the functions
 */
#include "lockref/locked.h"
#include "lockref/unbounded.h"
#include "refcount/asm.h"
#include "refcount/cmpxchg.h"
#include "refcount/unchecked.h"

#define LAB_REFCOUNTS(X)                                                                           \
	X(unchecked, hf_refcount_unchecked)                                                        \
	X(cmpxchg, hf_refcount_cmpxchg)                                                            \
	X(saturating, hf_refcount)                                                                 \
	X(asm, hf_refcount_asm)

#define LAB_LOCKREFS(X)                                                                            \
	X(unbounded, hf_lockref_unbounded)                                                         \
	X(bounded, hf_lockref)                                                                     \
	X(locked, hf_lockref_locked)

#endif
