/* SPDX-License-Identifier: MIT */
/* As main.c, in C++. */
#include <holdfast/lockref.h>
#include <holdfast/refcount.h>
#include <holdfast/report.h>
#include <holdfast/spinlock.h>

#include <mutex>

static hf::spinlock lock;
static hf_refcount_t count = HF_REFCOUNT_INIT(1);

int main()
{
	hf_report_set_mode(HF_REPORT_MODE_COUNT);
	{
		std::lock_guard<hf::spinlock> guard(lock);
	}
	if (!hf_refcount_dec_and_test(&count))
		return 1;
	hf_refcount_inc(&count); /* use after free */
	return hf_report_count(HF_REPORT_ADD_UAF) == 1 ? 0 : 2;
}
