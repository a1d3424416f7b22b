/* SPDX-License-Identifier: MIT */
/*
 * nofault, for x86-64 - the implementations of clear and copy that exist here only.
 *
 * A store of up to 8 bytes that faults has written nothing, even if it lies on two pages (Intel SDM
 * vol. 3, 9.1.1, allows only larger ones to be written in part). So these may cross pages; after a
 * fault, the bytes on the first page are written one by one.
 */
#include "../nofault.h"

#if HF_ARCH_HAS_REP

/* ---- fsrm: a repeated instruction for all sizes ------------------------------------------- */

HF_IMPLEMENTATION size_t hf_detail_clear_fsrm(void *dst, size_t len)
{
	return hf_arch_rep_stosb(dst, len);
}

HF_IMPLEMENTATION size_t hf_detail_copy_fsrm(void *dst, const void *src, size_t len)
{
	return hf_arch_rep_movsb(dst, src, len);
}

#if !HF_HAS_VECTORS
#include "x86_64_words.h"
#else
#include "../memory.h"

/* ---- vector: SSE2, AVX2, AVX-512 ---------------------------------------------------------- */

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
#define VECTOR_NAME hand_sse2
#define VECTOR_REPEAT 1
#define VECTOR_SMALL_BY_HAND 0
#include "../vector.h"
#define VECTOR_SPLAT(value) ((sse_t){ (long long)(value), (long long)(value) })
#define HALF_SPLAT VECTOR_SPLAT
#define VECTOR_NAME sse2
#define VECTOR_REPEAT 1
#include "../memory_vector.h"
#define VECTOR_EQUAL(a, b) ((VECTOR)((sse_bytes_t)(a) == (sse_bytes_t)(b)))
#define VECTOR_BITS(v) ((uint64_t)(uint32_t)__builtin_ia32_pmovmskb128((sse_bytes_t)(v)))
#define VECTOR_SPLAT_BYTE(name, byte) VECTOR name = (VECTOR)((sse_bytes_t){ 0 } + (char)(byte))
#define HALF_SPLAT_BYTE(byte) ((sse_t)((sse_bytes_t){ 0 } + (char)(byte)))
#define HALF_SAME(a, b)                                                                            \
	((uint64_t)(uint32_t)__builtin_ia32_pmovmskb128(                                           \
		(sse_bytes_t)((sse_bytes_t)(a) == (sse_bytes_t)(b))))
#define VECTOR_NAME sse2
#include "../search_vector.h"
#undef VECTOR_SPLAT
#undef VECTOR_SPLAT_BYTE
#undef VECTOR_EQUAL
#undef VECTOR_BITS
#undef HALF_SPLAT
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
#define VECTOR_NAME hand_avx2
#define VECTOR_REPEAT 1
#define VECTOR_SMALL_BY_HAND 1
#include "../vector.h"
#define HALF_SPLAT(value) ((sse_t){ (long long)(value), (long long)(value) })
#define VECTOR_SPLAT(value)                                                                        \
	((avx_t){ (long long)(value), (long long)(value), (long long)(value), (long long)(value) })
#define VECTOR_NAME avx2
#define VECTOR_REPEAT 1
#include "../memory_vector.h"
#define VECTOR_EQUAL(a, b) ((VECTOR)((avx_bytes_t)(a) == (avx_bytes_t)(b)))
#define VECTOR_BITS(v) ((uint64_t)(uint32_t)__builtin_ia32_pmovmskb256((avx_bytes_t)(v)))
#define VECTOR_SPLAT_BYTE(name, byte) VECTOR name = (VECTOR)((avx_bytes_t){ 0 } + (char)(byte))
#define VECTOR_NAME avx2
#include "../search_vector.h"
#undef VECTOR_TARGET
#undef VECTOR_HITS_OR
#undef VECTOR_HITS_FOUR_OR
#undef VECTOR_DIFFER_OR
#undef VECTOR_DIFFER_FOUR_OR
#undef VECTOR_SPLAT_BYTE

/*
 * find and compare with AVX-512VL: below 32 bytes the loads are masked, so they access no byte
 * after the range. All vectors are in ymm16 and up, which need no VZEROUPPER.
 */
/* clang-format off */
#define VECTOR_TARGET __attribute__((target("avx512vl,avx512bw,bmi2")))
#define VECTOR_SPLAT_BYTE(name, byte)                                                              \
	register VECTOR name __asm__("ymm20") = (VECTOR)((avx_bytes_t){ 0 } + (char)(byte))
#define VECTOR_MASK(len) __builtin_ia32_bzhi_si(~0u, (uint32_t)(len))
#define TRY_OR(n, instruction, label)                                                              \
	#n ":	" instruction "\n" HF_SITE(#n "b", "%l[" #label "]")
#define AT(p) "m"(*(const VECTOR *)(p))

#define VECTOR_HITS_OR(bits, p, all, label)                                                        \
	do {                                                                                       \
		uint32_t hf_bits;                                                                  \
                                                                                                   \
		__asm__ volatile goto(TRY_OR(1, "vpcmpeqb %1, %2, %0", label)                      \
				      : "=Yk"(hf_bits)                                             \
				      : AT(p), "v"(all)                                            \
				      : "memory"                                                   \
				      : label);                                                    \
		bits = hf_bits;                                                                    \
	} while (0)
