/* SPDX-License-Identifier: MIT */
/*
 * search_vector - find and compare by wide accesses. A template: included once for each kind of
 * vector, after VECTOR_NAME, VECTOR_TARGET, VECTOR_BYTES and the like of vector.h, and what
 * arch/x86_64_search.h defines. `bits` is a uint32_t; a fault jumps to `label`.
 *
 *   VECTOR_SPLAT_BYTE(name, byte)              declares a vector of W such bytes
 *   VECTOR_HITS_OR(bits, p, all, label)        a bit for each of the W bytes at p that equals the
 *                                              byte in `all`
 *   VECTOR_DIFFER_OR(bits, p, q, label)        the lowest bit is that of the first of W bytes at p
 *                                              that differs from the one at q; 0 = none does
 *   VECTOR_HITS_FOUR_OR(bits, p, r, all, label)
 *                                              not 0 if such a byte is in the 2 W at p or at r
 *   VECTOR_DIFFER_FOUR_OR(bits, p, q, r, s, label)
 *                                              not 0 if the 2 W at p and q, or r and s, differ
 *   VECTOR_ZEROS_FOUR_OR                       with AVX2: VECTOR_HITS_FOUR_OR for the byte 0, by
 *                                              fewer instructions
 *   VECTOR_HITS_MASKED_OR, VECTOR_DIFFER_MASKED_OR
 *                                              where loads can be masked: of the bytes of `mask`
 *   VECTOR_MASK(len)                           the mask of the first @len bytes
 *
 * How a range is covered; the accesses at its ends may overlap
 *
 *   less than W    one masked vector; or two words of the largest size that fits
 *   ..2 W          two vectors, one by one
 *   ..4 W          four vectors at once
 *   more           four vectors at once, then aligned ones, then four at the end
 *
 * If four vectors have a hit, they are searched again, one by one. After a fault of a load,
 * hf_detail_..._bytes continues at the frontier, `at`: see memory.h.
 */

#define VECTOR__OF(what) HF_DETAIL_PASTE(what, VECTOR_NAME)
#define W ((size_t)VECTOR_BYTES)

#define FIRST_OF(bits) ((size_t)__builtin_ctz(bits))
#define FIRST_BYTE_OF(word) ((size_t)__builtin_ctzll(word) / 8)

#define FOUND(at) ((struct hf_memory_result){ at, 0 })
#define NOT_FOUND ((struct hf_memory_result){ len, -HF_ENOENT })
#define ALL_EQUAL ((struct hf_memory_result){ len, 0 })

/* ---- less than W bytes: both ends, which may overlap, as if they followed each other --------- */

/* Of N bytes each. */
#define FIND_TWO(N, TYPE, LOAD)                                                                    \
	do {                                                                                       \
		HALF both;                                                                         \
		size_t place;                                                                      \
                                                                                                   \
		HALF_LOAD_TWO_OR(both, LOAD, TYPE, p, end - (N), fault);                           \
		hits = HALF_SAME(both, HALF_SPLAT_BYTE(byte)) & ((1u << 2 * (N)) - 1);             \
		if (HF_LIKELY(!hits))                                                              \
			return NOT_FOUND;                                                          \
		place = FIRST_OF(hits);                                                            \
		return FOUND(place < (N) ? place : place + len - 2 * (N));                         \
	} while (0)

/* Each size has its own return: a jump to a common one would take a tenth of the time. */
#define COMPARE_TWO(TYPE, LOAD, XOR, K)                                                            \
	do {                                                                                       \
		uint64_t first, second;                                                            \
                                                                                                   \
		WORD_DIFFER_OR(first, LOAD, XOR, K, TYPE, p, q, fault);                            \
		WORD_DIFFER_OR(second, LOAD, XOR, K, TYPE, p + len - sizeof(TYPE),                 \
			       q + len - sizeof(TYPE), fault);                                     \
		second |= first;                                                                   \
		if (HF_LIKELY(!second))                                                            \
			return ALL_EQUAL;                                                          \
		return VECTOR__OF(compare_at_)(                                                    \
			p, q, len,                                                                 \
			first ? FIRST_BYTE_OF(first)                                               \
			      : len - sizeof(TYPE) + FIRST_BYTE_OF(second));                       \
	} while (0)

/* The first difference is at p[at], unless another thread has changed it since. */
HF_NO_SANITIZE __attribute__((__noinline__)) static struct hf_memory_result
VECTOR__OF(compare_at_)(const char *p, const char *q, size_t len, size_t at)
{
	uint8_t x, y;

	HF_ARCH_LOAD8_OR(x, (const hf_detail_w1 *)(p + at), bytes);
	HF_ARCH_LOAD8_OR(y, (const hf_detail_w1 *)(q + at), bytes);
	if (HF_LIKELY(x != y))
		return (struct hf_memory_result){ at, x < y ? -1 : 1 };
bytes:
	return hf_detail_compare_bytes(p, q, len, at);
}

