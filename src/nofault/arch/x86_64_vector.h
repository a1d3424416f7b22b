/* SPDX-License-Identifier: MIT */
/*
 * x86_64_vector - the vectors for vector.h and search_vector.h. Included again for
 * each VECTOR_BYTES: 16 (SSE2), 32 (AVX2, or with VECTOR_MASKED AVX-512VL) and 64 (AVX-512F).
 */
#ifndef HALF
typedef unsigned long long sse_t __attribute__((vector_size(16), may_alias, aligned(1)));
typedef unsigned long long avx_t __attribute__((vector_size(32), may_alias, aligned(1)));
typedef unsigned long long avx512_t __attribute__((vector_size(64), may_alias, aligned(1)));
typedef char sse_bytes_t __attribute__((vector_size(16)));
typedef char avx_bytes_t __attribute__((vector_size(32)));

#define VECTOR_LOAD_OR(value, p, label)                                                            \
	HF_ARCH_LOAD_OR(VECTOR_MOVE, value, VECTOR_REGISTER, p, label)
#define VECTOR_STORE_OR(p, value, label)                                                           \
	HF_ARCH_STORE_OR(VECTOR_MOVE, p, value, VECTOR_REGISTER, label)
/* Streaming stores are not ordered like other stores. */
#define VECTOR_STREAM_OR(p, value, label) HF_ARCH_STORE_OR(VECTOR_STREAM, p, value, "x", label)
#define VECTOR_STREAM_END() __builtin_ia32_sfence()
#define HALF sse_t
#define HALF_LOAD_OR(value, p, label) HF_ARCH_LOAD_OR(HALF_MOVE, value, "x", p, label)
#define HALF_STORE_OR(p, value, label) HF_ARCH_STORE_OR(HALF_MOVE, p, value, "x", label)
#define HALF_SPLAT_BYTE(byte) ((sse_t)((sse_bytes_t){ 0 } + (char)(byte)))
#define HALF_SAME(a, b)                                                                            \
	((uint32_t)__builtin_ia32_pmovmskb128((sse_bytes_t)((sse_bytes_t)(a) == (sse_bytes_t)(b))))
#endif

#undef VECTOR
#undef VECTOR_TARGET
#undef VECTOR_MOVE
#undef VECTOR_REGISTER
#undef VECTOR_STREAM
#undef VECTOR_CHARS
#undef VECTOR_MOVEMASK
#undef HALF_MOVE
#if VECTOR_BYTES == 16
#define VECTOR sse_t
#define VECTOR_TARGET
#define VECTOR_MOVE "movdqu %1, %0"
#define VECTOR_REGISTER "x"
#define VECTOR_STREAM "movntdq %1, %0"
#define VECTOR_CHARS sse_bytes_t
#define VECTOR_MOVEMASK __builtin_ia32_pmovmskb128
#define HALF_MOVE "movdqu %1, %0"
#elif VECTOR_BYTES == 32
#define VECTOR avx_t
#ifdef VECTOR_MASKED
#define VECTOR_TARGET __attribute__((target("avx512vl,avx512bw,bmi2")))
#else
#define VECTOR_TARGET __attribute__((target("avx2")))
#endif
#define VECTOR_MOVE "vmovdqu %1, %0"
#define VECTOR_REGISTER "x"
#define VECTOR_STREAM "vmovntdq %1, %0"
#define VECTOR_CHARS avx_bytes_t
#define VECTOR_MOVEMASK __builtin_ia32_pmovmskb256
#define HALF_MOVE "vmovdqu %1, %0"
#else
#define VECTOR avx512_t
#define VECTOR_TARGET __attribute__((target("avx512f")))
#define VECTOR_MOVE "vmovdqu64 %1, %0"
#define VECTOR_REGISTER "v"
#define VECTOR_STREAM "vmovntdq %1, %0"
#define HALF_MOVE "vmovdqu %1, %0"
#endif
