/* SPDX-License-Identifier: MIT */
/*
 * vector - clear and copy by a loop of wide accesses. A template: included once for each
 * width, after
 *
 *   VECTOR_NAME     the functions are hf_detail_clear_<VECTOR_NAME> and hf_detail_copy_...
 *   VECTOR_TARGET   their attribute, such as __attribute__((target("avx2"))), or nothing
 *   VECTOR          the type of a vector of W = VECTOR_BYTES bytes, at any address
 *   VECTOR_ZERO     one that is zero
 *   VECTOR_LOAD_OR(value, p, label), VECTOR_STORE_OR(p, value, label)
 *   HALF, HALF_ZERO, HALF_LOAD_OR, HALF_STORE_OR            the same for 16 bytes
 *   VECTOR_STREAM_OR(p, value, label), VECTOR_STREAM_END()  an aligned store that bypasses the
 *                   caches, and the fence that orders it before later accesses; or neither
 *   VECTOR_REPEAT   1 = one repeated instruction for the sizes of hf_detail_..._limits
 *   VECTOR_SMALL_BY_HAND    1 = hf_detail_clear_<VECTOR_NAME> and hf_detail_copy_... are written
 *                   elsewhere, and call hf_detail_clear_more_... (above 4 W bytes) and
 *                   hf_detail_clear_to_... (up to 4 W)
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

#define SET_NAME clear
#define SET_PARAMETER
#define SET_ARGUMENT
#define SET_VECTOR VECTOR_ZERO
#define SET_HALF HALF_ZERO
#define SET_WORD(type) ((type)0)
#define SET_REPEAT(p, len) hf_arch_rep_stosb(p, len)
#include "vector_set.h"

/* At most 4 W bytes; the destination lies in one page. */
VECTOR_TARGET HF_NO_SANITIZE static inline __attribute__((always_inline)) size_t
VECTOR__OF(copy_small_)(char *to, const char *from, size_t len)
{
	size_t done = 0;

	if (len >= W) {
		VECTOR a, b, c, d;

		VECTOR_LOAD_OR(a, (const VECTOR *)from, load_fault);
		if (len > 2 * W) {
			VECTOR_LOAD_OR(b, (const VECTOR *)(from + W), load_fault);
			VECTOR_LOAD_OR(c, (const VECTOR *)(from + len - 2 * W), load_fault);
			VECTOR_LOAD_OR(d, (const VECTOR *)(from + len - W), load_fault);
			VECTOR_STORE_OR((VECTOR *)to, a, fault);
			done = W;
			VECTOR_STORE_OR((VECTOR *)(to + W), b, fault);
			done = 2 * W;
			VECTOR_STORE_OR((VECTOR *)(to + len - 2 * W), c, fault);
			done = len - W > done ? len - W : done;
			VECTOR_STORE_OR((VECTOR *)(to + len - W), d, fault);
			return 0;
		}
		VECTOR_LOAD_OR(b, (const VECTOR *)(from + len - W), load_fault);
		VECTOR_STORE_OR((VECTOR *)to, a, fault);
		done = W;
		VECTOR_STORE_OR((VECTOR *)(to + len - W), b, fault);
	} else if (len >= 16) {
		HALF a, b;

		HALF_LOAD_OR(a, (const HALF *)from, load_fault);
#if VECTOR_BYTES > 32
		if (len > 32) {
			HALF c, d;

			HALF_LOAD_OR(b, (const HALF *)(from + 16), load_fault);
			HALF_LOAD_OR(c, (const HALF *)(from + len - 32), load_fault);
			HALF_LOAD_OR(d, (const HALF *)(from + len - 16), load_fault);
			HALF_STORE_OR((HALF *)to, a, fault);
			done = 16;
			HALF_STORE_OR((HALF *)(to + 16), b, fault);
			done = 32;
			HALF_STORE_OR((HALF *)(to + len - 32), c, fault);
			done = len - 16 > done ? len - 16 : done;
			HALF_STORE_OR((HALF *)(to + len - 16), d, fault);
			return 0;
		}
#endif
		HALF_LOAD_OR(b, (const HALF *)(from + len - 16), load_fault);
		HALF_STORE_OR((HALF *)to, a, fault);
		done = 16;
		HALF_STORE_OR((HALF *)(to + len - 16), b, fault);
	} else if (len >= 8) {
		uint64_t a, b;

		HF_ARCH_LOAD64_OR(a, (const hf_detail_w8 *)from, load_fault);
		HF_ARCH_LOAD64_OR(b, (const hf_detail_w8 *)(from + len - 8), load_fault);
		HF_ARCH_STORE64_OR((hf_detail_w8 *)to, a, fault);
		done = 8;
		HF_ARCH_STORE64_OR((hf_detail_w8 *)(to + len - 8), b, fault);
	} else if (len >= 4) {
		uint32_t a, b;

		HF_ARCH_LOAD32_OR(a, (const hf_detail_w4 *)from, load_fault);
		HF_ARCH_LOAD32_OR(b, (const hf_detail_w4 *)(from + len - 4), load_fault);
		HF_ARCH_STORE32_OR((hf_detail_w4 *)to, a, fault);
		done = 4;
		HF_ARCH_STORE32_OR((hf_detail_w4 *)(to + len - 4), b, fault);
	} else if (len >= 2) {
		uint16_t a, b;

		HF_ARCH_LOAD16_OR(a, (const hf_detail_w2 *)from, load_fault);
		HF_ARCH_LOAD16_OR(b, (const hf_detail_w2 *)(from + len - 2), load_fault);
		HF_ARCH_STORE16_OR((hf_detail_w2 *)to, a, fault);
		done = 2;
		HF_ARCH_STORE16_OR((hf_detail_w2 *)(to + len - 2), b, fault);
	} else if (len) {
		uint8_t a;

		HF_ARCH_LOAD8_OR(a, (const hf_detail_w1 *)from, load_fault);
		HF_ARCH_STORE8_OR((hf_detail_w1 *)to, a, fault);
	}
	return 0;
load_fault:
	return hf_detail_copy_to_page_end(to, from, len, len);
fault:
	return len - done;
}

