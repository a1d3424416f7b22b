/* SPDX-License-Identifier: MIT */
/*
 * vector_set - the half of the template vector.h that sets bytes to one value: clear, or fill. How
 * a range is covered is described there. Included for each of the two after
 *
 *   what vector.h needs, W and VECTOR_NAME
 *   SET_NAME        clear or fill: the functions are hf_detail_<SET_NAME>_<VECTOR_NAME> and more
 *   SET_PARAMETER, SET_ARGUMENT     nothing, or one more parameter, `value`, and the same in a call
 *   SET_VECTOR, SET_HALF            a vector of W or 16 bytes of that value
 *   SET_WORD(type)  a word of that value
 *   SET_REPEAT(p, len)              the repeated instruction; with VECTOR_REPEAT
 *   VECTOR_STREAM_OR                as there
 */

#define SET__OF(what) HF_DETAIL_PASTE(HF_DETAIL_PASTE(SET_NAME, what), VECTOR_NAME)
#define SET__HF(what) HF_DETAIL_PASTE(hf_detail_, SET__OF(what))

/* At most 4 W bytes in one page. */
VECTOR_TARGET HF_NO_SANITIZE static inline __attribute__((always_inline)) size_t
SET__OF(_small_)(char *p, size_t len SET_PARAMETER)
{
	size_t done = 0;

	if (len >= W) {
		VECTOR all = SET_VECTOR;

		VECTOR_STORE_OR((VECTOR *)p, all, fault);
		done = W;
		if (len > 2 * W) {
			VECTOR_STORE_OR((VECTOR *)(p + W), all, fault);
			done = 2 * W;
			VECTOR_STORE_OR((VECTOR *)(p + len - 2 * W), all, fault);
			done = len - W > done ? len - W : done;
		}
		VECTOR_STORE_OR((VECTOR *)(p + len - W), all, fault);
	} else if (len >= 16) {
		HALF all = SET_HALF;

		HALF_STORE_OR((HALF *)p, all, fault);
		done = 16;
#if VECTOR_BYTES > 32
		if (len > 32) {
			HALF_STORE_OR((HALF *)(p + 16), all, fault);
			done = 32;
			HALF_STORE_OR((HALF *)(p + len - 32), all, fault);
			done = len - 16 > done ? len - 16 : done;
		}
#endif
		HALF_STORE_OR((HALF *)(p + len - 16), all, fault);
	} else if (len >= 8) {
		HF_ARCH_STORE64_OR((hf_detail_w8 *)p, SET_WORD(uint64_t), fault);
		done = 8;
		HF_ARCH_STORE64_OR((hf_detail_w8 *)(p + len - 8), SET_WORD(uint64_t), fault);
	} else if (len >= 4) {
		HF_ARCH_STORE32_OR((hf_detail_w4 *)p, SET_WORD(uint32_t), fault);
		done = 4;
		HF_ARCH_STORE32_OR((hf_detail_w4 *)(p + len - 4), SET_WORD(uint32_t), fault);
	} else if (len >= 2) {
		HF_ARCH_STORE16_OR((hf_detail_w2 *)p, SET_WORD(uint16_t), fault);
		done = 2;
		HF_ARCH_STORE16_OR((hf_detail_w2 *)(p + len - 2), SET_WORD(uint16_t), fault);
	} else if (len) {
		HF_ARCH_STORE8_OR((hf_detail_w1 *)p, SET_WORD(uint8_t), fault);
	}
	return 0;
fault:
	return len - done;
}

/* At most 4 W bytes on two pages. */
VECTOR_TARGET __attribute__((__noinline__)) static size_t
SET__OF(_crossing_)(char *p, size_t len SET_PARAMETER)
{
	size_t first = hf_detail_to_page_end(p), left;

	left = SET__OF(_small_)(p, first SET_ARGUMENT);
	if (left)
		return len - first + left;
	return SET__OF(_small_)(p + first, len - first SET_ARGUMENT);
}

