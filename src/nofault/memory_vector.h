/* SPDX-License-Identifier: MIT */
/*
 * memory_vector - fill and move by wide accesses. A template: included once for each width, after
 * what vector.h needs and
 *
 *   VECTOR_SPLAT(value), HALF_SPLAT(value)   vectors that repeat a word of 8 bytes
 *   VECTOR_WITHOUT_MOVE                      fill only
 *
 * How a range is covered: as in vector.h.
 */

#define VECTOR__OF(what) HF_DETAIL_PASTE(what, VECTOR_NAME)
#define W ((size_t)VECTOR_BYTES)

/* Unaligned code makes small sizes up to a fifth slower, depending on its place. */
#define ENTRY __attribute__((__noinline__, aligned(64)))

/* ---- fill --------------------------------------------------------------------------------- */

#undef VECTOR_SMALL_BY_HAND
#define VECTOR_SMALL_BY_HAND 1 /* the entry is here */
#define SET_NAME fill
#define SET_PARAMETER , uint64_t value
#define SET_ARGUMENT , value
#define SET_VECTOR VECTOR_SPLAT(value)
#define SET_HALF HALF_SPLAT(value)
#define SET_WORD(type) ((type)value)
#define SET_REPEAT(p, len) hf_arch_rep_stosb_of(p, (uint8_t)value, len)
#include "vector_set.h"

/* Up to 15 bytes, by stores of up to 8, which may cross pages: see x86_64.c. */
VECTOR_TARGET HF_NO_SANITIZE static inline __attribute__((always_inline)) size_t
VECTOR__OF(fill_few_)(char *p, uint8_t byte, size_t len)
{
	uint64_t value = byte * HF_DETAIL_ONES;
	size_t done = 0;

	if (len >= 8) {
		HF_ARCH_STORE64_OR((hf_detail_w8 *)p, value, fault);
		done = 8;
		HF_ARCH_STORE64_OR((hf_detail_w8 *)(p + len - 8), value, fault);
	} else if (len >= 4) {
		HF_ARCH_STORE32_OR((hf_detail_w4 *)p, (uint32_t)value, fault);
		done = 4;
		HF_ARCH_STORE32_OR((hf_detail_w4 *)(p + len - 4), (uint32_t)value, fault);
	} else if (len) {
		HF_ARCH_STORE8_OR((hf_detail_w1 *)p, byte, fault);
		done = 1;
		HF_ARCH_STORE8_OR((hf_detail_w1 *)(p + len / 2), byte, fault);
		done = len / 2 + 1;
		HF_ARCH_STORE8_OR((hf_detail_w1 *)(p + len - 1), byte, fault);
	}
	return 0;
fault:
	return hf_detail_fill_bytes(p + done, byte, len - done);
}

VECTOR_TARGET ENTRY size_t VECTOR__OF(hf_detail_fill_)(void *dst, uint8_t byte, size_t len)
{
	if (len < 16)
		return VECTOR__OF(fill_few_)((char *)dst, byte, len);
	if (HF_LIKELY(len <= 4 * W))
		return VECTOR__OF(fill_any_)((char *)dst, len, byte * HF_DETAIL_ONES);
	return VECTOR__OF(hf_detail_fill_more_)((char *)dst, len, byte * HF_DETAIL_ONES);
}

#ifndef VECTOR_WITHOUT_MOVE

/* ---- move: the ranges may overlap --------------------------------------------------------- */

/*
 * At most 8 W bytes; the destination is in one page. All is loaded before any is stored. `done`
 * counts from the first store, whether the stores go upwards or downwards.
 */