/* At most 4 W bytes; the destination lies on two pages. */
VECTOR_TARGET __attribute__((__noinline__)) static size_t
VECTOR__OF(copy_crossing_)(char *to, const char *from, size_t len)
{
	size_t first = hf_detail_to_page_end(to), left;

	left = VECTOR__OF(copy_small_)(to, from, first);
	if (left)
		return len - first + left;
	return VECTOR__OF(copy_small_)(to + first, from + first, len - first);
}

VECTOR_TARGET static inline __attribute__((always_inline)) size_t
VECTOR__OF(copy_any_)(char *to, const char *from, size_t len)
{
	if (HF_UNLIKELY(hf_detail_crosses_page(to, len)))
		return VECTOR__OF(copy_crossing_)(to, from, len);
	return VECTOR__OF(copy_small_)(to, from, len);
}

#ifdef VECTOR_STREAM_OR
/* To an aligned destination; `len` is a multiple of 4 W. */
VECTOR_TARGET HF_NO_SANITIZE __attribute__((__noinline__)) static size_t
VECTOR__OF(copy_stream_)(char *to, const char *from, size_t len)
{
	VECTOR a, b, c, d;

	for (; len; len -= 4 * W, to += 4 * W, from += 4 * W) {
		__builtin_prefetch(from + 8 * W);
		__builtin_prefetch(from + 10 * W);
		VECTOR_LOAD_OR(a, (const VECTOR *)from, load_fault);
		VECTOR_LOAD_OR(b, (const VECTOR *)(from + W), load_fault);
		VECTOR_LOAD_OR(c, (const VECTOR *)(from + 2 * W), load_fault);
		VECTOR_LOAD_OR(d, (const VECTOR *)(from + 3 * W), load_fault);
		VECTOR_STREAM_OR((VECTOR *)to, a, fault);
		VECTOR_STREAM_OR((VECTOR *)(to + W), b, fault1);
		VECTOR_STREAM_OR((VECTOR *)(to + 2 * W), c, fault2);
		VECTOR_STREAM_OR((VECTOR *)(to + 3 * W), d, fault3);
	}
	goto fault; /* no fault, but the streaming stores must be ordered */
fault3:
	len -= W;
fault2:
	len -= W;
fault1:
	len -= W;
fault:
	VECTOR_STREAM_END();
	return len;
load_fault:
	VECTOR_STREAM_END();
	return hf_detail_copy_to_page_end(to, from, len, 4 * W);
}
#endif

/* Up to 4 W bytes, on any pages. */
VECTOR_TARGET HF_USED_BY_ASSEMBLY __attribute__((__noinline__)) size_t
VECTOR__OF(hf_detail_copy_to_)(char *to, const char *from, size_t len)
{
	return VECTOR__OF(copy_any_)(to, from, len);
}

