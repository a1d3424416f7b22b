/* SPDX-License-Identifier: MIT */
/*
 * lockref_spinning - lockref.cpp with a lock half that spins, as kernels and bare metal have it,
 * and which is taken after a single failed swap: so both ways of changing the count are mixed.
 */
#define HF_LOCKREF_LOCK_HEADER "lockref/queued_lock.h"
#define HF_LOCKREF_RETRIES 1
#define STRESS_LOCKREF_NAME "lockref.spinning"
#include "lockref.cpp"
