/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef _ASM_X86_UACCESS_64_HOLDFAST_H
#define _ASM_X86_UACCESS_64_HOLDFAST_H
/*
 * uaccess_64 - clear and copy of user memory by Holdfast (lib/holdfast/user_memory.c).
 *
 * The kernel's own header, which run.py renames to uaccess_64_kernel.h, still declares all else.
 * Its four functions get other names, and are not used.
 */
#define raw_copy_from_user kernel_raw_copy_from_user
#define raw_copy_to_user kernel_raw_copy_to_user
#define __clear_user kernel___clear_user
#define clear_user kernel_clear_user
#include <asm/uaccess_64_kernel.h>
#undef raw_copy_from_user
#undef raw_copy_to_user
#undef __clear_user
#undef clear_user

/* Return the bytes not done, exactly. The caller has checked the user's address. */
__must_check unsigned long holdfast_clear_user(void *dst, unsigned long len);
__must_check unsigned long holdfast_copy_user(void *dst, const void *src, unsigned long len);

static __always_inline __must_check unsigned long
raw_copy_from_user(void *dst, const void __user *src, unsigned long len)
{
	return holdfast_copy_user(dst, (__force const void *)src, len);
}

static __always_inline __must_check unsigned long
raw_copy_to_user(void __user *dst, const void *src, unsigned long len)
{
	return holdfast_copy_user((__force void *)dst, src, len);
}

static __always_inline __must_check unsigned long __clear_user(void __user *dst, unsigned long len)
{
	might_fault();
	return holdfast_clear_user((__force void *)dst, len);
}

/* Newer kernels define access_ok() after this header. */
static __always_inline unsigned long clear_user(void __user *dst, unsigned long len)
{
	return __access_ok(dst, len) ? __clear_user(dst, len) : len;
}

#endif
