/* SPDX-License-Identifier: MIT */
/* search - compare and find in words of 8 bytes, for any processor. */
#include "memory.h"

HF_NO_SANITIZE struct hf_memory_result hf_detail_compare_bytes(const void *a, const void *b,
							       size_t len, size_t at)
{
	const hf_detail_w1 *p = (const hf_detail_w1 *)a, *q = (const hf_detail_w1 *)b;
	uint8_t x, y;

	for (; at < len; at++) {
		HF_ARCH_LOAD8_OR(x, p + at, fault);
		HF_ARCH_LOAD8_OR(y, q + at, fault);
		if (x != y)
			return (struct hf_memory_result){ at, x < y ? -1 : 1 };
	}
	return (struct hf_memory_result){ len, 0 };
fault:
	return (struct hf_memory_result){ at, -HF_EFAULT };
}

/* The bits in which two words differ, @offset bytes from `at` on. */
#define DIFFER_OR(bits, offset, label)                                                             \
	do {                                                                                       \
		uint64_t hf_word;                                                                  \
                                                                                                   \
		HF_ARCH_LOAD64_OR(bits, (const hf_detail_w8 *)(p + at + (offset)), label);         \
		HF_ARCH_LOAD64_OR(hf_word, (const hf_detail_w8 *)(q + at + (offset)), label);      \
		(bits) ^= hf_word;                                                                 \
	} while (0)

HF_NO_SANITIZE struct hf_memory_result hf_detail_compare_generic(const void *a, const void *b,
								 size_t len)
{
	const char *p = (const char *)a, *q = (const char *)b;
	size_t at = hf_detail_to_multiple(a, 8, len);
	struct hf_memory_result head = hf_detail_compare_bytes(a, b, at, 0);
	uint64_t differ, x;

	if (head.result)
		return head;
	if (HF_ARCH_UNALIGNED_FAST || (uintptr_t)(q + at) % 8 == 0) {
		/* Four words at once, up to those with a difference. */
		for (; len - at >= 32; at += 32) {
			DIFFER_OR(differ, 0, bytes);
			DIFFER_OR(x, 8, bytes);
			differ |= x;
			DIFFER_OR(x, 16, bytes);
			differ |= x;
			DIFFER_OR(x, 24, bytes);
			if (differ | x)
				break;
		}
		for (; len - at >= 8; at += 8) {
			DIFFER_OR(differ, 0, bytes);
			if (differ)
				break;
		}
	}
bytes:
	return hf_detail_compare_bytes(a, b, len, at);
}

HF_NO_SANITIZE struct hf_memory_result hf_detail_find_bytes(const void *p, uint8_t byte, size_t len,
							    size_t at)
{
	const hf_detail_w1 *s = (const hf_detail_w1 *)p;
	uint8_t found;

	for (; at < len; at++) {
		HF_ARCH_LOAD8_OR(found, s + at, fault);
		if (found == byte)
			return (struct hf_memory_result){ at, 0 };
	}
	return (struct hf_memory_result){ len, -HF_ENOENT };
fault:
	return (struct hf_memory_result){ at, -HF_EFAULT };
}

/* Not 0 if the byte in `all` is in a word, @offset bytes from `at` on. */
#define HITS_OR(bits, offset, label)                                                               \
	do {                                                                                       \
		uint64_t hf_word;                                                                  \
                                                                                                   \
		HF_ARCH_LOAD64_OR(hf_word, (const hf_detail_w8 *)(s + at + (offset)), label);      \
		(bits) = hf_detail_zero_bytes(hf_word ^ all);                                      \
	} while (0)

HF_NO_SANITIZE struct hf_memory_result hf_detail_find_generic(const void *p, uint8_t byte,
							      size_t len)
{
	const char *s = (const char *)p;
	size_t at = hf_detail_to_multiple(p, 8, len);
	struct hf_memory_result head = hf_detail_find_bytes(p, byte, at, 0);
	uint64_t hits, more, all = byte * HF_DETAIL_ONES;

	if (head.result != -HF_ENOENT)
		return head;
	/* Four words at once, up to those with a hit. */
	for (; len - at >= 32; at += 32) {
		HITS_OR(hits, 0, bytes);
		HITS_OR(more, 8, bytes);
		hits |= more;
		HITS_OR(more, 16, bytes);
		hits |= more;
		HITS_OR(more, 24, bytes);
		if (hits | more)
			break;
	}
	for (; len - at >= 8; at += 8) {
		HITS_OR(hits, 0, bytes);
		if (hits)
			break;
	}
bytes:
	return hf_detail_find_bytes(p, byte, len, at);
}
