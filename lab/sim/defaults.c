/* SPDX-License-Identifier: MIT */
/* defaults - the headers' own values of the constants that are knobs in the simulator. */
#include "holdfast/lockref.h"
#include "variants/spinlock/queued.h"

#include "sim.h"

const struct hf_sim_knobs hf_sim_defaults = {
	.retries = HF_LOCKREF_RETRIES,
	.passes = HF_SPINLOCK_QUEUED_PASSES,
	.patience_ns = HF_SPINLOCK_QUEUED_PATIENCE_NS,
};
