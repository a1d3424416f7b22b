/* SPDX-License-Identifier: MIT */
#ifndef LAB_VARIANTS_IN_PLACE_H
#define LAB_VARIANTS_IN_PLACE_H
/*
 * in_place - replaces Holdfast's implementation by a variant in code that calls the public names,
 * such as tmpfs and the conformance tests. Targets of the lab and of the variants' tests include it
 * before everything else (-include), with one of
 *
 *   -DLAB_REFCOUNT_asm, _cmpxchg, _unchecked
 *   -DLAB_LOCKREF_unbounded, _locked
 *
 * It reads the header that defines the public names, then makes them macros for the variant's
 * functions. A function that the variant does not have stays Holdfast's.
 */
#if defined(LAB_REFCOUNT_asm)
#include "refcount/asm.h"
#define hf_refcount_inc hf_refcount_asm_inc
#define hf_refcount_dec hf_refcount_asm_dec
#define hf_refcount_dec_and_test hf_refcount_asm_dec_and_test
#elif defined(LAB_REFCOUNT_cmpxchg)
#include "refcount/cmpxchg.h"
#define LAB_REFCOUNT(operation) hf_refcount_cmpxchg_##operation
#elif defined(LAB_REFCOUNT_unchecked)
#include "refcount/unchecked.h"
#define LAB_REFCOUNT(operation) hf_refcount_unchecked_##operation
#endif

#ifdef LAB_REFCOUNT
#define hf_refcount_inc LAB_REFCOUNT(inc)
#define hf_refcount_inc_not_zero LAB_REFCOUNT(inc_not_zero)
#define hf_refcount_inc_not_zero_acquire LAB_REFCOUNT(inc_not_zero_acquire)
#define hf_refcount_dec LAB_REFCOUNT(dec)
#define hf_refcount_dec_and_test LAB_REFCOUNT(dec_and_test)
#endif

#if defined(LAB_LOCKREF_unbounded)
#include "lockref/unbounded.h"
#define LAB_LOCKREF(operation) hf_lockref_unbounded_##operation
#elif defined(LAB_LOCKREF_locked)
#include "lockref/locked.h"
#define LAB_LOCKREF(operation) hf_lockref_locked_##operation
#endif

#ifdef LAB_LOCKREF
#define hf_lockref_get LAB_LOCKREF(get)
#define hf_lockref_get_not_zero LAB_LOCKREF(get_not_zero)
#define hf_lockref_get_not_dead LAB_LOCKREF(get_not_dead)
#define hf_lockref_put_return LAB_LOCKREF(put_return)
#define hf_lockref_put_or_lock LAB_LOCKREF(put_or_lock)
#endif

#endif
