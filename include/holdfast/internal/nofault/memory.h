/* SPDX-License-Identifier: MIT */
#ifndef HF_NOFAULT_MEMORY_H
#define HF_NOFAULT_MEMORY_H
#pragma GCC system_header
/*
 * memory - what the C library has for memory, for memory that may fault: fill, move, compare, find;
 * and copies between lists of ranges and by whole words.
 *
 * Use when / not when
 *   As nofault.h, which includes this. A search or a comparison of memory that changes meanwhile is
 *   right for bytes that were there, each at some moment.
 *
 * Verbs
 *   hf_fill_nofault                      memset:  returns the bytes NOT done
 *   hf_move_nofault                      memmove: returns the bytes NOT done
 *   hf_compare_nofault                   memcmp:  -1, 0, 1 or -EFAULT, and how many are equal
 *   hf_find_nofault, hf_length_nofault   memchr, strnlen: 0, -ENOENT or -EFAULT, and where
 *   hf_copy_iovec_nofault                between lists of ranges, as readv() and writev() have them
 *   hf_copy_nofault_words                words of 8 bytes, each by one access
 *
 * Example  examples/nofault_scan.c
 *
 * State
 *   What is known after a fault, with k bytes done or searched:
 *
 *        fill, copies       [ done: k |  not touched      ]    returned: n - k
 *        compare, find      [ k       | ...               ]    the byte at k is the first that differs
 *                                                              or is found, or can't be read
 *        move upwards       [ done: k |  not touched      ]    dst at or below src, or apart from it
 *        move downwards     [ not touched       | done: k ]    dst above src, and they overlap
 *
 * Invariants
 *   F1 of nofault.h holds for all: the counts are exact to the byte. And
 *   M1  A move loses nothing: what of the source was not moved is still there after a fault. So it
 *       goes downwards where memmove() must, and its destination is then right at its end.
 *   M2  A search or a comparison that has its answer before the first byte that can't be read
 *       returns the answer, and no fault.
 *   M3  Nothing outside of the ranges is read or written.
 *
 * Ordering
 *   none for all.
 *
 * Inside a Linux kernel there are none of these.
 *
 * Source   docs/design/0024-memory-verbs.md
 */
#include "dispatch.h"

#if !HF_ENV_HAS_CLEAR

/* Not found: Linux's ENOENT, on every processor and world. */
#define HF_ENOENT 2

/* What a search or a comparison returns, in two registers. */
struct hf_memory_result {
	size_t at;
	long result;
};

/* One implementation of all: of `move` where the ranges overlap; elsewhere it is a copy. */
struct hf_memory_implementation {
	const char *name;
	size_t (*fill)(void *dst, uint8_t value, size_t len);
	size_t (*move)(void *dst, const void *src, size_t len);
	struct hf_memory_result (*compare)(const void *a, const void *b, size_t len);
	struct hf_memory_result (*find)(const void *p, uint8_t byte, size_t len);
	bool (*is_legal)(void); /* on this processor? */
};

HF_BEGIN_DECLS

/* The addresses of the functions in use; generic ones until the library has started. */
struct hf_detail_memory_functions {
	hf_atomic64_t fill, move, compare, find;
};

extern struct hf_detail_memory_functions hf_detail_memory HF_API_EACH;

/**
 * hf_memory_implementations - all that were built for this processor
 * @count: is set to their number
 *
 * Context:  any thread
 * Ordering: none
 * Return:   an array, legal here or not
 */
const struct hf_memory_implementation *hf_memory_implementations(size_t *count) HF_API_EACH;

/**
 * hf_memory_choose - use this implementation of fill, move, compare and find from now on
 * @name: as in the list, or NULL or "default" for what suits this processor
 *
 * Context:  any thread; one at a time
 * Ordering: none: calls under way end with the one before
 * Errors:   -EINVAL (22): no such name; -ENOTSUP (95): this processor can't run it
 * Return:   0, or an error, and nothing is changed
 */
int hf_memory_choose(const char *name) HF_API_EACH;

/**
 * hf_memory_chosen - the name of the implementation in use
 *
 * Context:  any thread
 * Ordering: none
 * Return:   a constant string, never NULL
 */
const char *hf_memory_chosen(void) HF_API_EACH;

HF_END_DECLS

