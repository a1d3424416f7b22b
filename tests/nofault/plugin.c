/* SPDX-License-Identifier: MIT */
/* plugin - for objects.cpp: a shared object with inlined sites, which calls the library's clear. */
#define _GNU_SOURCE /* the registers in a ucontext_t */
#include "holdfast/nofault.h"

#if defined(HF_PLUGIN_IS_SLOW) && defined(HF_ARCH_FAULTING_LOAD)
#include <sched.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../src/nofault/handler.h"

static hf_atomic32_t *handling; /* 1 = in the handler, 2 = may go on */

/*
 * A slow handler: it returns only after another thread has been unloading this object for a while.
 * It sleeps, since on a busy machine each sched_yield() may cost another process's time slice.
 */
static bool take_time(int signal, const siginfo_t *info, void *context,
		      struct hf_detail_detour *detour)
{
	(void)signal;
	(void)info;
	(void)detour;
	hf_atomic32_store_relaxed(handling, 1);
	while (hf_atomic32_load_relaxed(handling) != 2)
		sched_yield();
	(void)usleep(50000);
	hf_atomic32_store_relaxed(handling, 3);
	HF_ARCH_CONTEXT_PC((ucontext_t *)context) += HF_ARCH_FAULTING_LOAD_BYTES;
	return true;
}

HF_API void plugin_slow(hf_atomic32_t *state)
{
	handling = state;
	hf_atomic64_store_relaxed(&hf_detail_fault_hook, (uintptr_t)take_time);
}
#endif

#ifdef HF_PLUGIN_IS_EARLY
#include "early.h"

static bool early_worked;

__attribute__((constructor)) static void use_early(void)
{
	early_worked = region_without_install();
}

HF_API bool plugin_early(void)
{
	return early_worked;
}
#endif

HF_API int plugin_load(uint32_t *value, const void *p)
{
	return hf_load32_nofault(value, p);
}

HF_API size_t plugin_clear(void *p, size_t len)
{
	return hf_clear_nofault(p, len);
}

HF_API int plugin_install(void)
{
	return hf_nofault_install();
}
