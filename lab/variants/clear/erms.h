/* SPDX-License-Identifier: MIT */
#ifndef HF_VARIANT_CLEAR_ERMS_H
#define HF_VARIANT_CLEAR_ERMS_H
/* clear, erms: bytes repeated, and below a cache line words. For x86-64; installed headers only. */
#include "../nofault/words.h"
#include "original.h"

HF_VARIANT_NO_SANITIZE static size_t hf_variant_clear_erms(void *dst, size_t len)
{
	if (len < 64)
		return hf_variant_clear_original(dst, len);
	return hf_arch_rep_stosb(dst, len);
}

#endif
