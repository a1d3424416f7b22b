/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_LOCKREF_STATS_H
#define HF_LAB_LOCKREF_STATS_H
/*
 * lockref_stats - counts the retries of a lockref, for the lab and for a model.
 *
 * Include it and define HF_DETAIL_LOCKREF_NOTE(retries, fallback) before any header of Holdfast.
 */
#include <stdbool.h>
#include <stdint.h>

struct lockref_stats {
	uint64_t retries;   /* failed swaps of all operations */
	uint64_t fallbacks; /* operations that took the lock */
	uint32_t most;      /* the most failed swaps of one operation */
};

static inline void lockref_stats_add(struct lockref_stats *stats, uint32_t retries, bool fallback)
{
	stats->retries += retries;
	stats->fallbacks += fallback;
	if (retries > stats->most)
		stats->most = retries;
}

#endif
