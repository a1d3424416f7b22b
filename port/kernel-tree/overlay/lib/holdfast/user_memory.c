// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * user_memory - the functions of our <asm/uaccess_64.h>: Holdfast's clear and copy in general
 * registers. Each is inlined between stac() and clac(), where nothing may be called (objtool
 * enforces it). The kernel's alternatives select one at boot. A fault is found in the kernel's
 * exception table.
 *
 *   original   8-byte accesses, then bytes     any processor
 *   rep_good   rep stosq, rep movsq            X86_FEATURE_REP_GOOD
 *   erms       rep stosb, rep movsb from 64    X86_FEATURE_ERMS
 *   fsrm       rep stosb, rep movsb            X86_FEATURE_FSRM
 *
 * `holdfast_user_memory=NAME` on the kernel's command line chooses one: it sets the features that
 * lead to it, before the alternatives are applied. For tests; other code of the kernel sees these
 * features, too.
 */
#define HF_IMPLEMENTATION static __always_inline __maybe_unused
#define HF_HAS_VECTORS 0

#include "src/nofault/generic.c"
#include "src/nofault/arch/x86_64.c"

#include <linux/export.h>
#include <linux/init.h>
#include <linux/string.h>
#include <asm/cpufeature.h>
#include <asm/smap.h>

#define IMPLEMENTATION(name)                                                                       \
	static noinline unsigned long clear_##name(void *dst, unsigned long len)                   \
	{                                                                                          \
		stac();                                                                            \
		len = hf_detail_clear_##name(dst, len);                                            \
		clac();                                                                            \
		return len;                                                                        \
	}                                                                                          \
                                                                                                   \
	static noinline unsigned long copy_##name(void *dst, const void *src, unsigned long len)   \
	{                                                                                          \
		stac();                                                                            \
		len = hf_detail_copy_##name(dst, src, len);                                        \
		clac();                                                                            \
		return len;                                                                        \
	}

IMPLEMENTATION(original)
IMPLEMENTATION(rep_good)
IMPLEMENTATION(erms)
IMPLEMENTATION(fsrm)

#define BY_FEATURE(operation, ...)                                                                 \
	(static_cpu_has(X86_FEATURE_FSRM)       ? operation##_fsrm(__VA_ARGS__)                    \
	 : static_cpu_has(X86_FEATURE_ERMS)     ? operation##_erms(__VA_ARGS__)                    \
	 : static_cpu_has(X86_FEATURE_REP_GOOD) ? operation##_rep_good(__VA_ARGS__)                \
						: operation##_original(__VA_ARGS__))

unsigned long holdfast_clear_user(void *dst, unsigned long len)
{
	return BY_FEATURE(clear, dst, len);
}
EXPORT_SYMBOL(holdfast_clear_user);

unsigned long holdfast_copy_user(void *dst, const void *src, unsigned long len)
{
	return BY_FEATURE(copy, dst, src, len);
}
EXPORT_SYMBOL(holdfast_copy_user);

static int __init choose(char *name)
{
	bool fsrm = !strcmp(name, "fsrm"), erms = !strcmp(name, "erms");
	bool rep_good = !strcmp(name, "rep_good");

	if (!fsrm && !erms && !rep_good && strcmp(name, "original"))
		return -EINVAL;
	setup_clear_cpu_cap(X86_FEATURE_FSRM);
	setup_clear_cpu_cap(X86_FEATURE_ERMS);
	setup_clear_cpu_cap(X86_FEATURE_REP_GOOD);
	if (fsrm)
		setup_force_cpu_cap(X86_FEATURE_FSRM);
	if (erms || fsrm) /* 6.1's memmove() loops for ever with FSRM alone */
		setup_force_cpu_cap(X86_FEATURE_ERMS);
	if (rep_good)
		setup_force_cpu_cap(X86_FEATURE_REP_GOOD);
	return 0;
}
early_param("holdfast_user_memory", choose);
