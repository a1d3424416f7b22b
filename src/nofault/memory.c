/* SPDX-License-Identifier: MIT */
/*
 * memory - fill, move, compare and find in words of 8 bytes, for any processor; strings; lists of
 * ranges; whole words; the choice of the implementations.
 */
#include <limits.h>

#define HF_DETAIL_SANITIZE_WEAK
#include "memory.h"

#if HF_ARCH_HAS_REP
#include "arch/x86_64_policy.h"
#include "../cpu/cpu.h"
#endif

/* ---- fill --------------------------------------------------------------------------------- */

HF_NO_SANITIZE size_t hf_detail_fill_bytes(void *dst, uint8_t value, size_t len)
{
	hf_detail_w1 *p = (hf_detail_w1 *)dst;

	for (; len; len--, p++)
		HF_ARCH_STORE8_OR(p, value, fault);
fault:
	return len;
}

HF_NO_SANITIZE size_t hf_detail_fill_generic(void *dst, uint8_t value, size_t len)
{
	size_t head = hf_detail_to_multiple(dst, 8, len), left;
	hf_detail_w8 *p = (hf_detail_w8 *)((char *)dst + head);
	uint64_t word = value * HF_DETAIL_ONES;

	left = hf_detail_fill_bytes(dst, value, head);
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
	return hf_detail_fill_bytes(p, value, len);
fault3:
	len -= 8;
fault2:
	len -= 8;
fault1:
	len -= 8;
fault:
	return len;
}

/* ---- move --------------------------------------------------------------------------------- */

/* A copy goes upwards and loads before it stores: that moves to a lower address, too (M1). */
size_t hf_detail_move_up_generic(void *dst, const void *src, size_t len)
{
#if HF_ARCH_HAS_PAIR
	return hf_detail_copy_stp(dst, src, len);
#else
	return hf_detail_copy_generic(dst, src, len);
#endif
}

HF_NO_SANITIZE size_t hf_detail_move_down_bytes(void *dst, const void *src, size_t len)
{
	hf_detail_w1 *to = (hf_detail_w1 *)dst;
	const hf_detail_w1 *from = (const hf_detail_w1 *)src;
	uint8_t byte;

	for (; len; len--) {
		HF_ARCH_LOAD8_OR(byte, from + len - 1, fault);
		HF_ARCH_STORE8_OR(to + len - 1, byte, fault);
	}
fault:
	return len;
}

HF_NO_SANITIZE size_t hf_detail_move_down_generic(void *dst, const void *src, size_t len)
{
	size_t tail = ((uintptr_t)dst + len) & 7, left;
	const char *from = (const char *)src;
	char *to = (char *)dst;
	uint64_t a, b;

	if (tail > len)
		tail = len;
	len -= tail;
	left = hf_detail_move_down_bytes(to + len, from + len, tail);
	if (left)
		return len + left;
	if (!HF_ARCH_UNALIGNED_FAST && (uintptr_t)(from + len) % 8)
		return hf_detail_move_down_bytes(dst, src, len);
	for (; len >= 16; len -= 16) {
		HF_ARCH_LOAD64_OR(a, (const hf_detail_w8 *)(from + len - 8), fault);
		HF_ARCH_LOAD64_OR(b, (const hf_detail_w8 *)(from + len - 16), fault);
		HF_ARCH_STORE64_OR((hf_detail_w8 *)(to + len - 8), a, fault);
		HF_ARCH_STORE64_OR((hf_detail_w8 *)(to + len - 16), b, fault1);
	}
	goto fault;
fault1:
	len -= 8;
fault: /* or the end: move the rest byte by byte, which finds the first bad byte */
	return hf_detail_move_down_bytes(dst, src, len);
}

size_t hf_detail_move_generic(void *dst, const void *src, size_t len)
{
	return hf_move_is_down(dst, src, len) ? hf_detail_move_down_generic(dst, src, len)
					      : hf_detail_move_up_generic(dst, src, len);
}

