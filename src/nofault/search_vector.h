/* SPDX-License-Identifier: MIT */
/*
 * search_vector - find and compare by wide accesses. A template: included once for each kind of
 * vector, after VECTOR_NAME, VECTOR_TARGET, VECTOR_BYTES and the like of vector.h and
 *
 *   HALF_SPLAT_BYTE(byte), HALF_SAME(a, b)     of 16 bytes: a vector; a bit for each equal byte
 * and either
 *   VECTOR_CHARS, VECTOR_MOVEMASK(v)     the vector's type by bytes; a bit for each byte that is -1
 * or the VECTOR_..._OR below, VECTOR_SPLAT_BYTE, and a masked form of the first two, which accesses
 * only the bytes whose bit in `mask` is set
 *   VECTOR_HITS_MASKED_OR, VECTOR_DIFFER_MASKED_OR
 *   VECTOR_MASK(len)                     the mask of the first @len bytes
 *
 * How a range is covered; the accesses at its ends may overlap
 *
 *   less than W    one masked vector; or two words of the largest size that fits
 *   ..2 W          two vectors, one by one
 *   ..4 W          four vectors, one by one
 *   more           four vectors at once, then aligned ones, then four at the end; those with a hit,
 *                  one by one
 *
 * After a fault of a load, hf_detail_..._bytes continues at the frontier, `at`: see memory.h.
 */

#define VECTOR__OF(what) HF_DETAIL_PASTE(what, VECTOR_NAME)
#define W ((size_t)VECTOR_BYTES)

#define FIRST_OF(bits) ((size_t)__builtin_ctzll(bits))

#ifndef VECTOR_HITS_OR
/* Declares a vector of W such bytes. */
#define VECTOR_SPLAT_BYTE(name, byte) VECTOR name = (VECTOR)((VECTOR_CHARS){ 0 } + (char)(byte))

#define VECTOR_EQUAL(a, b) ((VECTOR)((VECTOR_CHARS)(a) == (VECTOR_CHARS)(b)))
#define VECTOR_BITS(v) ((uint64_t)(uint32_t)VECTOR_MOVEMASK((VECTOR_CHARS)(v)))

/* A bit for each of the W bytes at p that equals the byte in `all`. */
#define VECTOR_HITS_OR(bits, p, all, label)                                                        \
	do {                                                                                       \
		VECTOR a;                                                                          \
                                                                                                   \
		VECTOR_LOAD_OR(a, (const VECTOR *)(p), label);                                     \
		bits = VECTOR_BITS(VECTOR_EQUAL(a, all));                                          \
	} while (0)

/* A bit for each of the W bytes at p that differs from the one at q. */
#define VECTOR_DIFFER_OR(bits, p, q, label)                                                        \
	do {                                                                                       \
		VECTOR a, e;                                                                       \
                                                                                                   \
		VECTOR_LOAD_OR(a, (const VECTOR *)(p), label);                                     \
		VECTOR_LOAD_OR(e, (const VECTOR *)(q), label);                                     \
		bits = UINT64_MAX >> (64 - VECTOR_BYTES) ^ VECTOR_BITS(VECTOR_EQUAL(a, e));        \
	} while (0)

/* The same of 4 W bytes: 0 if there is none. */
#define VECTOR_HITS_FOUR_OR(bits, p, all, label)                                                   \
	do {                                                                                       \
		VECTOR a, b, c, d;                                                                 \
                                                                                                   \
		VECTOR_LOAD_OR(a, (const VECTOR *)(p), label);                                     \
		VECTOR_LOAD_OR(b, (const VECTOR *)((p) + W), label);                               \
		VECTOR_LOAD_OR(c, (const VECTOR *)((p) + 2 * W), label);                           \
		VECTOR_LOAD_OR(d, (const VECTOR *)((p) + 3 * W), label);                           \
		bits = VECTOR_BITS(VECTOR_EQUAL(a, all) | VECTOR_EQUAL(b, all) |                   \
				   VECTOR_EQUAL(c, all) | VECTOR_EQUAL(d, all));                   \
	} while (0)

