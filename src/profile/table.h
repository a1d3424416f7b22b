/* SPDX-License-Identifier: MIT */
#ifndef HF_PROFILE_TABLE_H
#define HF_PROFILE_TABLE_H
/*
 * table - a table that grows: numbered entries, which are found by a 64-bit key.
 *
 * For what threads and signal handlers record: nothing here takes a lock, waits, calls malloc() or
 * changes errno. Entries are never removed.
 *
 * State
 *   part[i]   64 << i entries, mapped when the first of them is added. An entry never moves, so its
 *             number and its address stay valid
 *   root      the number of the first entry of a trie. The next two bits of a key say which of the
 *             four children to go to
 *
 * Invariants
 *   T1  An entry is filled in before it is published, so a thread that finds it may read it. After
 *       that only its counters change.
 *   T2  Numbers begin with 1, and 0 means none: all bytes 0 is an empty table.
 */
#include "holdfast/internal/atomic.h"

enum { HF_DETAIL_TABLE_PARTS = 16 };

struct hf_detail_table {
	hf_atomic64_t part[HF_DETAIL_TABLE_PARTS];
	hf_atomic32_t root, count;
};

/* The first member of each entry that is found by a key. */
struct hf_detail_table_entry {
	uint64_t key;
	hf_atomic32_t child[4];
};

/*
 * Adds an entry of @bytes, the same in all calls, which are 0. Returns its number; 0 = no memory,
 * or 4 million are there.
 */
uint32_t hf_detail_table_add(struct hf_detail_table *table, size_t bytes);

/* The entry with this number, from 1 on; NULL = it was never added or reached. */
void *hf_detail_table_at(const struct hf_detail_table *table, uint32_t number, size_t bytes);

/* For a table that is only an array: the entry with any number; NULL = no memory, or too high. */
void *hf_detail_table_reach(struct hf_detail_table *table, uint32_t number, size_t bytes);

/* The highest number. Another thread may have added, but not filled in, the last ones. */
uint32_t hf_detail_table_count(const struct hf_detail_table *table);

/*
 * Finds the entry that has this key, or adds a copy of @entry (NULL = zeros) with this key, unless
 * there are @most. Returns its number; 0 = no room. (If two threads add one key at once, one entry
 * is used, and the other one stays as it was added.)
 */
uint32_t hf_detail_table_put(struct hf_detail_table *table, uint64_t key, const void *entry,
			     size_t bytes, uint32_t most);

/* Frees the memory. No other thread may use the table. */
void hf_detail_table_unmap(struct hf_detail_table *table, size_t bytes);

/* A key: each bit of the result depends on all bits, and no two numbers have one key. */
HF_INLINE uint64_t hf_detail_table_key(uint64_t bits)
{
	bits = (bits ^ bits >> 32) * 0x9e3779b97f4a7c15u;
	bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9u;
	return bits ^ bits >> 32;
}

#endif
