/* SPDX-License-Identifier: MIT */
/*
 * x86_64_search - the accesses of find and compare, for search_vector.h. Included again for each
 * kind of vector, after x86_64_vector.h:
 *
 *   VECTOR_BYTES 16    SSE2: operands in memory must be aligned, so each vector is loaded first
 *   VECTOR_BYTES 32    AVX2: a comparison takes one side from memory
 *   VECTOR_BYTES 32 and VECTOR_MASKED    AVX-512VL: masked loads; all vectors are in ymm16 and up,
 *                      which need no VZEROUPPER
 *
 * One block of assembly does a whole step, with a site for each load, so that no instruction is
 * there only to move a vector between the compiler and a block.
 */
#ifndef TRY_OR
#define TRY_OR(instruction, label) "1:	" instruction "\n" HF_SITE("1b", "%l[" #label "]")
#define VECTOR_AT(p) "m"(*(const VECTOR *)(p))
#define HALF_AT(p) "m"(*(const HALF *)(p))
#define HALF_BITS(v) ((uint32_t)__builtin_ia32_pmovmskb128((sse_bytes_t)(v)))

/*
 * value = the words at p and q, one after the other: HALF_LOAD_8_8 or _4_4. Operand 3 is the part
 * of q's word from its third byte on. It can't be "2+%2", which becomes "2+(%rdx)" where the
 * address is a register alone: the assembler warns of that.
 */
#define HALF_LOAD_TWO_OR(value, LOAD, TYPE, p, q, label)                                           \
	__asm__ volatile goto(LOAD(label)                                                          \
			      : "=&x"(value)                                                       \
			      : "m"(*(const TYPE *)(p)), "m"(*(const TYPE *)(q)),                  \
				"m"(*(const hf_detail_w2 *)((const char *)(q) + 2))                \
			      : "memory"                                                           \
			      : label)

/* With AVX2, 16 bytes: -1 for each that equals the one in `all`, or that differs at p and q. */
#define HALF_HITS_OR(value, p, all, label)                                                         \
	__asm__ volatile goto(TRY_OR("vpcmpeqb %1, %2, %0", label)                                 \
			      : "=x"(value)                                                        \
			      : HALF_AT(p), "x"(all)                                               \
			      : "memory"                                                           \
			      : label)
#define HALF_EQUAL_OR(value, p, q, label)                                                          \
	__asm__ volatile goto(TRY_OR("vmovdqu %1, %0", label) TRY_OR("vpcmpeqb %2, %0, %0", label) \
			      : "=&x"(value)                                                       \
			      : HALF_AT(p), HALF_AT(q)                                             \
			      : "memory"                                                           \
			      : label)

/*
 * value = *p ^ *q, of words: LOAD and XOR are the instructions for their size, and K is the letter
 * of the register's part.
 */
#define WORD_DIFFER_OR(value, LOAD, XOR, K, TYPE, p, q, label)                                     \
	__asm__ volatile goto(TRY_OR(LOAD, label) TRY_OR(XOR " %2, %" K "0", label)                \
			      : "=&r"(value)                                                       \
			      : "m"(*(const TYPE *)(p)), "m"(*(const TYPE *)(q))                   \
			      : "memory"                                                           \
			      : label)

/* Jumps to @hit if the byte at p is @byte. */
#define BYTE_HIT_OR(p, byte, hit, label)                                                           \
	__asm__ volatile goto(TRY_OR("cmpb %1, %0", label) "	je %l[" #hit "]\n"                 \
			      :                                                                    \
			      : "m"(*(const hf_detail_w1 *)(p)), "q"(byte)                         \
			      : "memory"                                                           \
			      : hit, label)
#endif

#undef VECTOR_SPLAT_BYTE
#undef VECTOR_HITS_OR
#undef VECTOR_HITS_FOUR_OR
#undef VECTOR_ZEROS_FOUR_OR
#undef VECTOR_DIFFER_OR
#undef VECTOR_DIFFER_FOUR_OR
#undef VECTOR_MASK
#undef VECTOR_HITS_MASKED_OR
#undef VECTOR_DIFFER_MASKED_OR
#undef HALF_LOAD_8_8
#undef HALF_LOAD_4_4

/* clang-format off */
/* Two words of 8, or of 4, bytes from operands 1 and 2. */
#if VECTOR_BYTES == 16
#define HALF_LOAD_8_8(label) TRY_OR("movq %1, %0", label) TRY_OR("movhps %2, %0", label)
#define HALF_LOAD_4_4(label) \
	TRY_OR("movd %1, %0", label) TRY_OR("pinsrw $2, %2, %0", label) \
	TRY_OR("pinsrw $3, %3, %0", label)
