/* SPDX-License-Identifier: MIT */
/*
 * run_memo - the last stacks of each thread. To unwind takes half a microsecond for each frame, and
 * a program that has a mutex in each message calls init a million times, from the same places.
 *
 * Invariant
 *   A stack that is remembered is the present one if the call is the same, at the same depth of the
 *   thread's stack, and each return address is still in the word where it was: the first one says
 *   which function called, and so how large its frame is and where the next word is; and so on.
 *   (Frames of a size that varies can deceive this, if old words are left in them: then a report
 *   names other callers of the same call.)
 *   Each word is read only after those below it were as expected: so it is in a frame that exists.
 */
#include <string.h>

#include "run.h"

/* NULL = no memory. Not in thread-local memory, which is a part of each thread's stack. */
static struct hf_run_memo *memo_of(const void *caller, const void *frame)
{
	uint64_t key = ((uintptr_t)caller ^ (uintptr_t)frame << 16) * 0x9e3779b97f4a7c15u;
	struct hf_run_thread *me = hf_run_thread();

	return me ? &me->memos[(key >> 32) % HF_RUN_MEMOS] : NULL;
}

bool hf_run_recall(struct hf_detail_stack *stack, const void *caller, const void *frame)
{
	const struct hf_run_memo *memo = memo_of(caller, frame);

	if (!caller || !memo || memo->caller != caller || memo->frame != frame)
		return false;
	for (uint32_t i = 0; i < memo->stack.count; i++) {
		if (*memo->word[i] - 1 != (uintptr_t)memo->stack.frame[i])
			return false;
	}
	*stack = memo->stack;
	return true;
}

/* The highest word below @end that has a return address; NULL = none: it was in a register. */
static const uintptr_t *find_word(uintptr_t start, uintptr_t end, uintptr_t address)
{
	const uintptr_t *at = (const uintptr_t *)end;

	while ((uintptr_t)at > start) {
		if (*--at == address)
			return at;
	}
	return NULL;
}

void hf_run_remember(const struct hf_detail_stack *stack, const uintptr_t *ends, const void *caller,
		     const void *frame)
{
	struct hf_run_memo *memo = memo_of(caller, frame);
	uintptr_t start = (uintptr_t)frame;

	if (!memo)
		return;
	memo->caller = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < stack->count; i++) {
		memo->word[i] = find_word(start, ends[i], (uintptr_t)stack->frame[i] + 1);
		if (!memo->word[i])
			return;
		start = ends[i];
	}
	memo->stack = *stack;
	memo->frame = frame;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memo->caller = caller;
}
