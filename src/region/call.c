/* SPDX-License-Identifier: MIT */
/*
 * call - hf_region_call(): a function that is left by a jump at the first lost page. Compiled with
 * -fexceptions, for what leaves the function otherwise.
 */
#define _GNU_SOURCE /* REG_RIP */
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include "../env/env.h"
#include "regions.h"

/* What a lost page leaves hf_region_call() by, and what a callee must keep. */
struct call_frame {
	sigjmp_buf where;
	struct hf_arch_fp_control control;
};

/* Before the jump: removes regions that the function has not ended. */
static void close_newer(hf_region_t *r, uint32_t parity)
{
	struct hf_detail_regions *all = &hf_detail_open_regions;
	const struct hf_grace *grace = &all->grace;
	uint64_t me = (uint64_t)(uintptr_t)r;
	uint64_t newer = hf_atomic64_load_seq_cst(&hf_detail_my_regions.top);

	hf_atomic64_store_seq_cst(&hf_detail_my_regions.top, me); /* G3 */
	hf_grace_leave(&all->grace, parity);
	/* Their memory will be reused. G4: do not wait while our own parity is held. */
	for (uint32_t n = 0; newer != me && (hf_atomic32_load_seq_cst(&grace->inside[0]) ||
					     hf_atomic32_load_seq_cst(&grace->inside[1]));
	     n++)
		hf_detail_env_pause(n);
	while (newer != me) {
		const hf_region_t *closed = hf_detail_region_of(newer);

		if (hf_atomic64_load_seq_cst(&closed->lost) != HF_DETAIL_REGION_NONE)
			(void)hf_atomic32_fetch_sub_release(&all->losses, 1); /* R2 */
		newer = hf_atomic64_load_relaxed(&closed->below);
	}
}

#if HF_ARCH_HAS_SITES
/* Where the return from the signal continues, on the thread's stack. */
static __attribute__((noreturn)) void leave_call(struct call_frame *frame)
{
	siglongjmp(frame->where, 1);
}
#endif

void hf_detail_region_leave_call(hf_region_t *r, uint32_t parity, void *context, sigjmp_buf **jump)
{
	struct call_frame *frame = (struct call_frame *)r->jump;

	close_newer(r, parity);
#if HF_ARCH_HAS_SITES
	/*
	 * The kernel restores what it has saved at the signal: the mask, vector registers,
	 * protection keys, an alternate stack with SS_AUTODISARM. A jump out of the handler would
	 * lose that.
	 */
	ucontext_t *u = (ucontext_t *)context;

	(void)jump;
	HF_ARCH_CONTEXT_CALL(u, leave_call, frame);
#else
	(void)context;
	*jump = &frame->where;
#endif
}

/* For an exception, a pthread_exit() or a cancellation that leaves the function. */
static void end_of_call(hf_region_t *volatile *region)
{
	if (*region && hf_region_end(*region, NULL)) {}
}

int hf_region_call(const void *base, size_t len, void (*function)(void *), void *arg,
		   struct hf_region_fault *fault)
{
	hf_region_t region, *volatile open __attribute__((cleanup(end_of_call))) = NULL;
	struct call_frame frame;
	size_t bad;
	int error = hf_detail_region_prepare(&region, base, len);

	if (error)
		return error;
	region.jump = &frame;
	frame.control = hf_arch_fp_control_save();
	open = &region;
	if (sigsetjmp(frame.where, 0) == 0) {
		hf_detail_region_open(&region);
		function(arg);
	} else {
		hf_arch_fp_control_restore(frame.control);
	}
	open = NULL;
	bad = hf_region_end(&region, fault);
	return bad < len ? -HF_EFAULT : 0;
}
