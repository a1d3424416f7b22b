// SPDX-License-Identifier: MIT
/* lockref_locked - the model of the lab's variant: lockref.cpp's scenarios. */
// MUTANT: unlock_release HF_MUTANT=store_low8_release
#define MODEL_VARIANT "lockref/locked.h"
#define MODEL_VARIANT_NAME "locked"
#define LOCKREF(in, operation) in::hf_lockref_locked_##operation
#include "lockref.cpp"