/* ---- compare ------------------------------------------------------------------------------ */

HF_NO_SANITIZE struct hf_memory_result hf_detail_compare_bytes(const void *a, const void *b,
							       size_t len, size_t at)
{
	const hf_detail_w1 *p = (const hf_detail_w1 *)a, *q = (const hf_detail_w1 *)b;
	uint8_t x, y;

	for (; at < len; at++) {
		HF_ARCH_LOAD8_OR(x, p + at, fault);
		HF_ARCH_LOAD8_OR(y, q + at, fault);
		if (x != y)
			return (struct hf_memory_result){ at, x < y ? -1 : 1 };
	}
	return (struct hf_memory_result){ len, 0 };
fault:
	return (struct hf_memory_result){ at, -HF_EFAULT };
}

/* The bits in which two words differ, @offset bytes from `at` on. */
#define DIFFER_OR(bits, offset, label)                                                             \
	do {                                                                                       \
		uint64_t hf_word;                                                                  \
                                                                                                   \
		HF_ARCH_LOAD64_OR(bits, (const hf_detail_w8 *)(p + at + (offset)), label);         \
		HF_ARCH_LOAD64_OR(hf_word, (const hf_detail_w8 *)(q + at + (offset)), label);      \
		(bits) ^= hf_word;                                                                 \
	} while (0)

HF_NO_SANITIZE struct hf_memory_result hf_detail_compare_generic(const void *a, const void *b,
								 size_t len)
{
	const char *p = (const char *)a, *q = (const char *)b;
	size_t at = hf_detail_to_multiple(a, 8, len);
	struct hf_memory_result head = hf_detail_compare_bytes(a, b, at, 0);
	uint64_t differ, x;

	if (head.result)
		return head;
	if (HF_ARCH_UNALIGNED_FAST || (uintptr_t)(q + at) % 8 == 0) {
		/* Four words at once, up to those with a difference. */
		for (; len - at >= 32; at += 32) {
			DIFFER_OR(differ, 0, bytes);
			DIFFER_OR(x, 8, bytes);
			differ |= x;
			DIFFER_OR(x, 16, bytes);
			differ |= x;
			DIFFER_OR(x, 24, bytes);
			if (differ | x)
				break;
		}
		for (; len - at >= 8; at += 8) {
			DIFFER_OR(differ, 0, bytes);
			if (differ)
				break;
		}
	}
bytes:
	return hf_detail_compare_bytes(a, b, len, at);
}

/* ---- find --------------------------------------------------------------------------------- */

HF_NO_SANITIZE struct hf_memory_result hf_detail_find_bytes(const void *p, uint8_t byte, size_t len,
							    size_t at)
{
	const hf_detail_w1 *s = (const hf_detail_w1 *)p;
	uint8_t found;

	for (; at < len; at++) {
		HF_ARCH_LOAD8_OR(found, s + at, fault);
		if (found == byte)
			return (struct hf_memory_result){ at, 0 };
	}
	return (struct hf_memory_result){ len, -HF_ENOENT };
fault:
	return (struct hf_memory_result){ at, -HF_EFAULT };
}

/* Not 0 if the byte in `all` is in a word, @offset bytes from `at` on. */
#define HITS_OR(bits, offset, label)                                                               \
	do {                                                                                       \
		uint64_t hf_word;                                                                  \
                                                                                                   \
		HF_ARCH_LOAD64_OR(hf_word, (const hf_detail_w8 *)(s + at + (offset)), label);      \
		(bits) = hf_detail_zero_bytes(hf_word ^ all);                                      \
	} while (0)

