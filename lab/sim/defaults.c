/* SPDX-License-Identifier: MIT */
/* defaults - what the headers say where the simulator has a knob. */
#include "holdfast/lockref.h"
#include "variants/spinlock/queued.h"
#include "holdfast/internal/wait.h"

#include "sim.h"

const uint32_t hf_sim_default_retries = HF_LOCKREF_RETRIES;
const uint32_t hf_sim_default_late[3] = { HF_WAIT_LATE_AFTER, HF_WAIT_LATE_MIN_NS,
					  HF_WAIT_LATE_MAX_NS };
const uint32_t hf_sim_default_passes = HF_SPINLOCK_QUEUED_PASSES;
const uint32_t hf_sim_default_patience_ns = HF_SPINLOCK_QUEUED_PATIENCE_NS;
