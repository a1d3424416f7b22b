/* SPDX-License-Identifier: MIT */
/* lockref_spinning - lockref.cpp, with a lock half that spins, as kernels and bare metal have it. */
#define HF_LOCKREF_LOCK queued
#include "lockref.cpp"
