// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * reports - the first misuse of each kind causes a kernel warning with the object's address. run.py
 * checks that the warning announced here appears.
 */
#include "holdfast/refcount.h"

#include "test.h"

void reports_test(void)
{
	static hf_refcount_t object;

	hf_report_reset();
	hf_refcount_set(&object, 0);
	test_say("holdfast: expect holdfast: 0x%lx: refcount: addition on 0; use after free",
		 (unsigned long)&object);
	hf_refcount_inc(&object); /* warns */
	hf_refcount_set(&object, 0);
	hf_refcount_inc(&object); /* counts */
	test_case(hf_report_count(HF_REPORT_ADD_UAF) == 2 &&
			  hf_refcount_read(&object) == HF_REFCOUNT_SATURATED,
		  "reports.once", "reported %u times", hf_report_count(HF_REPORT_ADD_UAF));
	hf_report_reset();
}
