/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_REFCOUNT_ASM_H
#define HF_SIM_REFCOUNT_ASM_H
/* sim_refcount_asm - the instructions of lab/variants/refcount/asm.h, on a simulated processor. */
HF_INLINE bool hf_refcount_asm_add1(uint32_t *p, int32_t *old)
{
	*old = (int32_t)hf_sim_rmw(p, 4, HF_SIM_ADD, false, 1, 0, NULL);
	return *old <= 0 || *old == INT32_MAX;
}

HF_INLINE enum hf_refcount_asm_sub hf_refcount_asm_sub1_test(uint32_t *p)
{
	int32_t old = (int32_t)hf_sim_rmw(p, 4, HF_SIM_ADD, true, UINT32_MAX, 0, NULL);

	if (old == 1)
		return HF_REFCOUNT_ASM_ZERO;
	return old <= 0 ? HF_REFCOUNT_ASM_MISUSE : HF_REFCOUNT_ASM_LIVE;
}

#endif