#define VECTOR_DIFFER_FOUR_OR(bits, p, q, label)                                                   \
	do {                                                                                       \
		VECTOR a, b, c, d, e, f, g, h;                                                     \
                                                                                                   \
		VECTOR_LOAD_OR(a, (const VECTOR *)(p), label);                                     \
		VECTOR_LOAD_OR(e, (const VECTOR *)(q), label);                                     \
		VECTOR_LOAD_OR(b, (const VECTOR *)((p) + W), label);                               \
		VECTOR_LOAD_OR(f, (const VECTOR *)((q) + W), label);                               \
		VECTOR_LOAD_OR(c, (const VECTOR *)((p) + 2 * W), label);                           \
		VECTOR_LOAD_OR(g, (const VECTOR *)((q) + 2 * W), label);                           \
		VECTOR_LOAD_OR(d, (const VECTOR *)((p) + 3 * W), label);                           \
		VECTOR_LOAD_OR(h, (const VECTOR *)((q) + 3 * W), label);                           \
		bits = UINT64_MAX >> (64 - VECTOR_BYTES) ^                                         \
		       VECTOR_BITS(VECTOR_EQUAL(a, e) & VECTOR_EQUAL(b, f) & VECTOR_EQUAL(c, g) &  \
				   VECTOR_EQUAL(d, h));                                            \
	} while (0)
#endif

/* ---- less than W bytes -------------------------------------------------------------------- */

#define FOUND(at) ((struct hf_memory_result){ (at), 0 })
#define NOT_FOUND ((struct hf_memory_result){ len, -HF_ENOENT })
#define ALL_EQUAL ((struct hf_memory_result){ len, 0 })

/* Searches both ends, which may overlap, as if they followed each other. */
VECTOR_TARGET HF_NO_SANITIZE HF_DETAIL_ENTRY static struct hf_memory_result
VECTOR__OF(find_small_)(const char *p, uint8_t byte, size_t len)
{
	uint64_t hits = 0;
	size_t at;

#if VECTOR_BYTES > 16
	if (len >= 16) {
		HALF all = HALF_SPLAT_BYTE(byte), a, b;

		HALF_LOAD_OR(a, (const HALF *)p, fault);
		HALF_LOAD_OR(b, (const HALF *)(p + len - 16), fault);
		hits = HALF_SAME(a, all);
		if (hits)
			return FOUND(FIRST_OF(hits));
		hits = HALF_SAME(b, all);
		return hits ? FOUND(len - 16 + FIRST_OF(hits)) : NOT_FOUND;
	}
#endif
	if (len >= 8) {
		uint64_t a, b;

		HF_ARCH_LOAD64_OR(a, (const hf_detail_w8 *)p, fault);
		HF_ARCH_LOAD64_OR(b, (const hf_detail_w8 *)(p + len - 8), fault);
		hits = HALF_SAME(((HALF){ (long long)a, (long long)b }), HALF_SPLAT_BYTE(byte));
		if (hits) {
			at = FIRST_OF(hits);
			return FOUND(at < 8 ? at : at + len - 16);
		}
	} else if (len >= 4) {
		uint32_t a, b;

		HF_ARCH_LOAD32_OR(a, (const hf_detail_w4 *)p, fault);
		HF_ARCH_LOAD32_OR(b, (const hf_detail_w4 *)(p + len - 4), fault);
		hits = hf_detail_zero_bytes((a | (uint64_t)b << 32) ^ byte * HF_DETAIL_ONES);
		if (hits) {
			at = FIRST_OF(hits) / 8;
			return FOUND(at < 4 ? at : at + len - 8);
		}
	} else if (len) {
		uint8_t a, b, c;

		HF_ARCH_LOAD8_OR(a, (const hf_detail_w1 *)p, fault);
		HF_ARCH_LOAD8_OR(b, (const hf_detail_w1 *)(p + len / 2), fault);
		HF_ARCH_LOAD8_OR(c, (const hf_detail_w1 *)(p + len - 1), fault);
		if (a == byte)
			return FOUND(0);
		if (b == byte)
			return FOUND(len / 2);
		if (c == byte)
			return FOUND(len - 1);
	}
	return NOT_FOUND;
fault:
	return hf_detail_find_bytes(p, byte, len, 0);
}

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

