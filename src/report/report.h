/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_REPORT_H
#define HF_SRC_REPORT_H
/* report - what report.c offers to the rest of src/, beside holdfast/report.h. */
#include "holdfast/report.h"

#include "holdfast/internal/atomic.h"

enum { HF_DETAIL_REPORT_ROOM = 64 }; /* for kinds that later versions add */

struct hf_detail_report_handler {
	hf_report_handler_t handler; /* one of these two, or neither */
	hf_report_details_handler_t details_handler;
	void *data;
};

/* The state of one copy of the library, or of all copies in a process; initially zero. */
struct hf_detail_report_state {
	hf_atomic32_t counts[HF_DETAIL_REPORT_ROOM];
	hf_atomic32_t warned[HF_DETAIL_REPORT_ROOM]; /* 1 = this kind was shown */
	hf_atomic32_t hidden[HF_DETAIL_REPORT_ROOM]; /* not shown, because it was before */
	hf_atomic32_t mode;
	hf_atomic32_t is_started; /* 1 = the mode was read from the environment */
	/* A handler and its data change together: two copies, and the index of the valid one. */
	hf_atomic32_t current_handler;
	struct hf_detail_report_handler handlers[2];
};

/*
 * Append to a line, and return its new end, without a terminating 0. What does not fit before @end
 * is left out. For signal handlers: no stdio, no allocation, no lock. @base: 10 or 16
 */
char *hf_detail_put_text(char *to, const char *end, const char *text) __attribute__((cold));
char *hf_detail_put_number(char *to, const char *end, uint64_t number, unsigned int base)
	__attribute__((cold));

/* As hf_report(), with all details. */
void hf_detail_report_details(const struct hf_report_details *details);

/* Prints a line that is not about misuse, except in the modes count and quiet. Not counted. */
void hf_detail_report_note(const char *text);

/* Prints a line for each kind with suppressed reports; in the mode warn, without a handler. */
void hf_detail_report_summary(void);

/* Makes this copy use @shared, before there are other threads. Returns true in the first copy. */
bool hf_detail_report_share(struct hf_detail_report_state *shared);

/* This copy's object is being unloaded: removes the handler that was set through it. */
void hf_detail_report_leave(void);

/* In the child of a fork: forgets the suppressed reports, which the parent's summary has. */
void hf_detail_report_forked(void);

#endif