#define VECTOR_HITS_MASKED_OR(bits, p, all, mask, label)                                           \
	do {                                                                                       \
		uint32_t hf_bits;                                                                  \
                                                                                                   \
		__asm__ volatile goto(TRY_OR(1, "vpcmpeqb %1, %2, %0%{%3%}", label)                \
				      : "=Yk"(hf_bits)                                             \
				      : AT(p), "v"(all), "Yk"((uint32_t)(mask))                    \
				      : "memory"                                                   \
				      : label);                                                    \
		bits = hf_bits;                                                                    \
	} while (0)
#define VECTOR_HITS_FOUR_OR(bits, p, all, label)                                                   \
	do {                                                                                       \
		uint32_t hf_bits;                                                                  \
                                                                                                   \
		__asm__ volatile goto(TRY_OR(1, "vpxorq (%1), %2, %%ymm16", label)                 \
				      TRY_OR(2, "vpxorq 32(%1), %2, %%ymm17", label)               \
				      TRY_OR(3, "vpxorq 64(%1), %2, %%ymm18", label)               \
				      TRY_OR(4, "vpxorq 96(%1), %2, %%ymm19", label)               \
				      "vpminub %%ymm16, %%ymm17, %%ymm17\n"                        \
				      "vpminub %%ymm18, %%ymm19, %%ymm19\n"                        \
				      "vpminub %%ymm17, %%ymm19, %%ymm19\n"                        \
				      "vptestnmb %%ymm19, %%ymm19, %0\n"                           \
				      : "=Yk"(hf_bits)                                             \
				      : "r"(p), "v"(all)                                           \
				      : "memory", "xmm16", "xmm17", "xmm18", "xmm19"               \
				      : label);                                                    \
		bits = hf_bits;                                                                    \
	} while (0)
#define VECTOR_DIFFER_OR(bits, p, q, label)                                                        \
	do {                                                                                       \
		uint32_t hf_bits;                                                                  \
                                                                                                   \
		__asm__ volatile goto(TRY_OR(1, "vmovdqu64 %1, %%ymm16", label)                    \
				      TRY_OR(2, "vpcmpneqb %2, %%ymm16, %0", label)                \
				      : "=Yk"(hf_bits)                                             \
				      : AT(p), AT(q)                                               \
				      : "memory", "xmm16"                                          \
				      : label);                                                    \
		bits = hf_bits;                                                                    \
	} while (0)
#define VECTOR_DIFFER_MASKED_OR(bits, p, q, mask, label)                                           \
	do {                                                                                       \
		uint32_t hf_bits;                                                                  \
                                                                                                   \
		__asm__ volatile goto(TRY_OR(1, "vmovdqu8 %1, %%ymm16%{%3%}%{z%}", label)          \
				      TRY_OR(2, "vpcmpneqb %2, %%ymm16, %0%{%3%}", label)          \
				      : "=&Yk"(hf_bits)                                            \
				      : AT(p), AT(q), "Yk"((uint32_t)(mask))                       \
				      : "memory", "xmm16"                                          \
				      : label);                                                    \
		bits = hf_bits;                                                                    \
	} while (0)
#define VECTOR_DIFFER_FOUR_OR(bits, p, q, label)                                                   \
	do {                                                                                       \
		uint32_t hf_bits;                                                                  \
                                                                                                   \
		__asm__ volatile goto(TRY_OR(1, "vmovdqu64 (%1), %%ymm16", label)                  \
				      TRY_OR(2, "vmovdqu64 32(%1), %%ymm17", label)                \
				      TRY_OR(3, "vmovdqu64 64(%1), %%ymm18", label)                \
				      TRY_OR(4, "vmovdqu64 96(%1), %%ymm19", label)                \
				      TRY_OR(1, "vpxorq (%2), %%ymm16, %%ymm16", label)            \
				      TRY_OR(2, "vpxorq 32(%2), %%ymm17, %%ymm17", label)          \
				      TRY_OR(3, "vpxorq 64(%2), %%ymm18, %%ymm18", label)          \
				      TRY_OR(4, "vpxorq 96(%2), %%ymm19, %%ymm19", label)          \
				      "vpternlogq $0xfe, %%ymm16, %%ymm17, %%ymm18\n"              \
				      "vporq %%ymm18, %%ymm19, %%ymm19\n"                          \
				      "vptestmb %%ymm19, %%ymm19, %0\n"                            \
				      : "=Yk"(hf_bits)                                             \
				      : "r"(p), "r"(q)                                             \
				      : "memory", "xmm16", "xmm17", "xmm18", "xmm19"               \
				      : label);                                                    \
		bits = hf_bits;                                                                    \
	} while (0)
/* clang-format on */
#define VECTOR_NAME avx512
#include "../search_vector.h"

/*
 * Whole words, 16 bytes at a time: with AVX an aligned access of 16 bytes is atomic (Intel SDM
 * volume 3, 9.1.1; AMD APM volume 2, 7.3.2). So both sides must have the same offset from a
 * multiple of 16.
 */
#define PAIR_LOAD_OR(value, p, label)                                                              \
	HF_ARCH_LOAD_OR("vmovdqa", value, "x", (const sse_t *)(p), label)
