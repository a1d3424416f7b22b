/* SPDX-License-Identifier: MIT */
/* report - counts and prints misuse; the world's part (where a line goes) is in its own file. */
#include "holdfast/report.h"

#include "holdfast/atomic.h"
#include "env.h"

static const char *const texts[HF_REPORT_KINDS] = {
	[HF_REPORT_ADD_NOT_ZERO_OVF] = "refcount: overflow in not_zero; saturated, leaking memory",
	[HF_REPORT_ADD_OVF] = "refcount: overflow; saturated, leaking memory",
	[HF_REPORT_ADD_UAF] = "refcount: addition on 0; use after free",
	[HF_REPORT_SUB_UAF] = "refcount: underflow; use after free",
	[HF_REPORT_DEC_LEAK] = "refcount: decrement hit 0; leaking memory",
	[HF_REPORT_LOCKREF_OVF] = "lockref: overflow; pinned, leaking memory",
	[HF_REPORT_LOCKREF_DEAD] = "lockref: get on a dead object; use after free",
	[HF_REPORT_LOCKREF_UNLOCKED] = "lockref: mark_dead or revive without the lock; not done",
	[HF_REPORT_LOCKREF_PUT] = "lockref: put without a reference; leaking memory",
	[HF_REPORT_LOCKREF_UNPROTECTED] = "lockref: put outside of a read-side critical section",
	[HF_REPORT_RCUREF_OVF] = "rcuref: overflow; saturated, leaking memory",
	[HF_REPORT_RCUREF_DEAD] = "rcuref: put on a dead object; use after free",
	[HF_REPORT_RCUREF_UNPROTECTED] = "rcuref: put outside of a read-side critical section",
	[HF_REPORT_LOCK_RECURSION] = "lock: recursion; granted, the caller holds it already",
	[HF_REPORT_LOCK_WRONG_OWNER] = "lock: unlock by a thread that does not hold it; not done",
	[HF_REPORT_LOCK_UNLOCKED] = "lock: unlock of a lock that nobody holds; not done",
	[HF_REPORT_LOCK_HELD_LONG] = "lock: held beyond the limit",
};

static hf_atomic32_t counts[HF_REPORT_KINDS];
static hf_atomic32_t warned[HF_REPORT_KINDS]; /* 1 = this kind has had its warning */
static hf_atomic32_t mode = HF_ATOMIC_INIT(HF_REPORT_MODE_WARN);

/* The handler and its data change together: two pairs, and which of them holds. */
static struct {
	hf_report_handler_t handler;
	void *data;
} handlers[2];
static hf_atomic32_t current_handler = HF_ATOMIC_INIT(0);

const char *hf_report_text(enum hf_report_kind kind)
{
	return (unsigned int)kind < HF_REPORT_KINDS ? texts[kind] : "unknown kind of misuse";
}

static char *put_text(char *to, const char *end, const char *text)
{
	while (*text && to < end)
		*to++ = *text++;
	return to;
}

static char *put_address(char *to, const char *end, const volatile void *address)
{
	uintptr_t bits = (uintptr_t)address;
	int shift = (int)sizeof(bits) * 8 - 4;

	while (shift > 0 && !(bits >> shift))
		shift -= 4;
	to = put_text(to, end, "0x");
	for (; shift >= 0 && to < end; shift -= 4)
		*to++ = "0123456789abcdef"[bits >> shift & 15];
	return to;
}

/* R1: no stdio, no allocation, no lock. */
static void print_warning(enum hf_report_kind kind, const volatile void *object)
{
	uint32_t which = hf_atomic32_load_acquire(&current_handler);
	char line[160];
	const char *end = line + sizeof(line) - 1;
	char *at = line;

	if (handlers[which].handler) {
		handlers[which].handler(kind, (const void *)object, handlers[which].data);
		return;
	}
	at = put_text(at, end, "holdfast: ");
	at = put_address(at, end, object);
	at = put_text(at, end, ": ");
	at = put_text(at, end, hf_report_text(kind));
	*at++ = '\n';
	hf__env_print(line, (size_t)(at - line));
}

/* R2 */
static void count(enum hf_report_kind kind)
{
	uint32_t n = hf_atomic32_load_relaxed(&counts[kind]);

	while (n != UINT32_MAX && !hf_atomic32_try_cmpxchg_relaxed(&counts[kind], &n, n + 1))
		;
}

void hf_report(enum hf_report_kind kind, const volatile void *object)
{
	enum hf_report_mode now = (enum hf_report_mode)hf_atomic32_load_relaxed(&mode);
	bool known = (unsigned int)kind < HF_REPORT_KINDS;

	if (now == HF_REPORT_MODE_QUIET)
		return;
	if (known)
		count(kind);
	if (now == HF_REPORT_MODE_COUNT)
		return;
	if (now == HF_REPORT_MODE_ABORT) {
		print_warning(kind, object);
		hf__env_abort();
	}
	if (!known || hf_atomic32_xchg_acq_rel(&warned[kind], 1) == 0)
		print_warning(kind, object);
}

void hf_report_set_handler(hf_report_handler_t handler, void *data)
{
	uint32_t other = 1 - hf_atomic32_load_relaxed(&current_handler);

	handlers[other].handler = handler;
	handlers[other].data = data;
	hf_atomic32_store_release(&current_handler, other);
}

enum hf_report_mode hf_report_set_mode(enum hf_report_mode new_mode)
{
	return (enum hf_report_mode)hf_atomic32_xchg_acq_rel(&mode, (uint32_t)new_mode);
}

uint32_t hf_report_count(enum hf_report_kind kind)
{
	return (unsigned int)kind < HF_REPORT_KINDS ? hf_atomic32_load_relaxed(&counts[kind]) : 0;
}

void hf_report_reset(void)
{
	for (int i = 0; i < HF_REPORT_KINDS; i++) {
		hf_atomic32_store_relaxed(&counts[i], 0);
		hf_atomic32_store_relaxed(&warned[i], 0);
	}
}
