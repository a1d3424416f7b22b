/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_GENERIC_ACCESS_H
#define HF_ARCH_GENERIC_ACCESS_H
#pragma GCC system_header
/*
 * access, for any processor - accesses that may fault, by sigsetjmp in src/nofault/jump.c.
 *
 * Without assembly there is no instruction to enter into the table of sites, so each operation
 * calls sigsetjmp(), and the signal handler jumps back: exact, but slower. Needs a C library. For a
 * new processor, write these functions in its folder.
 */
#include "../../compiler.h"
#include "../../env.h"
#include "../../nofault/site.h"

#define HF_ARCH_HAS_SITES 0
#define HF_ARCH_UNALIGNED_FAST 0
#define HF_ARCH_HAS_REP 0
#define HF_ARCH_HAS_PAIR 0

HF_BEGIN_DECLS

/* One access of `bytes` (1, 2, 4 or 8) from *p to *value, or back. 0 or -HF_EFAULT. */
int hf_detail_jump_load(void *value, const volatile void *p, unsigned int bytes) HF_API_EACH;
int hf_detail_jump_store(volatile void *p, const void *value, unsigned int bytes) HF_API_EACH;

/* *p: *expected -> *desired; *found = *p before. 4 or 8 bytes. Sequentially consistent. */
int hf_detail_jump_cmpxchg(volatile void *p, const void *expected, const void *desired, void *found,
			   unsigned int bytes) HF_API_EACH;

HF_END_DECLS

#define HF_DETAIL_LOAD_NOFAULT(bits)                                                               \
	HF_INLINE int hf_arch_load##bits##_nofault(uint##bits##_t *value, const volatile void *p)  \
	{                                                                                          \
		return hf_detail_jump_load(value, p, bits / 8);                                    \
	}

#define HF_DETAIL_STORE_NOFAULT(bits)                                                              \
	HF_INLINE int hf_arch_store##bits##_nofault(volatile void *p, uint##bits##_t value)        \
	{                                                                                          \
		return hf_detail_jump_store(p, &value, bits / 8);                                  \
	}

#define HF_DETAIL_CMPXCHG_NOFAULT(bits)                                                            \
	HF_INLINE int hf_arch_cmpxchg##bits##_nofault(volatile void *p, uint##bits##_t expected,   \
						      uint##bits##_t desired,                      \
						      uint##bits##_t *found)                       \
	{                                                                                          \
		return hf_detail_jump_cmpxchg(p, &expected, &desired, found, bits / 8);            \
	}

/* Retries a compare-and-swap to `stored`, made of `read` and `value`, until it succeeds. */
#define HF_DETAIL_FETCH_NOFAULT(operation, bits, stored)                                           \
	HF_INLINE int hf_arch_##operation##bits##_nofault(volatile void *p, uint##bits##_t value,  \
							  uint##bits##_t *found)                   \
	{                                                                                          \
		uint##bits##_t read, before;                                                       \
		int error = hf_arch_load##bits##_nofault(&before, p);                              \
                                                                                                   \
		if (error)                                                                         \
			return error;                                                              \
		do {                                                                               \
			read = before;                                                             \
			error = hf_arch_cmpxchg##bits##_nofault(p, read, (stored), &before);       \
			if (error)                                                                 \
				return error;                                                      \
		} while (before != read);                                                          \
		*found = read;                                                                     \
		return 0;                                                                          \
	}

HF_DETAIL_LOAD_NOFAULT(8)
HF_DETAIL_LOAD_NOFAULT(16)
HF_DETAIL_LOAD_NOFAULT(32)
HF_DETAIL_LOAD_NOFAULT(64)

HF_DETAIL_STORE_NOFAULT(8)
HF_DETAIL_STORE_NOFAULT(16)
HF_DETAIL_STORE_NOFAULT(32)
HF_DETAIL_STORE_NOFAULT(64)

HF_DETAIL_CMPXCHG_NOFAULT(32)
HF_DETAIL_CMPXCHG_NOFAULT(64)

HF_DETAIL_FETCH_NOFAULT(exchange, 32, value)
HF_DETAIL_FETCH_NOFAULT(exchange, 64, value)

HF_DETAIL_FETCH_NOFAULT(fetch_add, 32, read + value)
HF_DETAIL_FETCH_NOFAULT(fetch_add, 64, read + value)

/* HF_ARCH_LOAD8_OR to HF_ARCH_STORE64_OR - the same for src/: a fault jumps to a label. */
#define HF_DETAIL_LOAD_OR(bits, value, p, label)                                                   \
	do {                                                                                       \
		uint##bits##_t hf_detail_read;                                                     \
                                                                                                   \
		if (hf_arch_load##bits##_nofault(&hf_detail_read, p))                              \
			goto label;                                                                \
		(value) = hf_detail_read;                                                          \
	} while (0)
#define HF_DETAIL_STORE_OR(bits, p, value, label)                                                  \
	do {                                                                                       \
		if (hf_arch_store##bits##_nofault(p, value))                                       \
			goto label;                                                                \
	} while (0)
#define HF_ARCH_LOAD8_OR(value, p, label) HF_DETAIL_LOAD_OR(8, value, p, label)
#define HF_ARCH_LOAD16_OR(value, p, label) HF_DETAIL_LOAD_OR(16, value, p, label)
#define HF_ARCH_LOAD32_OR(value, p, label) HF_DETAIL_LOAD_OR(32, value, p, label)
#define HF_ARCH_LOAD64_OR(value, p, label) HF_DETAIL_LOAD_OR(64, value, p, label)
#define HF_ARCH_STORE8_OR(p, value, label) HF_DETAIL_STORE_OR(8, p, value, label)
#define HF_ARCH_STORE16_OR(p, value, label) HF_DETAIL_STORE_OR(16, p, value, label)
#define HF_ARCH_STORE32_OR(p, value, label) HF_DETAIL_STORE_OR(32, p, value, label)
#define HF_ARCH_STORE64_OR(p, value, label) HF_DETAIL_STORE_OR(64, p, value, label)

#endif