#define PAIR_STORE_OR(p, value, label) HF_ARCH_STORE_OR("vmovdqa", (sse_t *)(p), value, "x", label)

__attribute__((target("avx"), aligned(64))) HF_NO_SANITIZE size_t
hf_detail_copy_pairs_avx(void *dst, const void *src, size_t words)
{
	hf_detail_w8 *to = (hf_detail_w8 *)dst;
	const hf_detail_w8 *from = (const hf_detail_w8 *)src;
	sse_t a, b, c, d;

	if (words < 8 || ((uintptr_t)dst ^ (uintptr_t)src) % 16)
		return hf_detail_copy_words_generic(dst, src, words);
	if (HF_UNLIKELY((uintptr_t)to % 16)) {
		uint64_t word;

		HF_ARCH_LOAD64_OR(word, from, fault);
		HF_ARCH_STORE64_OR(to, word, fault);
		to++, from++, words--;
	}
	for (; words >= 8; words -= 8, to += 8, from += 8) {
		PAIR_LOAD_OR(a, from, one_by_one);
		PAIR_LOAD_OR(b, from + 2, one_by_one);
		PAIR_LOAD_OR(c, from + 4, one_by_one);
		PAIR_LOAD_OR(d, from + 6, one_by_one);
		PAIR_STORE_OR(to, a, fault);
		PAIR_STORE_OR(to + 2, b, fault1);
		PAIR_STORE_OR(to + 4, c, fault2);
		PAIR_STORE_OR(to + 6, d, fault3);
	}
	if (HF_LIKELY(!words))
		return 0;
one_by_one:
	return hf_detail_copy_words_generic(to, from, words);
fault3:
	words -= 2;
fault2:
	words -= 2;
fault1:
	words -= 2;
fault:
	return words;
}

#undef PAIR_LOAD_OR
#undef PAIR_STORE_OR

#undef VECTOR_SPLAT
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
#define VECTOR_NAME hand_avx512
#define VECTOR_REPEAT 1
#define VECTOR_SMALL_BY_HAND 1
#include "../vector.h"
#define VECTOR_SPLAT(value)                                                                        \
	((avx512_t){ (long long)(value), (long long)(value), (long long)(value),                   \
		     (long long)(value), (long long)(value), (long long)(value),                   \
		     (long long)(value), (long long)(value) })
#define VECTOR_NAME avx512
#define VECTOR_REPEAT 1
#define VECTOR_WITHOUT_MOVE
#include "../memory_vector.h"

/* ---- hand: small sizes in assembly ------------------------------------------------------- */

/*
 * The same as clear_small_ and copy_small_, but each size has its own return instruction. Compilers
 * merge the returns, and the jump to the merged one would cost a third of the total time.
 *
 *                 clear     copy      registers                        then
 *   hand_avx2     ..128     ..512     ymm0 on, VZEROUPPER at the end   vectors of 32 bytes
 *   hand_avx512   ..256     ..512     ymm20 on, zmm20 on from 129      vectors of 64 bytes
 *   hand_mixed              ..512     ymm0 on, zmm20 on from 385       vectors of 64 bytes
 *
 *   The upper registers of AVX-512 need no VZEROUPPER.
 *
 * Registers   clear: rdi = p, rsi = len; copy: rdi = to, rsi = from, rdx = len; the code after a
 *             fault needs them, so they never change; rax = the bytes left
 *
 * Up to 15 bytes: stores of up to 8, which may cross pages (see the top of this file).
 */

/* A store of up to 8 bytes of a clear faulted, after @done bytes. */
size_t hf_detail_clear_few_fault(char *p, size_t len, size_t done)
	__attribute__((visibility("hidden")));
HF_USED_BY_ASSEMBLY size_t hf_detail_clear_few_fault(char *p, size_t len, size_t done)
{
	size_t here = hf_detail_to_page_end(p);

	return here >= len ? len - done : len - here + hf_arch_rep_stosb(p, here);
}

/* A store of up to 8 bytes of a copy faulted, after @done bytes. */
size_t hf_detail_copy_few_fault(char *to, const char *from, size_t len, size_t done)
	__attribute__((visibility("hidden")));
HF_USED_BY_ASSEMBLY size_t hf_detail_copy_few_fault(char *to, const char *from, size_t len,
						    size_t done)
{
	size_t here = hf_detail_to_page_end(to);

	return here >= len ? len - done : len - here + hf_arch_rep_movsb(to, from, here);
}

#pragma GCC diagnostic ignored "-Woverlength-strings" /* a function is one string here */

/*
 * An instruction that may fault, and its label for a fault. Loads are in ascending order, so the
 * address of a fault is that of the first unreadable byte.
 */
#define TRY(instruction, label) "1:	" instruction "\n" HF_SITE("1b", label)

/* clang-format off */
/*
 * NAME: of the implementation. R, MOV, ZERO, VZ: its registers' first digit, its move, how it
 * makes zero, and what it does at the end. ABOVE: where clear goes above 128 bytes; TO: whose
 * hf_detail_copy_to_ copies across pages; MORE: code for sizes above 128.
 */
