// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* ops - the inline operations of <linux/refcount.h>, each as a function that count.c can call. */
#include <linux/module.h>
#include <linux/refcount.h>

#define OP(name, call)                                                                             \
	long op_##name(refcount_t *r);                                                             \
	long op_##name(refcount_t *r)                                                              \
	{                                                                                          \
		return call;                                                                       \
	}

OP(refcount_read, refcount_read(r))
OP(refcount_inc, (refcount_inc(r), 0))
OP(refcount_add, (refcount_add(3, r), 0))
OP(refcount_dec, (refcount_dec(r), 0))
OP(refcount_inc_not_zero, refcount_inc_not_zero(r))
OP(refcount_dec_and_test, refcount_dec_and_test(r))
OP(refcount_sub_and_test, refcount_sub_and_test(3, r))
MODULE_LICENSE("Dual MIT/GPL");
