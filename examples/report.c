/* SPDX-License-Identifier: MIT */
/*
 * report - what a program can do about misuse that is found.
 */
#include <assert.h>
#include <stdio.h>

#include <holdfast/refcount.h>

struct seen {
	int times;
	enum hf_report_kind kind;
	const void *object;
};

/* As careful as a signal handler: misuse is found inside of locks. */
static void note(enum hf_report_kind kind, const void *object, void *data)
{
	struct seen *seen = data;

	seen->times++;
	seen->kind = kind;
	seen->object = object;
}

int main(void)
{
	hf_refcount_t refs = HF_REFCOUNT_INIT(1);
	struct seen seen = { 0 };

	hf_report_set_handler(note, &seen);
	assert(hf_refcount_dec_and_test(&refs)); /* the last: the object is free now */
	assert(!hf_refcount_dec_and_test(
		&refs)); /* dropped twice: a bug, and not "the last" again */
	assert(seen.times == 1 && seen.kind == HF_REPORT_SUB_UAF && seen.object == &refs);

	hf_refcount_inc(&refs);
	assert(hf_refcount_read(&refs) < 0); /* saturated: it leaks, and is never freed again */
	assert(hf_report_count(HF_REPORT_SUB_UAF) == 1);
	printf("reported once: %s\n", hf_report_text(HF_REPORT_SUB_UAF));

	/* Only counted from here on; the environment can say so too: HOLDFAST_REPORT=count. */
	hf_report_set_mode(HF_REPORT_MODE_COUNT);
	assert(!hf_refcount_dec_and_test(&refs));
	assert(seen.times == 2 && hf_report_count(HF_REPORT_SUB_UAF) == 2);
	return 0;
}