#else
#define HALF_LOAD_8_8(label) TRY_OR("vmovq %1, %0", label) TRY_OR("vmovhps %2, %0, %0", label)
#define HALF_LOAD_4_4(label) TRY_OR("vmovd %1, %0", label) TRY_OR("vpinsrd $1, %2, %0, %0", label)
#endif

#ifndef VECTOR_MASKED

#define VECTOR_SPLAT_BYTE(name, byte) VECTOR name = (VECTOR)((VECTOR_CHARS){ 0 } + (char)(byte))

/*
 * If all bytes are equal, `mask` is W ones, and the result is 0. Otherwise the lowest bit of the
 * result is where the lowest 0 of `mask` is.
 */
#define VECTOR_DIFFER_OF(mask) ((uint32_t)(mask) - (UINT32_MAX >> (32 - VECTOR_BYTES)))

#if VECTOR_BYTES == 16
#define VECTOR_EQUAL(a, b) ((VECTOR)((VECTOR_CHARS)(a) == (VECTOR_CHARS)(b)))
#define VECTOR_BITS(v) ((uint32_t)VECTOR_MOVEMASK((VECTOR_CHARS)(v)))

#define VECTOR_HITS_OR(bits, p, all, label) \
	do { \
		VECTOR a; \
 \
		VECTOR_LOAD_OR(a, (const VECTOR *)(p), label); \
		bits = VECTOR_BITS(VECTOR_EQUAL(a, all)); \
	} while (0)
#define VECTOR_DIFFER_OR(bits, p, q, label) \
	do { \
		VECTOR a, e; \
 \
		VECTOR_LOAD_OR(a, (const VECTOR *)(p), label); \
		VECTOR_LOAD_OR(e, (const VECTOR *)(q), label); \
		bits = VECTOR_DIFFER_OF(VECTOR_BITS(VECTOR_EQUAL(a, e))); \
	} while (0)
#define VECTOR_HITS_FOUR_OR(bits, p, r, all, label) \
	do { \
		VECTOR a, b, c, d; \
 \
		VECTOR_LOAD_OR(a, (const VECTOR *)(p), label); \
		VECTOR_LOAD_OR(b, (const VECTOR *)((p) + W), label); \
		VECTOR_LOAD_OR(c, (const VECTOR *)(r), label); \
		VECTOR_LOAD_OR(d, (const VECTOR *)((r) + W), label); \
		bits = VECTOR_BITS(VECTOR_EQUAL(a, all) | VECTOR_EQUAL(b, all) | \
				   VECTOR_EQUAL(c, all) | VECTOR_EQUAL(d, all)); \
	} while (0)
#define VECTOR_DIFFER_FOUR_OR(bits, p, q, r, s, label) \
	do { \
		VECTOR a, b, c, d, e, f, g, h; \
 \
		VECTOR_LOAD_OR(a, (const VECTOR *)(p), label); \
		VECTOR_LOAD_OR(e, (const VECTOR *)(q), label); \
		VECTOR_LOAD_OR(b, (const VECTOR *)((p) + W), label); \
		VECTOR_LOAD_OR(f, (const VECTOR *)((q) + W), label); \
		VECTOR_LOAD_OR(c, (const VECTOR *)(r), label); \
		VECTOR_LOAD_OR(g, (const VECTOR *)(s), label); \
		VECTOR_LOAD_OR(d, (const VECTOR *)((r) + W), label); \
		VECTOR_LOAD_OR(h, (const VECTOR *)((s) + W), label); \
		bits = VECTOR_DIFFER_OF(VECTOR_BITS(VECTOR_EQUAL(a, e) & VECTOR_EQUAL(b, f) & \
						    VECTOR_EQUAL(c, g) & VECTOR_EQUAL(d, h))); \
	} while (0)

#else /* AVX2 */

#define VECTOR_HITS_OR(bits, p, all, label) \
	do { \
		VECTOR hf_a; \
 \
		__asm__ volatile goto( \
			TRY_OR("vpcmpeqb %2, %3, %1", label) \
			"vpmovmskb %1, %0\n" \
			: "=r"(bits), "=x"(hf_a) : VECTOR_AT(p), "x"(all) : "memory" : label); \
	} while (0)