/* ---- fill and move ------------------------------------------------------------------------ */

/**
 * hf_fill_nofault - set memory that may fault to one value
 * @dst:   start, any alignment
 * @value: of each byte
 * @len:   bytes
 *
 * Context:  any thread; needs hf_nofault_install() or hf_nofault_handle()
 * Ordering: none
 * Errors:   never traps; stops at the first byte that can't be written
 * Return:   bytes NOT filled; 0 = all done
 */
HF_INLINE HF_MUST_CHECK size_t hf_fill_nofault(void *dst, uint8_t value, size_t len)
{
	typedef size_t (*function_t)(void *, uint8_t, size_t);

	return ((function_t)(uintptr_t)hf_atomic64_load_relaxed(&hf_detail_memory.fill))(dst, value,
											 len);
}

/**
 * hf_move_is_down - does a move of this range go downwards, from its last byte to its first?
 * @dst, @src, @len: as hf_move_nofault() is given them
 *
 * Context:  any
 * Ordering: none
 * Return:   true: dst is above src, and they overlap
 */
HF_INLINE bool hf_move_is_down(const void *dst, const void *src, size_t len)
{
	return (uintptr_t)dst > (uintptr_t)src && (uintptr_t)dst - (uintptr_t)src < len;
}

/**
 * hf_move_nofault - copy memory, where either side may fault and the two may overlap
 * @dst: start, any alignment
 * @src: start, any alignment
 * @len: bytes
 *
 * After a fault with `left` bytes not done, and `done` = len - left:
 *
 *   upwards     the first `done` bytes of dst are right. To go on: (dst + done, src + done, left)
 *   downwards   (hf_move_is_down()) the last `done` bytes of dst are right, and the first `left` of
 *               src still what they were. To go on: (dst, src, left)
 *
 * Context:  as hf_fill_nofault()
 * Ordering: none
 * Errors:   never traps; stops at the first byte, in its direction, that can't be read or written.
 *           A range that goes past the last address has no last byte: downwards nothing is moved
 * Return:   bytes NOT moved; 0 = all done
 */
HF_INLINE HF_MUST_CHECK size_t hf_move_nofault(void *dst, const void *src, size_t len)
{
	typedef size_t (*function_t)(void *, const void *, size_t);
	uintptr_t above = (uintptr_t)dst - (uintptr_t)src;

	if (HF_LIKELY(above >= len && -above >= len))
		return hf_detail_dispatch_copy(dst, src, len);
	if (HF_UNLIKELY(len > -(uintptr_t)dst && hf_move_is_down(dst, src, len)))
		return len;
	return ((function_t)(uintptr_t)hf_atomic64_load_relaxed(&hf_detail_memory.move))(dst, src,
											 len);
}

/* ---- compare and find --------------------------------------------------------------------- */

/**
 * hf_compare_nofault - compare memory, and either side may fault
 * @a, @b:  start of each side, any alignment
 * @len:    bytes
 * @equal:  gets the number of equal bytes at the start: where the first one is that differs, or that
 *          can't be read; len if there is none
 *
 * Context:  as hf_fill_nofault()
 * Ordering: none
 * Errors:   -EFAULT (14): all bytes before a fault are equal
 * Return:   0: all are equal; -1 or 1: the first that differs is less, or greater, in `a`, as an
 *           unsigned number; or the error, which is to be looked for before the sign
 */
HF_INLINE HF_MUST_CHECK int hf_compare_nofault(const void *a, const void *b, size_t len,
					       size_t *equal)
{
	typedef struct hf_memory_result (*function_t)(const void *, const void *, size_t);
	function_t function =
		(function_t)(uintptr_t)hf_atomic64_load_relaxed(&hf_detail_memory.compare);
	struct hf_memory_result r = function(a, b, len);

	*equal = r.at;
	return (int)r.result;
}

/**
 * hf_find_nofault - look for a byte in memory that may fault
 * @p:    start, any alignment
 * @byte: what is looked for
 * @len:  bytes
 * @at:   gets the number of bytes before the first that is found, or that can't be read; len if
 *        there is none
 *
 * Context:  as hf_fill_nofault()
 * Ordering: none
 * Errors:   -ENOENT (2): it is not there; -EFAULT (14): it is not before the fault
 * Return:   0: it is at p + *at; or an error
 */
