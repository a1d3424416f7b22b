/* SPDX-License-Identifier: MIT */
#ifndef LAB_VARIANTS_REFCOUNT_ASM_H
#define LAB_VARIANTS_REFCOUNT_ASM_H
/*
 * asm - inc, dec and dec_and_test of holdfast/refcount.h in assembly, which test the flags that the
 * instruction sets.
 *
 * Use when / not when
 *   Only to measure: on x86-64 inc and dec_and_test are as fast as the C ones with one thread. With
 *   newer compilers inc is 2 to 4 instructions longer and dec_and_test one shorter. For x86-64,
 *   AArch64 and 64-bit RISC-V; on other processors, and under ThreadSanitizer, which can't see
 *   accesses by assembly, the same in C. A model checker defines the three functions
 *   in its own header, LAB_REFCOUNT_ASM_HEADER: so a model proves the C around the instructions,
 *   not the instructions.
 *
 * All other operations, the zones and invariants are those of holdfast/refcount.h. "Misuse" below
 * is a count that was, or now is, outside 1..INT32_MAX.
 */
#include <holdfast/refcount.h>

/* The result of a subtraction. */
enum hf_refcount_asm_sub { HF_REFCOUNT_ASM_LIVE, HF_REFCOUNT_ASM_ZERO, HF_REFCOUNT_ASM_MISUSE };

/*
 * For each processor
 *   hf_refcount_asm_add1         *p += 1, relaxed. Returns true on misuse; *old is the count before
 *   hf_refcount_asm_sub1_test    *p -= 1, release. Returns ZERO if the count was 1 and is now 0
 *   hf_refcount_asm_sub1         *p -= 1, release. Returns true on misuse, or if the count is now 0
 */
#if defined(LAB_REFCOUNT_ASM_HEADER)
#include LAB_REFCOUNT_ASM_HEADER

#elif defined(__x86_64__) && !HF_TSAN
/*
 * SUB sets ZF if the result is 0, and SF != OF ("less") if the exact result is below 0. No flag of
 * INC tells that the count was 0, so inc must fetch the old value (XADD). It then checks that the
 * new value is not negative (SF of the XADD itself) and that the old one was above 0.
 */
HF_INLINE bool hf_refcount_asm_add1(uint32_t *p, int32_t *old)
{
	int32_t value = 1;
	bool negative;

	__asm__ volatile("lock xaddl %[value], %[p]"
			 : [value] "+r"(value), [p] "+m"(*p), "=@ccs"(negative)
			 :
			 : "memory");
	*old = value;
	if (HF_UNLIKELY(negative))
		return true;
	return HF_UNLIKELY(value <= 0);
}

HF_INLINE bool hf_refcount_asm_sub1(uint32_t *p)
{
	bool not_above_zero;

	__asm__ volatile("lock subl $1, %[p]"
			 : [p] "+m"(*p), "=@ccle"(not_above_zero)
			 :
			 : "memory");
	return HF_UNLIKELY(not_above_zero);
}

HF_INLINE enum hf_refcount_asm_sub hf_refcount_asm_sub1_test(uint32_t *p)
{
	__asm__ goto("	lock subl $1, %[p]\n"
		     "	jl	%l[misuse]\n"
		     "	je	%l[zero]\n"
		     :
		     : [p] "m"(*p)
		     : "memory", "cc"
		     : misuse, zero);
	return HF_REFCOUNT_ASM_LIVE;
zero:
	return HF_REFCOUNT_ASM_ZERO;
misuse:
	return HF_REFCOUNT_ASM_MISUSE;
}

#elif defined(__aarch64__) && !HF_TSAN && defined(__GCC_ASM_FLAG_OUTPUTS__)
/*
 * LSE's LDADD, or LDXR/STXR, then arithmetic that sets the flags; flags can be outputs since gcc 10
 * and clang 15. The exclusive pair computes the new value anyway: ADDS/SUBS there costs nothing,
 * and STXR and CBNZ do not change the flags. LDADD returns only the old value, so the sum is
 * computed again.
 */
HF_INLINE bool hf_refcount_asm_add1(uint32_t *p, int32_t *old)
{
	int32_t before;
	bool misuse;

#if defined(__ARM_FEATURE_ATOMICS)
	/* N is set if the old value is not above 0 (#8 forces it), or if old + 1 overflows. */
	__asm__ volatile("	ldadd	%w[one], %w[before], %[p]\n"
			 "	cmp	%w[before], #0\n"
			 "	ccmn	%w[before], #1, #8, gt\n"
			 : [before] "=&r"(before), "=@ccmi"(misuse)
			 : [p] "Q"(*p), [one] "r"(1)
			 : "memory");
#else
	uint32_t after, failed;

	/* If the new value is 1 or less, the old one was not above 0, or the sum has overflowed. */
	__asm__ volatile("1:	ldxr	%w[before], %[p]\n"
			 "	add	%w[after], %w[before], #1\n"
			 "	stxr	%w[failed], %w[after], %[p]\n"
			 "	cbnz	%w[failed], 1b\n"
			 "	cmp	%w[after], #1\n"
			 : [before] "=&r"(before), [after] "=&r"(after), [failed] "=&r"(failed),
			   "=@ccle"(misuse)
			 : [p] "Q"(*p)
			 : "memory");
#endif
	*old = before;
	return HF_UNLIKELY(misuse);
}

