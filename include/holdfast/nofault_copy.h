/* SPDX-License-Identifier: MIT */
#ifndef HF_NOFAULT_COPY_H
#define HF_NOFAULT_COPY_H
#pragma GCC system_header
/*
 * nofault_copy - clear and copy memory that may fault.
 *
 * Use when / not when
 *   For memory that may disappear: a mapping whose file can be truncated, a page of a guest, a
 *   pointer from a plug-in or a script, memory with hardware errors. Not to hide a bug: a pointer
 *   that should be valid and is not must crash. It does not replace a lock: if another thread
 *   changes the memory meanwhile, only the count is reliable.
 *   nofault_word.h has single words, nofault_memory.h the rest of <string.h>, safe.h what works
 *   where SIGSEGV is blocked. In user space a handler must be installed: nofault_handler.h.
 *
 * Operations
 *   hf_clear_nofault, hf_copy_nofault   return the bytes NOT done
 *   hf_copy_from_, hf_copy_to_nofault   the same, for a kernel: which side is user memory
 *   hf_strncpy_nofault                  returns the length, or -EFAULT
 *   hf_clear_chosen, hf_copy_chosen     the name of the implementation in use
 *   hf::clear_nofault, hf::copy_nofault C++: of std::span, std::vector, std::array ...
 *
 * Example  examples/nofault.c
 *
 * State
 *   A fault is exact: a range of n bytes at p, whose first byte that can't be accessed is p + k
 *
 *        p                        p + k                     p + n
 *        |  done, all of it       |  not touched            |
 *        |------------------------|-------------------------|
 *                                 ^ first bad byte     returned: n - k
 *
 *   Inside a Linux kernel these are for user memory, as clear_user() and copy_from_user() are: an
 *   address outside of user space fails as a whole. hf_strncpy_nofault and the names of the
 *   implementations do not exist there.
 *
 * Invariants
 *   F1  The count is exact to the byte, on every processor and in every implementation: so all work
 *       is done in ascending order, and no store crosses into another page before the first one is
 *       known.
 *
 * Arguments
 *   dst, src   start, any alignment
 *   len        bytes
 *
 * Context    any thread; needs hf_nofault_install() or hf_nofault_handle()
 * Ordering   none
 *
 * Source   docs/design/0009-nofault.md; the counts: gVisor's safecopy has the same definition
 */
#include "internal/atomic.h"
#include "internal/nofault/sanitize.h"
#include "nofault_handler.h"

#if !HF_ENV_HAS_CLEAR
/* The functions that these operations call on this processor. */
typedef size_t (*hf_clear_function_t)(void *dst, size_t len);
typedef size_t (*hf_copy_function_t)(void *dst, const void *src, size_t len);

HF_BEGIN_DECLS

/* Set before main(), for this processor (src/nofault/choose.c); generic until then. */
extern hf_atomic64_t hf_detail_clear HF_API_EACH;
extern hf_atomic64_t hf_detail_copy HF_API_EACH;

/**
 * hf_clear_chosen, hf_copy_chosen - the name of the implementation in use, for reports
 *
 * Return:   a constant string, never NULL: a name of docs/design/0010
 */
const char *hf_clear_chosen(void) HF_API_EACH;
const char *hf_copy_chosen(void) HF_API_EACH;

HF_END_DECLS

#endif /* !HF_ENV_HAS_CLEAR */

/**
 * hf_clear_nofault - zero memory that may fault
 *
 * Errors:   never traps; stops at the first byte that can't be written
 * Return:   bytes NOT cleared; 0 = all done
 */
