/* SPDX-License-Identifier: MIT */
/*
 * memory_loops - the library's loops (src/nofault/generic.c) for the table `loop`, compiled once
 * with exception-table entries and once without (UNGUARDED).
 *
 * Without them each access is a plain volatile one, and its fault label is never reached.
 */
#include "../src/nofault/implementation.h"

#if HF_ARCH_HAS_SITES

#if UNGUARDED
#undef HF_ARCH_LOAD8_OR
#undef HF_ARCH_LOAD64_OR
#undef HF_ARCH_STORE8_OR
#undef HF_ARCH_STORE64_OR
#define LAB_NEVER(label)                                                                           \
	do {                                                                                       \
		if (0)                                                                             \
			goto label;                                                                \
	} while (0)
#define LAB_LOAD(value, p, label)                                                                  \
	do {                                                                                       \
		(value) = *(const volatile __typeof__(*(p)) *)(p);                                 \
		LAB_NEVER(label);                                                                  \
	} while (0)
#define LAB_STORE(p, value, label)                                                                 \
	do {                                                                                       \
		*(volatile __typeof__(*(p)) *)(p) = (value);                                       \
		LAB_NEVER(label);                                                                  \
	} while (0)
#define HF_ARCH_LOAD8_OR LAB_LOAD
#define HF_ARCH_LOAD64_OR LAB_LOAD
#define HF_ARCH_STORE8_OR LAB_STORE
#define HF_ARCH_STORE64_OR LAB_STORE
#define LAB_NAME(name) lab_unguarded_##name
#else
#define LAB_NAME(name) lab_guarded_##name
#endif

#define hf_detail_clear_bytes LAB_NAME(clear_bytes)
#define hf_detail_copy_bytes LAB_NAME(copy_bytes)
#define hf_detail_copy_to_page_end LAB_NAME(copy_to_page_end)
#define hf_detail_clear_generic LAB_NAME(clear)
#define hf_detail_copy_generic LAB_NAME(copy)

size_t hf_detail_clear_bytes(void *dst, size_t len);
size_t hf_detail_copy_bytes(void *dst, const void *src, size_t len);
size_t hf_detail_copy_to_page_end(void *dst, const void *src, size_t len, size_t reach);
size_t hf_detail_clear_generic(void *dst, size_t len);
size_t hf_detail_copy_generic(void *dst, const void *src, size_t len);

#include "../src/nofault/generic.c"

#endif