VECTOR_TARGET HF_NO_SANITIZE static inline __attribute__((always_inline)) size_t
VECTOR__OF(move_small_)(char *to, const char *from, size_t len, bool down)
{
	/* The offset of the first, second, ... of two, four or eight accesses of n bytes. */
#define FIRST(n) (down ? len - (n) : 0)
#define SECOND(n) (down ? len - 2 * (n) : (n))
#define THIRD(n) (down ? len - 3 * (n) : 2 * (n))
#define FOURTH(n) (down ? len - 4 * (n) : 3 * (n))
#define LAST(n) (down ? 0 : len - (n))
#define LAST_BUT_1(n) (down ? (n) : len - 2 * (n))
#define LAST_BUT_2(n) (down ? 2 * (n) : len - 3 * (n))
#define LAST_BUT_3(n) (down ? 3 * (n) : len - 4 * (n))
	size_t done = 0;

	if (len >= W) {
		VECTOR a, b, c, d, e, f, g, h;

		VECTOR_LOAD_OR(a, (const VECTOR *)(from + FIRST(W)), load_fault);
		VECTOR_LOAD_OR(h, (const VECTOR *)(from + LAST(W)), load_fault);
		if (len <= 2 * W) {
			VECTOR_STORE_OR((VECTOR *)(to + FIRST(W)), a, fault);
			done = W;
			VECTOR_STORE_OR((VECTOR *)(to + LAST(W)), h, fault);
			return 0;
		}
		VECTOR_LOAD_OR(b, (const VECTOR *)(from + SECOND(W)), load_fault);
		VECTOR_LOAD_OR(g, (const VECTOR *)(from + LAST_BUT_1(W)), load_fault);
		if (len <= 4 * W) {
			VECTOR_STORE_OR((VECTOR *)(to + FIRST(W)), a, fault);
			done = W;
			VECTOR_STORE_OR((VECTOR *)(to + SECOND(W)), b, fault);
			done = 2 * W;
			VECTOR_STORE_OR((VECTOR *)(to + LAST_BUT_1(W)), g, fault);
			done = len - W > done ? len - W : done;
			VECTOR_STORE_OR((VECTOR *)(to + LAST(W)), h, fault);
			return 0;
		}
		VECTOR_LOAD_OR(c, (const VECTOR *)(from + THIRD(W)), load_fault);
		VECTOR_LOAD_OR(d, (const VECTOR *)(from + FOURTH(W)), load_fault);
		VECTOR_LOAD_OR(e, (const VECTOR *)(from + LAST_BUT_3(W)), load_fault);
		VECTOR_LOAD_OR(f, (const VECTOR *)(from + LAST_BUT_2(W)), load_fault);
		VECTOR_STORE_OR((VECTOR *)(to + FIRST(W)), a, fault);
		done = W;
		VECTOR_STORE_OR((VECTOR *)(to + SECOND(W)), b, fault);
		done = 2 * W;
		VECTOR_STORE_OR((VECTOR *)(to + THIRD(W)), c, fault);
		done = 3 * W;
		VECTOR_STORE_OR((VECTOR *)(to + FOURTH(W)), d, fault);
		done = 4 * W;
		VECTOR_STORE_OR((VECTOR *)(to + LAST_BUT_3(W)), e, fault);
		done = len - 3 * W > done ? len - 3 * W : done;
		VECTOR_STORE_OR((VECTOR *)(to + LAST_BUT_2(W)), f, fault);
		done = len - 2 * W > done ? len - 2 * W : done;
		VECTOR_STORE_OR((VECTOR *)(to + LAST_BUT_1(W)), g, fault);
		done = len - W > done ? len - W : done;
		VECTOR_STORE_OR((VECTOR *)(to + LAST(W)), h, fault);
#if VECTOR_BYTES > 16
	} else if (len >= 16) {
		HALF a, b;

		HALF_LOAD_OR(a, (const HALF *)(from + FIRST(16)), load_fault);
		HALF_LOAD_OR(b, (const HALF *)(from + LAST(16)), load_fault);
		HALF_STORE_OR((HALF *)(to + FIRST(16)), a, fault);
		done = 16;
		HALF_STORE_OR((HALF *)(to + LAST(16)), b, fault);
#endif
	} else if (len >= 8) {
		uint64_t a, b;

		HF_ARCH_LOAD64_OR(a, (const hf_detail_w8 *)(from + FIRST(8)), load_fault);
		HF_ARCH_LOAD64_OR(b, (const hf_detail_w8 *)(from + LAST(8)), load_fault);
		HF_ARCH_STORE64_OR((hf_detail_w8 *)(to + FIRST(8)), a, fault);
		done = 8;
		HF_ARCH_STORE64_OR((hf_detail_w8 *)(to + LAST(8)), b, fault);
	} else if (len >= 4) {
		uint32_t a, b;

		HF_ARCH_LOAD32_OR(a, (const hf_detail_w4 *)(from + FIRST(4)), load_fault);
		HF_ARCH_LOAD32_OR(b, (const hf_detail_w4 *)(from + LAST(4)), load_fault);
		HF_ARCH_STORE32_OR((hf_detail_w4 *)(to + FIRST(4)), a, fault);
		done = 4;
		HF_ARCH_STORE32_OR((hf_detail_w4 *)(to + LAST(4)), b, fault);
	} else if (len >= 2) {
		uint16_t a, b;

		HF_ARCH_LOAD16_OR(a, (const hf_detail_w2 *)(from + FIRST(2)), load_fault);
		HF_ARCH_LOAD16_OR(b, (const hf_detail_w2 *)(from + LAST(2)), load_fault);
		HF_ARCH_STORE16_OR((hf_detail_w2 *)(to + FIRST(2)), a, fault);
		done = 2;
		HF_ARCH_STORE16_OR((hf_detail_w2 *)(to + LAST(2)), b, fault);
	} else if (len) {
		uint8_t a;

		HF_ARCH_LOAD8_OR(a, (const hf_detail_w1 *)from, load_fault);
		HF_ARCH_STORE8_OR((hf_detail_w1 *)to, a, fault);
	}
	return 0;
load_fault:
	return down ? hf_detail_move_down_generic(to, from, len)
		    : hf_detail_move_up_generic(to, from, len);
fault:
	/* Downwards, the first byte of the faulting access need not be the first bad one. */
	return down ? hf_detail_move_down_bytes(to, from, len - done) : len - done;
#undef FIRST
#undef SECOND
#undef THIRD
#undef FOURTH
#undef LAST
#undef LAST_BUT_1
#undef LAST_BUT_2
#undef LAST_BUT_3
}

