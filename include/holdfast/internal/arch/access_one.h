/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_ACCESS_ONE_H
#define HF_ARCH_ACCESS_ONE_H
#pragma GCC system_header
/*
 * access_one - the form of an access that may fault by one instruction, for an access.h to include.
 *
 * The functions return `error`: it is -HF_EFAULT before the access, and the next instruction,
 * HF_DETAIL_NO_ERROR, makes it 0. A fault skips both, so there is no separate fault path. access.h
 * defines that instruction before, for %[error], and HF_DETAIL_ERROR: its type.
 */
#include "../compiler.h"
#include "../env.h"
#include "../nofault/site.h"

#define HF_DETAIL_LOAD_NOFAULT(bits, instruction, constraint)                                      \
	HF_INLINE int hf_arch_load##bits##_nofault(uint##bits##_t *value, const volatile void *p)  \
	{                                                                                          \
		HF_DETAIL_ERROR error = -HF_EFAULT;                                                \
		uint##bits##_t read;                                                               \
                                                                                                   \
		__asm__ volatile("1:\t" instruction "\n"                                           \
				 "\t" HF_DETAIL_NO_ERROR "\n"                                      \
				 "2:\n" HF_SITE("1b", "2b")                                        \
				 : [read] "=&" constraint(read), [error] "+&r"(error)              \
				 : [p] "r"(p)                                                      \
				 : "memory", "cc");                                                \
		if (HF_LIKELY(!error))                                                             \
			*value = read;                                                             \
		return (int)error;                                                                 \
	}

#define HF_DETAIL_STORE_NOFAULT(bits, instruction, constraint)                                     \
	HF_INLINE int hf_arch_store##bits##_nofault(volatile void *p, uint##bits##_t value)        \
	{                                                                                          \
		HF_DETAIL_ERROR error = -HF_EFAULT;                                                \
                                                                                                   \
		__asm__ volatile("1:\t" instruction "\n"                                           \
				 "\t" HF_DETAIL_NO_ERROR "\n"                                      \
				 "2:\n" HF_SITE("1b", "2b")                                        \
				 : [error] "+&r"(error)                                            \
				 : [p] "r"(p), [value] constraint(value)                           \
				 : "memory", "cc");                                                \
		return (int)error;                                                                 \
	}

/* For src/: a fault jumps to a label. @instruction: moves %1 to %0, of the type of *p. */
#define HF_ARCH_LOAD_OR(instruction, value, constraint, p, label)                                  \
	__asm__ volatile goto("1:\t" instruction "\n" HF_SITE("1b", "%l[" #label "]")              \
			      : "=" constraint(value)                                              \
			      : "m"(*(p))                                                          \
			      : "memory"                                                           \
			      : label)
#define HF_ARCH_STORE_OR(instruction, p, value, constraint, label)                                 \
	__asm__ volatile goto("1:\t" instruction "\n" HF_SITE("1b", "%l[" #label "]")              \
			      :                                                                    \
			      : "m"(*(p)), constraint(value)                                       \
			      : "memory"                                                           \
			      : label)

#endif
