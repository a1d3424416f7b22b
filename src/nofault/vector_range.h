/* SPDX-License-Identifier: MIT */
/*
 * vector_range - clear, fill or copy by a loop of wide accesses. A template: vector.h, which says
 * how a range is covered, includes it for each operation and width, after
 *
 *   RANGE_NAME      clear, fill or copy
 * and to clear or fill
 *   RANGE_VALUE     the word of 8 bytes to store
 *   RANGE_PARAMETER, RANGE_SOURCE(offset)     nothing, or a further parameter, and its argument
 */

/*
 * For a move, too: accesses to a range of `len` bytes at `to`. RANGE_AT(offset, n) is
 * where n bytes at an offset are, and RANGE_GET the value to store there. `done` is the frontier.
 */
#ifndef RANGE_PUT
#define RANGE_PUT(TYPE, STORE_OR, offset, value, label)                                            \
	STORE_OR((TYPE *)(to + RANGE_AT(offset, sizeof(TYPE))), value, label)

/* The first and the last bytes. All are loaded before any is stored. */
#define RANGE_TWO(TYPE, LOAD_OR, STORE_OR)                                                         \
	do {                                                                                       \
		TYPE a, b;                                                                         \
                                                                                                   \
		RANGE_GET(a, TYPE, LOAD_OR, 0);                                                    \
		RANGE_GET(b, TYPE, LOAD_OR, len - sizeof(TYPE));                                   \
		RANGE_PUT(TYPE, STORE_OR, 0, a, fault);                                            \
		done = sizeof(TYPE);                                                               \
		RANGE_PUT(TYPE, STORE_OR, len - sizeof(TYPE), b, fault);                           \
	} while (0)

/* The same, by two accesses at each end. */
#define RANGE_FOUR(TYPE, LOAD_OR, STORE_OR)                                                        \
	do {                                                                                       \
		const size_t n = sizeof(TYPE);                                                     \
		TYPE a, b, c, d;                                                                   \
                                                                                                   \
		RANGE_GET(a, TYPE, LOAD_OR, 0);                                                    \
		RANGE_GET(b, TYPE, LOAD_OR, n);                                                    \
		RANGE_GET(c, TYPE, LOAD_OR, len - 2 * n);                                          \
		RANGE_GET(d, TYPE, LOAD_OR, len - n);                                              \
		RANGE_PUT(TYPE, STORE_OR, 0, a, fault);                                            \
		done = n;                                                                          \
		RANGE_PUT(TYPE, STORE_OR, n, b, fault);                                            \
		done = 2 * n;                                                                      \
		RANGE_PUT(TYPE, STORE_OR, len - 2 * n, c, fault);                                  \
		done = len - n > done ? len - n : done;                                            \
		RANGE_PUT(TYPE, STORE_OR, len - n, d, fault);                                      \
	} while (0)

/* Less than W bytes. */
#define RANGE_FEW()                                                                                \
	do {                                                                                       \
		if (len >= 16) {                                                                   \
			if (VECTOR_BYTES > 32 && len > 32)                                         \
				RANGE_FOUR(HALF, HALF_LOAD_OR, HALF_STORE_OR);                     \
			else                                                                       \
				RANGE_TWO(HALF, HALF_LOAD_OR, HALF_STORE_OR);                      \
		} else if (len >= 8) {                                                             \
			RANGE_TWO(hf_detail_w8, HF_ARCH_LOAD64_OR, HF_ARCH_STORE64_OR);            \
		} else if (len >= 4) {                                                             \
			RANGE_TWO(hf_detail_w4, HF_ARCH_LOAD32_OR, HF_ARCH_STORE32_OR);            \
		} else if (len >= 2) {                                                             \
			RANGE_TWO(hf_detail_w2, HF_ARCH_LOAD16_OR, HF_ARCH_STORE16_OR);            \
		} else if (len) {                                                                  \
			hf_detail_w1 a;                                                            \
                                                                                                   \
			RANGE_GET(a, hf_detail_w1, HF_ARCH_LOAD8_OR, 0);                           \
			RANGE_PUT(hf_detail_w1, HF_ARCH_STORE8_OR, 0, a, fault);                   \
		}                                                                                  \
	} while (0)

