/* SPDX-License-Identifier: MIT */
/* Uses what is in the headers, and what only the library has: reports and queue nodes. */
#include <holdfast/lockref.h>
#include <holdfast/refcount.h>
#include <holdfast/report.h>
#include <holdfast/spinlock.h>

static hf_spinlock_t lock = HF_SPINLOCK_INIT;
static hf_refcount_t count = HF_REFCOUNT_INIT(1);

int main(void)
{
	hf_report_set_mode(HF_REPORT_MODE_COUNT);
	hf_spinlock_lock(&lock);
	hf_spinlock_unlock(&lock);
	if (!hf_refcount_dec_and_test(&count))
		return 1;
	hf_refcount_inc(&count); /* use after free */
	return hf_report_count(HF_REPORT_ADD_UAF) == 1 ? 0 : 2;
}