VECTOR_TARGET static inline __attribute__((always_inline)) size_t
SET__OF(_any_)(char *p, size_t len SET_PARAMETER)
{
	if (HF_UNLIKELY(hf_detail_crosses_page(p, len)))
		return SET__OF(_crossing_)(p, len SET_ARGUMENT);
	return SET__OF(_small_)(p, len SET_ARGUMENT);
}

#ifdef VECTOR_STREAM_OR
/* From an aligned p; `len` is a multiple of 4 W. */
VECTOR_TARGET HF_NO_SANITIZE __attribute__((__noinline__)) static size_t
SET__OF(_stream_)(char *p, size_t len SET_PARAMETER)
{
	VECTOR all = SET_VECTOR;

	for (; len; len -= 4 * W, p += 4 * W) {
		VECTOR_STREAM_OR((VECTOR *)p, all, fault);
		VECTOR_STREAM_OR((VECTOR *)(p + W), all, fault1);
		VECTOR_STREAM_OR((VECTOR *)(p + 2 * W), all, fault2);
		VECTOR_STREAM_OR((VECTOR *)(p + 3 * W), all, fault3);
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
}
#endif

/* Up to 4 W bytes, on any pages. */
VECTOR_TARGET HF_USED_BY_ASSEMBLY __attribute__((__noinline__)) size_t
SET__HF(_to_)(char *p, size_t len SET_PARAMETER)
{
	return SET__OF(_any_)(p, len SET_ARGUMENT);
}

/*
 * From an aligned p: the loop, and the rest. The vector before p reached into the first aligned
 * one, so at most `most` bytes are left, even if memory is unmapped now.
 */
VECTOR_TARGET HF_NO_SANITIZE static inline __attribute__((always_inline)) size_t
SET__OF(_aligned_)(char *p, size_t len, size_t most SET_PARAMETER)
{
	VECTOR all = SET_VECTOR;
	char *end;

	for (; len >= 4 * W; len -= 4 * W, p += 4 * W) {
		VECTOR_STORE_OR((VECTOR *)p, all, fault);
		VECTOR_STORE_OR((VECTOR *)(p + W), all, fault1);
		VECTOR_STORE_OR((VECTOR *)(p + 2 * W), all, fault2);
		VECTOR_STORE_OR((VECTOR *)(p + 3 * W), all, fault3);
	}
	if (!len)
		return 0;
	end = p + len;
	if (HF_UNLIKELY(hf_detail_crosses_page(end - 4 * W, 4 * W))) {
		if (len > most)
			len = most;
		return SET__HF(_to_)(end - len, len SET_ARGUMENT);
	}
	VECTOR_STORE_OR((VECTOR *)(end - 4 * W), all, fault);
	VECTOR_STORE_OR((VECTOR *)(end - 3 * W), all, tail_fault1);
	VECTOR_STORE_OR((VECTOR *)(end - 2 * W), all, tail_fault2);
	VECTOR_STORE_OR((VECTOR *)(end - W), all, tail_fault3);
	return 0;
tail_fault1:
	return len < 3 * W ? len : 3 * W;
tail_fault2:
	return len < 2 * W ? len : 2 * W;
tail_fault3:
	return len < W ? len : W;
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
SET__OF(_large_)(char *p, size_t len SET_PARAMETER)
{
	size_t done = W - ((uintptr_t)p & (W - 1));
	VECTOR all = SET_VECTOR;

	VECTOR_STORE_OR((VECTOR *)p, all, fault);
	return SET__OF(_aligned_)(p + done, len - done, len - W SET_ARGUMENT);
fault:
	return len;
}

/* More than 4 W bytes, the first W of them on two pages. */
VECTOR_TARGET __attribute__((__noinline__)) static size_t
SET__OF(_large_crossing_)(char *p, size_t len SET_PARAMETER)
{
	size_t done = hf_detail_to_page_end(p), left = SET__OF(_small_)(p, done SET_ARGUMENT);

	if (left)
		return len - done + left;
	if (len - done <= 4 * W)
		return SET__HF(_to_)(p + done, len - done SET_ARGUMENT);
	return SET__OF(_large_)(p + done, len - done SET_ARGUMENT);
}

/* Sizes from which the repeated instruction or streaming stores may be faster than the loop. */
VECTOR_TARGET __attribute__((__noinline__)) static size_t SET__OF(_huge_)(char *p,
									  size_t len SET_PARAMETER)
{
#if VECTOR_REPEAT
	/* The whole range: processors change their method at a length, too. */
	if (hf_detail_limits_repeat(&hf_detail_clear_limits, len))
		return SET_REPEAT(p, len);
#endif
#ifdef VECTOR_STREAM_OR
	if (hf_detail_limits_stream(&hf_detail_clear_limits, len)) {
		size_t head = -(uintptr_t)p & (W - 1);
		size_t done = head + ((len - head) & -(4 * W));
		size_t left = SET__OF(_small_)(p, head SET_ARGUMENT);

		if (left)
			return len - head + left;
		left = SET__OF(_stream_)(p + head, done - head SET_ARGUMENT);
		if (left)
			return len - done + left;
		return SET__HF(_to_)(p + done, len - done SET_ARGUMENT);
	}
#endif
	if (HF_UNLIKELY(hf_detail_crosses_page(p, W)))
		return SET__OF(_large_crossing_)(p, len SET_ARGUMENT);
	return SET__OF(_large_)(p, len SET_ARGUMENT);
}

/* More than 4 W bytes. */
VECTOR_TARGET HF_NO_SANITIZE HF_USED_BY_ASSEMBLY __attribute__((__noinline__)) size_t
SET__HF(_more_)(char *p, size_t len SET_PARAMETER)
{
	VECTOR all = SET_VECTOR;
	char *end = p + len;

	/* 8 W, not `len`, for a single comparison: some ranges that fit take the longer path. */
	if (len > 8 * W || HF_UNLIKELY(hf_detail_crosses_page(p, 8 * W))) {
		if (HF_UNLIKELY(len >=
				hf_atomic64_load_relaxed(&hf_detail_clear_limits.other_from)))
			return SET__OF(_huge_)(p, len SET_ARGUMENT);
		if (HF_UNLIKELY(hf_detail_crosses_page(p, W)))
			return SET__OF(_large_crossing_)(p, len SET_ARGUMENT);
		return SET__OF(_large_)(p, len SET_ARGUMENT);
	}
	VECTOR_STORE_OR((VECTOR *)p, all, fault0);
	VECTOR_STORE_OR((VECTOR *)(p + W), all, fault1);
	VECTOR_STORE_OR((VECTOR *)(p + 2 * W), all, fault2);
	VECTOR_STORE_OR((VECTOR *)(p + 3 * W), all, fault3);
	VECTOR_STORE_OR((VECTOR *)(end - 4 * W), all, fault4);
	VECTOR_STORE_OR((VECTOR *)(end - 3 * W), all, fault5);
	VECTOR_STORE_OR((VECTOR *)(end - 2 * W), all, fault6);
	VECTOR_STORE_OR((VECTOR *)(end - W), all, fault7);
	return 0;
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
VECTOR_TARGET size_t SET__HF(_)(void *dst, size_t len SET_PARAMETER)
{
	if (HF_LIKELY(len <= 4 * W))
		return SET__OF(_any_)((char *)dst, len SET_ARGUMENT);
	return SET__HF(_more_)((char *)dst, len SET_ARGUMENT);
}
#endif

#undef SET__OF
#undef SET__HF
#undef SET_NAME
#undef SET_PARAMETER
#undef SET_ARGUMENT
#undef SET_VECTOR
#undef SET_HALF
#undef SET_WORD
#undef SET_REPEAT