/* To an aligned destination: the loop, and the rest. `most` as for clear. */
VECTOR_TARGET HF_NO_SANITIZE static inline __attribute__((always_inline)) size_t
VECTOR__OF(copy_aligned_)(char *to, const char *from, size_t len, size_t most)
{
	VECTOR a, b, c, d;

	for (; len >= 4 * W; len -= 4 * W, to += 4 * W, from += 4 * W) {
		VECTOR_LOAD_OR(a, (const VECTOR *)from, load_fault);
		VECTOR_LOAD_OR(b, (const VECTOR *)(from + W), load_fault);
		VECTOR_LOAD_OR(c, (const VECTOR *)(from + 2 * W), load_fault);
		VECTOR_LOAD_OR(d, (const VECTOR *)(from + 3 * W), load_fault);
		VECTOR_STORE_OR((VECTOR *)to, a, fault);
		VECTOR_STORE_OR((VECTOR *)(to + W), b, fault1);
		VECTOR_STORE_OR((VECTOR *)(to + 2 * W), c, fault2);
		VECTOR_STORE_OR((VECTOR *)(to + 3 * W), d, fault3);
	}
	if (!len)
		return 0;
	if (HF_UNLIKELY(hf_detail_crosses_page(to + len - 4 * W, 4 * W))) {
		if (len > most) {
			to += len - most;
			from += len - most;
			len = most;
		}
		return VECTOR__OF(hf_detail_copy_to_)(to, from, len);
	}
	VECTOR_LOAD_OR(a, (const VECTOR *)(from + len - 4 * W), load_fault);
	VECTOR_LOAD_OR(b, (const VECTOR *)(from + len - 3 * W), load_fault);
	VECTOR_LOAD_OR(c, (const VECTOR *)(from + len - 2 * W), load_fault);
	VECTOR_LOAD_OR(d, (const VECTOR *)(from + len - W), load_fault);
	VECTOR_STORE_OR((VECTOR *)(to + len - 4 * W), a, fault);
	VECTOR_STORE_OR((VECTOR *)(to + len - 3 * W), b, tail_fault1);
	VECTOR_STORE_OR((VECTOR *)(to + len - 2 * W), c, tail_fault2);
	VECTOR_STORE_OR((VECTOR *)(to + len - W), d, tail_fault3);
	return 0;
tail_fault1:
	return len < 3 * W ? len : 3 * W;
tail_fault2:
	return len < 2 * W ? len : 2 * W;
tail_fault3:
	return len < W ? len : W;
load_fault:
	if (len > most) {
		to += len - most;
		from += len - most;
		len = most;
	}
	return hf_detail_copy_to_page_end(to, from, len, 4 * W);
fault3:
	len -= W;
fault2:
	len -= W;
fault1:
	len -= W;
fault:
	return len < most ? len : most;
}

/*
 * More than 4 W bytes, the first W of them in one page. Rare cases are tail calls here and below,
 * so that no register has to be saved.
 */
VECTOR_TARGET HF_NO_SANITIZE static inline __attribute__((always_inline)) size_t
VECTOR__OF(copy_large_)(char *to, const char *from, size_t len)
{
	size_t done = W - ((uintptr_t)to & (W - 1));
	VECTOR first;

	VECTOR_LOAD_OR(first, (const VECTOR *)from, load_fault);
	VECTOR_STORE_OR((VECTOR *)to, first, fault);
	return VECTOR__OF(copy_aligned_)(to + done, from + done, len - done, len - W);
load_fault:
	return hf_detail_copy_to_page_end(to, from, len, W);
fault:
	return len;
}

/* More than 4 W bytes, the first W of them on two pages. */
VECTOR_TARGET __attribute__((__noinline__)) static size_t
VECTOR__OF(copy_large_crossing_)(char *to, const char *from, size_t len)
{
	size_t done = hf_detail_to_page_end(to), left = VECTOR__OF(copy_small_)(to, from, done);

	if (left)
		return len - done + left;
	if (len - done <= 4 * W)
		return VECTOR__OF(hf_detail_copy_to_)(to + done, from + done, len - done);
	return VECTOR__OF(copy_large_)(to + done, from + done, len - done);
}

