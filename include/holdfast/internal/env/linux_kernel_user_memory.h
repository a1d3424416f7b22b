/* SPDX-License-Identifier: MIT */
#ifndef HF_ENV_LINUX_KERNEL_USER_MEMORY_H
#define HF_ENV_LINUX_KERNEL_USER_MEMORY_H
/*
 * env, inside a Linux kernel: user memory - how nofault.h opens it, and recovers from a fault.
 *
 * Apart from linux_kernel.h because <linux/uaccess.h> includes <linux/sched.h>. A kernel whose own
 * <linux/refcount.h> uses Holdfast includes linux_kernel.h from there, before sched.h.
 */
#include <linux/extable.h>
#include <linux/stringify.h>
#include <linux/uaccess.h>

#include "../compiler.h"

/* A site is an entry of the kernel's exception table; each module has one. */
#if defined(CONFIG_X86_64)
#define HF_ENV_SITE(from, to)                                                                      \
	".pushsection __ex_table,\"a\"\n"                                                          \
	".balign 4\n"                                                                              \
	".long (" from ") - .\n"                                                                   \
	".long (" to ") - .\n"                                                                     \
	".long " __stringify(EX_TYPE_UACCESS) "\n"                                                 \
					      ".popsection\n"
#elif defined(CONFIG_ARM64)
/* The handler stores its results in the zero register, number 31: they are not needed. */
#define HF_ENV_SITE(from, to)                                                                      \
	".pushsection __ex_table,\"a\"\n"                                                          \
	".balign 4\n"                                                                              \
	".long (" from ") - .\n"                                                                   \
	".long (" to ") - .\n"                                                                     \
	".short " __stringify(EX_TYPE_UACCESS_ERR_ZERO) ", (31 << 5) | 31\n"                       \
							".popsection\n"
#endif

/* Enable this CPU's access to user memory, and disable it. No function is called in between. */
HF_INLINE void hf_env_user_begin(void)
{
#if defined(CONFIG_X86_64)
	__uaccess_begin_nospec();
#elif defined(CONFIG_ARM64)
	uaccess_enable_privileged();
#endif
}

HF_INLINE void hf_env_user_end(void)
{
#if defined(CONFIG_X86_64)
	__uaccess_end();
#elif defined(CONFIG_ARM64)
	uaccess_disable_privileged();
#endif
}

/* For nofault.h: does `access` to `len` bytes at p; yields `fails` if they are not user memory. */
#define HF_ENV_TOUCH(p, len, fails, access)                                                        \
	({                                                                                         \
		__typeof__(fails) hf_detail_result = (fails);                                      \
                                                                                                   \
		if (access_ok((const void __user *)(uintptr_t)(p), (len))) {                       \
			hf_env_user_begin();                                                       \
			hf_detail_result = (access);                                               \
			hf_env_user_end();                                                         \
		}                                                                                  \
		hf_detail_result;                                                                  \
	})

/* nofault.h has the kernel's form of clear and copy: hf_env_clear and more. */
#define HF_ENV_HAS_CLEAR 1

/*
 * Is a repeated instruction fast at any size? Then it is inlined at the call site; the kernel
 * patches the branch away. (6.1 does not know FSRS by name; processors had FSRM first.)
 */
#if defined(X86_FEATURE_FSRS)
#define HF_ENV_CLEAR_INLINE static_cpu_has(X86_FEATURE_FSRS)
#elif defined(X86_FEATURE_FSRM)
#define HF_ENV_CLEAR_INLINE static_cpu_has(X86_FEATURE_FSRM)
#endif

/* The kernel's form of hf_clear_nofault(), hf_copy_nofault() and so on, in a task's context. */
HF_MUST_CHECK size_t hf_env_clear(void *dst, size_t len);
HF_MUST_CHECK size_t hf_env_copy(void *dst, const void *src, size_t len);
HF_MUST_CHECK size_t hf_env_copy_from(void *dst, const void *src, size_t len);
HF_MUST_CHECK size_t hf_env_copy_to(void *dst, const void *src, size_t len);

#endif