/* Four vectors that follow each other. */
#define RANGE_GET_4(a, b, c, d, offset)                                                            \
	do {                                                                                       \
		RANGE_GET(a, VECTOR, VECTOR_LOAD_OR, offset);                                      \
		RANGE_GET(b, VECTOR, VECTOR_LOAD_OR, (offset) + W);                                \
		RANGE_GET(c, VECTOR, VECTOR_LOAD_OR, (offset) + 2 * W);                            \
		RANGE_GET(d, VECTOR, VECTOR_LOAD_OR, (offset) + 3 * W);                            \
	} while (0)

#define RANGE_PUT_4(STORE_OR, offset, a, b, c, d, label_a, label_b, label_c, label_d)              \
	do {                                                                                       \
		RANGE_PUT(VECTOR, STORE_OR, offset, a, label_a);                                   \
		RANGE_PUT(VECTOR, STORE_OR, (offset) + W, b, label_b);                             \
		RANGE_PUT(VECTOR, STORE_OR, (offset) + 2 * W, c, label_c);                         \
		RANGE_PUT(VECTOR, STORE_OR, (offset) + 3 * W, d, label_d);                         \
	} while (0)
#endif

#define RANGE__OF(what) HF_DETAIL_PASTE(HF_DETAIL_PASTE(RANGE_NAME, what), VECTOR_NAME)
#define RANGE__HF(what) HF_DETAIL_PASTE(hf_detail_, RANGE__OF(what))
#define RANGE_AT(offset, n) (offset)

#ifdef RANGE_VALUE
#define RANGE_GET(v, TYPE, LOAD_OR, offset) v = (TYPE)((TYPE){ 0 } + (RANGE_VALUE))
#define RANGE_SKIP(n) (to += (n))
#define RANGE_LIMITS hf_detail_clear_limits
#define RANGE_REPEAT() hf_arch_rep_stosb_of(to, (uint8_t)(RANGE_VALUE), len)
#define RANGE_LOAD_FAULT(reach)
#else
#define RANGE_PARAMETER , const char *from
#define RANGE_SOURCE(offset) , from + (offset)
#define RANGE_GET(v, TYPE, LOAD_OR, offset) LOAD_OR(v, (const TYPE *)(from + (offset)), load_fault)
#define RANGE_SKIP(n) (to += (n), from += (n))
#define RANGE_LIMITS hf_detail_copy_limits
#define RANGE_REPEAT() hf_arch_rep_movsb(to, from, len)
#define RANGE_LOAD_FAULT(reach)                                                                    \
	load_fault:                                                                                \
	return hf_detail_copy_to_page_end(to, from, len, reach)
#endif

/* At most 4 W bytes; the destination lies in one page. */
VECTOR_TARGET HF_NO_SANITIZE static inline __attribute__((always_inline)) size_t
RANGE__OF(_small_)(char *to RANGE_PARAMETER, size_t len)
{
	size_t done = 0;

	if (len < W)
		RANGE_FEW();
	else if (len > 2 * W)
		RANGE_FOUR(VECTOR, VECTOR_LOAD_OR, VECTOR_STORE_OR);
	else
		RANGE_TWO(VECTOR, VECTOR_LOAD_OR, VECTOR_STORE_OR);
	return 0;
	RANGE_LOAD_FAULT(len);
fault:
	return len - done;
}

/* At most 4 W bytes; the destination lies on two pages. */
VECTOR_TARGET __attribute__((__noinline__)) static size_t
RANGE__OF(_crossing_)(char *to RANGE_PARAMETER, size_t len)
{
	size_t first = hf_detail_to_page_end(to), left;

	left = RANGE__OF(_small_)(to RANGE_SOURCE(0), first);
	if (left)
		return len - first + left;
	return RANGE__OF(_small_)(to + first RANGE_SOURCE(first), len - first);
}

