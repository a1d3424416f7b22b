/* SPDX-License-Identifier: MIT */
/*
 * jump - clear, copy and words without sites, for processors that have no folder in arch/.
 *
 * Each operation marks, with sigsetjmp(), where to continue after a fault, and keeps its frontier
 * in memory. The signal handler (handler.c) jumps to the thread's newest mark.
 */
#include "implementation.h"

#if !HF_ARCH_HAS_SITES

#include "handler.h"

#include <setjmp.h>
#include <string.h>

struct hf_detail_mark {
	sigjmp_buf where;
	volatile struct hf_detail_mark *before; /* the mark of the code that a signal interrupted */
	/* The operation's next access is to the byte `*left` bytes before the end of each range. */
	const volatile char *to_end, *from_end; /* NULL = it has one range */
	const volatile size_t *left;
};

/* This thread's newest mark, or NULL. */
static __thread volatile struct hf_detail_mark *volatile hf_detail_mark
	__attribute__((tls_model("initial-exec")));

void hf_detail_jump_to(void *mark)
{
	siglongjmp(((struct hf_detail_mark *)mark)->where, 1);
}

static bool accesses(const volatile struct hf_detail_mark *mark, const volatile char *end,
		     uintptr_t address)
{
	uintptr_t first = (uintptr_t)end - *mark->left, last = first + 7;

	return end &&
	       ((address >= first && address <= last) || address == (first & ~(uintptr_t)4095) ||
		address == (last & ~(uintptr_t)4095));
}

uintptr_t hf_detail_jump_find(bool is_known, uintptr_t address)
{
	volatile struct hf_detail_mark *mark = hf_detail_mark;

	if (mark && is_known && !accesses(mark, mark->to_end, address) &&
	    !accesses(mark, mark->from_end, address))
		mark = NULL;
	return (uintptr_t)mark;
}

/*
 * Runs @statement, with a mark for the accesses to the ends of the two ranges, and @otherwise if it
 * faults. Objects that are used after a fault are volatile.
 */
#define MARKED(to, from, left, statement, otherwise)                                               \
	do {                                                                                       \
		struct hf_detail_mark marked;                                                      \
                                                                                                   \
		marked.before = hf_detail_mark;                                                    \
		marked.to_end = (to);                                                              \
		marked.from_end = (from);                                                          \
		marked.left = &(left);                                                             \
		if (sigsetjmp(marked.where, 0) == 0) {                                             \
			hf_detail_mark = &marked;                                                  \
			statement;                                                                 \
		} else {                                                                           \
			otherwise;                                                                 \
		}                                                                                  \
		hf_detail_mark = marked.before;                                                    \
	} while (0)

/* Without @copies it clears, and @src is not used. */
HF_NO_SANITIZE static size_t set_marked(volatile char *dst, bool copies, const volatile char *src,
					size_t len, size_t wanted)
{
	volatile size_t unit = copies && ((uintptr_t)dst ^ (uintptr_t)src) & (wanted - 1) ? 1
											  : wanted;
	volatile char *volatile to_start = dst;
	const volatile char *volatile from_start = src;
	volatile size_t left = len;

	MARKED(
		dst + len, copies ? src + len : NULL, left,
		{
			volatile char *to = to_start;
			const volatile char *from = from_start;

			for (; left && ((uintptr_t)to & (unit - 1)); left--)
				*to++ = copies ? *from++ : 0;
			for (; unit == 8 && left >= 8; left -= 8, to += 8, from += 8)
				*(volatile hf_detail_w8 *)to =
					copies ? *(const volatile hf_detail_w8 *)from : 0;
			for (; left; left--)
				*to++ = copies ? *from++ : 0;
		},
		(void)0);
	return left;
}

HF_NO_SANITIZE size_t hf_detail_clear_bytes(void *dst, size_t len)
{
	return set_marked((volatile char *)dst, false, NULL, len, 1);
}

HF_NO_SANITIZE size_t hf_detail_copy_bytes(void *dst, const void *src, size_t len)
{
	return set_marked((volatile char *)dst, true, (const volatile char *)src, len, 1);
}

HF_NO_SANITIZE size_t hf_detail_clear_generic(void *dst, size_t len)
{
	return set_marked((volatile char *)dst, false, NULL, len, 8);
}

HF_NO_SANITIZE size_t hf_detail_copy_generic(void *dst, const void *src, size_t len)
{
	return set_marked((volatile char *)dst, true, (const volatile char *)src, len, 8);
}

/* Words: byte by byte if they are unaligned, else one access. */
#define ACCESS(type, to, from) (*(volatile type *)(to) = *(const volatile type *)(from))

HF_NO_SANITIZE static int access_marked(volatile void *to, const volatile void *from,
					unsigned int bytes, const volatile void *shared)
{
	const volatile char *at = (const volatile char *)shared + bytes;
	volatile size_t left = bytes;
	volatile int error = 0;

	if ((uintptr_t)shared & (bytes - 1))
		error = set_marked((volatile char *)to, true, (const volatile char *)from, bytes, 1)
				? -HF_EFAULT
				: 0;
	else if (bytes == 8)
		MARKED(at, NULL, left, ACCESS(hf_detail_w8, to, from), error = -HF_EFAULT);
	else if (bytes == 4)
		MARKED(at, NULL, left, ACCESS(hf_detail_w4, to, from), error = -HF_EFAULT);
	else if (bytes == 2)
		MARKED(at, NULL, left, ACCESS(hf_detail_w2, to, from), error = -HF_EFAULT);
	else
		MARKED(at, NULL, left, ACCESS(hf_detail_w1, to, from), error = -HF_EFAULT);
	return error;
}

int hf_detail_jump_load(void *value, const volatile void *p, unsigned int bytes)
{
	uint64_t read = 0;
	int error = access_marked(&read, p, bytes, p);

	if (!error)
		memcpy(value, &read, bytes);
	return error;
}

int hf_detail_jump_store(volatile void *p, const void *value, unsigned int bytes)
{
	return access_marked(p, value, bytes, p);
}

int hf_detail_jump_cmpxchg(volatile void *p, const void *expected, const void *desired, void *found,
			   unsigned int bytes)
{
	volatile size_t left = bytes;
	volatile int error = 0;

#define CMPXCHG(bits)                                                                              \
	MARKED((const volatile char *)p + bytes, NULL, left,                                       \
	       {                                                                                   \
		       uint##bits##_t old = *(const uint##bits##_t *)expected;                     \
                                                                                                   \
		       (void)hf_atomic##bits##_try_cmpxchg_seq_cst(                                \
			       (hf_atomic##bits##_t *)(uintptr_t)p, &old,                          \
			       *(const uint##bits##_t *)desired);                                  \
		       *(uint##bits##_t *)found = old;                                             \
	       },                                                                                  \
	       error = -HF_EFAULT)

	if (bytes == 4)
		CMPXCHG(32);
	else
		CMPXCHG(64);
	return error;
}

#endif
