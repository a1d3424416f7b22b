// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * user_memory_arm64 - the functions behind arm64's <linux/uaccess.h>: Holdfast's clear and copy.
 *
 * That header calls three functions of arch/arm64/lib by C's calling convention, with addresses
 * that it has checked. They are members of an archive, of which the linker takes only what is
 * missing: so these take their place, and no file of arm64 changes.
 *
 *   clear   DC ZVA by whole blocks, pairs of registers below 256 bytes
 *   copy    pairs of registers
 *
 * The kernel's own use LDTR and STTR, which access memory as the user would. Holdfast's accesses
 * are ordinary, so PAN is off meanwhile.
 */
#define HF_IMPLEMENTATION static __always_inline __maybe_unused
#define HF_HAS_VECTORS 0

#include "src/nofault/generic.c"
#include "src/nofault/arch/aarch64.c"

#include <linux/export.h>
#include <linux/uaccess.h>

/* Return the bytes not done, exactly. */
unsigned long __arch_clear_user(void __user *to, unsigned long len)
{
	uaccess_enable_privileged();
	len = hf_detail_clear_dc_zva((__force void *)to, len);
	uaccess_disable_privileged();
	return len;
}
EXPORT_SYMBOL(__arch_clear_user);

unsigned long __arch_copy_from_user(void *to, const void __user *from, unsigned long len)
{
	uaccess_enable_privileged();
	len = hf_detail_copy_stp(to, (__force const void *)from, len);
	uaccess_disable_privileged();
	return len;
}
EXPORT_SYMBOL(__arch_copy_from_user);

unsigned long __arch_copy_to_user(void __user *to, const void *from, unsigned long len)
{
	uaccess_enable_privileged();
	len = hf_detail_copy_stp((__force void *)to, from, len);
	uaccess_disable_privileged();
	return len;
}
EXPORT_SYMBOL(__arch_copy_to_user);
