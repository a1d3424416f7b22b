/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * nofault - clear and copy of user memory in a Linux kernel.
 *
 * The implementations are those of src/ that use only general registers. While access to user
 * memory is enabled no function may be called (objtool enforces it), so each implementation is
 * inlined into a function that enables and disables the access. The kernel's alternatives select
 * one at boot.
 */
#define HF_IMPLEMENTATION static __always_inline __maybe_unused
#define HF_HAS_VECTORS 0

#include "../../src/nofault/generic.c"

#include "nofault.h"

#if HF_ARCH_HAS_REP
#include "../../src/nofault/arch/x86_64.c"
#endif
#if HF_ARCH_HAS_PAIR
#include "../../src/nofault/arch/aarch64.c"
#endif

#define IMPLEMENTATION(name)                                                                       \
	static noinline size_t clear_##name(void *dst, size_t len)                                 \
	{                                                                                          \
		return HF_ENV_TOUCH(dst, len, len, hf_detail_clear_##name(dst, len));              \
	}                                                                                          \
                                                                                                   \
	static noinline size_t copy_##name(void *dst, const void *src, size_t len)                 \
	{                                                                                          \
		size_t left;                                                                       \
                                                                                                   \
		hf_env_user_begin();                                                               \
		left = hf_detail_copy_##name(dst, src, len);                                       \
		hf_env_user_end();                                                                 \
		return left;                                                                       \
	}

IMPLEMENTATION(generic)
#if HF_ARCH_HAS_REP
IMPLEMENTATION(original)
IMPLEMENTATION(rep_good)
IMPLEMENTATION(erms)
IMPLEMENTATION(fsrm)
#endif
#if HF_ARCH_HAS_PAIR
#define hf_detail_copy_dc_zva hf_detail_copy_stp /* DC ZVA is for clear only */
IMPLEMENTATION(stp)
IMPLEMENTATION(dc_zva)
#endif

#define ROW(name) { #name, clear_##name, copy_##name, copy_##name },

const struct kernel_implementation kernel_implementations[] = {
	ROW(generic)
#if HF_ARCH_HAS_REP
		ROW(original) ROW(rep_good) ROW(erms) ROW(fsrm)
#endif
#if HF_ARCH_HAS_PAIR
			ROW(stp) ROW(dc_zva)
#endif
				{ "default", hf_clear_nofault, hf_copy_to_nofault,
				  hf_copy_from_nofault },
};

const unsigned int kernel_implementation_count = ARRAY_SIZE(kernel_implementations);

size_t hf_env_clear(void *dst, size_t len)
{
#if HF_ARCH_HAS_REP
	if (static_cpu_has(X86_FEATURE_ERMS))
		return clear_erms(dst, len);
	if (static_cpu_has(X86_FEATURE_REP_GOOD))
		return clear_rep_good(dst, len);
	return clear_original(dst, len);
#elif HF_ARCH_HAS_PAIR
	return clear_dc_zva(dst, len);
#else
	return clear_generic(dst, len);
#endif
}

/* The caller checks that the addresses are the user's. */
static size_t copy(void *dst, const void *src, size_t len)
{
#if HF_ARCH_HAS_REP
	if (static_cpu_has(X86_FEATURE_FSRM))
		return copy_fsrm(dst, src, len);
	if (static_cpu_has(X86_FEATURE_ERMS))
		return copy_erms(dst, src, len);
	if (static_cpu_has(X86_FEATURE_REP_GOOD))
		return copy_rep_good(dst, src, len);
	return copy_original(dst, src, len);
#elif HF_ARCH_HAS_PAIR
	return copy_stp(dst, src, len);
#else
	return copy_generic(dst, src, len);
#endif
}

static bool is_user(const void *p, size_t len)
{
	return access_ok((const void __user *)p, len);
}

size_t hf_env_copy(void *dst, const void *src, size_t len)
{
	return is_user(dst, len) && is_user(src, len) ? copy(dst, src, len) : len;
}

size_t hf_env_copy_from(void *dst, const void *src, size_t len)
{
	return is_user(src, len) ? copy(dst, src, len) : len;
}

size_t hf_env_copy_to(void *dst, const void *src, size_t len)
{
	return is_user(dst, len) ? copy(dst, src, len) : len;
}
