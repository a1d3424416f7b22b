/* SPDX-License-Identifier: MIT */
/* list - copy between lists of ranges. */
#include <limits.h>

#define HF_DETAIL_SANITIZE_WEAK
#include "memory.h"

/* The sum of the lengths; more than LONG_MAX if it overflows. */
static inline size_t bytes_of(const struct hf_iovec *list, size_t count)
{
	size_t sum = 0, any = 0;

	/* Branch-free: before a sum wraps, it or a length has set the highest bit of `any`. */
	for (size_t i = 0; i < count; i++) {
		sum += list[i].len;
		any |= sum | list[i].len;
	}
	return sum | (any & ~(size_t)LONG_MAX);
}

/*
 * Copies 16 to 64 bytes to one page (E1) without a call. Returns false if not all were copied: the
 * caller then copies them all again by a function that counts.
 */
HF_NO_SANITIZE static inline bool copy_short(char *to, const char *from, size_t len)
{
#if HF_ARCH_HAS_REP && HF_HAS_VECTORS
	hf_detail_w16 a, b, c, d;

	if (len > 64 || HF_UNLIKELY(hf_detail_crosses_page(to, 64)))
		return false;
	HF_ARCH_LOAD_OR("movups", a, "x", (const hf_detail_w16 *)from, fault);
	HF_ARCH_LOAD_OR("movups", d, "x", (const hf_detail_w16 *)(from + len - 16), fault);
	if (len > 32) {
		HF_ARCH_LOAD_OR("movups", b, "x", (const hf_detail_w16 *)(from + 16), fault);
		HF_ARCH_LOAD_OR("movups", c, "x", (const hf_detail_w16 *)(from + len - 32), fault);
		HF_ARCH_STORE_OR("movups", (hf_detail_w16 *)(to + 16), b, "x", fault);
		HF_ARCH_STORE_OR("movups", (hf_detail_w16 *)(to + len - 32), c, "x", fault);
	}
	HF_ARCH_STORE_OR("movups", (hf_detail_w16 *)to, a, "x", fault);
	HF_ARCH_STORE_OR("movups", (hf_detail_w16 *)(to + len - 16), d, "x", fault);
	return true;
fault:
#else
	(void)to, (void)from, (void)len;
#endif
	return false;
}

/* Used where a sanitizer is linked. */
__attribute__((__noinline__)) static size_t copy_checked(void *dst, const void *src, size_t len)
{
	return hf_copy_nofault(dst, src, len);
}

/* A position in a list: a range, the next byte in it, and how many of its bytes are left. */
struct place {
	const struct hf_iovec *range;
	char *next;
	size_t left;
};

/* Skips to a range with bytes left; there must be one. */
static inline void find_byte(struct place *p)
{
	while (!p->left) {
		p->range++;
		p->next = (char *)p->range->base;
		p->left = p->range->len;
	}
}

static struct place start_of(const struct hf_iovec *list)
{
	return (struct place){ list, (char *)list->base, list->len };
}

/* The index of the range with the next byte, or the number of ranges; and the offset in it. */
static size_t range_of(struct place p, const struct hf_iovec *list, size_t count, size_t *offset)
{
	size_t used = p.range->len - p.left, i = count ? (size_t)(p.range - list) : 0;

	while (i < count && used == list[i].len) {
		i++;
		used = 0;
	}
	*offset = used;
	return i;
}

long hf_copy_iovec_nofault(const struct hf_iovec *dst, size_t dst_count, const struct hf_iovec *src,
			   size_t src_count, struct hf_iovec_stop *stop)
{
	static const struct hf_iovec none = { NULL, 0 };
	size_t room = bytes_of(dst, dst_count), all = bytes_of(src, src_count), left, missed = 0;
	struct place to = start_of(dst_count ? dst : &none);
	struct place from = start_of(src_count ? src : &none);
	hf_copy_function_t copy = copy_checked;
	size_t shortest = SIZE_MAX; /* for copy_short(), which no sanitizer sees */

	if (HF_UNLIKELY((room | all) > LONG_MAX)) {
		if (stop)
			*stop = (struct hf_iovec_stop){ 0, 0, 0, 0, 0 };
		return -HF_EINVAL;
	}
	if (all > room)
		all = room;
	if (HF_LIKELY(!hf_detail_has_sanitizer())) {
		copy = (hf_copy_function_t)(uintptr_t)hf_atomic64_load_relaxed(&hf_detail_copy);
		shortest = 16;
	}

	for (left = all; left && HF_LIKELY(!missed);) {
		size_t len;

		find_byte(&to); /* while bytes are left, both sides have one */
		find_byte(&from);
		len = to.left < from.left ? to.left : from.left;
		if (len < shortest || !copy_short(to.next, from.next, len)) {
			missed = copy(to.next, from.next, len);
			len -= missed;
		}
		to.next += len;
		to.left -= len;
		from.next += len;
		from.left -= len;
		left -= len;
	}
	if (stop) {
		stop->done = all - left;
		stop->dst = range_of(to, dst, dst_count, &stop->dst_offset);
		stop->src = range_of(from, src, src_count, &stop->src_offset);
		hf_detail_touched(HF_DETAIL_OPERATION(hf_copy_iovec_nofault), stop, sizeof(*stop));
	}
	return (long)left;
}
