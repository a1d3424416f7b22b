/* SPDX-License-Identifier: MIT */
/*
 * call - hf_region_call(): a function that is left by a jump at the first lost page. Compiled with
 * -fexceptions, for what leaves the function otherwise.
 */
#include <setjmp.h>

#include "regions.h"

/* What a lost page leaves hf_region_call() by, and what a callee must keep. */
struct call_frame {
	sigjmp_buf where;
	struct hf_arch_fp_control control;
};

/* The regions that the function has begun lie in frames that are intact until the jump. */
void hf_detail_region_leave_call(void *region)
{
	hf_region_t *r = (hf_region_t *)region, *newest;

	for (;;) {
		newest = hf_detail_region_of(hf_atomic64_load_relaxed(&hf_detail_my_regions.top));
		if (newest == r)
			siglongjmp(((struct call_frame *)r->jump)->where, 1);
		if (hf_region_end(newest, NULL)) {}
	}
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
