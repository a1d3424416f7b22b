// SPDX-License-Identifier: MIT
/* refcount_cmpxchg - the model of the lab's variant: refcount.cpp's scenarios. */
// MUTANT: sub_release HF_MUTANT=cmpxchg_release HF_MUTANT_IN=hf_refcount_cmpxchg_dec_and_test
#define MODEL_VARIANT
#define LAB_REFCOUNT_cmpxchg
#include "refcount.cpp"
