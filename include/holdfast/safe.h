/* SPDX-License-Identifier: MIT */
#ifndef HF_SAFE_H
#define HF_SAFE_H
#pragma GCC system_header
/*
 * safe - read memory that may fault, in any signal handler and with any signal mask.
 *
 * Use when / not when
 *   In a handler of SIGSEGV or SIGBUS, a crash reporter, or a thread with these signals blocked,
 *   where the operations of nofault_copy.h would kill the process. Elsewhere those are faster:
 *   these query the signal mask and handlers at each call. Needs no hf_nofault_install(). Linux
 *   user space only: elsewhere this header is empty.
 *
 * Operations
 *   hf_copy_safe                                         returns the bytes NOT copied
 *   hf_load8_safe, hf_load16_, hf_load32_, hf_load64_safe   one word: 0 or -EFAULT
 *
 * Example
 *   static void crashed(int signal, siginfo_t *info, void *context)
 *   {
 *           char bytes[64];
 *           size_t left = hf_copy_safe(bytes, info->si_addr, sizeof(bytes));
 *
 *           (void)write(2, bytes, sizeof(bytes) - left);
 *           _exit(1);
 *   }
 *
 * State
 *   none: a call copies by
 *
 *        hf_copy_nofault()      if Holdfast's handler receives both signals
 *        process_vm_readv()     otherwise, page by page
 *        a pipe                 where that copies nothing
 *
 *   The pipe is for systems that don't let a process read itself, and for memory that an
 *   instruction can read and process_vm_readv() can't: memfd_secret, the data of the vDSO, device
 *   memory. It needs two file descriptors; without them nothing is copied.
 *
 * Guarantees
 *   The count is exact, since each piece given to the system lies in one page on either side (S1).
 *   If a page is unmapped or mapped during the call, part of a piece may have been copied and not
 *   counted. No lock, no allocation, no more than 1 KiB of stack; errno is kept.
 *
 * Context    any thread, any signal handler: async-signal-safe
 * Ordering   none; a word that changes meanwhile may be torn
 * Source     docs/design/0009-nofault.md
 */
#include "internal/nofault/site.h"

#if HF_ENV_HAS_REGION
HF_BEGIN_DECLS

/**
 * hf_copy_safe - copy memory, either side of which may fault, whatever the signal mask is
 * @dst: start, any alignment; must not overlap the source
 * @src: start, any alignment
 * @len: bytes
 *
 * Errors:   never traps; stops at the first byte that can't be read, or can't be written
 * Return:   bytes NOT copied; 0 = all done
 */
HF_MUST_CHECK size_t hf_copy_safe(void *dst, const void *src, size_t len) HF_API_EACH;

HF_END_DECLS

/* One word of `len` bytes. */
HF_INLINE int hf_detail_load_safe(void *value, const volatile void *p, size_t len)
{
	uint64_t found = 0;

	if (hf_copy_safe(&found, (const void *)(uintptr_t)p, len))
		return -HF_EFAULT;
	__builtin_memcpy(value, &found, len);
	return 0;
}

/**
 * hf_load8_safe, hf_load16_safe, hf_load32_safe, hf_load64_safe - read one word
 * @value: gets it; is not changed by a fault
 * @p:     any alignment
 *
 * Return:   0, or -EFAULT (14)
 */
HF_INLINE HF_MUST_CHECK int hf_load8_safe(uint8_t *value, const volatile void *p)
{
	return hf_detail_load_safe(value, p, 1);
}

HF_INLINE HF_MUST_CHECK int hf_load16_safe(uint16_t *value, const volatile void *p)
{
	return hf_detail_load_safe(value, p, 2);
}

HF_INLINE HF_MUST_CHECK int hf_load32_safe(uint32_t *value, const volatile void *p)
{
	return hf_detail_load_safe(value, p, 4);
}

HF_INLINE HF_MUST_CHECK int hf_load64_safe(uint64_t *value, const volatile void *p)
{
	return hf_detail_load_safe(value, p, 8);
}

#endif /* HF_ENV_HAS_REGION */

#endif