#define CLEAR_BY_HAND(NAME, R, MOV, ZERO, VZ, ABOVE, MORE) \
HF_ARCH_NAKED_FUNCTION(hf_detail_clear_ ## NAME, \
	ZERO \
	"	cmp	$32, %rsi\n" \
	"	jb	20f\n" \
	"	cmp	$128, %rsi\n" \
	"	ja	" ABOVE "\n" \
	"	mov	%edi, %eax\n" \
	"	and	$4095, %eax\n" \
	"	cmp	$4096 - 128, %eax\n" \
	"	ja	hf_detail_clear_to_" #NAME "\n" /* near the page's end: E1 */ \
	/* 32..128 */ \
	TRY(MOV "	%ymm" R "0, (%rdi)", "80f") \
	"	cmp	$64, %rsi\n" \
	"	ja	10f\n" \
	TRY(MOV "	%ymm" R "0, -32(%rdi, %rsi)", "81f") \
	VZ \
	"	xor	%eax, %eax\n" \
	"	ret\n" \
	"	.p2align 4\n" \
	/* 65..128 */ \
	"10:\n" \
	TRY(MOV "	%ymm" R "0, 32(%rdi)", "81f") \
	TRY(MOV "	%ymm" R "0, -64(%rdi, %rsi)", "82f") \
	TRY(MOV "	%ymm" R "0, -32(%rdi, %rsi)", "83f") \
	VZ \
	"	xor	%eax, %eax\n" \
	"	ret\n" \
	"	.p2align 4\n" \
	"20:	cmp	$16, %esi\n" \
	"	jae	24f\n" \
	"	xor	%eax, %eax\n" \
	"	cmp	$8, %esi\n" \
	"	jae	23f\n" \
	"	cmp	$4, %esi\n" \
	"	jae	22f\n" \
	/* 1..3: the first, the middle and the last, which may coincide; this needs no branch */ \
	"	mov	%esi, %ecx\n" \
	"	shr	%ecx\n" \
	"	test	%esi, %esi\n" \
	"	jz	29f\n" \
	TRY("movb	%al, (%rdi)", "80f") \
	TRY("movb	%al, (%rdi, %rcx)", "85f") \
	TRY("movb	%al, -1(%rdi, %rsi)", "86f") \
	"29:	ret\n" \
	"	.p2align 4\n" \
	/* 4..7 */ \
	"22:\n" \
	TRY("movl	%eax, (%rdi)", "90f") \
	TRY("movl	%eax, -4(%rdi, %rsi)", "92f") \
	"	ret\n" \
	"	.p2align 4\n" \
	/* 8..15 */ \
	"23:\n" \
	TRY("movq	%rax, (%rdi)", "90f") \
	TRY("movq	%rax, -8(%rdi, %rsi)", "93f") \
	"	ret\n" \
	"	.p2align 4\n" \
	/* 16..31 */ \
	"24:	mov	%edi, %eax\n" \
	"	and	$4095, %eax\n" \
	"	cmp	$4096 - 32, %eax\n" \
	"	ja	hf_detail_clear_to_" #NAME "\n" \
	TRY(MOV "	%xmm" R "0, (%rdi)", "80f") \
	TRY(MOV "	%xmm" R "0, -16(%rdi, %rsi)", "84f") \
	"	xor	%eax, %eax\n" \
	"	ret\n" \
	MORE \
	/* After a fault. */ \
	"80:	mov	%rsi, %rax\n" /* nothing is done */ \
	"	jmp	89f\n" \
	"81:	lea	-32(%rsi), %rax\n" \
	"	jmp	89f\n" \
	"82:	lea	-64(%rsi), %rax\n" \
	"	jmp	89f\n" \
	"83:	lea	-64(%rsi), %rax\n" /* the lesser of len - 64 and 32 */ \
	"	mov	$32, %ecx\n" \
	"	cmp	%rcx, %rax\n" \
	"	cmova	%rcx, %rax\n" \
	"	jmp	89f\n" \
	"84:	lea	-16(%rsi), %rax\n" \
	"	jmp	89f\n" \
	"85:	lea	-1(%rsi), %eax\n" \
	"	jmp	89f\n" \
	"86:	xor	%eax, %eax\n" /* of 3: the last; of fewer it was done before */ \
	"	cmp	$3, %esi\n" \
	"	sete	%al\n" \
	"	jmp	89f\n" \
	"71:	lea	-128(%rsi), %rax\n" \
	"	jmp	89f\n" \
	"73:	lea	-128(%rsi), %rax\n" /* the lesser of len - 128 and 64 */ \
	"	mov	$64, %ecx\n" \
	"	cmp	%rcx, %rax\n" \
	"	cmova	%rcx, %rax\n" \
	"89:\n" VZ \
	"	ret\n" \
	"90:	xor	%edx, %edx\n" \
	"	jmp	hf_detail_clear_few_fault\n" \
	"92:	mov	$4, %edx\n" \
	"	jmp	hf_detail_clear_few_fault\n" \
	"93:	mov	$8, %edx\n" \
	"	jmp	hf_detail_clear_few_fault\n")

