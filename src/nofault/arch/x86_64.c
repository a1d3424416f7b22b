/* SPDX-License-Identifier: MIT */
/*
 * nofault, for x86-64 - the implementations of clear and copy that exist here only.
 *
 * A store of up to 8 bytes that faults has written nothing, even if it lies on two pages (Intel SDM
 * vol. 3, 9.1.1, allows only larger ones to be written in part). So these may cross pages; after a
 * fault, the bytes on the first page are written one by one.
 */
#include "../implementation.h"

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

#define VECTOR_REPEAT 1
#define VECTOR_SMALL_BY_HAND (VECTOR_BYTES > 16) /* below */

#define VECTOR_BYTES 16
#define VECTOR_NAME sse2
#include "x86_64_vector.h"
#include "../vector.h"
#include "x86_64_search.h"
#include "../search_vector.h"
#undef VECTOR_BYTES
#undef VECTOR_NAME

#define VECTOR_BYTES 32
#define VECTOR_NAME avx2
#include "x86_64_vector.h"
#include "../vector.h"
#include "x86_64_search.h"
#include "../search_vector.h"
#undef VECTOR_BYTES
#undef VECTOR_NAME

/* Find and compare by 32 bytes with masks, the others by 64. */
#define VECTOR_BYTES 64
#define VECTOR_NAME avx512
#include "x86_64_vector.h"
#include "../vector.h"
#undef VECTOR_BYTES
#define VECTOR_BYTES 32
#define VECTOR_MASKED
#include "x86_64_vector.h"
#include "x86_64_search.h"
#include "../search_vector.h"

/* ---- whole words -------------------------------------------------------------------------- */

/*
 * 16 bytes at a time: with AVX an aligned access of 16 bytes is atomic (Intel SDM
 * volume 3, 9.1.1; AMD APM volume 2, 7.3.2). So both sides must have the same offset from a
 * multiple of 16.
 */
#define PAIR_LOAD_OR(value, p, label)                                                              \
	HF_ARCH_LOAD_OR("vmovdqa %1, %0", value, "x", (const sse_t *)(p), label)
#define PAIR_STORE_OR(p, value, label)                                                             \
	HF_ARCH_STORE_OR("vmovdqa %1, %0", (sse_t *)(p), value, "x", label)

