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

#define VECTOR_REPEAT 0
#define VECTOR_SMALL_BY_HAND 0
#define VECTOR_CLEAR_AND_COPY

#define VECTOR_BYTES 16
#include "../../../src/nofault/arch/x86_64_vector.h"
#define VECTOR_NAME vector_sse2
#include "../../../src/nofault/vector.h"
#undef VECTOR_BYTES
#undef VECTOR_NAME

#define VECTOR_BYTES 32
#include "../../../src/nofault/arch/x86_64_vector.h"
#define VECTOR_NAME vector_avx2
#include "../../../src/nofault/vector.h"
#undef VECTOR_BYTES
#undef VECTOR_NAME

#define VECTOR_BYTES 64
#include "../../../src/nofault/arch/x86_64_vector.h"
#undef VECTOR_STREAM
#define VECTOR_NAME vector_avx512
#include "../../../src/nofault/vector.h"

#endif