HF_NO_SANITIZE struct hf_memory_result hf_detail_find_generic(const void *p, uint8_t byte,
							      size_t len)
{
	const char *s = (const char *)p;
	size_t at = hf_detail_to_multiple(p, 8, len);
	struct hf_memory_result head = hf_detail_find_bytes(p, byte, at, 0);
	uint64_t hits, more, all = byte * HF_DETAIL_ONES;

	if (head.result != -HF_ENOENT)
		return head;
	/* Four words at once, up to those with a hit. */
	for (; len - at >= 32; at += 32) {
		HITS_OR(hits, 0, bytes);
		HITS_OR(more, 8, bytes);
		hits |= more;
		HITS_OR(more, 16, bytes);
		hits |= more;
		HITS_OR(more, 24, bytes);
		if (hits | more)
			break;
	}
	for (; len - at >= 8; at += 8) {
		HITS_OR(hits, 0, bytes);
		if (hits)
			break;
	}
bytes:
	return hf_detail_find_bytes(p, byte, len, at);
}

/* ---- strings ------------------------------------------------------------------------------ */

HF_NO_SANITIZE static long copy_string(size_t *copied, char *dst, const char *src, size_t size)
{
	size_t done = 0;
	uint64_t word;
	uint8_t byte = 0;

	for (; done < size; done++) {
		/* Aligned words: the one with the string's end does not reach into another page. */
		while (((uintptr_t)(src + done)) % 8 == 0 && size - done >= 8) {
			if (hf_arch_load64_nofault(&word, src + done))
				return -HF_EFAULT;
			if (hf_detail_zero_bytes(word))
				break;
			if (hf_copy_nofault(dst + done, &word, 8)) /* exact, on two pages too */
				return -HF_EFAULT;
			done += 8;
			*copied = done;
		}
		if (done == size)
			break;
		if (hf_arch_load8_nofault(&byte, src + done) ||
		    hf_arch_store8_nofault(dst + done, byte))
			return -HF_EFAULT;
		*copied = done + 1;
		if (!byte)
			return (long)done;
	}
	return (long)size;
}

long hf_strncpy_nofault(char *dst, const char *src, size_t size)
{
	size_t copied = 0;
	long result = copy_string(&copied, dst, src, size);

	/* After the copy: before it the length was not known. */
	hf_detail_touch(HF_DETAIL_OPERATION(hf_strncpy_nofault), src, copied, dst, copied);
	hf_detail_touched(HF_DETAIL_OPERATION(hf_strncpy_nofault), dst, copied);
	return result;
}

/* ---- lists of ranges ---------------------------------------------------------------------- */

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

/* ---- whole words -------------------------------------------------------------------------- */

HF_NO_SANITIZE size_t hf_detail_copy_words_generic(void *dst, const void *src, size_t words)
{
	hf_detail_w8 *to = (hf_detail_w8 *)dst;
	const hf_detail_w8 *from = (const hf_detail_w8 *)src;
	uint64_t a, b, c, d;

	for (; words >= 4; words -= 4, to += 4, from += 4) {
		HF_ARCH_LOAD64_OR(a, from, one_by_one);
		HF_ARCH_LOAD64_OR(b, from + 1, one_by_one);
		HF_ARCH_LOAD64_OR(c, from + 2, one_by_one);
		HF_ARCH_LOAD64_OR(d, from + 3, one_by_one);
		HF_ARCH_STORE64_OR(to, a, fault);
		HF_ARCH_STORE64_OR(to + 1, b, fault1);
		HF_ARCH_STORE64_OR(to + 2, c, fault2);
		HF_ARCH_STORE64_OR(to + 3, d, fault3);
	}
one_by_one:
	for (; words; words--, to++, from++) {
		HF_ARCH_LOAD64_OR(a, from, fault);
		HF_ARCH_STORE64_OR(to, a, fault);
	}
	return 0;
fault3:
	words--;
fault2:
	words--;
fault1:
	words--;
fault:
	return words;
}

/* Chosen for this processor at the start, unless a sanitizer is linked. */
static size_t copy_words_checked(void *dst, const void *src, size_t words);
static hf_atomic64_t words_function = HF_ATOMIC_INIT((uintptr_t)copy_words_checked);

