/* SPDX-License-Identifier: MIT */
/* table - T1 and T2 are defined in table.h. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "../env/env.h"
#include "table.h"

enum { FIRST_BITS = 6, FIRST = 1 << FIRST_BITS };

/* Which part has an entry, and where in it. */
static uint32_t part_of(uint32_t number, uint32_t *index)
{
	uint32_t at = number - 1 + FIRST, part = 31 - FIRST_BITS - (uint32_t)__builtin_clz(at);

	*index = at - ((uint32_t)FIRST << part);
	return part;
}

/* Maps the part that has this entry, if that was not done. Returns false: there is no room. */
static bool map_part(struct hf_detail_table *table, uint32_t number, size_t bytes)
{
	uint32_t index, part = part_of(number, &index);
	uint64_t found = 0;
	void *memory;

	if (HF_UNLIKELY(part >= HF_DETAIL_TABLE_PARTS))
		return false;
	if (HF_LIKELY(hf_atomic64_load_acquire(&table->part[part])))
		return true;
	memory = hf_detail_env_map(bytes * FIRST << part);
	if (!memory)
		return false;
	if (!hf_atomic64_try_cmpxchg_acq_rel(&table->part[part], &found,
					     (uint64_t)(uintptr_t)memory))
		(void)munmap(memory, bytes * FIRST << part); /* another thread has mapped it */
	return true;
}

uint32_t hf_detail_table_count(const struct hf_detail_table *table)
{
	return hf_atomic32_load_acquire(&table->count);
}

uint32_t hf_detail_table_add(struct hf_detail_table *table, size_t bytes)
{
	uint32_t before = hf_atomic32_load_relaxed(&table->count);

	do {
		if (!map_part(table, before + 1, bytes))
			return 0;
	} while (!hf_atomic32_try_cmpxchg_acq_rel(&table->count, &before, before + 1));
	return before + 1;
}

void *hf_detail_table_at(const struct hf_detail_table *table, uint32_t number, size_t bytes)
{
	uint32_t index, part = part_of(number, &index);
	char *first = (char *)(uintptr_t)hf_atomic64_load_acquire(&table->part[part]);

	return first ? first + index * bytes : NULL;
}

void *hf_detail_table_reach(struct hf_detail_table *table, uint32_t number, size_t bytes)
{
	uint32_t count = hf_detail_table_count(table);

	if (!map_part(table, number, bytes))
		return NULL;
	while (count < number && !hf_atomic32_try_cmpxchg_acq_rel(&table->count, &count, number))
		;
	return hf_detail_table_at(table, number, bytes);
}

void hf_detail_table_unmap(struct hf_detail_table *table, size_t bytes)
{
	for (uint32_t part = 0; part < HF_DETAIL_TABLE_PARTS; part++) {
		void *first = (void *)(uintptr_t)hf_atomic64_load_relaxed(&table->part[part]);

		if (first)
			(void)munmap(first, bytes * FIRST << part);
	}
	memset(table, 0, sizeof(*table));
}

/* Goes from the root to the entry with this key. Where there is none, @add, if not 0, is added. */
static uint32_t walk(struct hf_detail_table *table, uint64_t key, uint32_t add, size_t bytes)
{
	hf_atomic32_t *link = &table->root;

	for (uint64_t bits = key;;) {
		struct hf_detail_table_entry *entry;
		uint32_t number = hf_atomic32_load_acquire(link);

		if (!number && !add)
			return 0;
		if (!number) {
			if (hf_atomic32_try_cmpxchg_acq_rel(link, &number, add)) /* T1 */
				return add;
			continue;
		}
		entry = hf_detail_table_at(table, number, bytes);
		if (entry->key == key)
			return number;
		link = &entry->child[bits >> 62];
		bits <<= 2;
	}
}

uint32_t hf_detail_table_put(struct hf_detail_table *table, uint64_t key, const void *entry,
			     size_t bytes, uint32_t most)
{
	uint32_t number = walk(table, key, 0, bytes);
	struct hf_detail_table_entry *added;

	if (number || hf_detail_table_count(table) >= most)
		return number;
	number = hf_detail_table_add(table, bytes);
	if (!number)
		return 0;
	added = hf_detail_table_at(table, number, bytes);
	if (entry)
		memcpy(added, entry, bytes);
	added->key = key;
	return walk(table, key, number, bytes);
}