__attribute__((target("avx"), aligned(64))) HF_NO_SANITIZE size_t
hf_detail_copy_pairs_avx(void *dst, const void *src, size_t words)
{
	hf_detail_w8 *to = (hf_detail_w8 *)dst;
	const hf_detail_w8 *from = (const hf_detail_w8 *)src;
	sse_t a, b, c, d;

	if (words < 4) /* here, since a jump to the loop elsewhere costs as much as a word */
		goto few;
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
few:
	if (HF_LIKELY(words)) {
		uint64_t word;

		HF_ARCH_LOAD64_OR(word, from, fault);
		HF_ARCH_STORE64_OR(to, word, fault);
		if (--words) {
			HF_ARCH_LOAD64_OR(word, from + 1, fault);
			HF_ARCH_STORE64_OR(to + 1, word, fault);
			if (--words) {
				HF_ARCH_LOAD64_OR(word, from + 2, fault);
				HF_ARCH_STORE64_OR(to + 2, word, fault);
			}
		}
	}
	return 0;
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

/* ---- hand: small sizes in assembly ------------------------------------------------------- */

/*
 * As clear_small_, fill_small_ and copy_small_, but each size has its own return instruction:
 * compilers merge the returns, and the jump to the merged one would cost a third of the time.
 *
 *            clear, fill  copy    registers                        then
 *   avx2     all          ..512   ymm0 on, VZEROUPPER at the end   vectors of 32 bytes
 *   avx512   all          ..512   ymm20 on, zmm20 on from 129      vectors of 64 bytes
 *   mixed                 ..512   ymm0 on, zmm20 on from 385       vectors of 64 bytes
 *
 *   The upper registers of AVX-512 need no VZEROUPPER.
 *
 * Registers   clear: rdi = p, rsi = len; fill: rdi = p, rsi = eight times the byte, rdx = len;
 *             copy: rdi = to, rsi = from, rdx = len; the code after a fault needs them, so they
 *             never change; rax = the bytes left
 *
 * Up to 15 bytes: stores of up to 8, which may cross pages (see the top of this file).
 */

/* A store of up to 8 bytes of a fill, or of a clear, faulted, after @done bytes. */
size_t hf_detail_fill_few_fault(char *p, uint64_t value, size_t len, size_t done)
	__attribute__((visibility("hidden")));
HF_USED_BY_ASSEMBLY size_t hf_detail_fill_few_fault(char *p, uint64_t value, size_t len,
						    size_t done)
{
	size_t here = hf_detail_to_page_end(p);

	return here >= len ? len - done
			   : len - here + hf_arch_rep_stosb_of(p, (uint8_t)value, here);
}

/* The same of a copy. */
size_t hf_detail_copy_few_fault(char *to, const char *from, size_t len, size_t done)
	__attribute__((visibility("hidden")));
HF_USED_BY_ASSEMBLY size_t hf_detail_copy_few_fault(char *to, const char *from, size_t len,
						    size_t done)
{
	size_t here = hf_detail_to_page_end(to);

	return here >= len ? len - done : len - here + hf_arch_rep_movsb(to, from, here);
}

/* In assembly: the text for each of the numbers, which replace \i in it. */
#define EACH(numbers, text) ".irp i," numbers "\n" text ".endr\n"

#pragma GCC diagnostic ignored "-Woverlength-strings" /* a function is one string here */

/*
 * An instruction that may fault, and its label for a fault. Loads are in ascending order, so the
 * address of a fault is that of the first unreadable byte.
 */
#define TRY(instruction, label) "1:	" instruction "\n" HF_SITE("1b", label)

/* clang-format off */
/* Labels. The code for sizes from so many bytes on, or below so many: */
#define FROM_2 "21"
#define FROM_4 "22"
#define FROM_8 "23"
#define FROM_16 "24"
#define BELOW_32 "20"
#define FROM_65 "10"
#define FROM_129 "15"
#define FROM_257 "16"
#define LOOP "18"
#define LOOP_END "19"
#define FROM_385 "17"
#define RETURN "29"

/* Where a fault continues, of a load; and of a store, after so many bytes: */
#define LOAD_FAULT "95f"
#define AFTER_FEW(i) "9" #i "f" /* i; and the store may have been on two pages */
#define AFTER_16 "88f"
#define AFTER_32(i) "8" #i "f" /* 32 i */
#define AFTER_64(i) "6" #i "f" /* 64 i */
/* or before so many of the last ones, which overlap the bytes that are done: */
#define LAST_32_OF_128 "44f"
#define LAST_OF_256(i) "7" #i "f" /* 32 (8 - i) */

/*
 * After a fault of a store. LEN: the register of the length; FEW_FAULT: jumps to ..._few_fault with
 * ecx = its last argument; VZ: see below. The labels' numbers are:
 *
 *   8i, 88     32 i or 16 bytes are done
 *   6i         64 i bytes are done; from i = 4 on, 64 (8 - i) are left of those after the first 256
 *   7i, 44     32 (8 - i), or 32, are left of those after the first 128, or 64
 *   5i         32 (16 - i) are left of those after the first 256
 *   9i         i bytes are done, and the store may have been on two pages
 */
#define STORE_FAULTS(LEN, FEW_FAULT, VZ) \
	EACH("0,1,2,3,4,5,6,7", "8\\i:	lea	-32*\\i(%" LEN "), %rax\n" "	jmp	89f\n") \
	EACH("0,1,2,3", "6\\i:	lea	-64*\\i(%" LEN "), %rax\n" "	jmp	89f\n") \
	"88:	lea	-16(%" LEN "), %rax\n" \
	"	jmp	89f\n" \
	EACH("4,5,6,7", "6\\i:	mov	$64*(8-\\i), %ecx\n" "	jmp	46f\n") \
	EACH("8,9,10,11,12,13,14,15", "5\\i:	mov	$32*(16-\\i), %ecx\n" "	jmp	46f\n") \
	EACH("4,5,6,7", "7\\i:	mov	$32*(8-\\i), %ecx\n" "	jmp	45f\n") \
	"44:	mov	$32, %ecx\n" \
	"	lea	-64(%" LEN "), %rax\n" \
	"	jmp	47f\n" \
	"45:	lea	-128(%" LEN "), %rax\n" \
	"	jmp	47f\n" \
	"46:	lea	-256(%" LEN "), %rax\n" \
	"47:	cmp	%rcx, %rax\n" /* the lesser */ \
	"	cmova	%rcx, %rax\n" \
	"89:\n" VZ \
	"	ret\n" \
	EACH("0,2,4,8", "9\\i:	mov	$\\i, %ecx\n" "	jmp	99f\n") \
	"99:\n" FEW_FAULT

/* Returns 0 bytes left. */
#define DONE(VZ) \
	VZ \
	"	xor	%eax, %eax\n" \
	"	ret\n" \
	"	.p2align 4\n"

/* Goes to NEAR if from the address on fewer than LIMIT bytes are left in the page: E1. */
#define UNLESS_IN_PAGE(LIMIT, ADDRESS, NEAR) \
	"	mov	%" ADDRESS ", %eax\n" \
	"	and	$4095, %eax\n" \
	"	cmp	$4096 - " LIMIT ", %eax\n" \
	"	ja	hf_detail_" NEAR "\n"

/* The same for sizes up to LIMIT; larger ones go to ABOVE. LEN: the register of the length. */
#define UP_TO(LIMIT, LEN, ABOVE, NEAR) \
	"	cmp	$" LIMIT ", %" LEN "\n" \
	"	ja	" ABOVE "\n" \
	UNLESS_IN_PAGE(LIMIT, "edi", NEAR)

/* What differs between clear and fill: the register of the length, and the call after a fault. */
#define LEN_clear "rsi"
#define LEN32_clear "esi"
#define FEW_FAULT_clear \
	"	mov	%rsi, %rdx\n" \
	"	xor	%esi, %esi\n" \
	FEW_FAULT_fill
#define LEN_fill "rdx"
#define LEN32_fill "edx"
#define FEW_FAULT_fill "	jmp	hf_detail_fill_few_fault\n"

/* 65..128 */
#define SET_128_BY_32(LEN) \
	TRY("vmovdqu	%ymm0, (%rdi)", AFTER_32(0)) \
	TRY("vmovdqu	%ymm0, 32(%rdi)", AFTER_32(1)) \
	TRY("vmovdqu	%ymm0, -64(%rdi, %" LEN ")", AFTER_32(2)) \
	TRY("vmovdqu	%ymm0, -32(%rdi, %" LEN ")", LAST_32_OF_128)

#define SET_128_BY_64(LEN) \
	TRY("vmovdqu64	%zmm20, (%rdi)", AFTER_64(0)) \
	TRY("vmovdqu64	%zmm20, -64(%rdi, %" LEN ")", AFTER_64(1))

/*
 * Clear or fill. VERB and NAME: of the implementation. R, MOV, START, VZ: its registers' first
 * digit, its move, how it makes the vector, and what it does at the end. V64, V32, V8: the register
 * of the value of small stores. MIDDLE: for sizes of 65 to 128. ABOVE: code for sizes above 128.
 */
#define SET_BY_HAND(VERB, NAME, V64, V32, V8, R, MOV, START, VZ, MIDDLE, ABOVE) \
HF_ARCH_NAKED_FUNCTION(hf_detail_ ## VERB ## _ ## NAME, \
	START \
	"	cmp	$32, %" LEN_ ## VERB "\n" \
	"	jb	" BELOW_32 "f\n" \
	UP_TO("128", LEN_ ## VERB, FROM_129 "f", #VERB "_to_" #NAME) \
	"	cmp	$64, %" LEN_ ## VERB "\n" \
	"	ja	" FROM_65 "f\n" \
	/* 32..64 */ \
	TRY(MOV "	%ymm" R "0, (%rdi)", AFTER_32(0)) \
	TRY(MOV "	%ymm" R "0, -32(%rdi, %" LEN_ ## VERB ")", AFTER_32(1)) \
	DONE(VZ) \
	FROM_65 ":\n" \
	MIDDLE(LEN_ ## VERB) \
	DONE(VZ) \
	"	.p2align 6\n" /* as in COPY_BY_HAND */ \
	BELOW_32 ":	cmp	$16, %" LEN32_ ## VERB "\n" \
	"	jae	" FROM_16 "f\n" \
	"	xor	%eax, %eax\n" \
	"	cmp	$8, %" LEN32_ ## VERB "\n" \
	"	jae	" FROM_8 "f\n" \
	"	cmp	$4, %" LEN32_ ## VERB "\n" \
	"	jae	" FROM_4 "f\n" \
	/* 1..3: the first, the middle and the last, which may coincide; this needs no branch */ \
	"	mov	%" LEN32_ ## VERB ", %ecx\n" \
	"	shr	%ecx\n" \
	"	test	%" LEN32_ ## VERB ", %" LEN32_ ## VERB "\n" \
	"	jz	" RETURN "f\n" \
	TRY("movb	%" V8 ", (%rdi)", AFTER_32(0)) \
	TRY("movb	%" V8 ", (%rdi, %rcx)", "71f") \
	TRY("movb	%" V8 ", -1(%rdi, %" LEN_ ## VERB ")", "72f") \
	RETURN ":	ret\n" \
	"	.p2align 4\n" \
	/* 4..7 */ \
	FROM_4 ":\n" \
	TRY("movl	%" V32 ", (%rdi)", AFTER_FEW(0)) \
	TRY("movl	%" V32 ", -4(%rdi, %" LEN_ ## VERB ")", AFTER_FEW(4)) \
	"	ret\n" \
	"	.p2align 4\n" \
	/* 8..15 */ \
	FROM_8 ":\n" \
	TRY("movq	%" V64 ", (%rdi)", AFTER_FEW(0)) \
	TRY("movq	%" V64 ", -8(%rdi, %" LEN_ ## VERB ")", AFTER_FEW(8)) \
	"	ret\n" \
	"	.p2align 4\n" \
	/* 16..31 */ \
	FROM_16 ":\n" \
	UNLESS_IN_PAGE("32", "edi", #VERB "_to_" #NAME) \
	TRY(MOV "	%xmm" R "0, (%rdi)", AFTER_32(0)) \
	TRY(MOV "	%xmm" R "0, -16(%rdi, %" LEN_ ## VERB ")", AFTER_16) \
	DONE() \
	"	.p2align 4\n" \
	FROM_129 ":\n" \
	ABOVE(LEN_ ## VERB, #VERB, #NAME) \
	"71:	lea	-1(%" LEN_ ## VERB "), %eax\n" /* after a fault: 1 byte is done */ \
	"	jmp	89f\n" \
	"72:	xor	%eax, %eax\n" /* of 3: the last is left; of fewer it was done before */ \
	"	cmp	$3, %" LEN32_ ## VERB "\n" \
	"	sete	%al\n" \
	"	jmp	89f\n" \
	STORE_FAULTS(LEN_ ## VERB, FEW_FAULT_ ## VERB, VZ))

/* 65..128 */
#define COPY_128_BY_32 \
	TRY("vmovdqu	(%rsi), %ymm0", LOAD_FAULT) \
	TRY("vmovdqu	32(%rsi), %ymm2", LOAD_FAULT) \
	TRY("vmovdqu	-64(%rsi, %rdx), %ymm3", LOAD_FAULT) \
	TRY("vmovdqu	-32(%rsi, %rdx), %ymm1", LOAD_FAULT) \
	TRY("vmovdqu	%ymm0, (%rdi)", AFTER_32(0)) \
	TRY("vmovdqu	%ymm2, 32(%rdi)", AFTER_32(1)) \
	TRY("vmovdqu	%ymm3, -64(%rdi, %rdx)", AFTER_32(2)) \
	TRY("vmovdqu	%ymm1, -32(%rdi, %rdx)", LAST_32_OF_128)

#define COPY_128_BY_64 \
	TRY("vmovdqu64	(%rsi), %zmm20", LOAD_FAULT) \
	TRY("vmovdqu64	-64(%rsi, %rdx), %zmm21", LOAD_FAULT) \
	TRY("vmovdqu64	%zmm20, (%rdi)", AFTER_64(0)) \
	TRY("vmovdqu64	%zmm21, -64(%rdi, %rdx)", AFTER_64(1))

/*
 * NAME: of the implementation. TO: whose hf_detail_copy_to_ copies across pages; MIDDLE: code for
 * sizes of 65 to 128; MORE: for those above.
 */
#define COPY_BY_HAND(NAME, R, MOV, VZ, TO, MIDDLE, MORE) \
HF_ARCH_NAKED_FUNCTION(hf_detail_copy_ ## NAME, \
	"	cmp	$32, %rdx\n" \
	"	jb	" BELOW_32 "f\n" \
	UP_TO("128", "rdx", FROM_129 "f", "copy_to_" TO) \
	"	cmp	$64, %rdx\n" \
	"	ja	" FROM_65 "f\n" \
	/* 32..64 */ \
	TRY(MOV "	(%rsi), %ymm" R "0", LOAD_FAULT) \
	TRY(MOV "	-32(%rsi, %rdx), %ymm" R "1", LOAD_FAULT) \
	TRY(MOV "	%ymm" R "0, (%rdi)", AFTER_32(0)) \
	TRY(MOV "	%ymm" R "1, -32(%rdi, %rdx)", AFTER_32(1)) \
	DONE(VZ) \
	FROM_65 ":\n" \
	MIDDLE \
	DONE(VZ) \
	MORE \
	"	.p2align 6\n" /* a short copy takes a cycle more if this lies on two lines */ \
	BELOW_32 ":	cmp	$16, %edx\n" \
	"	jae	" FROM_16 "f\n" \
	"	xor	%eax, %eax\n" \
	"	cmp	$8, %edx\n" \
	"	jae	" FROM_8 "f\n" \
	"	cmp	$4, %edx\n" \
	"	jae	" FROM_4 "f\n" \
	"	cmp	$1, %edx\n" \
	"	ja	" FROM_2 "f\n" \
	"	jb	" RETURN "f\n" \
	TRY("movzbl	(%rsi), %ecx", LOAD_FAULT) \
	TRY("movb	%cl, (%rdi)", AFTER_32(0)) \
	RETURN ":	ret\n" \
	"	.p2align 4\n" \
	/* 2, 3 */ \
	FROM_2 ":\n" \
	TRY("movzwl	(%rsi), %ecx", LOAD_FAULT) \
	TRY("movzbl	-1(%rsi, %rdx), %r8d", LOAD_FAULT) \
	TRY("movw	%cx, (%rdi)", AFTER_FEW(0)) \
	TRY("movb	%r8b, -1(%rdi, %rdx)", AFTER_FEW(2)) \
	"	ret\n" \
	"	.p2align 4\n" \
	/* 4..7 */ \
	FROM_4 ":\n" \
	TRY("movl	(%rsi), %ecx", LOAD_FAULT) \
	TRY("movl	-4(%rsi, %rdx), %r8d", LOAD_FAULT) \
	TRY("movl	%ecx, (%rdi)", AFTER_FEW(0)) \
	TRY("movl	%r8d, -4(%rdi, %rdx)", AFTER_FEW(4)) \
	"	ret\n" \
	"	.p2align 4\n" \
	/* 8..15 */ \
	FROM_8 ":\n" \
	TRY("movq	(%rsi), %rcx", LOAD_FAULT) \
	TRY("movq	-8(%rsi, %rdx), %r8", LOAD_FAULT) \
	TRY("movq	%rcx, (%rdi)", AFTER_FEW(0)) \
	TRY("movq	%r8, -8(%rdi, %rdx)", AFTER_FEW(8)) \
	"	ret\n" \
	"	.p2align 6\n" \
	/* 16..31 */ \
	FROM_16 ":\n" \
	UNLESS_IN_PAGE("32", "edi", "copy_to_" TO) \
	TRY(MOV "	(%rsi), %xmm" R "0", LOAD_FAULT) \
	TRY(MOV "	-16(%rsi, %rdx), %xmm" R "1", LOAD_FAULT) \
	TRY(MOV "	%xmm" R "0, (%rdi)", AFTER_32(0)) \
	TRY(MOV "	%xmm" R "1, -16(%rdi, %rdx)", AFTER_16) \
	DONE() \
	STORE_FAULTS("rdx", "	jmp	hf_detail_copy_few_fault\n", VZ) \
	/* After a fault of a load: nothing is stored yet. E2 */ \
	"95:\n" VZ \
	"	mov	%rdx, %rcx\n" \
	"	jmp	hf_detail_copy_to_page_end\n")

/* By 32: the first bytes, in ymm0 and up; the last ones, up to ymm7 or ymm15. */
#define LOAD_FIRST_32(numbers) \
	EACH(numbers, TRY("vmovdqu	32*\\i(%rsi), %ymm\\i", LOAD_FAULT))
#define STORE_FIRST_32(numbers) \
	EACH(numbers, TRY("vmovdqu	%ymm\\i, 32*\\i(%rdi)", "8\\i\\()f"))
#define LOAD_LAST_32(numbers, END) \
	EACH(numbers, TRY("vmovdqu	32*\\i-" END "(%rsi, %rdx), %ymm\\i", LOAD_FAULT))
#define STORE_LAST_32(numbers, END, FAULT) \
	EACH(numbers, TRY("vmovdqu	%ymm\\i, 32*\\i-" END "(%rdi, %rdx)", FAULT))
/*
 * Clear or fill, of sizes above 256: 64 bytes at the start, FIRST, then four aligned vectors of W
 * bytes at a time, from r8 on, and four at the end, from rcx on. SKIP: where r8 may reach rcx at
 * once. The repeated instruction, and ranges whose unaligned stores would cross pages or that end
 * beyond the address space, are left to MORE.
 */
#define SET_LOOP(LEN, MORE, W, MOV, ALIGNED, VALUE, FIRST, SKIP, VZ) \
	"	cmp	hf_detail_clear_limits(%rip), %" LEN "\n" /* other_from */ \
	"	jae	hf_detail_" MORE "\n" \
	UNLESS_IN_PAGE("64", "edi", MORE) \
	"	mov	%" LEN ", %rcx\n" \
	"	add	%rdi, %rcx\n" \
	"	jc	hf_detail_" MORE "\n" \
	"	add	$-4*" W ", %rcx\n" \
	UNLESS_IN_PAGE("4*" W, "ecx", MORE) \
	FIRST \
	"	lea	64(%rdi), %r8\n" \
	"	and	$-64, %r8\n" \
	SKIP \
	"	.p2align 4\n" \
	LOOP ":\n" \
	EACH("0,1,2,3", TRY(ALIGNED "	" VALUE ", " W "*\\i(%r8)", "3\\i\\()f")) \
	"	sub	$-4*" W ", %r8\n" \
	"	cmp	%rcx, %r8\n" \
	"	jb	" LOOP "b\n" \
	LOOP_END ":\n" \
	EACH("0,1,2,3", TRY(MOV "	" VALUE ", " W "*\\i(%rcx)", "5\\i\\()f")) \
	DONE(VZ) \
	/* After a fault in the loop: up to r8 + W i, but at least 64 bytes, are done. */ \
	EACH("0,1,2,3", "3\\i:	lea	" W "*\\i(%r8), %rcx\n" "	jmp	40f\n") \
	"40:	lea	64(%rdi), %r8\n" \
	"	jmp	41f\n" \
	/* At the end: up to rcx + W i, but at least r8 or 64 bytes. */ \
	EACH("0,1,2,3", "5\\i:	add	$" W "*\\i, %rcx\n" "	jmp	42f\n") \
	"42:	lea	64(%rdi), %rax\n" \
	"	cmp	%rax, %r8\n" \
	"	cmovb	%rax, %r8\n" \
	"41:	cmp	%r8, %rcx\n" \
	"	cmovb	%r8, %rcx\n" \
	"	lea	(%rdi, %" LEN "), %rax\n" \
	"	sub	%rcx, %rax\n" \
	"	jmp	89f\n"

/* From 129 bytes on by 32. */
#define SET_ABOVE_BY_32(LEN, VERB, NAME) \
	UP_TO("256", LEN, FROM_257 "f", VERB "_more_" NAME) \
	EACH("0,1,2,3", TRY("vmovdqu	%ymm0, 32*\\i(%rdi)", "8\\i\\()f")) \
	EACH("4,5,6,7", TRY("vmovdqu	%ymm0, 32*\\i-256(%rdi, %" LEN ")", "7\\i\\()f")) \
	DONE("	vzeroupper\n") \
	FROM_257 ":\n" \
	SET_LOOP(LEN, VERB "_more_" NAME, "32", "vmovdqu", "vmovdqa", "%ymm0", \
		EACH("0,1", TRY("vmovdqu	%ymm0, 32*\\i(%rdi)", "8\\i\\()f")), , \
		"	vzeroupper\n")

/* From 129 bytes on by 64. */
#define SET_ABOVE_BY_64(LEN, VERB, NAME) \
	UP_TO("256", LEN, FROM_257 "f", VERB "_to_" NAME) \
	TRY("vmovdqu64	%zmm20, (%rdi)", AFTER_64(0)) \
	TRY("vmovdqu64	%zmm20, 64(%rdi)", AFTER_64(1)) \
	TRY("vmovdqu64	%zmm20, -128(%rdi, %" LEN ")", AFTER_64(2)) \
	TRY("vmovdqu64	%zmm20, -64(%rdi, %" LEN ")", LAST_OF_256(6)) \
	DONE() \
	FROM_257 ":\n" \
	SET_LOOP(LEN, VERB "_more_" NAME, "64", "vmovdqu64", "vmovdqa64", "%zmm20", \
		TRY("vmovdqu64	%zmm20, (%rdi)", AFTER_64(0)), \
		"	cmp	%rcx, %r8\n" \
		"	jae	" LOOP_END "f\n", )

/* rsi = eight times the byte */
#define EIGHT_TIMES \
	"	movabs	$0x0101010101010101, %rax\n" \
	"	movzbl	%sil, %esi\n" \
	"	imul	%rax, %rsi\n"

SET_BY_HAND(clear, avx2, "rax", "eax", "al", "", "vmovdqu",
	"	vpxor	%xmm0, %xmm0, %xmm0\n",
	"	vzeroupper\n", SET_128_BY_32, SET_ABOVE_BY_32)
SET_BY_HAND(fill, avx2, "rsi", "esi", "sil", "", "vmovdqu",
	"	vmovd	%esi, %xmm0\n"
	EIGHT_TIMES
	"	vpbroadcastb	%xmm0, %ymm0\n",
	"	vzeroupper\n", SET_128_BY_32, SET_ABOVE_BY_32)
SET_BY_HAND(clear, avx512, "rax", "eax", "al", "2", "vmovdqu64",
	"	vpxord	%ymm20, %ymm20, %ymm20\n", ,
	SET_128_BY_64, SET_ABOVE_BY_64)
SET_BY_HAND(fill, avx512, "rsi", "esi", "sil", "2", "vmovdqu64",
	EIGHT_TIMES
	"	vpbroadcastq	%rsi, %zmm20\n", ,
	SET_128_BY_64, SET_ABOVE_BY_64)

/* 129..256 by 32 */
#define COPY_256_BY_32(NEAR) \
	FROM_129 ":\n" \
	UP_TO("256", "rdx", FROM_257 "f", "copy_" NEAR) \
	LOAD_FIRST_32("0,1,2,3") \
	LOAD_LAST_32("4,5,6,7", "256") \
	STORE_FIRST_32("0,1,2,3") \
	STORE_LAST_32("4,5,6,7", "256", "7\\i\\()f") \
	DONE("	vzeroupper\n")

/* 257..512 by 32. The first 256 bytes are loaded; LAST: the registers for the last ones. */
#define COPY_512_BY_32(LAST) \
	LOAD_LAST_32(LAST, "512") \
	STORE_FIRST_32("0,1,2,3,4,5,6,7") \
	STORE_LAST_32(LAST, "512", "5\\i\\()f") \
	DONE("	vzeroupper\n")

/* 257..512 by 64, from zmm20 on */
#define COPY_512_BY_64 \
	EACH("0,1,2,3", TRY("vmovdqu64	64*\\i(%rsi), %zmm2\\i", LOAD_FAULT)) \
	EACH("4,5,6,7", TRY("vmovdqu64	64*\\i-512(%rsi, %rdx), %zmm2\\i", LOAD_FAULT)) \
	EACH("0,1,2,3", TRY("vmovdqu64	%zmm2\\i, 64*\\i(%rdi)", "6\\i\\()f")) \
	EACH("4,5,6,7", TRY("vmovdqu64	%zmm2\\i, 64*\\i-512(%rdi, %rdx)", "6\\i\\()f")) \
	DONE()

COPY_BY_HAND(avx2, "", "vmovdqu", "	vzeroupper\n", "avx2", COPY_128_BY_32,
	COPY_256_BY_32("more_avx2")
	FROM_257 ":\n"
	"	test	$31, %dil\n" /* every second unaligned store lies on two lines */
	"	jnz	hf_detail_copy_more_avx2\n"
	UP_TO("512", "rdx", "hf_detail_copy_more_avx2", "copy_more_avx2")
	LOAD_FIRST_32("0,1,2,3,4,5,6,7")
	"	cmp	$384, %rdx\n"
	"	ja	" FROM_385 "f\n"
	COPY_512_BY_32("12,13,14,15")
	/* 385..512 */
	FROM_385 ":\n"
	COPY_512_BY_32("8,9,10,11,12,13,14,15"))

COPY_BY_HAND(avx512, "2", "vmovdqu64", , "avx512", COPY_128_BY_64,
	/* 129..256 */
	FROM_129 ":\n"
	UP_TO("256", "rdx", FROM_257 "f", "copy_to_avx512")
	EACH("0,1", TRY("vmovdqu64	64*\\i(%rsi), %zmm2\\i", LOAD_FAULT))
	EACH("2,3", TRY("vmovdqu64	64*\\i-256(%rsi, %rdx), %zmm2\\i", LOAD_FAULT))
	EACH("0,1", TRY("vmovdqu64	%zmm2\\i, 64*\\i(%rdi)", "6\\i\\()f"))
	TRY("vmovdqu64	%zmm22, -128(%rdi, %rdx)", AFTER_64(2))
	TRY("vmovdqu64	%zmm23, -64(%rdi, %rdx)", LAST_OF_256(6))
	DONE()
	FROM_257 ":\n"
	UP_TO("512", "rdx", "hf_detail_copy_more_avx512", "copy_more_avx512")
	COPY_512_BY_64)

/* Up to 384 bytes by 32, above by 64. */
COPY_BY_HAND(mixed, "", "vmovdqu", "	vzeroupper\n", "avx512", COPY_128_BY_32,
	COPY_256_BY_32("to_avx512")
	FROM_257 ":\n"
	UP_TO("512", "rdx", "hf_detail_copy_more_avx512", "copy_more_avx512")
	"	cmp	$384, %rdx\n"
	"	ja	" FROM_385 "f\n"
	LOAD_FIRST_32("0,1,2,3,4,5,6,7")
	COPY_512_BY_32("12,13,14,15")
	/* 385..512 */
	FROM_385 ":\n"
	COPY_512_BY_64)

/* clang-format on */

#endif /* HF_HAS_VECTORS */

#endif
