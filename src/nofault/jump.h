/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_NOFAULT_JUMP_H
#define HF_SRC_NOFAULT_JUMP_H
/* jump - the marks that the signal handler jumps to where there are no sites. */
#include <setjmp.h>

struct hf_detail_mark {
	sigjmp_buf where;
	volatile struct hf_detail_mark *before; /* the mark of the code that a signal interrupted */
};

/* This thread's newest mark, or NULL. */
extern __thread volatile struct hf_detail_mark *volatile hf_detail_mark
	__attribute__((tls_model("initial-exec")));

#endif
