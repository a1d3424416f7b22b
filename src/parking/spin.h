/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_PARKING_SPIN_H
#define HF_SRC_PARKING_SPIN_H
/*
 * spin - whether a thread should spin before it parks, learnt from how the last spins have ended.
 *
 * If the holder of a lock sleeps or yields inside its section, or a signal comes late, a spin ends
 * in vain, and the other thread may need this one's processor. While spins end in vain, 32 are left
 * out before the next one, then 64, and so on up to 1,024, until one succeeds.
 */
#include "holdfast/internal/atomic.h"

/* All members 0: spins. Threads may share one: an update that is lost does no harm. */
struct hf_detail_spin {
	hf_atomic32_t credit; /* so many may end in vain; below 0: so many are left out */
	hf_atomic32_t pause;  /* how many were left out the last time */
};

HF_INLINE bool hf_detail_should_spin(struct hf_detail_spin *spin)
{
	int32_t credit = (int32_t)hf_atomic32_load_relaxed(&spin->credit);

	if (credit < 0)
		hf_atomic32_store_relaxed(&spin->credit, (uint32_t)credit + 1);
	return credit >= 0;
}

/* Writes only what changes, since all that wait for the lock read it. */
HF_INLINE void hf_detail_spin_ended(struct hf_detail_spin *spin, bool in_vain)
{
	int32_t credit = (int32_t)hf_atomic32_load_relaxed(&spin->credit);
	uint32_t pause = hf_atomic32_load_relaxed(&spin->pause);

	if (!in_vain) {
		if (credit < 8)
			hf_atomic32_store_relaxed(&spin->credit, (uint32_t)credit + 1);
		if (pause)
			hf_atomic32_store_relaxed(&spin->pause, 0);
	} else if (credit > 0) {
		hf_atomic32_store_relaxed(&spin->credit, (uint32_t)credit - 1);
	} else {
		pause = pause == 0 ? 32 : pause < 1024 ? 2 * pause : pause;
		hf_atomic32_store_relaxed(&spin->pause, pause);
		hf_atomic32_store_relaxed(&spin->credit, 0u - pause);
	}
}

#endif