HF_INLINE enum hf_refcount_asm_sub hf_refcount_asm_sub1_test(uint32_t *p)
{
	int32_t left;
	bool not_above_zero;

#if defined(__ARM_FEATURE_ATOMICS)
	__asm__ volatile("	ldaddl	%w[minus_one], %w[left], %[p]\n"
			 "	subs	%w[left], %w[left], #1\n"
			 : [left] "=&r"(left), "=@ccle"(not_above_zero)
			 : [p] "Q"(*p), [minus_one] "r"(-1)
			 : "memory");
#else
	uint32_t failed;

	__asm__ volatile("1:	ldxr	%w[left], %[p]\n"
			 "	subs	%w[left], %w[left], #1\n"
			 "	stlxr	%w[failed], %w[left], %[p]\n"
			 "	cbnz	%w[failed], 1b\n"
			 : [left] "=&r"(left), [failed] "=&r"(failed), "=@ccle"(not_above_zero)
			 : [p] "Q"(*p)
			 : "memory");
#endif
	if (HF_LIKELY(!not_above_zero))
		return HF_REFCOUNT_ASM_LIVE;
	return left == 0 ? HF_REFCOUNT_ASM_ZERO : HF_REFCOUNT_ASM_MISUSE;
}

#else
HF_INLINE bool hf_refcount_asm_add1(uint32_t *p, int32_t *old)
{
#if defined(__riscv) && __riscv_xlen == 64
	/*
	 * There are no flags, and an addend must be in a register. The same register serves for the
	 * comparison with 1, for which the compiler would load a second one.
	 */
	long one = 1; /* a whole register, so that no sign extension is needed */
	uint32_t after;

	__asm__("" : "+r"(one)); /* hides from the compiler that this is 1 */
	after = __atomic_fetch_add(p, (uint32_t)one, __ATOMIC_RELAXED) + (uint32_t)one;
	*old = (int32_t)(after - 1);
	/* If the new value is 1 or less, the old one was not above 0, or the sum has overflowed. */
	return HF_UNLIKELY((int32_t)after <= one);
#else
	*old = (int32_t)__atomic_fetch_add(p, 1, __ATOMIC_RELAXED);
	return HF_UNLIKELY((int32_t)((uint32_t)*old + 1) <= 1); /* wraps around */
#endif
}

HF_INLINE enum hf_refcount_asm_sub hf_refcount_asm_sub1_test(uint32_t *p)
{
	int32_t old = (int32_t)__atomic_fetch_sub(p, 1, __ATOMIC_RELEASE);

	if (HF_LIKELY(old > 1))
		return HF_REFCOUNT_ASM_LIVE;
	return old == 1 ? HF_REFCOUNT_ASM_ZERO : HF_REFCOUNT_ASM_MISUSE;
}
#endif

#if defined(LAB_REFCOUNT_ASM_HEADER) || !defined(__x86_64__) || HF_TSAN
HF_INLINE bool hf_refcount_asm_sub1(uint32_t *p)
{
	return hf_refcount_asm_sub1_test(p) != HF_REFCOUNT_ASM_LIVE;
}
#endif

HF_COLD void hf_refcount_asm_inc_misuse(hf_refcount_t *r, int32_t old)
{
	hf_detail_refcount_repair(r, old, old == 0 ? HF_REPORT_ADD_UAF : HF_REPORT_ADD_OVF,
				  HF_DETAIL_CALL_SITE);
}

HF_INLINE void hf_refcount_asm_inc(hf_refcount_t *r)
{
	int32_t before;

	if (HF_UNLIKELY(hf_refcount_asm_add1((uint32_t *)&r->refs, &before)))
		hf_refcount_asm_inc_misuse(r, before);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_asm_dec_and_test(hf_refcount_t *r)
{
	enum hf_refcount_asm_sub is = hf_refcount_asm_sub1_test((uint32_t *)&r->refs);

	if (HF_LIKELY(is == HF_REFCOUNT_ASM_LIVE))
		return false;
	if (HF_UNLIKELY(is == HF_REFCOUNT_ASM_MISUSE)) {
		hf_detail_refcount_saturate_one(r, HF_REPORT_SUB_UAF);
		return false;
	}
	hf_atomic32_fence_acquire(&r->refs); /* sees the other holders' writes */
	return true;
}

HF_INLINE void hf_refcount_asm_dec(hf_refcount_t *r)
{
	if (HF_UNLIKELY(hf_refcount_asm_sub1((uint32_t *)&r->refs)))
		hf_detail_refcount_saturate_one(r, HF_REPORT_DEC_LEAK);
}

/* The product's, under a second name for the lab's tables. */
HF_INLINE HF_MUST_CHECK bool hf_refcount_asm_inc_not_zero(hf_refcount_t *r)
{
	return hf_refcount_inc_not_zero(r);
}

#endif
