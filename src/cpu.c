/* SPDX-License-Identifier: MIT */
/* cpu - asks the processor once. */
#include "holdfast/cpu.h"

#include "holdfast/arch_nofault.h"
#include "holdfast/atomic.h"
#include "env.h"

static struct hf__cpu cpu;
static hf_atomic32_t known = HF_ATOMIC_INIT(0); /* 1 = being read, 2 = read */

/*
 * Two threads, or a signal handler, may come here at once: one fills the shared copy in, and who
 * finds it half done reads the processor for itself.
 */
static struct hf__cpu read_cpu(void)
{
	struct hf__cpu mine = { 0, 0, 0, 0, "" };
	uint32_t nobody = 0;

	if (HF_LIKELY(hf_atomic32_load_acquire(&known) == 2))
		return cpu;
	hf_arch_cpu_read(&mine);
	if (hf_atomic32_try_cmpxchg_acquire(&known, &nobody, 1)) {
		cpu = mine;
		hf_atomic32_store_release(&known, 2);
	}
	return mine;
}

static bool has(enum hf__cpu_feature feature)
{
	return read_cpu().features & (uint32_t)feature;
}

bool hf_cpu_has_rep_good(void)
{
	return has(HF__CPU_REP_GOOD);
}

bool hf_cpu_has_erms(void)
{
	return has(HF__CPU_ERMS);
}

bool hf_cpu_has_fsrm(void)
{
	return has(HF__CPU_FSRM);
}

bool hf_cpu_has_fsrs(void)
{
	return has(HF__CPU_FSRS);
}

bool hf_cpu_has_fzrm(void)
{
	return has(HF__CPU_FZRM);
}

bool hf_cpu_has_avx2(void)
{
	return has(HF__CPU_AVX2);
}

bool hf_cpu_has_avx512f(void)
{
	return has(HF__CPU_AVX512F);
}

bool hf_cpu_has_lse(void)
{
	return has(HF__CPU_LSE);
}

bool hf_cpu_has_mops(void)
{
	return has(HF__CPU_MOPS);
}

unsigned int hf_cpu_zva_size(void)
{
	/* Asked for by every larger clear: no copy of the rest. */
	if (HF_LIKELY(hf_atomic32_load_acquire(&known) == 2))
		return cpu.zva_size;
	return read_cpu().zva_size;
}

unsigned int hf_cpu_family(void)
{
	return read_cpu().family;
}

unsigned int hf_cpu_model(void)
{
	return read_cpu().model;
}

const char *hf_cpu_vendor(void)
{
	(void)read_cpu();
	return hf_atomic32_load_acquire(&known) == 2 ? cpu.vendor : "";
}
