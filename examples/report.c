/* SPDX-License-Identifier: MIT */
/*
 * report - if a reference is dropped once too often, the misuse is reported, the object is not
 * freed again, and the program continues. By default a report is one line on standard error:
 *
 *   holdfast: 0x55d0c0ffee00: refcount: underflow; use after free; at 0x55d0b06412b3 (/app+0x12b3)
 *
 * With the environment variable HOLDFAST_REPORT=abort the program aborts there, for a debugger. A
 * program can also handle reports itself, as this one does.
 */
#include <stdio.h>

#include <holdfast/refcount.h>
#include <holdfast/report.h>

#include "must.h"

struct log {
	unsigned int entries;
	const void *site;
	enum hf_report_kind kind;
	const void *object;
};

/*
 * May be called by any thread, even inside of a lock or a signal handler, so it only stores the
 * details. `data` is the argument of hf_report_set_details_handler().
 */
static void take_note(const struct hf_report_details *details, void *data)
{
	struct log *log = data;

	log->entries++;
	log->kind = details->kind;
	log->object = details->object;
	log->site = details->site; /* for dladdr() or addr2line */
}

int main(void)
{
	struct log log = { 0, NULL, HF_REPORT_KINDS, NULL };
	hf_refcount_t refs = HF_REFCOUNT_INIT(1);

	(void)hf_report_set_mode(HF_REPORT_MODE_WARN); /* whatever the environment says */
	hf_report_set_details_handler(take_note, &log);

	must(hf_refcount_dec_and_test(&refs)); /* the last reference: free the object here */
	must(log.entries == 0);
	must(!hf_refcount_dec_and_test(&refs)); /* once too often: the object is not freed again */
	must(log.entries == 1);
	must(log.kind == HF_REPORT_SUB_UAF && log.object == &refs && log.site);
	printf("reported once: \"%s\"\n", hf_report_text(log.kind));

	/*
	 * The count is saturated now and the object leaks; any further operation reports
	 * SATURATED.
	 */
	must(!hf_refcount_dec_and_test(&refs));
	must(log.entries == 2 && log.kind == HF_REPORT_SATURATED);

	/* Each kind is reported once; from then on it is only counted. */
	hf_refcount_set(&refs, 0);
	must(!hf_refcount_dec_and_test(&refs));
	must(log.entries == 2);
	must(hf_report_count(HF_REPORT_SUB_UAF) == 2);
	printf("counted: %u\n", (unsigned int)hf_report_count(HF_REPORT_SUB_UAF));

	hf_report_set_handler(NULL, NULL); /* back to the line on standard error */
	return 0;
}