#define COPY_BY_HAND(NAME, R, MOV, VZ, TO, MORE) \
HF_ARCH_NAKED_FUNCTION(hf_detail_copy_ ## NAME, \
	"	cmp	$32, %rdx\n" \
	"	jb	20f\n" \
	"	cmp	$128, %rdx\n" \
	"	ja	15f\n" \
	"	mov	%edi, %eax\n" \
	"	and	$4095, %eax\n" \
	"	cmp	$4096 - 128, %eax\n" \
	"	ja	hf_detail_copy_to_" TO "\n" /* near the page's end: E1 */ \
	/* 32..128 */ \
	TRY(MOV "	(%rsi), %ymm" R "0", "95f") \
	"	cmp	$64, %rdx\n" \
	"	ja	10f\n" \
	TRY(MOV "	-32(%rsi, %rdx), %ymm" R "1", "95f") \
	TRY(MOV "	%ymm" R "0, (%rdi)", "80f") \
	TRY(MOV "	%ymm" R "1, -32(%rdi, %rdx)", "81f") \
	VZ \
	"	xor	%eax, %eax\n" \
	"	ret\n" \
	"	.p2align 4\n" \
	/* 65..128 */ \
	"10:\n" \
	TRY(MOV "	32(%rsi), %ymm" R "2", "95f") \
	TRY(MOV "	-64(%rsi, %rdx), %ymm" R "3", "95f") \
	TRY(MOV "	-32(%rsi, %rdx), %ymm" R "1", "95f") \
	TRY(MOV "	%ymm" R "0, (%rdi)", "80f") \
	TRY(MOV "	%ymm" R "2, 32(%rdi)", "81f") \
	TRY(MOV "	%ymm" R "3, -64(%rdi, %rdx)", "82f") \
	TRY(MOV "	%ymm" R "1, -32(%rdi, %rdx)", "83f") \
	VZ \
	"	xor	%eax, %eax\n" \
	"	ret\n" \
	"	.p2align 4\n" \
	MORE \
	"20:	cmp	$16, %edx\n" \
	"	jae	24f\n" \
	"	xor	%eax, %eax\n" \
	"	cmp	$8, %edx\n" \
	"	jae	23f\n" \
	"	cmp	$4, %edx\n" \
	"	jae	22f\n" \
	"	cmp	$1, %edx\n" \
	"	ja	21f\n" \
	"	jb	29f\n" \
	TRY("movzbl	(%rsi), %ecx", "95f") \
	TRY("movb	%cl, (%rdi)", "80f") \
	"29:	ret\n" \
	"	.p2align 4\n" \
	/* 2, 3 */ \
	"21:\n" \
	TRY("movzwl	(%rsi), %ecx", "95f") \
	TRY("movzbl	-1(%rsi, %rdx), %r8d", "95f") \
	TRY("movw	%cx, (%rdi)", "90f") \
	TRY("movb	%r8b, -1(%rdi, %rdx)", "91f") \
	"	ret\n" \
	"	.p2align 4\n" \
	/* 4..7 */ \
	"22:\n" \
	TRY("movl	(%rsi), %ecx", "95f") \
	TRY("movl	-4(%rsi, %rdx), %r8d", "95f") \
	TRY("movl	%ecx, (%rdi)", "90f") \
	TRY("movl	%r8d, -4(%rdi, %rdx)", "92f") \
	"	ret\n" \
	"	.p2align 4\n" \
	/* 8..15 */ \
	"23:\n" \
	TRY("movq	(%rsi), %rcx", "95f") \
	TRY("movq	-8(%rsi, %rdx), %r8", "95f") \
	TRY("movq	%rcx, (%rdi)", "90f") \
	TRY("movq	%r8, -8(%rdi, %rdx)", "93f") \
	"	ret\n" \
	"	.p2align 4\n" \
	/* 16..31 */ \
	"24:	mov	%edi, %eax\n" \
	"	and	$4095, %eax\n" \
	"	cmp	$4096 - 32, %eax\n" \
	"	ja	hf_detail_copy_to_" TO "\n" \
	TRY(MOV "	(%rsi), %xmm" R "0", "95f") \
	TRY(MOV "	-16(%rsi, %rdx), %xmm" R "1", "95f") \
	TRY(MOV "	%xmm" R "0, (%rdi)", "80f") \
	TRY(MOV "	%xmm" R "1, -16(%rdi, %rdx)", "84f") \
	"	xor	%eax, %eax\n" \
	"	ret\n" \
	/* After a fault of a store. */ \
	/* From 129 on. */ \
	"70:	lea	-96(%rdx), %rax\n" \
	"	jmp	89f\n" \
	"71:	lea	-128(%rdx), %rax\n" \
	"	jmp	89f\n" \
	"72:	mov	$96, %ecx\n" \
	"	jmp	75f\n" \
	"73:	mov	$64, %ecx\n" \
	"	jmp	75f\n" \
	"74:	mov	$32, %ecx\n" \
	"75:	lea	-128(%rdx), %rax\n" /* the lesser of len - 128 and ecx */ \
	"76:	cmp	%rcx, %rax\n" \
	"	cmova	%rcx, %rax\n" \
	"	jmp	89f\n" \
	/* Up to 128. */ \
	"80:	mov	%rdx, %rax\n" /* nothing is done */ \
	"	jmp	89f\n" \
	"81:	lea	-32(%rdx), %rax\n" \
	"	jmp	89f\n" \
	"82:	lea	-64(%rdx), %rax\n" \
	"	jmp	89f\n" \
	"83:	lea	-64(%rdx), %rax\n" /* the lesser of len - 64 and 32 */ \
	"	mov	$32, %ecx\n" \
	"	cmp	%rcx, %rax\n" \
	"	cmova	%rcx, %rax\n" \
	"	jmp	89f\n" \
	"84:	lea	-16(%rdx), %rax\n" \
	"89:\n" VZ \
	"	ret\n" \
	"90:	xor	%ecx, %ecx\n" \
	"	jmp	hf_detail_copy_few_fault\n" \
	"91:	mov	$2, %ecx\n" \
	"	jmp	hf_detail_copy_few_fault\n" \
	"92:	mov	$4, %ecx\n" \
	"	jmp	hf_detail_copy_few_fault\n" \
	"93:	mov	$8, %ecx\n" \
	"	jmp	hf_detail_copy_few_fault\n" \
	/* After a fault of a load: nothing is stored yet. E2 */ \
	"95:\n" VZ \
	"	mov	%rdx, %rcx\n" \
	"	jmp	hf_detail_copy_to_page_end\n")