static hf_copy_function_t words_of_this_cpu(void)
{
#if HF_ARCH_HAS_REP && HF_HAS_VECTORS
	struct hf_detail_cpu cpu = hf_detail_cpu_known();

	/* AVX2 implies AVX. */
	if (cpu.features & HF_DETAIL_CPU_AVX2)
		return hf_detail_copy_pairs_avx;
#endif
	return hf_detail_copy_words_generic;
}

/* Used before the start, and where a sanitizer is linked. */
__attribute__((__noinline__)) static size_t copy_words_checked(void *dst, const void *src,
							       size_t words)
{
	size_t len = words > SIZE_MAX / 8 ? SIZE_MAX : words * 8, left;

	hf_detail_touch(HF_DETAIL_OPERATION(hf_copy_nofault_words), src, len, dst, len);
	left = words_of_this_cpu()(dst, src, words);
	hf_detail_touched(HF_DETAIL_OPERATION(hf_copy_nofault_words), dst, (words - left) * 8);
	return left;
}

size_t hf_copy_nofault_words(void *dst, const void *src, size_t words)
{
	uint64_t function = hf_atomic64_load_relaxed(&words_function);

	if (HF_UNLIKELY(((uintptr_t)dst | (uintptr_t)src) % 8))
		return words;
	return ((hf_copy_function_t)(uintptr_t)function)(dst, src, words);
}

/* ---- which implementation ----------------------------------------------------------------- */

struct hf_detail_memory_functions hf_detail_memory = {
	HF_ATOMIC_INIT((uintptr_t)hf_detail_fill_generic),
	HF_ATOMIC_INIT((uintptr_t)hf_detail_move_generic),
	HF_ATOMIC_INIT((uintptr_t)hf_detail_compare_generic),
	HF_ATOMIC_INIT((uintptr_t)hf_detail_find_generic),
};

void hf_detail_memory_use(hf_fill_function_t fill, hf_copy_function_t move,
			  hf_compare_function_t compare, hf_find_function_t find)
{
	hf_atomic64_store_relaxed(&hf_detail_memory.fill, (uintptr_t)fill);
	hf_atomic64_store_relaxed(&hf_detail_memory.move, (uintptr_t)move);
	hf_atomic64_store_relaxed(&hf_detail_memory.compare, (uintptr_t)compare);
	hf_atomic64_store_relaxed(&hf_detail_memory.find, (uintptr_t)find);
}

/* By the same policy as clear and copy: arch/x86_64_policy.c. */
void hf_detail_memory_start(void)
{
	if (!hf_detail_has_sanitizer())
		hf_atomic64_store_relaxed(&words_function, (uintptr_t)words_of_this_cpu());
#if HF_ARCH_HAS_REP
	struct hf_detail_cpu cpu = hf_detail_cpu_known();

	enum hf_detail_vectors vectors = hf_detail_policy_of(&cpu).clear;

	if (vectors == HF_DETAIL_VECTORS_SSE2)
		hf_detail_memory_use(hf_detail_fill_sse2, hf_detail_move_sse2,
				     hf_detail_compare_sse2, hf_detail_find_sse2);
	else if (vectors == HF_DETAIL_VECTORS_AVX2)
		hf_detail_memory_use(hf_detail_fill_avx2, hf_detail_move_avx2,
				     hf_detail_compare_avx2, hf_detail_find_avx2);
	else /* a move gains nothing from wider stores */
		hf_detail_memory_use(hf_detail_fill_avx512, hf_detail_move_avx2,
				     hf_detail_compare_avx512, hf_detail_find_avx512);
#else
	hf_detail_memory_use(hf_detail_fill_generic, hf_detail_move_generic,
			     hf_detail_compare_generic, hf_detail_find_generic);
#endif
}
