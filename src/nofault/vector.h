/* SPDX-License-Identifier: MIT */
/*
 * vector - clear, copy, fill and move by wide accesses. A template: included for each width, after
 *
 *   VECTOR_NAME     the functions are hf_detail_clear_<VECTOR_NAME>, hf_detail_copy_...
 *   VECTOR_TARGET   their attribute, such as __attribute__((target("avx2"))), or nothing
 *   VECTOR          the type of a vector of W = VECTOR_BYTES bytes, at any address
 *   VECTOR_LOAD_OR(value, p, label), VECTOR_STORE_OR(p, value, label)
 *   HALF, HALF_LOAD_OR, HALF_STORE_OR                       the same for 16 bytes
 *   VECTOR_STREAM_OR(p, value, label), VECTOR_STREAM_END()  an aligned store that bypasses the
 *                   caches, and the fence that orders it before later accesses; or neither
 *   VECTOR_REPEAT   1 = one repeated instruction for the sizes of hf_detail_..._limits
 *   VECTOR_SMALL_BY_HAND    1 = hf_detail_clear_<VECTOR_NAME>, hf_detail_copy_... and
 *                   hf_detail_fill_... are written elsewhere, and call hf_detail_clear_more_...
 *                   (above 4 W bytes) and hf_detail_clear_to_... (up to 4 W)
 *   VECTOR_CLEAR_AND_COPY   only these
 *
 * How a range is covered; the accesses at its ends may overlap
 *
 *   1..15       two words of the largest size that fits    |8|..|8|
 *   16..W       two of 16 bytes                            |-16-|..|-16-|   (W = 64: also of 32)
 *   ..2 W       two vectors                                |--W--|..|--W--|
 *   ..4 W       four vectors                               |W|W|..|W|W|
 *   ..8 W       eight vectors                              |W|W|W|W|..|W|W|W|W|
 *   more        one vector, then aligned ones four at a time, then four at the end
 *
 *                  |W|                                           |W|W|W|W|
 *                     |W|W|W|W| |W|W|W|W| |W|W|W|W| |W|W|W|W| ....
 *
 * Up to 4 W bytes that lie on two pages are done as two ranges, and so are the ends of a longer
 * range: E1. `done` is the frontier; it is computed only after a fault.
 */

#define VECTOR__OF(what) HF_DETAIL_PASTE(what, VECTOR_NAME)
#define W ((size_t)VECTOR_BYTES)

#define RANGE_NAME clear
#define RANGE_VALUE 0
#define RANGE_PARAMETER
#define RANGE_SOURCE(offset)
#include "vector_range.h"

#define RANGE_NAME copy
#include "vector_range.h"

#ifndef VECTOR_CLEAR_AND_COPY
#define RANGE_NAME fill
#define RANGE_VALUE value
#define RANGE_PARAMETER , uint64_t value
#define RANGE_SOURCE(offset) , value
#include "vector_range.h"
#endif

#if !VECTOR_SMALL_BY_HAND
VECTOR_TARGET size_t VECTOR__OF(hf_detail_clear_)(void *dst, size_t len)
{
	if (HF_LIKELY(len <= 4 * W))
		return VECTOR__OF(clear_any_)((char *)dst, len);
	return VECTOR__OF(hf_detail_clear_more_)((char *)dst, len);
}

VECTOR_TARGET size_t VECTOR__OF(hf_detail_copy_)(void *dst, const void *src, size_t len)
{
	if (HF_LIKELY(len <= 4 * W))
		return VECTOR__OF(copy_any_)((char *)dst, (const char *)src, len);
	return VECTOR__OF(hf_detail_copy_more_)((char *)dst, (const char *)src, len);
}
#endif

#ifndef VECTOR_CLEAR_AND_COPY
#if !VECTOR_SMALL_BY_HAND
VECTOR_TARGET HF_DETAIL_ENTRY size_t VECTOR__OF(hf_detail_fill_)(void *dst, uint8_t byte,
								 size_t len)
{
	if (HF_LIKELY(len <= 4 * W))
		return VECTOR__OF(fill_any_)((char *)dst, byte * HF_DETAIL_ONES, len);
	return VECTOR__OF(hf_detail_fill_more_)((char *)dst, byte * HF_DETAIL_ONES, len);
}
#endif

#if VECTOR_BYTES <= 32 /* a move gains nothing from wider accesses */

/* ---- move: the ranges may overlap --------------------------------------------------------- */

#define RANGE_AT(offset, n) (down ? len - (n) - (offset) : (offset))
#define RANGE_GET(v, TYPE, LOAD_OR, offset)                                                        \
	LOAD_OR(v, (const TYPE *)(from + RANGE_AT(offset, sizeof(TYPE))), load_fault)

/* Stores a vector, before which at least `least` bytes are done. */
#define MOVE_PUT(offset, v, least)                                                                 \
	do {                                                                                       \
		done = (offset) > (least) ? (offset) : (least);                                    \
		RANGE_PUT(VECTOR, VECTOR_STORE_OR, offset, v, fault);                              \
	} while (0)

/*
 * At most 8 W bytes; the destination is in one page. All is loaded before any is stored. `done`
 * counts from the first store, whether the stores go upwards or downwards.
 */
