/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_VARIANTS_VECTORS_H
#define HF_LAB_VARIANTS_VECTORS_H
/*
 * vectors - clear and copy by the library's vector loop (src/nofault/vector.h) for all sizes,
 * without its assembly for small sizes and its repeated instruction for large ones.
 */
size_t hf_detail_clear_vector_sse2(void *dst, size_t len);
size_t hf_detail_copy_vector_sse2(void *dst, const void *src, size_t len);
size_t hf_detail_clear_vector_avx2(void *dst, size_t len);
size_t hf_detail_copy_vector_avx2(void *dst, const void *src, size_t len);
size_t hf_detail_clear_vector_avx512(void *dst, size_t len);
size_t hf_detail_copy_vector_avx512(void *dst, const void *src, size_t len);

typedef long long sse_t __attribute__((vector_size(16), may_alias, aligned(1)));
typedef long long avx_t __attribute__((vector_size(32), may_alias, aligned(1)));
typedef long long avx512_t __attribute__((vector_size(64), may_alias, aligned(1)));
typedef char sse_bytes_t __attribute__((vector_size(16)));
typedef char avx_bytes_t __attribute__((vector_size(32)));

/* Streaming stores are not ordered like other stores. */
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
#define VECTOR_SMALL_BY_HAND 0
#include "../../../src/nofault/vector.h"
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
#define VECTOR_SMALL_BY_HAND 0
#include "../../../src/nofault/vector.h"
#undef VECTOR
#undef VECTOR_BYTES
#undef VECTOR_TARGET
#undef VECTOR_ZERO
#undef VECTOR_LOAD_OR
#undef VECTOR_STORE_OR
#undef VECTOR_STREAM_OR

#define VECTOR avx512_t
#define VECTOR_BYTES 64
#define VECTOR_TARGET __attribute__((target("avx512f")))
#define VECTOR_ZERO ((avx512_t){ 0, 0, 0, 0, 0, 0, 0, 0 })
#define VECTOR_LOAD_OR(value, p, label) HF_ARCH_LOAD_OR("vmovdqu64", value, "v", p, label)
#define VECTOR_STORE_OR(p, value, label) HF_ARCH_STORE_OR("vmovdqu64", p, value, "v", label)
#define VECTOR_NAME vector_avx512
#define VECTOR_REPEAT 0
#define VECTOR_SMALL_BY_HAND 0
#include "../../../src/nofault/vector.h"

#endif
