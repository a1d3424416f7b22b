// SPDX-License-Identifier: MIT
/* refcount_unchecked - the model of the lab's variant: refcount.cpp's scenarios. */
// MUTANT: sub_release HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_refcount_unchecked_dec_and_test
#define MODEL_VARIANT
#define LAB_REFCOUNT_unchecked
#include "refcount.cpp"
