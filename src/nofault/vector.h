/* SPDX-License-Identifier: MIT */
/*
 * vector - clear and copy by wide accesses. A template: included for each width, after
 *
 *   VECTOR_NAME     the functions are hf_detail_clear_<VECTOR_NAME> and hf_detail_copy_...
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

#undef W
#undef VECTOR__OF
#undef VECTOR_NAME
