/* SPDX-License-Identifier: MIT */
#ifndef HF_VARIANT_COPY_ERMS_H
#define HF_VARIANT_COPY_ERMS_H
/* copy, erms: bytes repeated, and below a cache line words. For x86-64; installed headers only. */
#include "../nofault/words.h"
#include "original.h"

HF_VARIANT_NO_SANITIZE static size_t hf_variant_copy_erms(void *dst, const void *src, size_t len)
{
	if (len < 64)
		return hf_variant_copy_original(dst, src, len);
	return hf_arch_rep_movsb(dst, src, len);
}

#endif
