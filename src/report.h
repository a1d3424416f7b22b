/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_REPORT_H
#define HF_SRC_REPORT_H
/* report - what the rest of src/ has from report.c beside holdfast/report.h. */
#include "holdfast/report.h"

/* hf_report() of more than a kind and an object. */
void hf__report_details(const struct hf_report_details *details);

/* A line of its own, which is no misuse and is not counted; not in the modes count and quiet. */
void hf__report_note(const char *text);

/* A line for each kind of which more was reported than shown; in the mode warn, without a handler. */
void hf__report_summary(void);

/* In the child of a fork: what was not shown before it is the parent's to say. */
void hf__report_forked(void);

#endif