VECTOR_TARGET static inline __attribute__((always_inline)) size_t
RANGE__OF(_any_)(char *to RANGE_PARAMETER, size_t len)
{
	if (HF_UNLIKELY(hf_detail_crosses_page(to, len)))
		return RANGE__OF(_crossing_)(to RANGE_SOURCE(0), len);
	return RANGE__OF(_small_)(to RANGE_SOURCE(0), len);
}

#ifdef VECTOR_STREAM
/* To an aligned destination; `len` is a multiple of 4 W. The caller ends the stream. */
VECTOR_TARGET HF_NO_SANITIZE __attribute__((__noinline__)) static size_t
RANGE__OF(_stream_)(char *to RANGE_PARAMETER, size_t len)
{
	VECTOR a, b, c, d;

	for (; len; len -= 4 * W, RANGE_SKIP(4 * W)) {
#ifndef RANGE_VALUE
		__builtin_prefetch(from + 8 * W);
		__builtin_prefetch(from + 10 * W);
#endif
		RANGE_GET_4(a, b, c, d, 0);
		RANGE_PUT_4(VECTOR_STREAM_OR, 0, a, b, c, d, fault, fault1, fault2, fault3);
	}
	return 0;
	RANGE_LOAD_FAULT(4 * W);
fault3:
	len -= W;
fault2:
	len -= W;
fault1:
	len -= W;
fault:
	return len;
}
#endif

/* Up to 4 W bytes, on any pages. */
VECTOR_TARGET HF_USED_BY_ASSEMBLY __attribute__((__noinline__)) size_t
RANGE__HF(_to_)(char *to RANGE_PARAMETER, size_t len)
{
	return RANGE__OF(_any_)(to RANGE_SOURCE(0), len);
}

/*
 * To an aligned destination: the loop, and the rest. The caller's first vector, not aligned, was
 * stored beyond the start of this range. So after a fault at most `most` bytes are left, even if
 * memory was unmapped meanwhile.
 */