HF_INLINE HF_MUST_CHECK int hf_find_nofault(const void *p, uint8_t byte, size_t len, size_t *at)
{
	typedef struct hf_memory_result (*function_t)(const void *, uint8_t, size_t);
	function_t function =
		(function_t)(uintptr_t)hf_atomic64_load_relaxed(&hf_detail_memory.find);
	struct hf_memory_result r = function(p, byte, len);

	*at = r.at;
	return (int)r.result;
}

/**
 * hf_length_nofault - the length of a string that may fault
 * @string: start, any alignment
 * @most:   bytes to look at
 * @length: gets the number of bytes before the terminating 0, or before the first byte that can't be
 *          read; `most` if there is neither
 *
 * Context:  as hf_fill_nofault()
 * Ordering: none
 * Errors:   -ENOENT (2): no 0 in the first `most` bytes; -EFAULT (14): none before the fault
 * Return:   0, or an error
 */
HF_INLINE HF_MUST_CHECK int hf_length_nofault(const char *string, size_t most, size_t *length)
{
	return hf_find_nofault(string, 0, most, length);
}

/* ---- lists of ranges, whole words --------------------------------------------------------- */

/* One range. Its layout is that of POSIX's struct iovec: a pointer to such may be cast. */
struct hf_iovec {
	void *base;
	size_t len;
} HF_MAY_ALIAS;

/*
 * Where a copy between lists stopped. Each side: the range and the bytes in it that are before the
 * first byte not done, which is in that range; the number of ranges and 0, if none is left.
 */
struct hf_iovec_stop {
	size_t done; /* bytes copied */
	size_t dst, dst_offset;
	size_t src, src_offset;
};

HF_BEGIN_DECLS

/**
 * hf_copy_iovec_nofault - copy from a list of ranges to another; the ranges may fault, the lists not
 * @dst, @dst_count: where to; ranges of 0 bytes are skipped
 * @src, @src_count: where from; must not overlap the destination
 * @stop:            gets where it stopped; or NULL
 *
 * As many bytes as the shorter list has. hf_nofault_last() has the address that faulted, and so tells
 * which side it was.
 *
 * Context:  as hf_fill_nofault()
 * Ordering: none
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
 * Each word is read once and written once, by one access each: none is torn. Nothing orders one word
 * before another.
 *
 * Context:  as hf_fill_nofault()
 * Ordering: none
 * Errors:   never traps; stops at the first word that can't be read or written; does nothing if a
 *           side is not aligned
 * Return:   WORDS not copied; 0 = all done
 */
HF_MUST_CHECK size_t hf_copy_nofault_words(void *dst, const void *src, size_t words) HF_API_EACH;

HF_END_DECLS

#ifdef __cplusplus
/* Over whatever has data() and size(), as those at the end of nofault.h. */
HF_BEGIN_CXX

template <class T>
[[nodiscard]] inline size_t hf_detail_fill_objects(T *objects, size_t count, uint8_t value)
{
	static_assert(__is_trivially_copyable(T), "such bytes need not be a valid object");
	return hf_fill_nofault(objects, value, count * sizeof(T));
}

template <class T>
[[nodiscard]] inline size_t hf_detail_copy_words(T *to, size_t room, const T *from, size_t count)
{
	static_assert(__is_trivially_copyable(T) && sizeof(T) == 8, "words of 8 bytes");
	size_t fit = count < room ? count : room;

	return hf_copy_nofault_words(to, from, fit) + (count - fit);
}

/* fill_nofault - hf_fill_nofault() of a whole span. Returns the BYTES not filled. */
template <class Span>
[[nodiscard]] inline size_t fill_nofault(Span &&span, uint8_t value)
{
	return hf_detail_fill_objects(span.data(), span.size(), value);
}

/*
 * copy_nofault_words - hf_copy_nofault_words() of the whole of `from`, which has elements of the same
 * type, of 8 bytes. Returns the WORDS of it not copied; what `to` has no room for is never copied.
 */
template <class To, class From>
[[nodiscard]] inline size_t copy_nofault_words(To &&to, const From &from)
{
	return hf_detail_copy_words(to.data(), to.size(), from.data(), from.size());
}

HF_END_CXX
#endif

#endif /* !HF_ENV_HAS_CLEAR */
#endif
