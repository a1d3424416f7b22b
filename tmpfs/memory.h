/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_MEMORY_H
#define HF_TMPFS_MEMORY_H
/*
 * memory - objects out of slabs that go back to the system when they are empty.
 *
 * Use when / not when
 *   For many objects of few sizes that come and go in masses: malloc keeps a heap as long as one
 *   object at its end lives. The caller keeps each object's size.
 *
 * State
 *   A slab is 128 KiB by mmap, at an address that is a multiple of that, for objects of one class:
 *
 *     | header | object | object | free | object | never used ...                    |
 *
 *   partial  a class's slabs that have a free object; full ones are in no list
 *   reserve  empty slabs of any class: at most HF_DETAIL_MEMORY_RESERVE, and an eighth of all; the others
 *            are unmapped
 *
 *   Classes are the multiples of 64 up to 4160 (a page and its header), then the powers of two up to
 *   32 KiB. A larger object has a mapping of its own.
 */
#include <stdbool.h>
#include <stddef.h>

#include "holdfast/mutex.h"

#ifndef HF_DETAIL_TMPFS
#define HF_DETAIL_TMPFS __attribute__((visibility("hidden")))
#endif

#define HF_DETAIL_MEMORY_SLAB ((size_t)128 << 10)
#define HF_DETAIL_MEMORY_FINE 65 /* classes of 64, 128, ... 4160 bytes */
#define HF_DETAIL_MEMORY_CLASSES (HF_DETAIL_MEMORY_FINE + 3)
#define HF_DETAIL_MEMORY_RESERVE 4

struct hf_detail_slab;

struct hf_detail_memory {
	struct hf_detail_memory_class {
		hf_mutex_t lock;
		struct hf_detail_slab *partial;
	} class_of[HF_DETAIL_MEMORY_CLASSES];
	hf_mutex_t reserve_lock;
	unsigned int slabs, reserves; /* all of them; in the reserve */
	struct hf_detail_slab *reserve;
};

#ifdef __cplusplus
extern "C" {
#endif

/* All bytes 0 are a memory without slabs. */

/* Aligned to 64 bytes, not cleared; NULL = none left. */
HF_DETAIL_TMPFS void *hf_detail_memory_get(struct hf_detail_memory *memory, size_t size);
HF_DETAIL_TMPFS void hf_detail_memory_put(struct hf_detail_memory *memory, void *object,
					  size_t size);
/* The end: every object has been put. False = some have not. */
HF_DETAIL_TMPFS bool hf_detail_memory_end(struct hf_detail_memory *memory);

#ifdef __cplusplus
}
#endif

#endif