CLEAR_BY_HAND(hand_avx2, "", "vmovdqu", "	vpxor	%xmm0, %xmm0, %xmm0\n",
	      "	vzeroupper\n", "hf_detail_clear_more_hand_avx2", )

CLEAR_BY_HAND(hand_avx512, "2", "vmovdqu64", "	vpxord	%ymm20, %ymm20, %ymm20\n", , "15f",
	/* 129..256 */
	"	.p2align 4\n"
	"15:	cmp	$256, %rsi\n"
	"	ja	hf_detail_clear_more_hand_avx512\n"
	"	mov	%edi, %eax\n"
	"	and	$4095, %eax\n"
	"	cmp	$4096 - 256, %eax\n"
	"	ja	hf_detail_clear_to_hand_avx512\n" /* near the page's end: E1 */
	TRY("vmovdqu64	%zmm20, (%rdi)", "80f")
	TRY("vmovdqu64	%zmm20, 64(%rdi)", "82f")
	TRY("vmovdqu64	%zmm20, -128(%rdi, %rsi)", "71f")
	TRY("vmovdqu64	%zmm20, -64(%rdi, %rsi)", "73f")
	"	xor	%eax, %eax\n"
	"	ret\n")

/* Parts of the copies, by 32 bytes, from ymm0 on. NEAR: for 129 to 256 bytes near a page's end. */
#define COPY_256_BY_32(NEAR) \
	/* 129..256 */ \
	"15:	cmp	$256, %rdx\n" \
	"	ja	16f\n" \
	"	mov	%edi, %eax\n" \
	"	and	$4095, %eax\n" \
	"	cmp	$4096 - 256, %eax\n" \
	"	ja	hf_detail_copy_" NEAR "\n" /* near the page's end: E1 */ \
	TRY("vmovdqu	(%rsi), %ymm0", "95f") \
	TRY("vmovdqu	32(%rsi), %ymm1", "95f") \
	TRY("vmovdqu	64(%rsi), %ymm2", "95f") \
	TRY("vmovdqu	96(%rsi), %ymm3", "95f") \
	TRY("vmovdqu	-128(%rsi, %rdx), %ymm4", "95f") \
	TRY("vmovdqu	-96(%rsi, %rdx), %ymm5", "95f") \
	TRY("vmovdqu	-64(%rsi, %rdx), %ymm6", "95f") \
	TRY("vmovdqu	-32(%rsi, %rdx), %ymm7", "95f") \
	TRY("vmovdqu	%ymm0, (%rdi)", "80f") \
	TRY("vmovdqu	%ymm1, 32(%rdi)", "81f") \
	TRY("vmovdqu	%ymm2, 64(%rdi)", "82f") \
	TRY("vmovdqu	%ymm3, 96(%rdi)", "70f") \
	TRY("vmovdqu	%ymm4, -128(%rdi, %rdx)", "71f") \
	TRY("vmovdqu	%ymm5, -96(%rdi, %rdx)", "72f") \
	TRY("vmovdqu	%ymm6, -64(%rdi, %rdx)", "73f") \
	TRY("vmovdqu	%ymm7, -32(%rdi, %rdx)", "74f") \
	"	vzeroupper\n" \
	"	xor	%eax, %eax\n" \
	"	ret\n" \
	"	.p2align 4\n"

#define COPY_LOAD_256_BY_32 \
	TRY("vmovdqu	(%rsi), %ymm0", "95f") \
	TRY("vmovdqu	32(%rsi), %ymm1", "95f") \
	TRY("vmovdqu	64(%rsi), %ymm2", "95f") \
	TRY("vmovdqu	96(%rsi), %ymm3", "95f") \
	TRY("vmovdqu	128(%rsi), %ymm4", "95f") \
	TRY("vmovdqu	160(%rsi), %ymm5", "95f") \
	TRY("vmovdqu	192(%rsi), %ymm6", "95f") \
	TRY("vmovdqu	224(%rsi), %ymm7", "95f")

