/* SPDX-License-Identifier: MIT */
/* plugin - a shared object with sites of its own, for objects.cpp: inlined ones, and a clear. */
#include "holdfast/nofault.h"

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