#define VECTOR_DIFFER_OR(bits, p, q, label) \
	do { \
		VECTOR hf_a; \
 \
		__asm__ volatile goto( \
			TRY_OR("vmovdqu %2, %1", label) \
			TRY_OR("vpcmpeqb %3, %1, %1", label) \
			"vpmovmskb %1, %0\n" \
			: "=r"(bits), "=x"(hf_a) : VECTOR_AT(p), VECTOR_AT(q) : "memory" : label); \
		bits = VECTOR_DIFFER_OF(bits); \
	} while (0)
#define VECTOR_HITS_FOUR_OR(bits, p, r, all, label) \
	do { \
		VECTOR hf_a, hf_b, hf_c, hf_d; \
 \
		__asm__ volatile goto( \
			TRY_OR("vpcmpeqb %5, %9, %1", label) \
			TRY_OR("vpcmpeqb %6, %9, %2", label) \
			TRY_OR("vpcmpeqb %7, %9, %3", label) \
			TRY_OR("vpcmpeqb %8, %9, %4", label) \
			"vpor %2, %1, %1\n" \
			"vpor %4, %3, %3\n" \
			"vpor %3, %1, %1\n" \
			"vpmovmskb %1, %0\n" \
			: "=r"(bits), "=&x"(hf_a), "=&x"(hf_b), "=&x"(hf_c), "=&x"(hf_d) \
			: VECTOR_AT(p), VECTOR_AT((p) + W), VECTOR_AT(r), VECTOR_AT((r) + W), \
			  "x"(all) \
			: "memory" : label); \
	} while (0)
/* The least of four bytes is 0 if one of them is. */
#define VECTOR_ZEROS_FOUR_OR(bits, p, r, all, label) \
	do { \
		VECTOR hf_a; \
 \
		__asm__ volatile goto( \
			TRY_OR("vmovdqu %2, %1", label) \
			TRY_OR("vpminub %3, %1, %1", label) \
			TRY_OR("vpminub %4, %1, %1", label) \
			TRY_OR("vpminub %5, %1, %1", label) \
			"vpcmpeqb %6, %1, %1\n" \
			"vpmovmskb %1, %0\n" \
			: "=r"(bits), "=&x"(hf_a) \
			: VECTOR_AT(p), VECTOR_AT((p) + W), VECTOR_AT(r), VECTOR_AT((r) + W), \
			  "x"(all) \
			: "memory" : label); \
	} while (0)
#define VECTOR_DIFFER_FOUR_OR(bits, p, q, r, s, label) \
	do { \
		VECTOR hf_a, hf_b, hf_c, hf_d; \
 \
		__asm__ volatile goto( \
			TRY_OR("vmovdqu %5, %1", label) \
			TRY_OR("vmovdqu %7, %2", label) \
			TRY_OR("vmovdqu %9, %3", label) \
			TRY_OR("vmovdqu %11, %4", label) \
			TRY_OR("vpcmpeqb %6, %1, %1", label) \
			TRY_OR("vpcmpeqb %8, %2, %2", label) \
			TRY_OR("vpcmpeqb %10, %3, %3", label) \
			TRY_OR("vpcmpeqb %12, %4, %4", label) \
			"vpand %2, %1, %1\n" \
			"vpand %4, %3, %3\n" \
			"vpand %3, %1, %1\n" \
			"vpmovmskb %1, %0\n" \
			: "=r"(bits), "=&x"(hf_a), "=&x"(hf_b), "=&x"(hf_c), "=&x"(hf_d) \
			: VECTOR_AT(p), VECTOR_AT(q), VECTOR_AT((p) + W), VECTOR_AT((q) + W), \
			  VECTOR_AT(r), VECTOR_AT(s), VECTOR_AT((r) + W), VECTOR_AT((s) + W) \
			: "memory" : label); \
		bits = VECTOR_DIFFER_OF(bits); \
	} while (0)
#endif

#else /* AVX-512VL */

#define VECTOR_SPLAT_BYTE(name, byte) \
	register VECTOR name __asm__("ymm20") = (VECTOR)((avx_bytes_t){ 0 } + (char)(byte))
#define VECTOR_MASK(len) __builtin_ia32_bzhi_si(~0u, (uint32_t)(len))
#define MASK(mask) "Yk"((uint32_t)(mask))

/* Instructions that set a mask register, and after the label their operands and clobbers. */
#define MASK_OR(bits, result, instructions, label, ...) \
	__asm__ volatile goto(instructions : result(bits) : __VA_ARGS__ : label)