#define COPY_384_BY_32 \
	TRY("vmovdqu	-128(%rsi, %rdx), %ymm8", "95f") \
	TRY("vmovdqu	-96(%rsi, %rdx), %ymm9", "95f") \
	TRY("vmovdqu	-64(%rsi, %rdx), %ymm10", "95f") \
	TRY("vmovdqu	-32(%rsi, %rdx), %ymm11", "95f") \
	TRY("vmovdqu	%ymm0, (%rdi)", "80f") \
	TRY("vmovdqu	%ymm1, 32(%rdi)", "81f") \
	TRY("vmovdqu	%ymm2, 64(%rdi)", "82f") \
	TRY("vmovdqu	%ymm3, 96(%rdi)", "70f") \
	TRY("vmovdqu	%ymm4, 128(%rdi)", "71f") \
	TRY("vmovdqu	%ymm5, 160(%rdi)", "60f") \
	TRY("vmovdqu	%ymm6, 192(%rdi)", "61f") \
	TRY("vmovdqu	%ymm7, 224(%rdi)", "62f") \
	TRY("vmovdqu	%ymm8, -128(%rdi, %rdx)", "54f") \
	TRY("vmovdqu	%ymm9, -96(%rdi, %rdx)", "55f") \
	TRY("vmovdqu	%ymm10, -64(%rdi, %rdx)", "56f") \
	TRY("vmovdqu	%ymm11, -32(%rdi, %rdx)", "57f") \
	"	vzeroupper\n" \
	"	xor	%eax, %eax\n" \
	"	ret\n" \
	"	.p2align 4\n"

#define COPY_384_FAULTS_BY_32 \
	/* After a fault of a store: from 257 bytes on. */ \
	"50:	mov	$256, %ecx\n" \
	"	jmp	58f\n" \
	"51:	mov	$224, %ecx\n" \
	"	jmp	58f\n" \
	"52:	mov	$192, %ecx\n" \
	"	jmp	58f\n" \
	"53:	mov	$160, %ecx\n" \
	"	jmp	58f\n" \
	"54:	mov	$128, %ecx\n" \
	"	jmp	58f\n" \
	"55:	mov	$96, %ecx\n" \
	"	jmp	58f\n" \
	"56:	mov	$64, %ecx\n" \
	"	jmp	58f\n" \
	"57:	mov	$32, %ecx\n" \
	"58:	lea	-256(%rdx), %rax\n" /* the lesser of len - 256 and ecx */ \
	"	jmp	76f\n" \
	"60:	lea	-160(%rdx), %rax\n" \
	"	jmp	89f\n" \
	"61:	lea	-192(%rdx), %rax\n" \
	"	jmp	89f\n" \
	"62:	lea	-224(%rdx), %rax\n" \
	"	jmp	89f\n"

/* By 64 bytes, from zmm20 on. */
#define COPY_512_BY_64 \
	TRY("vmovdqu64	(%rsi), %zmm20", "95f") \
	TRY("vmovdqu64	64(%rsi), %zmm21", "95f") \
	TRY("vmovdqu64	128(%rsi), %zmm22", "95f") \
	TRY("vmovdqu64	192(%rsi), %zmm23", "95f") \
	TRY("vmovdqu64	-256(%rsi, %rdx), %zmm24", "95f") \
	TRY("vmovdqu64	-192(%rsi, %rdx), %zmm25", "95f") \
	TRY("vmovdqu64	-128(%rsi, %rdx), %zmm26", "95f") \
	TRY("vmovdqu64	-64(%rsi, %rdx), %zmm27", "95f") \
	TRY("vmovdqu64	%zmm20, (%rdi)", "80f") \
	TRY("vmovdqu64	%zmm21, 64(%rdi)", "82f") \
	TRY("vmovdqu64	%zmm22, 128(%rdi)", "71f") \
	TRY("vmovdqu64	%zmm23, 192(%rdi)", "61f") \
	TRY("vmovdqu64	%zmm24, -256(%rdi, %rdx)", "50f") \
	TRY("vmovdqu64	%zmm25, -192(%rdi, %rdx)", "52f") \
	TRY("vmovdqu64	%zmm26, -128(%rdi, %rdx)", "54f") \
	TRY("vmovdqu64	%zmm27, -64(%rdi, %rdx)", "56f") \
	"	xor	%eax, %eax\n" \
	"	ret\n"