VECTOR_TARGET HF_NO_SANITIZE static inline __attribute__((always_inline)) size_t
VECTOR__OF(move_small_)(char *to, const char *from, size_t len, bool down)
{
	size_t done = 0;

	if (len < W) {
		RANGE_FEW();
	} else if (len <= 2 * W) {
		RANGE_TWO(VECTOR, VECTOR_LOAD_OR, VECTOR_STORE_OR);
	} else if (len <= 4 * W) {
		RANGE_FOUR(VECTOR, VECTOR_LOAD_OR, VECTOR_STORE_OR);
	} else {
		VECTOR a, b, c, d, e, f, g, h;

		RANGE_GET_4(a, b, c, d, 0);
		RANGE_GET_4(e, f, g, h, len - 4 * W);
		MOVE_PUT(0, a, 0);
		MOVE_PUT(W, b, W);
		MOVE_PUT(2 * W, c, 2 * W);
		MOVE_PUT(3 * W, d, 3 * W);
		MOVE_PUT(len - 4 * W, e, 4 * W);
		MOVE_PUT(len - 3 * W, f, 4 * W);
		MOVE_PUT(len - 2 * W, g, 4 * W);
		MOVE_PUT(len - W, h, 4 * W);
	}
	return 0;
load_fault:
	return down ? hf_detail_move_down_generic(to, from, len)
		    : hf_detail_move_up_generic(to, from, len);
fault:
	/* Downwards, the first byte of the faulting access need not be the first bad one. */
	return down ? hf_detail_move_down_bytes(to, from, len - done) : len - done;
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

VECTOR_TARGET static inline __attribute__((always_inline)) size_t
VECTOR__OF(move_fault_)(char *to, const char *from, size_t len, size_t most, bool down)
{
	if (down)
		return hf_detail_move_down_bytes(to, from, len < most ? len : most);
	return len < most ? len : most;
}

/*
 * Stores are aligned (E1), except for that of the first vector, which is loaded together with those
 * that it would overwrite, and stored before them. It reaches into the next one, so at most `most`
 * bytes are left: a later fault must not report more, even if memory has been unmapped meanwhile.
 */
VECTOR_TARGET HF_NO_SANITIZE static inline __attribute__((always_inline)) size_t
VECTOR__OF(move_way_)(char *to, const char *from, size_t len, bool down)
{
	size_t most = len - W, edge;
	VECTOR first, a, b, c, d;

	if (len <= 8 * W) {
		if (HF_UNLIKELY(len && hf_detail_crosses_page(to, len)))
			return VECTOR__OF(move_crossing_)(to, from, len, down);
		return VECTOR__OF(move_small_)(to, from, len, down);
	}
	if (HF_UNLIKELY(hf_detail_crosses_page(to + RANGE_AT(0, W), W)))
		return down ? VECTOR__OF(move_end_crossing_)(to, from, len)
			    : VECTOR__OF(move_crossing_)(to, from, len, false);
	/* 1 to W bytes to an aligned address */
	edge = down ? (((uintptr_t)to + len - 1) & (W - 1)) + 1 : W - ((uintptr_t)to & (W - 1));
	RANGE_GET(first, VECTOR, VECTOR_LOAD_OR, 0);
	RANGE_GET_4(a, b, c, d, edge);
	RANGE_PUT(VECTOR, VECTOR_STORE_OR, 0, first, first_fault);
	if (!down) {
		to += edge;
		from += edge;
	}
	len -= edge;
	for (;;) {
		RANGE_PUT_4(VECTOR_STORE_OR, 0, a, b, c, d, fault, fault1, fault2, fault3);
		if (!down) {
			to += 4 * W;
			from += 4 * W;
		}
		len -= 4 * W;
		if (len < 4 * W)
			break;
		RANGE_GET_4(a, b, c, d, 0);
	}
	if (HF_UNLIKELY(len && hf_detail_crosses_page(to, len)))
		return VECTOR__OF(move_crossing_)(to, from, len, down);
	return VECTOR__OF(move_small_)(to, from, len, down);
load_fault:
	return down ? hf_detail_move_down_generic(to, from, len)
		    : hf_detail_move_up_generic(to, from, len);
first_fault:
	return down ? hf_detail_move_down_bytes(to, from, len) : len;
fault3:
	return VECTOR__OF(move_fault_)(to, from, len - 3 * W, most, down);
fault2:
	return VECTOR__OF(move_fault_)(to, from, len - 2 * W, most, down);
fault1:
	return VECTOR__OF(move_fault_)(to, from, len - W, most, down);
fault:
	return VECTOR__OF(move_fault_)(to, from, len, most, down);
}

VECTOR_TARGET static size_t VECTOR__OF(move_up_)(char *to, const char *from, size_t len)
{
	return VECTOR__OF(move_way_)(to, from, len, false);
}

VECTOR_TARGET static size_t VECTOR__OF(move_down_)(char *to, const char *from, size_t len)
{
	return VECTOR__OF(move_way_)(to, from, len, true);
}

VECTOR_TARGET size_t VECTOR__OF(hf_detail_move_)(void *dst, const void *src, size_t len)
{
	return hf_move_is_down(dst, src, len)
		       ? VECTOR__OF(move_down_)((char *)dst, (const char *)src, len)
		       : VECTOR__OF(move_up_)((char *)dst, (const char *)src, len);
}

#undef RANGE_AT
#undef RANGE_GET
#undef MOVE_PUT
#endif
#endif

#undef W
#undef VECTOR__OF