#define FOUR_CLOBBERS "memory", "xmm16", "xmm17", "xmm18", "xmm19"

#define VECTOR_HITS_OR(bits, p, all, label) \
	MASK_OR(bits, "=Yk", TRY_OR("vpcmpeqb %1, %2, %0", label), label, VECTOR_AT(p), "v"(all) \
		: "memory")
#define VECTOR_HITS_MASKED_OR(bits, p, all, mask, label) \
	MASK_OR(bits, "=Yk", TRY_OR("vpcmpeqb %1, %2, %0%{%3%}", label), label, VECTOR_AT(p), \
		"v"(all), MASK(mask) : "memory")
#define VECTOR_HITS_FOUR_OR(bits, p, r, all, label) \
	MASK_OR(bits, "=Yk", \
		TRY_OR("vpxorq %1, %5, %%ymm16", label) \
		TRY_OR("vpxorq %2, %5, %%ymm17", label) \
		TRY_OR("vpxorq %3, %5, %%ymm18", label) \
		TRY_OR("vpxorq %4, %5, %%ymm19", label) \
		"vpminub %%ymm16, %%ymm17, %%ymm17\n" \
		"vpminub %%ymm18, %%ymm19, %%ymm19\n" \
		"vpminub %%ymm17, %%ymm19, %%ymm19\n" \
		"vptestnmb %%ymm19, %%ymm19, %0\n", \
		label, VECTOR_AT(p), VECTOR_AT((p) + W), VECTOR_AT(r), VECTOR_AT((r) + W), \
		"v"(all) : FOUR_CLOBBERS)
/* The least of four bytes is 0 if one of them is. */
#define VECTOR_ZEROS_FOUR_OR(bits, p, r, all, label) \
	MASK_OR(bits, "=Yk", \
		TRY_OR("vmovdqu64 %1, %%ymm16", label) \
		TRY_OR("vpminub %2, %%ymm16, %%ymm16", label) \
		TRY_OR("vpminub %3, %%ymm16, %%ymm16", label) \
		TRY_OR("vpminub %4, %%ymm16, %%ymm16", label) \
		"vptestnmb %%ymm16, %%ymm16, %0\n", \
		label, VECTOR_AT(p), VECTOR_AT((p) + W), VECTOR_AT(r), VECTOR_AT((r) + W) \
		: "memory", "xmm16")
#define VECTOR_DIFFER_OR(bits, p, q, label) \
	MASK_OR(bits, "=Yk", \
		TRY_OR("vmovdqu64 %1, %%ymm16", label) TRY_OR("vpcmpneqb %2, %%ymm16, %0", label), \
		label, VECTOR_AT(p), VECTOR_AT(q) : "memory", "xmm16")
#define VECTOR_DIFFER_MASKED_OR(bits, p, q, mask, label) \
	MASK_OR(bits, "=&Yk", \
		TRY_OR("vmovdqu8 %1, %%ymm16%{%3%}%{z%}", label) \
		TRY_OR("vpcmpneqb %2, %%ymm16, %0%{%3%}", label), \
		label, VECTOR_AT(p), VECTOR_AT(q), MASK(mask) : "memory", "xmm16")
#define VECTOR_DIFFER_FOUR_OR(bits, p, q, r, s, label) \
	MASK_OR(bits, "=Yk", \
		TRY_OR("vmovdqu64 %1, %%ymm16", label) \
		TRY_OR("vmovdqu64 %3, %%ymm17", label) \
		TRY_OR("vmovdqu64 %5, %%ymm18", label) \
		TRY_OR("vmovdqu64 %7, %%ymm19", label) \
		TRY_OR("vpxorq %2, %%ymm16, %%ymm16", label) \
		TRY_OR("vpxorq %4, %%ymm17, %%ymm17", label) \
		TRY_OR("vpxorq %6, %%ymm18, %%ymm18", label) \
		TRY_OR("vpxorq %8, %%ymm19, %%ymm19", label) \
		"vpternlogq $0xfe, %%ymm16, %%ymm17, %%ymm18\n" \
		"vporq %%ymm18, %%ymm19, %%ymm19\n" \
		"vptestmb %%ymm19, %%ymm19, %0\n", \
		label, VECTOR_AT(p), VECTOR_AT(q), VECTOR_AT((p) + W), VECTOR_AT((q) + W), \
		VECTOR_AT(r), VECTOR_AT(s), VECTOR_AT((r) + W), VECTOR_AT((s) + W) \
		: FOUR_CLOBBERS)
#endif
/* clang-format on */