/* Sizes from which the repeated instruction or streaming stores may be faster than the loop. */
VECTOR_TARGET __attribute__((__noinline__)) static size_t
VECTOR__OF(copy_huge_)(char *to, const char *from, size_t len)
{
#if VECTOR_REPEAT
	/* The whole range: processors change their method at a length, too. */
	if (hf_detail_limits_repeat(&hf_detail_copy_limits, len))
		return hf_arch_rep_movsb(to, from, len);
#endif
#ifdef VECTOR_STREAM_OR
	if (hf_detail_limits_stream(&hf_detail_copy_limits, len)) {
		size_t head = -(uintptr_t)to & (W - 1);
		size_t done = head + ((len - head) & -(4 * W));
		size_t left = VECTOR__OF(copy_small_)(to, from, head);

		if (left)
			return len - head + left;
		left = VECTOR__OF(copy_stream_)(to + head, from + head, done - head);
		if (left)
			return len - done + left;
		return VECTOR__OF(hf_detail_copy_to_)(to + done, from + done, len - done);
	}
#endif
	if (HF_UNLIKELY(hf_detail_crosses_page(to, W)))
		return VECTOR__OF(copy_large_crossing_)(to, from, len);
	return VECTOR__OF(copy_large_)(to, from, len);
}

/* More than 4 W bytes. */
VECTOR_TARGET HF_NO_SANITIZE HF_USED_BY_ASSEMBLY __attribute__((__noinline__)) size_t
VECTOR__OF(hf_detail_copy_more_)(char *to, const char *from, size_t len)
{
	VECTOR a, b, c, d, e, f, g, h;

	if (len > 8 * W || HF_UNLIKELY(hf_detail_crosses_page(to, 8 * W))) {
		if (HF_UNLIKELY(len >= hf_atomic64_load_relaxed(&hf_detail_copy_limits.other_from)))
			return VECTOR__OF(copy_huge_)(to, from, len);
		if (HF_UNLIKELY(hf_detail_crosses_page(to, W)))
			return VECTOR__OF(copy_large_crossing_)(to, from, len);
		return VECTOR__OF(copy_large_)(to, from, len);
	}
	VECTOR_LOAD_OR(a, (const VECTOR *)from, load_fault);
	VECTOR_LOAD_OR(b, (const VECTOR *)(from + W), load_fault);
	VECTOR_LOAD_OR(c, (const VECTOR *)(from + 2 * W), load_fault);
	VECTOR_LOAD_OR(d, (const VECTOR *)(from + 3 * W), load_fault);
	VECTOR_LOAD_OR(e, (const VECTOR *)(from + len - 4 * W), load_fault);
	VECTOR_LOAD_OR(f, (const VECTOR *)(from + len - 3 * W), load_fault);
	VECTOR_LOAD_OR(g, (const VECTOR *)(from + len - 2 * W), load_fault);
	VECTOR_LOAD_OR(h, (const VECTOR *)(from + len - W), load_fault);
	VECTOR_STORE_OR((VECTOR *)to, a, fault0);
	VECTOR_STORE_OR((VECTOR *)(to + W), b, fault1);
	VECTOR_STORE_OR((VECTOR *)(to + 2 * W), c, fault2);
	VECTOR_STORE_OR((VECTOR *)(to + 3 * W), d, fault3);
	VECTOR_STORE_OR((VECTOR *)(to + len - 4 * W), e, fault4);
	VECTOR_STORE_OR((VECTOR *)(to + len - 3 * W), f, fault5);
	VECTOR_STORE_OR((VECTOR *)(to + len - 2 * W), g, fault6);
	VECTOR_STORE_OR((VECTOR *)(to + len - W), h, fault7);
	return 0;
load_fault:
	return hf_detail_copy_to_page_end(to, from, len, len);
fault0:
	return len;
fault1:
	return len - W;
fault2:
	return len - 2 * W;
fault3:
	return len - 3 * W;
fault4:
	return len - 4 * W;
fault5:
	return len < 7 * W ? len - 4 * W : 3 * W;
fault6:
	return len < 6 * W ? len - 4 * W : 2 * W;
fault7:
	return len < 5 * W ? len - 4 * W : W;
}

#if !VECTOR_SMALL_BY_HAND
VECTOR_TARGET size_t VECTOR__OF(hf_detail_copy_)(void *dst, const void *src, size_t len)
{
	if (HF_LIKELY(len <= 4 * W))
		return VECTOR__OF(copy_any_)((char *)dst, (const char *)src, len);
	return VECTOR__OF(hf_detail_copy_more_)((char *)dst, (const char *)src, len);
}
#endif

#undef W
#undef VECTOR__OF
#undef VECTOR_NAME
#undef VECTOR_REPEAT
#undef VECTOR_SMALL_BY_HAND
