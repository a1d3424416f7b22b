/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_WAITERS_H
#define HF_TESTS_WAITERS_H
/* waiters - a snapshot of the parking table (src/parking/parking.h). */
#include "../../src/parking/parking.h"

namespace unit
{

/* How many threads wait at that address, in any state; or only those parked or about to park. */
inline unsigned int waiters(const void *at, bool parked_only = false)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(at);
	unsigned int n = 0;

	for (struct hf_detail_waiter *w = bucket->first; w; w = w->next)
		n += w->at == at &&
		     (!parked_only || hf_detail_waiter_state(w) == HF_DETAIL_WAITER_PARKED);
	hf_detail_bucket_unlock(bucket);
	return n;
}

/* True if no thread waits and no unlock would take the slow path. */
inline bool table_is_empty()
{
	struct hf_detail_parking *table = hf_detail_parking_table();

	for (unsigned int i = 0; i < HF_DETAIL_PARKING_BUCKETS; i++) {
		if (table->bucket[i].first || hf_atomic64_load_relaxed(&table->bucket[i].arrived) ||
		    hf_atomic32_load_relaxed(&table->bucket[i].lock) ||
		    hf_atomic32_load_relaxed(&table->bucket[i].flags) ||
		    hf_atomic32_load_relaxed(&table->need[i]))
			return false;
	}
	return hf_detail_parking_need == table->need;
}

} // namespace unit

#endif
