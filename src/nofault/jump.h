/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_NOFAULT_JUMP_H
#define HF_SRC_NOFAULT_JUMP_H
/* jump - the marks that the signal handler jumps to where there are no sites. */
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "holdfast/internal/arch_access.h"

#if !HF_ARCH_HAS_SITES

struct hf_detail_mark {
	sigjmp_buf where;
	volatile struct hf_detail_mark *before; /* the mark of the code that a signal interrupted */
	/* The operation's next access is to the byte `*left` bytes before the end of each range. */
	const volatile char *to_end, *from_end; /* NULL = it has one range */
	const volatile size_t *left;
};

/* This thread's newest mark, or NULL. */
extern __thread volatile struct hf_detail_mark *volatile hf_detail_mark
	__attribute__((tls_model("initial-exec")));

/*
 * Is a fault at this address the marked operation's (F3 of nofault_handler.h)? If not, it is that
 * of a signal handler that has interrupted it. Where an address is that of the first byte of its
 * page (s390x), the page must be the operation's.
 */
static inline bool hf_detail_mark_accesses(const volatile struct hf_detail_mark *mark,
					   uintptr_t address)
{
	const uintptr_t ends[] = { (uintptr_t)mark->to_end, (uintptr_t)mark->from_end };

	for (int i = 0; i < 2; i++) {
		uintptr_t first = ends[i] - *mark->left, last = first + 7;

		if (ends[i] &&
		    ((address >= first && address <= last) ||
		     address == (first & ~(uintptr_t)4095) || address == (last & ~(uintptr_t)4095)))
			return true;
	}
	return false;
}

#endif /* !HF_ARCH_HAS_SITES */

#endif
