/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_REFCOUNT_ASM_H
#define HF_MODEL_REFCOUNT_ASM_H
/*
 * refcount_asm_model - two functions of lab/variants/refcount/asm.h, in C. Relacy can't
 * execute assembly, so the model checks only the C around the instructions.
 *
 * Their argument points to a hf_atomic32_t, cast to the plain word that it is outside the model.
 */
inline bool hf_refcount_asm_add1(uint32_t *p, int32_t *old,
				 const hf_model::where &at = HF_MODEL_HERE)
{
	*old = (int32_t)hf_atomic32_fetch_add_relaxed((hf_atomic32_t *)p, 1, at);
	return *old <= 0 || *old == INT32_MAX;
}

inline enum hf_refcount_asm_sub hf_refcount_asm_sub1_test(uint32_t *p,
							  const hf_model::where &at = HF_MODEL_HERE)
{
	int32_t old = (int32_t)hf_atomic32_fetch_sub_release((hf_atomic32_t *)p, 1, at);

	if (old == 1)
		return HF_REFCOUNT_ASM_ZERO;
	return old <= 0 ? HF_REFCOUNT_ASM_MISUSE : HF_REFCOUNT_ASM_LIVE;
}

#endif
