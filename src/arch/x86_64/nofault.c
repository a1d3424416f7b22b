/* SPDX-License-Identifier: MIT */
/*
 * nofault, for x86-64 - the implementations of clear and copy that exist here only.
 *
 * A store of up to 8 bytes that faults has written nothing, on two pages neither (Intel SDM vol. 3,
 * 9.1.1, leaves parts to larger ones only); so these may cross pages, and what a faulting one would
 * have done on the first page is done afterwards, byte by byte.
 */
#include "../../nofault.h"

#if HF_ARCH_HAS_REP

/* A store of 8 bytes at p faulted; `len` is what is left from there on. */
static size_t clear_word_fault(volatile void *p, size_t len)
{
	size_t here = hf__to_page_end(p);

	return here >= 8 ? len : len - here + hf_arch_rep_stosb(p, here);
}

/* A load or a store of 8 bytes faulted. */
static size_t copy_word_fault(volatile void *to, const volatile void *from, size_t len)
{
	size_t here_to = hf__to_page_end(to), here_from = hf__to_page_end(from), here = 0;

	if (here_to < 8)
		here = here_to;
	if (here_from < 8 && here_from > here)
		here = here_from;
	return len - here + hf_arch_rep_movsb(to, from, here);
}

/* ---- original: 8-byte stores, then bytes -------------------------------------------------- */

HF_NO_SANITIZE size_t hf__clear_original(void *dst, size_t len)
{
	hf__w8 *p = (hf__w8 *)dst;

	for (; len >= 8; len -= 8, p++)
		HF_ARCH_STORE64_OR(p, 0, fault);
	return hf__clear_bytes(p, len);
fault:
	return clear_word_fault(p, len);
}

HF_NO_SANITIZE size_t hf__copy_original(void *dst, const void *src, size_t len)
{
	hf__w8 *to = (hf__w8 *)dst;
	const hf__w8 *from = (const hf__w8 *)src;
	uint64_t word;

	for (; len >= 8; len -= 8, to++, from++) {
		HF_ARCH_LOAD64_OR(word, from, fault);
		HF_ARCH_STORE64_OR(to, word, fault);
	}
	return hf__copy_bytes(to, from, len);
fault:
	return copy_word_fault(to, from, len);
}

/* ---- rep_good: words repeated, then bytes ------------------------------------------------- */

size_t hf__clear_rep_good(void *dst, size_t len)
{
	size_t words = len / 8, left = hf_arch_rep_stosq(dst, words);
	char *p = (char *)dst + (words - left) * 8;

	if (HF_UNLIKELY(left))
		return clear_word_fault(p, left * 8 + len % 8); /* words are not bytes */
	return hf_arch_rep_stosb(p, len % 8);
}

size_t hf__copy_rep_good(void *dst, const void *src, size_t len)
{
	size_t words = len / 8, left = hf_arch_rep_movsq(dst, src, words);
	size_t done = (words - left) * 8;
	char *to = (char *)dst + done;
	const char *from = (const char *)src + done;

	if (HF_UNLIKELY(left))
		return copy_word_fault(to, from, left * 8 + len % 8);
	return hf_arch_rep_movsb(to, from, len % 8);
}

/* ---- erms: bytes repeated, and below a cache line by hand --------------------------------- */

size_t hf__clear_erms(void *dst, size_t len)
{
	if (len < 64)
		return hf__clear_original(dst, len);
	return hf_arch_rep_stosb(dst, len);
}

size_t hf__copy_erms(void *dst, const void *src, size_t len)
{
	if (len < 64)
		return hf__copy_original(dst, src, len);
	return hf_arch_rep_movsb(dst, src, len);
}

/* ---- fsrm: bytes repeated, whatever the size; the same stands at each call site ----------- */

size_t hf__clear_fsrm(void *dst, size_t len)
{
	return hf_arch_rep_stosb(dst, len);
}