/* Compares both ends, as find_small_. */
#define COMPARE_TWO(TYPE, LOAD_OR)                                                                 \
	do {                                                                                       \
		TYPE a, b;                                                                         \
                                                                                                   \
		LOAD_OR(a, (const TYPE *)p, fault);                                                \
		LOAD_OR(b, (const TYPE *)q, fault);                                                \
		first = a ^ b;                                                                     \
		last = len - sizeof(TYPE);                                                         \
		LOAD_OR(a, (const TYPE *)(p + last), fault);                                       \
		LOAD_OR(b, (const TYPE *)(q + last), fault);                                       \
		second = a ^ b;                                                                    \
	} while (0)

VECTOR_TARGET HF_NO_SANITIZE HF_DETAIL_ENTRY static struct hf_memory_result
VECTOR__OF(compare_small_)(const char *p, const char *q, size_t len)
{
	uint64_t first, second;
	size_t last;

#if VECTOR_BYTES > 16
	if (len >= 16) {
		HALF a, b;

		HALF_LOAD_OR(a, (const HALF *)p, fault);
		HALF_LOAD_OR(b, (const HALF *)q, fault);
		first = 0xffff ^ HALF_SAME(a, b);
		last = len - 16;
		HALF_LOAD_OR(a, (const HALF *)(p + last), fault);
		HALF_LOAD_OR(b, (const HALF *)(q + last), fault);
		second = 0xffff ^ HALF_SAME(a, b);
		if ((first | second) == 0)
			return ALL_EQUAL;
		return VECTOR__OF(compare_at_)(p, q, len,
					       first ? FIRST_OF(first) : last + FIRST_OF(second));
	}
#endif
	if (len >= 8)
		COMPARE_TWO(hf_detail_w8, HF_ARCH_LOAD64_OR);
	else if (len >= 4)
		COMPARE_TWO(hf_detail_w4, HF_ARCH_LOAD32_OR);
	else if (len >= 2)
		COMPARE_TWO(hf_detail_w2, HF_ARCH_LOAD16_OR);
	else if (len)
		return VECTOR__OF(compare_at_)(p, q, len, 0);
	else
		return ALL_EQUAL;
	if ((first | second) == 0)
		return ALL_EQUAL;
	return VECTOR__OF(compare_at_)(p, q, len,
				       first ? FIRST_OF(first) / 8 : last + FIRST_OF(second) / 8);
fault:
	return hf_detail_compare_bytes(p, q, len, 0);
}

/* ---- W bytes and more --------------------------------------------------------------------- */

VECTOR_TARGET HF_NO_SANITIZE HF_DETAIL_ENTRY struct hf_memory_result
VECTOR__OF(hf_detail_find_)(const void *start, uint8_t byte, size_t len)
{
	const char *p = (const char *)start;
	uint64_t hits;
	size_t at = 0;
#ifdef VECTOR_HITS_MASKED_OR
	/* A masked load that reaches into an unmapped page takes 200 ns. */
	const bool by_parts = len < W && HF_UNLIKELY(((uintptr_t)p & (HF_PAGE - 1)) > HF_PAGE - W);
#else
	const bool by_parts = len < W;
#endif

	if (by_parts)
		return VECTOR__OF(find_small_)(p, byte, len);
	/* After all calls: a call would destroy the register that VECTOR_SPLAT_BYTE may name. */
	VECTOR_SPLAT_BYTE(all, byte);
#ifdef VECTOR_HITS_MASKED_OR
	if (len < W) {
		VECTOR_HITS_MASKED_OR(hits, p, all, VECTOR_MASK(len), fault);
		if (HF_LIKELY(!hits))
			return NOT_FOUND;
		goto found;
	}
#endif
	if (len <= 4 * W) {
		VECTOR_HITS_OR(hits, p, all, fault);
		if (hits)
			goto found;
		if (len <= 2 * W)
			goto last;
		at = W;
		VECTOR_HITS_OR(hits, p + at, all, fault);
		if (hits)
			goto found;
		at = len - 2 * W;
		VECTOR_HITS_OR(hits, p + at, all, fault);
		if (hits)
			goto found;
		goto last;
	}
	VECTOR_HITS_FOUR_OR(hits, p, all, fault);
	if (hits)
		goto one_by_one;
	if (len > 8 * W) {
		for (at = 4 * W - ((uintptr_t)p & (W - 1)); len - at > 4 * W; at += 4 * W) {
			VECTOR_HITS_FOUR_OR(hits, p + at, all, fault);
			if (hits)
				goto one_by_one;
		}
	}
	at = len - 4 * W;
	VECTOR_HITS_FOUR_OR(hits, p + at, all, fault);
	if (!hits)
		return NOT_FOUND;
one_by_one: /* to the end: the hit may be gone by now */
	for (; len - at > W; at += W) {
		VECTOR_HITS_OR(hits, p + at, all, fault);
		if (hits)
			goto found;
	}
last:
	at = len - W;
	VECTOR_HITS_OR(hits, p + at, all, fault);
	if (!hits)
		return NOT_FOUND;
found:
	return FOUND(at + FIRST_OF(hits));
fault:
	return hf_detail_find_bytes(p, byte, len, at);
}

