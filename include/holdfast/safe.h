/* SPDX-License-Identifier: MIT */
#ifndef HF_SAFE_H
#define HF_SAFE_H
#pragma GCC system_header
/*
 * safe - read memory that may not be there, also where no fault can be taken.
 *
 * Use when / not when
 *   In a handler of SIGSEGV or SIGBUS, a crash reporter, a profiler's signal handler, a thread that
 *   has these signals blocked: nofault.h's verbs would kill the process there. Elsewhere nofault.h
 *   is faster: this asks the system at each call where it is. Not in a kernel and not on bare metal
 *   (HF_ENV_HAS_REGION is 0): this header is empty there.
 *
 * Verbs
 *   hf_copy_safe                          returns the bytes NOT copied
 *   hf_load8_safe, ..., hf_load64_safe    one word; return 0 or -EFAULT
 *
 * Example  examples/region.c
 *
 * State
 *   none between calls. Each call looks at the thread's signal mask and the process's handlers
 *
 *     both signals come, and to Holdfast's handler   hf_copy_nofault()
 *     else                                           process_vm_readv(), 16 pages a call
 *     where that copies nothing more                 a pipe: page by page in and out
 *
 *   The pipe is for systems that don't let a process read itself, and for memory that can be read by
 *   an instruction and not by process_vm_readv(): memfd_secret, the data of the vDSO, a device's.
 *
 * Invariants
 *   S1  A piece that is handed to the system lies in one page on either side. Memory comes and goes
 *       by pages, so the system copies all of a piece or none of it, and the count is exact.
 *   S2  No lock, no allocation, no more than 1 KiB of stack; errno is kept.
 *
 * Limits
 *   The pipe takes two file descriptors; a process that has none free, or may not make one, gets
 *   nothing copied. While a page goes away or comes back during the call, the system may have
 *   copied a part of a piece that is not counted.
 *
 * Ordering
 *   none; a word need not be read in one access
 *
 * Source   docs/design/0020-region.md
 */
#include "nofault.h"

#if HF_ENV_HAS_REGION

HF_BEGIN_DECLS

/**
 * hf_copy_safe - copy memory, either side of which may fault, whatever the signal mask is
 * @dst: start, any alignment; must not overlap the source
 * @src: start, any alignment
 * @len: bytes
 *
 * Context:  any thread, any signal handler: async-signal-safe. Needs no hf_nofault_install()
 * Ordering: none
 * Errors:   never traps; stops at the first byte that can't be read, or can't be written
 * Return:   bytes NOT copied; 0 = all done
 */
HF_MUST_CHECK size_t hf_copy_safe(void *dst, const void *src, size_t len) HF_API_EACH;

HF_END_DECLS

/**
 * hf_load8_safe, hf_load16_safe, hf_load32_safe, hf_load64_safe - read one word
 * @value: gets it; is not changed by a fault
 * @p:     any alignment
 *
 * Context:  as hf_copy_safe()
 * Ordering: none; of a word that others change meanwhile, bytes may come from before and after
 * Return:   0, or -EFAULT (14)
 */
HF_INLINE HF_MUST_CHECK int hf_load8_safe(uint8_t *value, const volatile void *p)
{
	uint8_t found = 0;

	if (hf_copy_safe(&found, (const void *)(uintptr_t)p, sizeof(found)))
		return -HF_EFAULT;
	*value = found;
	return 0;
}

HF_INLINE HF_MUST_CHECK int hf_load16_safe(uint16_t *value, const volatile void *p)
{
	uint16_t found = 0;

	if (hf_copy_safe(&found, (const void *)(uintptr_t)p, sizeof(found)))
		return -HF_EFAULT;
	*value = found;
	return 0;
}

HF_INLINE HF_MUST_CHECK int hf_load32_safe(uint32_t *value, const volatile void *p)
{
	uint32_t found = 0;

	if (hf_copy_safe(&found, (const void *)(uintptr_t)p, sizeof(found)))
		return -HF_EFAULT;
	*value = found;
	return 0;
}

HF_INLINE HF_MUST_CHECK int hf_load64_safe(uint64_t *value, const volatile void *p)
{
	uint64_t found = 0;

	if (hf_copy_safe(&found, (const void *)(uintptr_t)p, sizeof(found)))
		return -HF_EFAULT;
	*value = found;
	return 0;
}

#endif
#endif
