/* SPDX-License-Identifier: MIT */
/*
 * references_spinning - references.cpp with a lock half that spins, as kernels and bare metal have
 * it, and which is taken after a single failed swap: so both ways of changing the count are mixed.
 */
#define HF_LOCKREF_LOCK_HEADER "lockref/queued_lock.h"
#define HF_LOCKREF_RETRIES 1
#include "references.cpp"