VECTOR_TARGET HF_NO_SANITIZE HF_DETAIL_ENTRY struct hf_memory_result
VECTOR__OF(hf_detail_compare_)(const void *left, const void *right, size_t len)
{
	const char *p = (const char *)left, *q = (const char *)right;
	uint64_t differ;
	size_t at = 0;

	if (len < W) {
#ifdef VECTOR_DIFFER_MASKED_OR
		/* One test for both sides: some ranges that would fit take the slower path. */
		if (HF_UNLIKELY((((uintptr_t)p | (uintptr_t)q) & (HF_PAGE - 1)) > HF_PAGE - W))
			return VECTOR__OF(compare_small_)(p, q, len);
		VECTOR_DIFFER_MASKED_OR(differ, p, q, VECTOR_MASK(len), fault);
		if (HF_LIKELY(!differ))
			return ALL_EQUAL;
		goto found;
#else
		return VECTOR__OF(compare_small_)(p, q, len);
#endif
	}
	if (len <= 4 * W) {
		VECTOR_DIFFER_OR(differ, p, q, fault);
		if (differ)
			goto found;
		if (len <= 2 * W)
			goto last;
		at = W;
		VECTOR_DIFFER_OR(differ, p + at, q + at, fault);
		if (differ)
			goto found;
		at = len - 2 * W;
		VECTOR_DIFFER_OR(differ, p + at, q + at, fault);
		if (differ)
			goto found;
		goto last;
	}
	VECTOR_DIFFER_FOUR_OR(differ, p, q, fault);
	if (differ)
		goto one_by_one;
	if (len > 8 * W) {
		for (at = 4 * W - ((uintptr_t)p & (W - 1)); len - at > 4 * W; at += 4 * W) {
			VECTOR_DIFFER_FOUR_OR(differ, p + at, q + at, fault);
			if (differ)
				goto one_by_one;
		}
	}
	at = len - 4 * W;
	VECTOR_DIFFER_FOUR_OR(differ, p + at, q + at, fault);
	if (!differ)
		return ALL_EQUAL;
one_by_one: /* to the end: the difference may be gone by now */
	for (; len - at > W; at += W) {
		VECTOR_DIFFER_OR(differ, p + at, q + at, fault);
		if (differ)
			goto found;
	}
last:
	at = len - W;
	VECTOR_DIFFER_OR(differ, p + at, q + at, fault);
	if (HF_LIKELY(!differ))
		return ALL_EQUAL;
found:
	return VECTOR__OF(compare_at_)(p, q, len, at + FIRST_OF(differ));
fault:
	return hf_detail_compare_bytes(p, q, len, at);
}

#undef COMPARE_TWO
#undef FOUND
#undef NOT_FOUND
#undef ALL_EQUAL
#undef FIRST_OF
#undef W
#undef VECTOR__OF
#undef VECTOR_NAME
