/* SPDX-License-Identifier: MIT */
#ifndef HF_NOFAULT_MEMORY_H
#define HF_NOFAULT_MEMORY_H
#pragma GCC system_header
/*
 * nofault_memory - fill, move, compare and search memory that may fault; copy lists of ranges, and
 * arrays of words.
 *
 * Use when / not when
 *   As nofault_copy.h, for the rest of <string.h> and for what readv() takes. Only in user space:
 *   inside a Linux kernel this header is empty.
 *
 * Operations
 *   hf_fill_nofault                      memset:  returns the bytes NOT done
 *   hf_move_nofault                      memmove: returns the bytes NOT done
 *   hf_compare_nofault                   memcmp:  -1, 0, 1 or -EFAULT, and how many are equal
 *   hf_find_nofault, hf_length_nofault   memchr, strnlen: 0, -ENOENT or -EFAULT, and where
 *   hf_copy_iovec_nofault                between lists of ranges, like those of readv() and
 *                                        writev()
 *   hf_copy_nofault_words                words of 8 bytes, each by one access
 *   hf::fill_nofault, hf::copy_nofault_words   C++: of std::span, std::vector, std::array ...
 *
 * Example  examples/nofault_scan.c
 *
 * Invariants (a fault is exact: F1 of nofault_copy.h)
 *   M1  A move loses nothing: after a fault, the part of the source that was not moved is
 *       unchanged. So it goes downwards where memmove() must, if dst is above src and they overlap,
 *       and then the end of the destination is right.
 *   M2  A search or a comparison whose answer lies before the first byte that can't be read returns
 *       the answer, not a fault. If the memory changes meanwhile, each byte is one that was there
 *       at some moment during the call.
 *
 * Arguments
 *   dst, src   start, any alignment
 *   len        bytes
 *
 * Context    as hf_copy_nofault()
 * Ordering   none
 *
 * Source   docs/design/0024-memory-verbs.md
 */
#include "nofault_copy.h"

#if !HF_ENV_HAS_CLEAR

/* The result of a search or a comparison, returned in two registers. */
struct hf_memory_result {
	size_t at;
	long result;
};

/* The functions that these operations call on this processor. */
typedef size_t (*hf_fill_function_t)(void *dst, uint8_t value, size_t len);
typedef struct hf_memory_result (*hf_compare_function_t)(const void *a, const void *b, size_t len);
typedef struct hf_memory_result (*hf_find_function_t)(const void *p, uint8_t byte, size_t len);

/* The addresses of the functions in use; of `move` where the ranges overlap. */
struct hf_detail_memory_functions {
	hf_atomic64_t fill, move, compare, find;
};

HF_BEGIN_DECLS

/* Set as hf_detail_copy is. */
extern struct hf_detail_memory_functions hf_detail_memory HF_API_EACH;

HF_END_DECLS

/**
 * hf_fill_nofault - set each byte of memory that may fault to a value
 * @value: the value of a byte
 *
 * Errors:   never traps; stops at the first byte that can't be written
 * Return:   bytes NOT filled; 0 = all done
 */
HF_INLINE HF_MUST_CHECK size_t hf_fill_nofault(void *dst, uint8_t value, size_t len)
{
	uint64_t function = hf_atomic64_load_relaxed(&hf_detail_memory.fill);
	size_t left;

	hf_detail_writes(dst, len);
	left = ((hf_fill_function_t)(uintptr_t)function)(dst, value, len);
	hf_detail_wrote(dst, len - left);
	return left;
}

/**
 * hf_move_is_down - does a move of this range go downwards, from its last byte to its first?
 *
 * Return:   true: dst is above src, and they overlap
 */
HF_INLINE bool hf_move_is_down(const void *dst, const void *src, size_t len)
{
	return (uintptr_t)dst > (uintptr_t)src && (uintptr_t)dst - (uintptr_t)src < len;
}

/**
 * hf_move_nofault - copy memory, where either side may fault and the two may overlap
 *
 * After a fault with `left` bytes not done the first len - left of dst are right; downwards
 * (hf_move_is_down()) the last ones, and then the first `left` of src are unchanged: M1.
 *
 * Errors:   never traps; stops at the first byte, in its direction, that can't be read or written.
 *           A range that goes past the last address has no last byte: downwards nothing is moved
 * Return:   bytes NOT moved; 0 = all done
 */
HF_INLINE HF_MUST_CHECK size_t hf_move_nofault(void *dst, const void *src, size_t len)
{
	uintptr_t above = (uintptr_t)dst - (uintptr_t)src;
	uint64_t function;
	size_t left;

	if (HF_LIKELY(above >= len && -above >= len))
		return hf_copy_nofault(dst, src, len);
	if (HF_UNLIKELY(len > -(uintptr_t)dst && hf_move_is_down(dst, src, len)))
		return len;
	function = hf_atomic64_load_relaxed(&hf_detail_memory.move);
	hf_detail_reads(src, len);
	hf_detail_writes(dst, len);
	left = ((hf_copy_function_t)(uintptr_t)function)(dst, src, len);
	hf_detail_wrote((char *)dst + (hf_move_is_down(dst, src, len) ? left : 0), len - left);
	return left;
}

/* Not found: Linux's ENOENT, on every processor and in every environment. */
#define HF_ENOENT 2

/* ---- compare and find --------------------------------------------------------------------- */