VECTOR_TARGET static size_t VECTOR__OF(move_up_)(char *to, const char *from, size_t len);
VECTOR_TARGET static size_t VECTOR__OF(move_down_)(char *to, const char *from, size_t len);

/* Moves up to the end of the first page, then the rest; downwards the other way round. */
VECTOR_TARGET __attribute__((__noinline__)) static size_t
VECTOR__OF(move_crossing_)(char *to, const char *from, size_t len, bool down)
{
	size_t first = hf_detail_to_page_end(to), left;

	if (down) {
		left = VECTOR__OF(move_down_)(to + first, from + first, len - first);
		return left ? first + left : VECTOR__OF(move_down_)(to, from, first);
	}
	left = VECTOR__OF(move_up_)(to, from, first);
	return left ? len - first + left
		    : VECTOR__OF(move_up_)(to + first, from + first, len - first);
}

/* Moves the bytes on the last page, less than W, then the rest. */
VECTOR_TARGET __attribute__((__noinline__)) static size_t
VECTOR__OF(move_end_crossing_)(char *to, const char *from, size_t len)
{
	size_t behind = (uintptr_t)(to + len) & (HF_PAGE - 1), left;

	len -= behind;
	left = VECTOR__OF(move_small_)(to + len, from + len, behind, true);
	return left ? len + left : VECTOR__OF(move_down_)(to, from, len);
}

/*
 * More than 8 W bytes. Stores are aligned (E1), except for that of the first vector, which is
 * loaded together with those that it would overwrite, and stored before them. It reaches into the
 * next one, so at most `most` bytes are left: a later fault must not report more, even if memory
 * has been unmapped meanwhile.
 */
VECTOR_TARGET HF_NO_SANITIZE static size_t VECTOR__OF(move_up_)(char *to, const char *from,
								size_t len)
{
	size_t head, most = len - W;
	VECTOR first, a, b, c, d;

	if (len <= 8 * W) {
		if (HF_UNLIKELY(len && hf_detail_crosses_page(to, len)))
			return VECTOR__OF(move_crossing_)(to, from, len, false);
		return VECTOR__OF(move_small_)(to, from, len, false);
	}
	if (HF_UNLIKELY(hf_detail_crosses_page(to, W)))
		return VECTOR__OF(move_crossing_)(to, from, len, false);
	head = W - ((uintptr_t)to & (W - 1));
	VECTOR_LOAD_OR(first, (const VECTOR *)from, generic);
	VECTOR_LOAD_OR(a, (const VECTOR *)(from + head), generic);
	VECTOR_LOAD_OR(b, (const VECTOR *)(from + head + W), generic);
	VECTOR_LOAD_OR(c, (const VECTOR *)(from + head + 2 * W), generic);
	VECTOR_LOAD_OR(d, (const VECTOR *)(from + head + 3 * W), generic);
	VECTOR_STORE_OR((VECTOR *)to, first, first_fault);
	to += head;
	from += head;
	len -= head;
	for (;;) {
		VECTOR_STORE_OR((VECTOR *)to, a, fault);
		VECTOR_STORE_OR((VECTOR *)(to + W), b, fault1);
		VECTOR_STORE_OR((VECTOR *)(to + 2 * W), c, fault2);
		VECTOR_STORE_OR((VECTOR *)(to + 3 * W), d, fault3);
		len -= 4 * W;
		to += 4 * W;
		from += 4 * W;
		if (len < 4 * W)
			break;
		VECTOR_LOAD_OR(a, (const VECTOR *)from, generic);
		VECTOR_LOAD_OR(b, (const VECTOR *)(from + W), generic);
		VECTOR_LOAD_OR(c, (const VECTOR *)(from + 2 * W), generic);
		VECTOR_LOAD_OR(d, (const VECTOR *)(from + 3 * W), generic);
	}
	if (HF_UNLIKELY(len && hf_detail_crosses_page(to, len)))
		return VECTOR__OF(move_crossing_)(to, from, len, false);
	return VECTOR__OF(move_small_)(to, from, len, false);
generic:
	return hf_detail_move_up_generic(to, from, len);
first_fault:
	return len;
fault3:
	len -= W;
fault2:
	len -= W;
fault1:
	len -= W;
fault:
	return len < most ? len : most;
}

