/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef _LINUX_REFCOUNT_H
#define _LINUX_REFCOUNT_H
/*
 * refcount - the kernel's names for Holdfast's refcount. See holdfast/refcount.h.
 *
 * `refs` stays an atomic_t, since code all over the tree initialises it, and some code accesses it.
 */
#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/spinlock_types.h>
#include <linux/version.h>

struct mutex;

/* sparse has no __has_include(). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#include <linux/refcount_types.h> /* the type alone */
#else
typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;
#endif

#define REFCOUNT_INIT(n)                                                                           \
	{                                                                                          \
		.refs = ATOMIC_INIT(n),                                                            \
	}

#if defined(BUILD_VDSO32)
/*
 * The vDSO for 32-bit programs includes this header with -m32, which Holdfast does not support. It
 * uses no refcounts, but inline functions of other headers need these declarations.
 */
#define REFCOUNT_MAX INT_MAX
void refcount_set(refcount_t *r, int n);
unsigned int refcount_read(const refcount_t *r);
bool __refcount_add_not_zero(int i, refcount_t *r, int *oldp);
bool refcount_add_not_zero(int i, refcount_t *r);
bool __refcount_inc_not_zero(refcount_t *r, int *oldp);
bool refcount_inc_not_zero(refcount_t *r);
void refcount_set_release(refcount_t *r, int n);
bool __refcount_add_not_zero_acquire(int i, refcount_t *r, int *oldp);
bool refcount_add_not_zero_acquire(int i, refcount_t *r);
bool __refcount_inc_not_zero_acquire(refcount_t *r, int *oldp);
bool refcount_inc_not_zero_acquire(refcount_t *r);
void __refcount_add(int i, refcount_t *r, int *oldp);
void refcount_add(int i, refcount_t *r);
void __refcount_inc(refcount_t *r, int *oldp);
void refcount_inc(refcount_t *r);
bool __refcount_sub_and_test(int i, refcount_t *r, int *oldp);
bool refcount_sub_and_test(int i, refcount_t *r);
bool __refcount_dec_and_test(refcount_t *r, int *oldp);
bool refcount_dec_and_test(refcount_t *r);
void __refcount_dec(refcount_t *r, int *oldp);
void refcount_dec(refcount_t *r);
#else
#include <holdfast/refcount.h>

#define REFCOUNT_MAX HF_REFCOUNT_MAX
#define REFCOUNT_SATURATED HF_REFCOUNT_SATURATED

static_assert(sizeof(refcount_t) == sizeof(hf_refcount_t));

/* Converts to Holdfast's type, which has the same four bytes. */
static __always_inline hf_refcount_t *refcount_hf(const refcount_t *r)
{
	return (hf_refcount_t *)(uintptr_t)&r->refs;
}

static __always_inline void refcount_set(refcount_t *r, int n)
{
	hf_refcount_set(refcount_hf(r), n);
}

static __always_inline unsigned int refcount_read(const refcount_t *r)
{
	return (unsigned int)hf_refcount_read(refcount_hf(r));
}

/* If oldp is not NULL, *oldp becomes the old count. */
static __always_inline __must_check bool __refcount_add_not_zero(int i, refcount_t *r, int *oldp)
{
	return hf_refcount_add_not_zero_old(i, refcount_hf(r), oldp);
}

static __always_inline __must_check bool refcount_add_not_zero(int i, refcount_t *r)
{
	return hf_refcount_add_not_zero(i, refcount_hf(r));
}

static __always_inline __must_check bool __refcount_inc_not_zero(refcount_t *r, int *oldp)
{
	return hf_refcount_inc_not_zero_old(refcount_hf(r), oldp);
}

static __always_inline __must_check bool refcount_inc_not_zero(refcount_t *r)
{
	return hf_refcount_inc_not_zero(refcount_hf(r));
}

/* For type-stable memory; newer kernels have these. */
static __always_inline void refcount_set_release(refcount_t *r, int n)
{
	hf_refcount_set_release(refcount_hf(r), n);
}

static __always_inline __must_check bool __refcount_add_not_zero_acquire(int i, refcount_t *r,
									 int *oldp)
{
	return hf_refcount_add_not_zero_acquire_old(i, refcount_hf(r), oldp);
}

static __always_inline __must_check bool refcount_add_not_zero_acquire(int i, refcount_t *r)
{
	return hf_refcount_add_not_zero_acquire(i, refcount_hf(r));
}

static __always_inline __must_check bool __refcount_inc_not_zero_acquire(refcount_t *r, int *oldp)
{
	return hf_refcount_inc_not_zero_acquire_old(refcount_hf(r), oldp);
}

static __always_inline __must_check bool refcount_inc_not_zero_acquire(refcount_t *r)
{
	return hf_refcount_inc_not_zero_acquire(refcount_hf(r));
}

static __always_inline void __refcount_add(int i, refcount_t *r, int *oldp)
{
	hf_refcount_add_old(i, refcount_hf(r), oldp);
}

static __always_inline void refcount_add(int i, refcount_t *r)
{
	hf_refcount_add(i, refcount_hf(r));
}

static __always_inline void __refcount_inc(refcount_t *r, int *oldp)
{
	hf_refcount_inc_old(refcount_hf(r), oldp);
}

static __always_inline void refcount_inc(refcount_t *r)
{
	hf_refcount_inc(refcount_hf(r));
}

static __always_inline __must_check bool __refcount_sub_and_test(int i, refcount_t *r, int *oldp)
{
	return hf_refcount_sub_and_test_old(i, refcount_hf(r), oldp);
}

static __always_inline __must_check bool refcount_sub_and_test(int i, refcount_t *r)
{
	return hf_refcount_sub_and_test(i, refcount_hf(r));
}

static __always_inline __must_check bool __refcount_dec_and_test(refcount_t *r, int *oldp)
{
	return hf_refcount_dec_and_test_old(refcount_hf(r), oldp);
}

static __always_inline __must_check bool refcount_dec_and_test(refcount_t *r)
{
	return hf_refcount_dec_and_test(refcount_hf(r));
}

static __always_inline void __refcount_dec(refcount_t *r, int *oldp)
{
	hf_refcount_dec_old(refcount_hf(r), oldp);
}

static __always_inline void refcount_dec(refcount_t *r)
{
	hf_refcount_dec(refcount_hf(r));
}
#endif

/* lib/refcount.c */
__must_check bool refcount_dec_if_one(refcount_t *r);
__must_check bool refcount_dec_not_one(refcount_t *r);
__must_check bool refcount_dec_and_mutex_lock(refcount_t *r, struct mutex *lock)
	__cond_acquires(lock);
__must_check bool refcount_dec_and_lock(refcount_t *r, spinlock_t *lock) __cond_acquires(lock);
__must_check bool refcount_dec_and_lock_irqsave(refcount_t *r, spinlock_t *lock,
						unsigned long *flags) __cond_acquires(lock);

#endif