COPY_BY_HAND(hand_avx2, "", "vmovdqu", "	vzeroupper\n", "hand_avx2",
	COPY_256_BY_32("more_hand_avx2")
	/* 257..384 */
	"16:	cmp	$512, %rdx\n"
	"	ja	hf_detail_copy_more_hand_avx2\n"
	"	mov	%edi, %eax\n"
	"	and	$4095, %eax\n"
	"	cmp	$4096 - 512, %eax\n"
	"	ja	hf_detail_copy_more_hand_avx2\n" /* near the page's end: E1 */
	COPY_LOAD_256_BY_32
	"	cmp	$384, %rdx\n"
	"	ja	17f\n"
	COPY_384_BY_32
	/* 385..512 */
	"17:\n"
	TRY("vmovdqu	-256(%rsi, %rdx), %ymm8", "95f")
	TRY("vmovdqu	-224(%rsi, %rdx), %ymm9", "95f")
	TRY("vmovdqu	-192(%rsi, %rdx), %ymm10", "95f")
	TRY("vmovdqu	-160(%rsi, %rdx), %ymm11", "95f")
	TRY("vmovdqu	-128(%rsi, %rdx), %ymm12", "95f")
	TRY("vmovdqu	-96(%rsi, %rdx), %ymm13", "95f")
	TRY("vmovdqu	-64(%rsi, %rdx), %ymm14", "95f")
	TRY("vmovdqu	-32(%rsi, %rdx), %ymm15", "95f")
	TRY("vmovdqu	%ymm0, (%rdi)", "80f")
	TRY("vmovdqu	%ymm1, 32(%rdi)", "81f")
	TRY("vmovdqu	%ymm2, 64(%rdi)", "82f")
	TRY("vmovdqu	%ymm3, 96(%rdi)", "70f")
	TRY("vmovdqu	%ymm4, 128(%rdi)", "71f")
	TRY("vmovdqu	%ymm5, 160(%rdi)", "60f")
	TRY("vmovdqu	%ymm6, 192(%rdi)", "61f")
	TRY("vmovdqu	%ymm7, 224(%rdi)", "62f")
	TRY("vmovdqu	%ymm8, -256(%rdi, %rdx)", "50f")
	TRY("vmovdqu	%ymm9, -224(%rdi, %rdx)", "51f")
	TRY("vmovdqu	%ymm10, -192(%rdi, %rdx)", "52f")
	TRY("vmovdqu	%ymm11, -160(%rdi, %rdx)", "53f")
	TRY("vmovdqu	%ymm12, -128(%rdi, %rdx)", "54f")
	TRY("vmovdqu	%ymm13, -96(%rdi, %rdx)", "55f")
	TRY("vmovdqu	%ymm14, -64(%rdi, %rdx)", "56f")
	TRY("vmovdqu	%ymm15, -32(%rdi, %rdx)", "57f")
	"	vzeroupper\n"
	"	xor	%eax, %eax\n"
	"	ret\n"
	"	.p2align 4\n"
	COPY_384_FAULTS_BY_32)

COPY_BY_HAND(hand_avx512, "2", "vmovdqu64", , "hand_avx512",
	/* 129..256 */
	"15:	cmp	$256, %rdx\n"
	"	ja	16f\n"
	"	mov	%edi, %eax\n"
	"	and	$4095, %eax\n"
	"	cmp	$4096 - 256, %eax\n"
	"	ja	hf_detail_copy_to_hand_avx512\n" /* near the page's end: E1 */
	TRY("vmovdqu64	(%rsi), %zmm20", "95f")
	TRY("vmovdqu64	64(%rsi), %zmm21", "95f")
	TRY("vmovdqu64	-128(%rsi, %rdx), %zmm22", "95f")
	TRY("vmovdqu64	-64(%rsi, %rdx), %zmm23", "95f")
	TRY("vmovdqu64	%zmm20, (%rdi)", "80f")
	TRY("vmovdqu64	%zmm21, 64(%rdi)", "82f")
	TRY("vmovdqu64	%zmm22, -128(%rdi, %rdx)", "71f")
	TRY("vmovdqu64	%zmm23, -64(%rdi, %rdx)", "73f")
	"	xor	%eax, %eax\n"
	"	ret\n"
	"	.p2align 4\n"
	/* 257..512: the same eight, which may overlap */
	"16:	cmp	$512, %rdx\n"
	"	ja	hf_detail_copy_more_hand_avx512\n"
	"	mov	%edi, %eax\n"
	"	and	$4095, %eax\n"
	"	cmp	$4096 - 512, %eax\n"
	"	ja	hf_detail_copy_more_hand_avx512\n" /* near the page's end: E1 */
	COPY_512_BY_64
	/* After a fault of a store. */
	"50:	mov	$256, %ecx\n"
	"	jmp	58f\n"
	"52:	mov	$192, %ecx\n"
	"	jmp	58f\n"
	"54:	mov	$128, %ecx\n"
	"	jmp	58f\n"
	"56:	mov	$64, %ecx\n"
	"58:	lea	-256(%rdx), %rax\n" /* the lesser of len - 256 and ecx */
	"	jmp	76f\n"
	"61:	lea	-192(%rdx), %rax\n"
	"	jmp	89f\n")

/* Up to 384 bytes by 32, above by 64. */
COPY_BY_HAND(hand_mixed, "", "vmovdqu", "	vzeroupper\n", "hand_avx512",
	COPY_256_BY_32("to_hand_avx512")
	/* 257..384 */
	"16:	cmp	$512, %rdx\n"
	"	ja	hf_detail_copy_more_hand_avx512\n"
	"	mov	%edi, %eax\n"
	"	and	$4095, %eax\n"
	"	cmp	$4096 - 512, %eax\n"
	"	ja	hf_detail_copy_more_hand_avx512\n" /* near the page's end: E1 */
	"	cmp	$384, %rdx\n"
	"	ja	17f\n"
	COPY_LOAD_256_BY_32
	COPY_384_BY_32
	/* 385..512 */
	"17:\n"
	COPY_512_BY_64
	COPY_384_FAULTS_BY_32)

/* clang-format on */

#endif /* HF_HAS_VECTORS */

#endif
