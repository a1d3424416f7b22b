/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_NOFAULT_MEMORY_H
#define HF_SRC_NOFAULT_MEMORY_H
/*
 * memory - what the implementations of fill, move, compare and find share.
 *
 * Stores keep E1 of implementation.h. After a faulting load the rest is done byte by byte from the
 * frontier, and a second fault finds the first bad byte.
 */
#include "implementation.h"

/* Unaligned code makes small sizes up to a fifth slower, depending on its place. */
#define HF_DETAIL_ENTRY __attribute__((__noinline__, aligned(64)))

/* Nonzero if a byte is 0; the lowest set bit belongs to the first one. */
static inline uint64_t hf_detail_zero_bytes(uint64_t word)
{
	return (word - HF_DETAIL_ONES) & ~word & HF_DETAIL_ONES << 7;
}

size_t hf_detail_move_down_bytes(void *dst, const void *src, size_t len);

/* Byte by byte from byte @at on; exact wherever a fault is. */
struct hf_memory_result hf_detail_compare_bytes(const void *a, const void *b, size_t len,
						size_t at);
struct hf_memory_result hf_detail_find_bytes(const void *p, uint8_t byte, size_t len, size_t at);

/* The ranges overlap. Up: dst is not above src; down: it is. */
size_t hf_detail_move_up_generic(void *dst, const void *src, size_t len);
size_t hf_detail_move_down_generic(void *dst, const void *src, size_t len);

size_t hf_detail_fill_generic(void *dst, uint8_t value, size_t len);
size_t hf_detail_move_generic(void *dst, const void *src, size_t len);
struct hf_memory_result hf_detail_compare_generic(const void *a, const void *b, size_t len);
struct hf_memory_result hf_detail_find_generic(const void *p, uint8_t byte, size_t len);

/*
 * Whole words. Return: words not copied. The one that checks is used before the start, and where a
 * sanitizer is linked.
 */
extern hf_atomic64_t hf_detail_words __attribute__((visibility("hidden")));
hf_copy_function_t hf_detail_words_of_this_cpu(void);
size_t hf_detail_copy_words_checked(void *dst, const void *src, size_t words);
size_t hf_detail_copy_words_generic(void *dst, const void *src, size_t words);
#if HF_HAS_VECTORS
size_t hf_detail_copy_pairs_avx(void *dst, const void *src, size_t words);
#endif

#if HF_ARCH_HAS_REP
#define HF_DETAIL_MEMORY_DECLARE(name)                                                             \
	size_t hf_detail_fill_##name(void *dst, uint8_t value, size_t len);                        \
	size_t hf_detail_move_##name(void *dst, const void *src, size_t len);                      \
	struct hf_memory_result hf_detail_compare_##name(const void *a, const void *b,             \
							 size_t len);                              \
	struct hf_memory_result hf_detail_find_##name(const void *p, uint8_t byte, size_t len);
HF_DETAIL_MEMORY_DECLARE(sse2)
HF_DETAIL_MEMORY_DECLARE(avx2)
size_t hf_detail_fill_avx512(void *dst, uint8_t value, size_t len);
struct hf_memory_result hf_detail_compare_avx512(const void *a, const void *b, size_t len);
struct hf_memory_result hf_detail_find_avx512(const void *p, uint8_t byte, size_t len);
#endif

/* Sets the implementations to use; at the start, those for this processor. */
void hf_detail_memory_use(hf_fill_function_t fill, hf_copy_function_t move,
			  hf_compare_function_t compare, hf_find_function_t find);
void hf_detail_memory_start(void);

#endif
