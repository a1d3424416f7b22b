// SPDX-License-Identifier: MIT
/* refcount_asm - the model of the lab's variant: refcount.cpp's scenarios. */
// MUTANT: sub_release HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_refcount_asm_dec_and_test
// MUTANT: sub_acquire HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_refcount_asm_dec_and_test
#define MODEL_VARIANT
#define LAB_REFCOUNT_asm
#define LAB_REFCOUNT_ASM_HEADER "refcount_asm_model.h"
#include "refcount.cpp"