HF_INLINE HF_MUST_CHECK size_t hf_clear_nofault(void *dst, size_t len)
{
#if HF_ENV_HAS_CLEAR && HF_ARCH_HAS_REP
	if (HF_ENV_CLEAR_INLINE)
		return HF_ENV_TOUCH(dst, len, len, hf_arch_rep_stosb(dst, len));
#endif
#if HF_ENV_HAS_CLEAR
	return hf_env_clear(dst, len);
#else
	uint64_t function = hf_atomic64_load_relaxed(&hf_detail_clear);
	size_t left;

	hf_detail_writes(dst, len);
	left = ((hf_clear_function_t)(uintptr_t)function)(dst, len);
	hf_detail_wrote(dst, len - left);
	return left;
#endif
}

/**
 * hf_copy_nofault - copy memory, and either side may fault
 * @dst: start, any alignment; must not overlap the source
 *
 * Errors:   never traps; stops at the first byte that can't be read, or can't be written
 * Return:   bytes NOT copied; 0 = all done
 */
HF_INLINE HF_MUST_CHECK size_t hf_copy_nofault(void *dst, const void *src, size_t len)
{
#if HF_ENV_HAS_CLEAR
	return hf_env_copy(dst, src, len);
#else
	uint64_t function = hf_atomic64_load_relaxed(&hf_detail_copy);
	size_t left;

	hf_detail_reads(src, len);
	hf_detail_writes(dst, len);
	left = ((hf_copy_function_t)(uintptr_t)function)(dst, src, len);
	hf_detail_wrote(dst, len - left);
	return left;
#endif
}

/**
 * hf_copy_from_nofault - as hf_copy_nofault(), where the source may fault
 * hf_copy_to_nofault - as hf_copy_nofault(), where the destination may fault
 *
 * In user space all three guard both sides. In a kernel one side is user memory, the other its own.
 */
HF_INLINE HF_MUST_CHECK size_t hf_copy_from_nofault(void *dst, const void *src, size_t len)
{
#if HF_ENV_HAS_CLEAR
	return hf_env_copy_from(dst, src, len);
#else
	return hf_copy_nofault(dst, src, len);
#endif
}

HF_INLINE HF_MUST_CHECK size_t hf_copy_to_nofault(void *dst, const void *src, size_t len)
{
#if HF_ENV_HAS_CLEAR
	return hf_env_copy_to(dst, src, len);
#else
	return hf_copy_nofault(dst, src, len);
#endif
}

#if !HF_ENV_HAS_CLEAR
HF_BEGIN_DECLS

/**
 * hf_strncpy_nofault - copy a string that may fault, up to its end or `size` bytes
 * @dst:  room for `size` bytes; may fault too
 * @src:  the string
 * @size: bytes
 *
 * Errors:   -EFAULT (14): everything before the fault is in dst, nothing at or after it is touched
 * Return:   the length without the terminating 0, which was copied too; `size` if there was none in
 *           the first `size` bytes: dst is then not terminated
 */
HF_MUST_CHECK long hf_strncpy_nofault(char *dst, const char *src, size_t size) HF_API_EACH;

HF_END_DECLS
#endif

#ifdef __cplusplus
/* The same for any type with data() and size(). Sizes and results are in BYTES. */
HF_BEGIN_CXX

/* clear_nofault - hf_clear_nofault() of a whole span. Returns the bytes not cleared. */
template <class Span>
[[nodiscard]] inline size_t clear_nofault(Span &&span)
{
	static_assert(__is_trivially_copyable(__typeof__(*span.data())), "0 need not be valid");
	return hf_clear_nofault(span.data(), span.size() * sizeof(*span.data()));
}

/* copy_nofault - the same of a copy; bytes for which `to` has no room count as not copied. */
template <class To, class From>
[[nodiscard]] inline size_t copy_nofault(To &&to, const From &from)
{
	static_assert(__is_trivially_copyable(__typeof__(*to.data())),
		      "its bytes may not be valid");
	const __typeof__(*to.data()) *source = from.data(); /* of the same type */
	size_t fit = from.size() < to.size() ? from.size() : to.size();

	return hf_copy_nofault(to.data(), source, fit * sizeof(*source)) +
	       (from.size() - fit) * sizeof(*source);
}

HF_END_CXX
#endif

#endif
