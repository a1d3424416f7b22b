/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_PREFETCH_PORTABLE_H
#define HF_ARCH_PREFETCH_PORTABLE_H
#pragma GCC system_header
/* prefetch_portable - prefetch for store by a compiler builtin, for a spin.h to include. */
#include "../compiler.h"

/* hf_arch_prefetch_store - bring the line that holds *p here, ready to be written. A hint. */
HF_INLINE void hf_arch_prefetch_store(const void *p)
{
	__builtin_prefetch(p, 1, 3);
}

#endif
