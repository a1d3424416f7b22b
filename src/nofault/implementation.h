/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_NOFAULT_IMPLEMENTATION_H
#define HF_SRC_NOFAULT_IMPLEMENTATION_H
/*
 * implementation - what the implementations of clear and copy share.
 *
 * All keep F1 of holdfast/nofault_copy.h (the count is exact) in the same way. A range is processed
 * upwards, and at every access the code knows the frontier, up to which all is done. If an access
 * within the frontier's page faults, no byte from there on in that page can be accessed: it is the
 * exact count, without a second fault. For that
 *
 *   E1  a store never crosses into another page;
 *   E2  a load may; after a fault its bytes are copied one by one, up to the page's end.
 *
 * Stopping at multiples of 4096 is right for larger pages, too.
 */
#include "holdfast/nofault.h"

#define HF_PAGE ((uintptr_t)4096)

/* Bytes from p to the end of its page: 1 to 4096. */
static inline size_t hf_detail_to_page_end(const volatile void *p)
{
	return HF_PAGE - ((uintptr_t)p & (HF_PAGE - 1));
}

/* Bytes from p to the next multiple of @unit, a power of two; at most len. */
static inline __attribute__((always_inline)) size_t hf_detail_to_multiple(const volatile void *p,
									  size_t unit, size_t len)
{
	size_t n = -(uintptr_t)p & (unit - 1);

	return n < len ? n : len;
}

/* Does the range of 1 to 4096 bytes lie on two pages? */
static inline bool hf_detail_crosses_page(const volatile void *p, size_t len)
{
	return ((uintptr_t)p & (HF_PAGE - 1)) > HF_PAGE - len;
}

/* A sanitizer must not check memory that may be unmapped; gcc's null check tests an address. */
#define HF_NO_SANITIZE __attribute__((no_sanitize("address", "undefined")))

/* Words at any address, which may alias any type. */
typedef uint8_t hf_detail_w1 __attribute__((may_alias));
typedef uint16_t hf_detail_w2 __attribute__((may_alias, aligned(1)));
typedef uint32_t hf_detail_w4 __attribute__((may_alias, aligned(1)));
typedef uint64_t hf_detail_w8 __attribute__((may_alias, aligned(1)));

#define HF_DETAIL_ONES 0x0101010101010101u

/* The bytes from which on another method than the loop of vectors is used. */
struct hf_detail_limits {
	hf_atomic64_t other_from;  /* the least of the others, for one comparison */
	hf_atomic64_t repeat_from; /* one repeated instruction (x86-64) */
	hf_atomic64_t stream_from; /* stores that bypass the caches */
};

extern struct hf_detail_limits hf_detail_clear_limits __attribute__((visibility("hidden")));
extern struct hf_detail_limits hf_detail_copy_limits __attribute__((visibility("hidden")));

/* At the start: sets the limits, and chooses the implementations for this processor. */
void hf_detail_nofault_start(void);
void hf_detail_nofault_choose(void); /* clear and copy */

/* Lets a fault in a `_nofault` function be reported, unless there is a handler already. */
void hf_detail_nofault_watch(void);

/*
 * How implementations are declared: as functions; or inline, in a kernel, where nothing may be
 * called while the user's memory is open.
 */
#ifndef HF_IMPLEMENTATION
#define HF_IMPLEMENTATION
#define HF_IMPLEMENTATION_PART static
/* Assembly outside of functions jumps to it: link-time optimisation must keep it. */
#define HF_USED_BY_ASSEMBLY __attribute__((used))
#else
#define HF_IMPLEMENTATION_PART HF_IMPLEMENTATION
#define HF_USED_BY_ASSEMBLY
#endif

/* 1 where an implementation may use vector registers. */
#ifndef HF_HAS_VECTORS
#define HF_HAS_VECTORS 1
#endif

/* Byte by byte, so the count is exact wherever the fault is. Return the bytes not done. */
HF_IMPLEMENTATION size_t hf_detail_clear_bytes(void *dst, size_t len);
HF_IMPLEMENTATION size_t hf_detail_copy_bytes(void *dst, const void *src, size_t len);
size_t hf_detail_fill_bytes(void *dst, uint8_t value, size_t len); /* user space */

/* Clears, or fills with @value, by words of 8 bytes. Returns the bytes not done. */
HF_NO_SANITIZE static inline __attribute__((always_inline)) size_t
hf_detail_set_words(void *dst, bool clears, uint8_t value, size_t len)
{
	size_t head = hf_detail_to_multiple(dst, 8, len), left;
	hf_detail_w8 *p = (hf_detail_w8 *)((char *)dst + head);
	const uint64_t word = clears ? 0 : value * HF_DETAIL_ONES;

	left = clears ? hf_detail_clear_bytes(dst, head) : hf_detail_fill_bytes(dst, value, head);
	if (left)
		return len - head + left;
	len -= head;
	/* Aligned: in one page, E1. */
	for (; len >= 32; len -= 32, p += 4) {
		HF_ARCH_STORE64_OR(p, word, fault);
		HF_ARCH_STORE64_OR(p + 1, word, fault1);
		HF_ARCH_STORE64_OR(p + 2, word, fault2);
		HF_ARCH_STORE64_OR(p + 3, word, fault3);
	}
	for (; len >= 8; len -= 8, p++)
		HF_ARCH_STORE64_OR(p, word, fault);
	return clears ? hf_detail_clear_bytes(p, len) : hf_detail_fill_bytes(p, value, len);
fault3:
	len -= 8;
fault2:
	len -= 8;
fault1:
	len -= 8;
fault:
	return len;
}

/* After a fault in a load within @reach bytes of @src, the frontier, with @len bytes left: E2. */
HF_IMPLEMENTATION size_t hf_detail_copy_to_page_end(void *dst, const void *src, size_t len,
						    size_t reach);

#define HF_DETAIL_DECLARE(linkage, name)                                                           \
	linkage size_t hf_detail_clear_##name(void *dst, size_t len);                              \
	linkage size_t hf_detail_copy_##name(void *dst, const void *src, size_t len);

HF_DETAIL_DECLARE(HF_IMPLEMENTATION, generic)

#if HF_ARCH_HAS_REP
HF_DETAIL_DECLARE(HF_IMPLEMENTATION, fsrm)
HF_DETAIL_DECLARE(, sse2)
HF_DETAIL_DECLARE(, avx2)
HF_DETAIL_DECLARE(, avx512)
size_t hf_detail_copy_mixed(void *dst, const void *src, size_t len);
/* x86_64_words.h: for a kernel, and for the lab */
HF_DETAIL_DECLARE(HF_IMPLEMENTATION, original)
HF_DETAIL_DECLARE(HF_IMPLEMENTATION, rep_good)
HF_DETAIL_DECLARE(HF_IMPLEMENTATION, erms)
#endif

#if HF_ARCH_HAS_PAIR
bool hf_detail_has_dc_zva(void);
HF_DETAIL_DECLARE(HF_IMPLEMENTATION, stp)
HF_IMPLEMENTATION size_t hf_detail_clear_dc_zva(void *dst, size_t len);
#endif

#endif
