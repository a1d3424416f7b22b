/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_WAITERS_H
#define HF_TESTS_WAITERS_H
/* waiters - what the table of those who wait (src/parking.h) has, at one moment. */
#include "../../src/parking.h"

namespace unit
{

/* How many wait at that address, parked or about to park; or in any state. */
inline unsigned int waiters(const void *at, bool parked_only = false)
{
	struct hf__bucket *bucket = hf__bucket_lock(at);
	unsigned int n = 0;

	for (struct hf__waiter *w = bucket->first; w; w = w->next)
		n += w->at == at && (!parked_only || hf__waiter_state(w) == HF__WAITER_PARKED);
	hf__bucket_unlock(bucket);
	return n;
}

/* Does anybody wait anywhere, or does any unlock take the slow path? */
inline bool table_is_empty()
{
	struct hf__parking *table = hf__parking_table();

	for (unsigned int i = 0; i < HF__PARKING_BUCKETS; i++) {
		if (table->bucket[i].first || table->bucket[i].last ||
		    hf_atomic32_load_relaxed(&table->bucket[i].lock) ||
		    hf_atomic64_load_relaxed(&table->bucket[i].turn) ||
		    hf_atomic32_load_relaxed(&table->need[i]))
			return false;
	}
	return hf__parking_need == table->need;
}

} // namespace unit

#endif