/* ---- find and compare ------------------------------------------------------------------------ */

VECTOR_TARGET HF_NO_SANITIZE HF_DETAIL_ENTRY struct hf_memory_result
VECTOR__OF(hf_detail_find_)(const void *start, uint8_t byte, size_t len)
{
	const char *p = (const char *)start, *at = p, *end = p + len;
	uint32_t hits;
#ifdef VECTOR_MASK
	/* A masked load that reaches into an unmapped page takes 200 ns. */
	const bool by_parts = len < W && HF_UNLIKELY(((uintptr_t)p & (HF_PAGE - 1)) > HF_PAGE - W);
#else
	const bool by_parts = len < W;
#endif

	if (by_parts) {
#if VECTOR_BYTES > 16
		if (len >= 16) {
			HALF all = HALF_SPLAT_BYTE(byte), a, b;

			HALF_HITS_OR(a, p, all, fault);
			HALF_HITS_OR(b, end - 16, all, fault);
			if (HF_LIKELY(!HALF_BITS(a | b)))
				return NOT_FOUND;
			hits = HALF_BITS(a);
			return FOUND(hits ? FIRST_OF(hits) : len - 16 + FIRST_OF(HALF_BITS(b)));
		}
#endif
		if (len >= 8)
			FIND_TWO(8, hf_detail_w8, HALF_LOAD_8_8);
		if (len >= 4)
			FIND_TWO(4, hf_detail_w4, HALF_LOAD_4_4);
		if (len) { /* the first, the middle and the last, which may coincide */
			BYTE_HIT_OR(p, byte, first, fault);
			BYTE_HIT_OR(p + len / 2, byte, middle, fault);
			BYTE_HIT_OR(end - 1, byte, final, fault);
		}
		return NOT_FOUND;
	first:
		return FOUND(0);
	middle:
		return FOUND(len / 2);
	final:
		return FOUND(len - 1);
	}
	/* After all calls: a call would destroy the register that VECTOR_SPLAT_BYTE may name. */
	VECTOR_SPLAT_BYTE(all, byte);
#ifdef VECTOR_MASK
	if (len < W) {
		VECTOR_HITS_MASKED_OR(hits, p, all, VECTOR_MASK(len), fault);
		if (HF_LIKELY(!hits))
			return NOT_FOUND;
		goto found;
	}
#endif
	if (len <= 2 * W) {
		VECTOR_HITS_OR(hits, p, all, fault);
		if (HF_UNLIKELY(hits))
			goto found;
		at = p + len - W;
		VECTOR_HITS_OR(hits, p + len - W, all, fault);
		if (HF_LIKELY(!hits))
			return NOT_FOUND;
		goto found;
	}
	if (len <= 4 * W) {
		VECTOR_HITS_FOUR_OR(hits, at, end - 2 * W, all, fault);
		if (HF_LIKELY(!hits))
			return NOT_FOUND;
		goto one_by_one;
	}
	VECTOR_HITS_FOUR_OR(hits, at, at + 2 * W, all, fault);
	if (HF_UNLIKELY(hits))
		goto one_by_one;
	if (len > 8 * W) {
		at += 4 * W - ((uintptr_t)at & (W - 1));
		size_t n = ((size_t)(end - at) - 1) / (4 * W);
#ifdef VECTOR_ZEROS_FOUR_OR
		for (; n && !byte; n--, at += 4 * W) {
			VECTOR_ZEROS_FOUR_OR(hits, at, at + 2 * W, all, fault);
			if (HF_UNLIKELY(hits))
				goto one_by_one;
		}
#endif
		for (; n; n--, at += 4 * W) {
			VECTOR_HITS_FOUR_OR(hits, at, at + 2 * W, all, fault);
			if (HF_UNLIKELY(hits))
				goto one_by_one;
		}
	}
	at = end - 4 * W;
	VECTOR_HITS_FOUR_OR(hits, at, at + 2 * W, all, fault);
	if (HF_LIKELY(!hits))
		return NOT_FOUND;
one_by_one: /* to the end: the hit may be gone by now */
	for (; (size_t)(end - at) > W; at += W) {
		VECTOR_HITS_OR(hits, at, all, fault);
		if (hits)
			goto found;
	}
	at = end - W;
	VECTOR_HITS_OR(hits, at, all, fault);
	if (HF_LIKELY(!hits))
		return NOT_FOUND;
found:
	return FOUND((size_t)(at - p) + FIRST_OF(hits));
fault:
	return hf_detail_find_bytes(p, byte, len, (size_t)(at - p));
}