/**
 * hf_compare_nofault - compare memory, and either side may fault
 * @a, @b:  start of each side, any alignment
 * @equal:  gets the number of equal bytes at the start: the offset of the first byte that differs
 *          or can't be read; len if there is none
 *
 * Errors:   -EFAULT (14): all bytes before a fault are equal
 * Return:   0: all are equal; -1 or 1: the first byte that differs is less, or greater, in `a`
 *           (unsigned); or the error: check for it before the sign
 */
HF_INLINE HF_MUST_CHECK int hf_compare_nofault(const void *a, const void *b, size_t len,
					       size_t *equal)
{
	uint64_t function = hf_atomic64_load_relaxed(&hf_detail_memory.compare);
	struct hf_memory_result r = ((hf_compare_function_t)(uintptr_t)function)(a, b, len);

	/* After the call, since it reads no further than its answer. */
	hf_detail_reads(a, r.at + (r.result * r.result == 1));
	hf_detail_reads(b, r.at + (r.result * r.result == 1));
	*equal = r.at;
	return (int)r.result;
}

/**
 * hf_find_nofault - look for a byte in memory that may fault
 * @p:    start, any alignment
 * @byte: the byte to find
 * @at:   gets the offset of the first such byte, or of the first that can't be read; len if there
 *        is none
 *
 * Errors:   -ENOENT (2): not found; -EFAULT (14): not found before the fault
 * Return:   0: found at p + *at; or an error
 */
HF_INLINE HF_MUST_CHECK int hf_find_nofault(const void *p, uint8_t byte, size_t len, size_t *at)
{
	uint64_t function = hf_atomic64_load_relaxed(&hf_detail_memory.find);
	struct hf_memory_result r = ((hf_find_function_t)(uintptr_t)function)(p, byte, len);

	hf_detail_reads(p, r.at + (r.result == 0)); /* as above */
	*at = r.at;
	return (int)r.result;
}

/**
 * hf_length_nofault - the length of a string that may fault
 * @string: start, any alignment
 * @most:   the most bytes to search
 * @length: gets the number of bytes before the terminating 0, or before the first byte that
 *          can't be read; `most` if there is neither
 *
 * Errors:   -ENOENT (2): no 0 in the first `most` bytes; -EFAULT (14): none before the fault
 * Return:   0, or an error
 */
HF_INLINE HF_MUST_CHECK int hf_length_nofault(const char *string, size_t most, size_t *length)
{
	return hf_find_nofault(string, 0, most, length);
}

/* ---- lists of ranges, whole words --------------------------------------------------------- */

/* One range, with the layout of POSIX's struct iovec, so a pointer to one may be cast. */
struct hf_iovec {
	void *base;
	size_t len;
} HF_MAY_ALIAS;

/* Where a copy between lists stopped: ranges used, and the offset in the one after them. */
struct hf_iovec_stop {
	size_t done; /* bytes copied */
	size_t dst, dst_offset;
	size_t src, src_offset;
};

HF_BEGIN_DECLS

/**
 * hf_copy_iovec_nofault - copy between lists of ranges, which may fault; the lists must not
 * @dst, @dst_count: the destination; ranges of 0 bytes are skipped
 * @src, @src_count: the source; must not overlap the destination
 * @stop:            gets where it stopped; or NULL
 *
 * Copies as many bytes as the shorter list has. hf_nofault_last() returns the address that faulted,
 * and so the side.
 *
 * Errors:   never traps; stops at the first byte that can't be read, or can't be written;
 *           -EINVAL (22): the lengths of a list add up to more than LONG_MAX, as for readv(), and
 *           nothing was copied
 * Return:   bytes NOT copied; 0 = all done; or the error
 */
HF_MUST_CHECK long hf_copy_iovec_nofault(const struct hf_iovec *dst, size_t dst_count,
					 const struct hf_iovec *src, size_t src_count,
					 struct hf_iovec_stop *stop) HF_API_EACH;

/**
 * hf_copy_nofault_words - copy words of 8 bytes that others may write or read at the same time
 * @dst, @src: aligned to 8; must not overlap
 * @words:     of 8 bytes
 *
 * No word is torn: each is read and written by one access, which may cover two aligned words. The
 * words are not ordered among each other.
 *
 * Errors:   never traps; stops at the first word that can't be read or written; does nothing if a
 *           side is not aligned
 * Return:   WORDS not copied; 0 = all done
 */
HF_MUST_CHECK size_t hf_copy_nofault_words(void *dst, const void *src, size_t words) HF_API_EACH;

HF_END_DECLS

#ifdef __cplusplus
/* The same for any type with data() and size(). */
HF_BEGIN_CXX

/* fill_nofault - hf_fill_nofault() of a whole span. Returns the BYTES not filled. */
template <class Span>
[[nodiscard]] inline size_t fill_nofault(Span &&span, uint8_t value)
{
	static_assert(__is_trivially_copyable(__typeof__(*span.data())), "it may not be valid");
	return hf_fill_nofault(span.data(), value, span.size() * sizeof(*span.data()));
}

/* copy_nofault_words - the same, in WORDS; those without room in `to` count as not copied. */
template <class To, class From>
[[nodiscard]] inline size_t copy_nofault_words(To &&to, const From &from)
{
	static_assert(__is_trivially_copyable(__typeof__(*to.data())) && sizeof(*to.data()) == 8,
		      "words of 8 bytes");
	const __typeof__(*to.data()) *source = from.data(); /* of the same type */
	size_t fit = from.size() < to.size() ? from.size() : to.size();

	return hf_copy_nofault_words(to.data(), source, fit) + (from.size() - fit);
}
HF_END_CXX
#endif

#endif /* !HF_ENV_HAS_CLEAR */

#endif