size_t hf__copy_fsrm(void *dst, const void *src, size_t len)
{
	return hf_arch_rep_movsb(dst, src, len);
}

/* ---- vector: SSE2, AVX2, AVX-512 ---------------------------------------------------------- */

typedef long long sse_t __attribute__((vector_size(16), may_alias, aligned(1)));
typedef long long avx_t __attribute__((vector_size(32), may_alias, aligned(1)));
typedef long long avx512_t __attribute__((vector_size(64), may_alias, aligned(1)));

/* What goes around the caches is not ordered like other stores. */
#define VECTOR_STREAM_END() __builtin_ia32_sfence()

#define VECTOR sse_t
#define VECTOR_BYTES 16
#define VECTOR_TARGET
#define VECTOR_ZERO ((sse_t){ 0, 0 })
#define VECTOR_LOAD_OR(value, p, label) HF_ARCH_LOAD_OR("movdqu", value, "x", p, label)
#define VECTOR_STORE_OR(p, value, label) HF_ARCH_STORE_OR("movdqu", p, value, "x", label)
#define VECTOR_STREAM_OR(p, value, label) HF_ARCH_STORE_OR("movntdq", p, value, "x", label)
#define HALF sse_t
#define HALF_ZERO VECTOR_ZERO
#define HALF_LOAD_OR VECTOR_LOAD_OR
#define HALF_STORE_OR VECTOR_STORE_OR
#define VECTOR_NAME vector_sse2
#define VECTOR_REPEAT 0
#include "../../nofault_vector.h"
#define VECTOR_NAME default_sse2
#define VECTOR_REPEAT 1
#include "../../nofault_vector.h"
#undef VECTOR
#undef VECTOR_BYTES
#undef VECTOR_TARGET
#undef VECTOR_ZERO
#undef VECTOR_LOAD_OR
#undef VECTOR_STORE_OR
#undef VECTOR_STREAM_OR
#undef HALF_ZERO
#undef HALF_LOAD_OR
#undef HALF_STORE_OR

#define HALF_ZERO ((sse_t){ 0, 0 })
#define HALF_LOAD_OR(value, p, label) HF_ARCH_LOAD_OR("vmovdqu", value, "x", p, label)
#define HALF_STORE_OR(p, value, label) HF_ARCH_STORE_OR("vmovdqu", p, value, "x", label)

#define VECTOR avx_t
#define VECTOR_BYTES 32
#define VECTOR_TARGET __attribute__((target("avx2")))
#define VECTOR_ZERO ((avx_t){ 0, 0, 0, 0 })
#define VECTOR_LOAD_OR HALF_LOAD_OR
#define VECTOR_STORE_OR HALF_STORE_OR
#define VECTOR_STREAM_OR(p, value, label) HF_ARCH_STORE_OR("vmovntdq", p, value, "x", label)
#define VECTOR_NAME vector_avx2
#define VECTOR_REPEAT 0
#include "../../nofault_vector.h"
#define VECTOR_NAME default_avx2
#define VECTOR_REPEAT 1
#include "../../nofault_vector.h"
#undef VECTOR
#undef VECTOR_BYTES
#undef VECTOR_TARGET
#undef VECTOR_ZERO
#undef VECTOR_LOAD_OR
#undef VECTOR_STORE_OR

#define VECTOR avx512_t
#define VECTOR_BYTES 64
#define VECTOR_TARGET __attribute__((target("avx512f")))
#define VECTOR_ZERO ((avx512_t){ 0, 0, 0, 0, 0, 0, 0, 0 })
#define VECTOR_LOAD_OR(value, p, label) HF_ARCH_LOAD_OR("vmovdqu64", value, "v", p, label)
#define VECTOR_STORE_OR(p, value, label) HF_ARCH_STORE_OR("vmovdqu64", p, value, "v", label)
#define VECTOR_NAME vector_avx512
#define VECTOR_REPEAT 0
#include "../../nofault_vector.h"

#endif