VECTOR_TARGET HF_NO_SANITIZE static size_t VECTOR__OF(move_down_)(char *to, const char *from,
								  size_t len)
{
	size_t tail, most = len - W;
	VECTOR last, a, b, c, d;

	if (len <= 8 * W) {
		if (HF_UNLIKELY(len && hf_detail_crosses_page(to, len)))
			return VECTOR__OF(move_crossing_)(to, from, len, true);
		return VECTOR__OF(move_small_)(to, from, len, true);
	}
	if (HF_UNLIKELY(hf_detail_crosses_page(to + len - W, W)))
		return VECTOR__OF(move_end_crossing_)(to, from, len);
	tail = (uintptr_t)(to + len) & (W - 1);
	tail = tail ? tail : W;
	VECTOR_LOAD_OR(last, (const VECTOR *)(from + len - W), generic);
	VECTOR_LOAD_OR(a, (const VECTOR *)(from + len - tail - W), generic);
	VECTOR_LOAD_OR(b, (const VECTOR *)(from + len - tail - 2 * W), generic);
	VECTOR_LOAD_OR(c, (const VECTOR *)(from + len - tail - 3 * W), generic);
	VECTOR_LOAD_OR(d, (const VECTOR *)(from + len - tail - 4 * W), generic);
	VECTOR_STORE_OR((VECTOR *)(to + len - W), last, first_fault);
	len -= tail;
	for (;;) {
		VECTOR_STORE_OR((VECTOR *)(to + len - W), a, fault);
		VECTOR_STORE_OR((VECTOR *)(to + len - 2 * W), b, fault1);
		VECTOR_STORE_OR((VECTOR *)(to + len - 3 * W), c, fault2);
		VECTOR_STORE_OR((VECTOR *)(to + len - 4 * W), d, fault3);
		len -= 4 * W;
		if (len < 4 * W)
			break;
		VECTOR_LOAD_OR(a, (const VECTOR *)(from + len - W), generic);
		VECTOR_LOAD_OR(b, (const VECTOR *)(from + len - 2 * W), generic);
		VECTOR_LOAD_OR(c, (const VECTOR *)(from + len - 3 * W), generic);
		VECTOR_LOAD_OR(d, (const VECTOR *)(from + len - 4 * W), generic);
	}
	if (HF_UNLIKELY(len && hf_detail_crosses_page(to, len)))
		return VECTOR__OF(move_crossing_)(to, from, len, true);
	return VECTOR__OF(move_small_)(to, from, len, true);
generic:
	return hf_detail_move_down_generic(to, from, len);
first_fault:
	return hf_detail_move_down_bytes(to, from, len);
fault3:
	len -= W;
fault2:
	len -= W;
fault1:
	len -= W;
fault:
	return hf_detail_move_down_bytes(to, from, len < most ? len : most);
}

VECTOR_TARGET size_t VECTOR__OF(hf_detail_move_)(void *dst, const void *src, size_t len)
{
	return hf_move_is_down(dst, src, len)
		       ? VECTOR__OF(move_down_)((char *)dst, (const char *)src, len)
		       : VECTOR__OF(move_up_)((char *)dst, (const char *)src, len);
}

#endif

#undef W
#undef ENTRY
#undef VECTOR__OF
#undef VECTOR_NAME
#undef VECTOR_REPEAT
#undef VECTOR_SMALL_BY_HAND
