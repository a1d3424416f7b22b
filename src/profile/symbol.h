/* SPDX-License-Identifier: MIT */
#ifndef HF_PROFILE_SYMBOL_H
#define HF_PROFILE_SYMBOL_H
/*
 * symbol - names of addresses, as the profile and hf-run's reports print them.
 *
 * Each thread that prints has names of its own, so there is no lock. All functions may run in a
 * signal handler, and while threads hold any lock: they call neither malloc() nor the loader, and
 * only functions that a program hardly replaces (not fstat(), for example).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HF_DETAIL_FRAMES = 8 };

/* Addresses inside of calls, the callee's first. */
struct hf_detail_stack {
	uint32_t count;
	const void *frame[HF_DETAIL_FRAMES];
};

struct hf_detail_symbols;

/* Reads what is mapped now. Returns NULL = no memory; names are then addresses. */
struct hf_detail_symbols *hf_detail_symbols_load(void);
void hf_detail_symbols_unload(struct hf_detail_symbols *symbols);

enum hf_detail_name {
	HF_DETAIL_NAME_SHORT, /* "worker" */
	HF_DETAIL_NAME_LONG,  /* "worker+0x2c (/bin/app+0x12b3)", for addr2line */
};

/* Writes as much of a name as is known. @symbols may be NULL. */
void hf_detail_symbol(struct hf_detail_symbols *symbols, char *to, size_t room, const void *address,
		      enum hf_detail_name how);

/* Is the address in an executable or shared object, or in its .bss? */
bool hf_detail_symbol_is_in_object(struct hf_detail_symbols *symbols, const void *address);

/* How many frames there are up to main() or the thread's function. */
uint32_t hf_detail_stack_end(struct hf_detail_symbols *symbols,
			     const struct hf_detail_stack *stack);

/* Sorts pointers. Not by qsort(), which allocates. */
typedef bool hf_detail_before_t(const void *a, const void *b);
void hf_detail_sort(const void **items, uint32_t count, hf_detail_before_t *before);

#endif
