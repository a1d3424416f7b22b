// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * user - port/kernel/user_memory.c for the functions that the kernel itself calls: every size, with
 * a hole at every place. Holdfast's are exact. After each call, access to user memory must be off.
 */
#include <linux/module.h>
#include <linux/uaccess.h>
#ifdef CONFIG_ARM64
#include <asm/cpufeature.h>
#endif

#include "nofault.h"
#define TEST_PREFIX "USER "
#include "test_case.h"

static unsigned long calls, still_open;

/* Counts the call, and whether it left the access to user memory on. */
static size_t after(size_t left)
{
	calls++;
#ifdef CONFIG_X86
	still_open += !!(native_save_fl() & X86_EFLAGS_AC);
#elif defined(CONFIG_ARM64)
	if (system_uses_hw_pan()) /* PSTATE.PAN, bit 22 */
		still_open += !(read_sysreg_s(sys_reg(3, 0, 4, 2, 3)) & BIT(22));
#endif
	return left;
}

size_t hf_env_clear(void *dst, size_t len)
{
	return after(clear_user((void __user *)dst, len));
}

/* Unlike copy_from_user(), raw_copy_from_user() does not clear what it did not copy. */
size_t hf_env_copy_from(void *dst, const void *src, size_t len)
{
	if (!access_ok((const void __user *)src, len))
		return len;
	return after(raw_copy_from_user(dst, (const void __user *)src, len));
}

size_t hf_env_copy_to(void *dst, const void *src, size_t len)
{
	if (!access_ok((void __user *)dst, len))
		return len;
	return after(raw_copy_to_user((void __user *)dst, src, len));
}

size_t hf_env_copy(void *dst, const void *src, size_t len)
{
	return access_ok((void __user *)dst, len) ? hf_env_copy_from(dst, src, len) : len;
}

const struct kernel_implementation kernel_implementations[] = {
	{ "tree", hf_env_clear, hf_env_copy_to, hf_env_copy_from },
};
const unsigned int kernel_implementation_count = 1;

static int __init user_init(void)
{
	user_memory_test();
	test_case(!still_open, "user_memory.access", "left on after %lu of %lu calls", still_open,
		  calls);
	pr_info("USER END %u cases, %u failed\n", cases, failed);
	return 0;
}
module_init(user_init);

static void __exit user_exit(void)
{
}
module_exit(user_exit);
MODULE_DESCRIPTION("Holdfast's test of user memory");
MODULE_LICENSE("Dual MIT/GPL");
