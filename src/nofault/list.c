/* SPDX-License-Identifier: MIT */
/* list - copy between lists of ranges. */
#include <limits.h>

#define HF_DETAIL_SANITIZE_WEAK
#include "memory.h"

/* The sum of the lengths; more than LONG_MAX if it overflows. */
static inline size_t bytes_of(const struct hf_iovec *list, size_t count)
{
	size_t sum = 0, wrapped = 0;

	for (size_t i = 0; i < count; i++)
		wrapped += __builtin_add_overflow(sum, list[i].len, &sum);
	return wrapped ? SIZE_MAX : sum;
}

/* The lengths that hf_detail_copy_short() takes. */
#define SHORT_FROM ((size_t)16)
#define SHORT_TO ((size_t)64)

#if HF_ARCH_HAS_REP && HF_HAS_VECTORS
#include "arch/x86_64_list.h"
#else
static inline bool hf_detail_copy_short(char *to, const char *from, size_t len)
{
	(void)to, (void)from, (void)len;
	return false;
}
#endif

static inline bool is_short(size_t len)
{
	return len - SHORT_FROM <= SHORT_TO - SHORT_FROM;
}

/* A position in a list: a range, the next byte in it, and how many of its bytes are left. */
struct place {
	const struct hf_iovec *range;
	char *next;
	size_t left;
};

/* Skips to a range with bytes left, of which there is one. */
static inline void find_byte(struct place *p)
{
	while (!p->left) {
		p->range++;
		p->next = (char *)p->range->base;
		p->left = p->range->len;
	}
}

static inline void advance(struct place *p, size_t len)
{
	p->next += len;
	p->left -= len;
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

/* What hf_copy_nofault() calls, without its check for a sanitizer. */
static inline hf_copy_function_t copy_of_this_cpu(void)
{
	return (hf_copy_function_t)(uintptr_t)hf_atomic64_load_relaxed(&hf_detail_copy);
}

static size_t copy_any(struct place to, struct place from, size_t all, struct place *ends);

/*
 * Copies @all bytes, at least 1. @ends: gets where both lists end, if it is not NULL. Returns the
 * bytes not copied. @short_only: up to the first piece that is not short; the rest by copy_any().
 */
static inline __attribute__((always_inline)) size_t
copy_pieces(struct place to, struct place from, size_t all, struct place *ends, bool short_only)
{
	/* A sanitizer does not see hf_detail_copy_short(). */
	const bool watched = !short_only && hf_detail_has_sanitizer();
	size_t rest = 0;

	do {
		size_t len, missed = 0;

		find_byte(&to); /* while bytes are left, both sides have one */
		find_byte(&from);
		len = to.left < from.left ? to.left : from.left;
		if (watched)
			missed = hf_copy_nofault(to.next, from.next, len);
		else if (HF_UNLIKELY(!is_short(len)) ||
			 HF_UNLIKELY(!hf_detail_copy_short(to.next, from.next, len))) {
			if (short_only)
				return copy_any(to, from, all, ends);
			missed = copy_of_this_cpu()(to.next, from.next, len);
		}
		len -= missed;
		if (HF_UNLIKELY(missed)) { /* the end */
			rest = all - len;
			all = len;
		}
		advance(&to, len);
		advance(&from, len);
		all -= len;
	} while (all);
	if (ends) {
		ends[0] = to;
		ends[1] = from;
	}
	return rest;
}

__attribute__((__noinline__)) static size_t copy_any(struct place to, struct place from, size_t all,
						     struct place *ends)
{
	return copy_pieces(to, from, all, ends, false);
}

/* Where no sanitizer is linked. While all are short it calls nothing, and so saves no register. */
__attribute__((__noinline__)) static size_t
copy_all(const struct hf_iovec *dst, const struct hf_iovec *src, size_t all, struct place *ends)
{
	return copy_pieces(start_of(dst), start_of(src), all, ends, true);
}

static size_t copy_lists(const struct hf_iovec *dst, const struct hf_iovec *src, size_t all,
			 struct place *ends)
{
	if (HF_UNLIKELY(!all))
		return 0;
	if (HF_UNLIKELY(hf_detail_has_sanitizer()))
		return copy_any(start_of(dst), start_of(src), all, ends);
	return copy_all(dst, src, all, ends);
}

/* The same; @stop gets where it stopped. */
__attribute__((__noinline__)) static size_t
copy_and_locate(const struct hf_iovec *dst, size_t dst_count, const struct hf_iovec *src,
		size_t src_count, size_t all, struct hf_iovec_stop *stop)
{
	static const struct hf_iovec none = { NULL, 0 };
	struct place ends[2] = { start_of(dst_count ? dst : &none),
				 start_of(src_count ? src : &none) };
	size_t left = copy_lists(dst, src, all, ends);

	stop->done = all - left;
	stop->dst = range_of(ends[0], dst, dst_count, &stop->dst_offset);
	stop->src = range_of(ends[1], src, src_count, &stop->src_offset);
	hf_detail_wrote(stop, sizeof(*stop));
	return left;
}

long hf_copy_iovec_nofault(const struct hf_iovec *dst, size_t dst_count, const struct hf_iovec *src,
			   size_t src_count, struct hf_iovec_stop *stop)
{
	size_t room = bytes_of(dst, dst_count), all = bytes_of(src, src_count);

	if (HF_UNLIKELY((room | all) > LONG_MAX)) {
		if (stop)
			*stop = (struct hf_iovec_stop){ 0, 0, 0, 0, 0 };
		return -HF_EINVAL;
	}
	if (all > room)
		all = room;
	return (long)(stop ? copy_and_locate(dst, dst_count, src, src_count, all, stop)
			   : copy_lists(dst, src, all, NULL));
}