VECTOR_TARGET HF_NO_SANITIZE static inline __attribute__((always_inline)) size_t
RANGE__OF(_aligned_)(char *to RANGE_PARAMETER, size_t len, size_t most)
{
	VECTOR a, b, c, d;

	for (; len > 4 * W; len -= 4 * W, RANGE_SKIP(4 * W)) {
		RANGE_GET_4(a, b, c, d, 0);
		RANGE_PUT_4(VECTOR_STORE_OR, 0, a, b, c, d, fault, fault1, fault2, fault3);
	}
	if (HF_UNLIKELY(hf_detail_crosses_page(to + len - 4 * W, 4 * W))) {
		if (len > most) {
			RANGE_SKIP(len - most);
			len = most;
		}
		return RANGE__HF(_to_)(to RANGE_SOURCE(0), len);
	}
	RANGE_GET_4(a, b, c, d, len - 4 * W);
	RANGE_PUT_4(VECTOR_STORE_OR, len - 4 * W, a, b, c, d, fault, tail_fault1, tail_fault2,
		    tail_fault3);
	return 0;
tail_fault1:
	return len < 3 * W ? len : 3 * W;
tail_fault2:
	return len < 2 * W ? len : 2 * W;
tail_fault3:
	return len < W ? len : W;
#ifndef RANGE_VALUE
load_fault:
	if (len > most) {
		RANGE_SKIP(len - most);
		len = most;
	}
	return hf_detail_copy_to_page_end(to, from, len, 4 * W);
#endif
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
RANGE__OF(_large_)(char *to RANGE_PARAMETER, size_t len)
{
	size_t done = W - ((uintptr_t)to & (W - 1));
	VECTOR first;

	RANGE_GET(first, VECTOR, VECTOR_LOAD_OR, 0);
	RANGE_PUT(VECTOR, VECTOR_STORE_OR, 0, first, fault);
	return RANGE__OF(_aligned_)(to + done RANGE_SOURCE(done), len - done, len - W);
	RANGE_LOAD_FAULT(W);
fault:
	return len;
}

/* More than 4 W bytes, the first W of them on two pages. */
VECTOR_TARGET __attribute__((__noinline__)) static size_t
RANGE__OF(_large_crossing_)(char *to RANGE_PARAMETER, size_t len)
{
	size_t done = hf_detail_to_page_end(to);
	size_t left = RANGE__OF(_small_)(to RANGE_SOURCE(0), done);

	if (left)
		return len - done + left;
	if (len - done <= 4 * W)
		return RANGE__HF(_to_)(to + done RANGE_SOURCE(done), len - done);
	return RANGE__OF(_large_)(to + done RANGE_SOURCE(done), len - done);
}

/* Sizes from which the repeated instruction or streaming stores may be faster than the loop. */
VECTOR_TARGET __attribute__((__noinline__)) static size_t
RANGE__OF(_huge_)(char *to RANGE_PARAMETER, size_t len)
{
#if VECTOR_REPEAT
	/* The whole range: processors change their method at a length, too. */
	if (len >= hf_atomic64_load_relaxed(&RANGE_LIMITS.repeat_from))
		return RANGE_REPEAT();
#endif
#ifdef VECTOR_STREAM
	if (len >= hf_atomic64_load_relaxed(&RANGE_LIMITS.stream_from)) {
		size_t head = -(uintptr_t)to & (W - 1);
		size_t done = head + ((len - head) & -(4 * W));
		size_t left = RANGE__OF(_small_)(to RANGE_SOURCE(0), head);

		if (left)
			return len - head + left;
		left = RANGE__OF(_stream_)(to + head RANGE_SOURCE(head), done - head);
		VECTOR_STREAM_END();
		if (left)
			return len - done + left;
		return RANGE__HF(_to_)(to + done RANGE_SOURCE(done), len - done);
	}
#endif
	if (HF_UNLIKELY(hf_detail_crosses_page(to, W)))
		return RANGE__OF(_large_crossing_)(to RANGE_SOURCE(0), len);
	return RANGE__OF(_large_)(to RANGE_SOURCE(0), len);
}

/* More than 4 W bytes. */
VECTOR_TARGET HF_NO_SANITIZE HF_USED_BY_ASSEMBLY __attribute__((__noinline__)) size_t
RANGE__HF(_more_)(char *to RANGE_PARAMETER, size_t len)
{
	VECTOR a, b, c, d, e, f, g, h;

	/* 8 W, not `len`, for a single comparison: some ranges that fit take the longer path. */
	if (len > 8 * W || HF_UNLIKELY(hf_detail_crosses_page(to, 8 * W))) {
		if (HF_UNLIKELY(len >= hf_atomic64_load_relaxed(&RANGE_LIMITS.other_from)))
			return RANGE__OF(_huge_)(to RANGE_SOURCE(0), len);
		if (HF_UNLIKELY(hf_detail_crosses_page(to, W)))
			return RANGE__OF(_large_crossing_)(to RANGE_SOURCE(0), len);
		return RANGE__OF(_large_)(to RANGE_SOURCE(0), len);
	}
	RANGE_GET_4(a, b, c, d, 0);
	RANGE_GET_4(e, f, g, h, len - 4 * W);
	RANGE_PUT_4(VECTOR_STORE_OR, 0, a, b, c, d, fault0, fault1, fault2, fault3);
	RANGE_PUT_4(VECTOR_STORE_OR, len - 4 * W, e, f, g, h, fault4, fault5, fault6, fault7);
	return 0;
	RANGE_LOAD_FAULT(len);
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

#undef RANGE__OF
#undef RANGE__HF
#undef RANGE_NAME
#undef RANGE_VALUE
#undef RANGE_PARAMETER
#undef RANGE_SOURCE
#undef RANGE_AT
#undef RANGE_GET
#undef RANGE_SKIP
#undef RANGE_LIMITS
#undef RANGE_REPEAT
#undef RANGE_LOAD_FAULT