VECTOR_TARGET HF_NO_SANITIZE HF_DETAIL_ENTRY struct hf_memory_result
VECTOR__OF(hf_detail_compare_)(const void *left, const void *right, size_t len)
{
	const char *p = (const char *)left, *q = (const char *)right, *at = p, *end = p + len;
	const ptrdiff_t apart = q - p;
	uint32_t differ;

	if (len < W) {
#ifdef VECTOR_MASK
		/* One test for both sides: some ranges that would fit take the slower path. */
		if (HF_LIKELY((((uintptr_t)p | (uintptr_t)q) & (HF_PAGE - 1)) <= HF_PAGE - W)) {
			VECTOR_DIFFER_MASKED_OR(differ, p, q, VECTOR_MASK(len), fault);
			if (HF_LIKELY(!differ))
				return ALL_EQUAL;
			goto found;
		}
#endif
#if VECTOR_BYTES > 16
		if (len >= 16) {
			HALF a, b;

			HALF_EQUAL_OR(a, p, q, fault);
			HALF_EQUAL_OR(b, p + len - 16, q + len - 16, fault);
			if (HF_LIKELY(HALF_BITS(a & b) == 0xffff))
				return ALL_EQUAL;
			differ = HALF_BITS(a) ^ 0xffff;
			return VECTOR__OF(compare_at_)(
				p, q, len,
				differ ? FIRST_OF(differ)
				       : len - 16 + FIRST_OF(HALF_BITS(b) ^ 0xffff));
		}
#endif
		if (len >= 8)
			COMPARE_TWO(hf_detail_w8, "movq %1, %0", "xorq", "q");
		if (len >= 4)
			COMPARE_TWO(hf_detail_w4, "movl %1, %k0", "xorl", "k");
		if (len >= 2)
			COMPARE_TWO(hf_detail_w2, "movzwl %1, %k0", "xorw", "w");
		if (len) {
			WORD_DIFFER_OR(differ, "movzbl %1, %k0", "xorb", "b", hf_detail_w1, p, q,
				       fault);
			if (HF_UNLIKELY(differ))
				return VECTOR__OF(compare_at_)(p, q, len, 0);
		}
		return ALL_EQUAL;
	}
	if (len <= 2 * W) {
		VECTOR_DIFFER_OR(differ, p, q, fault);
		if (HF_UNLIKELY(differ))
			goto found;
		at = p + len - W;
		VECTOR_DIFFER_OR(differ, p + len - W, q + len - W, fault);
		if (HF_LIKELY(!differ))
			return ALL_EQUAL;
		goto found;
	}
	if (len <= 4 * W) {
		VECTOR_DIFFER_FOUR_OR(differ, p, q, p + len - 2 * W, q + len - 2 * W, fault);
		if (HF_LIKELY(!differ))
			return ALL_EQUAL;
		goto one_by_one;
	}
	VECTOR_DIFFER_FOUR_OR(differ, p, q, p + 2 * W, q + 2 * W, fault);
	if (HF_UNLIKELY(differ))
		goto one_by_one;
	if (len > 8 * W) {
		at += 4 * W - ((uintptr_t)at & (W - 1));
		for (size_t n = ((size_t)(end - at) - 1) / (4 * W); n; n--, at += 4 * W) {
			VECTOR_DIFFER_FOUR_OR(differ, at, at + apart, at + 2 * W,
					      at + apart + 2 * W, fault);
			if (HF_UNLIKELY(differ))
				goto one_by_one;
		}
	}
	at = end - 4 * W;
	VECTOR_DIFFER_FOUR_OR(differ, at, at + apart, at + 2 * W, at + apart + 2 * W, fault);
	if (HF_LIKELY(!differ))
		return ALL_EQUAL;
one_by_one: /* to the end: the difference may be gone by now */
	for (; (size_t)(end - at) > W; at += W) {
		VECTOR_DIFFER_OR(differ, at, at + apart, fault);
		if (differ)
			goto found;
	}
	at = end - W;
	VECTOR_DIFFER_OR(differ, at, at + apart, fault);
	if (HF_LIKELY(!differ))
		return ALL_EQUAL;
found:
	return VECTOR__OF(compare_at_)(p, q, len, (size_t)(at - p) + FIRST_OF(differ));
fault:
	return hf_detail_compare_bytes(p, q, len, (size_t)(at - p));
}

#undef FIND_TWO
#undef COMPARE_TWO
#undef FOUND
#undef NOT_FOUND
#undef ALL_EQUAL
#undef FIRST_OF
#undef FIRST_BYTE_OF
#undef W
#undef VECTOR__OF
