/* SPDX-License-Identifier: MIT */
#ifndef HF_NOFAULT_DISPATCH_H
#define HF_NOFAULT_DISPATCH_H
#pragma GCC system_header
/*
 * dispatch - which implementation a clear or a copy runs, and how the call gets there.
 *
 * For nofault.h alone: each of its verbs is one call of a function of this file. Two ways
 *
 *   user space, bare metal   through hf_detail_clear or hf_detail_copy: an address, set once at the start
 *                            (src/nofault/nofault.c, hf_clear_choose()), so that the branch is predicted
 *   HF_ENV_HAS_CLEAR         the world's own functions (a kernel patches its choice into the code),
 *                            or REP at the call site where HF_ENV_CLEAR_INLINE is true
 *
 * Source  docs/design/0009-nofault.md, docs/design/0010-choosing-clear-and-copy.md
 */
#include "../arch_nofault.h"
#include "../atomic.h"
#include "sanitize.h"
#include "site.h"

#ifndef HF_ENV_HAS_CLEAR
#define HF_ENV_HAS_CLEAR 0
#endif

/* A world in which memory must be opened before it is touched does that here. */
#ifndef HF_ENV_TOUCH
#define HF_ENV_TOUCH(p, len, fails, access) (hf_detail_will_read(p, len), (access))
#endif

#if HF_ENV_HAS_CLEAR

HF_INLINE size_t hf_detail_dispatch_clear(void *dst, size_t len)
{
#if HF_ARCH_HAS_REP
	if (HF_ENV_CLEAR_INLINE)
		return HF_ENV_TOUCH(dst, len, len, hf_arch_rep_stosb(dst, len));
#endif
	return hf_env_clear(dst, len);
}

HF_INLINE size_t hf_detail_dispatch_copy(void *dst, const void *src, size_t len)
{
	return hf_env_copy(dst, src, len);
}

HF_INLINE size_t hf_detail_dispatch_copy_from(void *dst, const void *src, size_t len)
{
	return hf_env_copy_from(dst, src, len);
}

HF_INLINE size_t hf_detail_dispatch_copy_to(void *dst, const void *src, size_t len)
{
	return hf_env_copy_to(dst, src, len);
}

#else

/* What clears and copies: returns the bytes not done. */
typedef size_t (*hf_clear_function_t)(void *dst, size_t len);
typedef size_t (*hf_copy_function_t)(void *dst, const void *src, size_t len);

HF_BEGIN_DECLS

/*
 * The addresses of the functions in use. Set at the start, by HOLDFAST_CLEAR and HOLDFAST_COPY or by
 * what the processor is; an earlier call gets an implementation that is legal everywhere.
 */
extern hf_atomic64_t hf_detail_clear HF_API_EACH;
extern hf_atomic64_t hf_detail_copy HF_API_EACH;

HF_END_DECLS

HF_INLINE size_t hf_detail_dispatch_clear(void *dst, size_t len)
{
	uint64_t function = hf_atomic64_load_relaxed(&hf_detail_clear);
	size_t left;

	hf_detail_will_write(dst, len);
	left = ((hf_clear_function_t)(uintptr_t)function)(dst, len);
	hf_detail_has_written(dst, len - left);
	return left;
}

HF_INLINE size_t hf_detail_dispatch_copy(void *dst, const void *src, size_t len)
{
	uint64_t function = hf_atomic64_load_relaxed(&hf_detail_copy);
	size_t left;

	hf_detail_will_read(src, len);
	hf_detail_will_write(dst, len);
	left = ((hf_copy_function_t)(uintptr_t)function)(dst, src, len);
	hf_detail_has_written(dst, len - left);
	return left;
}

/* Both sides are guarded in every copy. */
HF_INLINE size_t hf_detail_dispatch_copy_from(void *dst, const void *src, size_t len)
{
	return hf_detail_dispatch_copy(dst, src, len);
}

HF_INLINE size_t hf_detail_dispatch_copy_to(void *dst, const void *src, size_t len)
{
	return hf_detail_dispatch_copy(dst, src, len);
}

#endif /* HF_ENV_HAS_CLEAR */
#endif
