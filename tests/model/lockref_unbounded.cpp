// SPDX-License-Identifier: MIT
/* lockref_unbounded - the model of the lab's variant: lockref.cpp's scenarios. */
// MUTANT: put_release HF_MUTANT=cmpxchg64_release HF_MUTANT_IN=hf_lockref_unbounded_put_swaps
#define MODEL_VARIANT "lockref/unbounded.h"
#define MODEL_VARIANT_NAME "unbounded"
#define LOCKREF(in, operation) in::hf_lockref_unbounded_##operation
#include "lockref.cpp"
