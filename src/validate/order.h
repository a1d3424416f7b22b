/* SPDX-License-Identifier: MIT */
#ifndef HF_VALIDATE_ORDER_H
#define HF_VALIDATE_ORDER_H
/* order - a graph of the orders in which locks are taken: validate.h says what it finds. */
#include "holdfast/validate.h"

/* The locks that a thread holds, by 32 bits of their identities; 0 = a reader holds it. */
struct hf_detail_order_held {
	uint32_t count;
	uint32_t lock[HF_VALIDATE_HELD];
};

/*
 * This thread is about to wait for the lock that is known as @to while it holds the one that is
 * known as @from, which is number @own of @held. Reports a cycle that this closes, by @details.
 */
void hf_detail_order_note(uint64_t from, uint64_t to, const struct hf_detail_order_held *held,
			  uint32_t own, struct hf_report_details *details);

#endif
