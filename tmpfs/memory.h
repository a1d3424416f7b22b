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
 *   reserve  empty slabs of any class: at most TMPFS_MEMORY_RESERVE, and an eighth of all; the others
 *            are unmapped
 *
 *   Classes are the multiples of 64 up to 4160 (a page and its header), then the powers of two up to
 *   32 KiB. A larger object has a mapping of its own.
 */
#include <stdbool.h>
#include <stddef.h>

#include "holdfast/mutex.h"

#include "base.h"

#define TMPFS_MEMORY_SLAB ((size_t)128 << 10)
#define TMPFS_MEMORY_FINE 65 /* classes of 64, 128, ... 4160 bytes */
#define TMPFS_MEMORY_CLASSES (TMPFS_MEMORY_FINE + 3)
#define TMPFS_MEMORY_RESERVE 4

struct tmpfs_slab;

struct tmpfs_memory {
	struct tmpfs_memory_class {
		hf_mutex_t lock;
		struct tmpfs_slab *partial;
	} class_of[TMPFS_MEMORY_CLASSES];
	hf_mutex_t reserve_lock;
	unsigned int slabs, reserves; /* all of them; in the reserve */
	struct tmpfs_slab *reserve;
};

#ifdef __cplusplus
extern "C" {
#endif

/* All bytes 0 are a memory without slabs. */

/* Aligned to 64 bytes, not cleared; NULL = none left. */
TMPFS_PRIVATE void *tmpfs_memory_get(struct tmpfs_memory *memory, size_t size);
TMPFS_PRIVATE void tmpfs_memory_put(struct tmpfs_memory *memory, void *object, size_t size);
/* The end: every object has been put. False = some have not. */
TMPFS_PRIVATE bool tmpfs_memory_end(struct tmpfs_memory *memory);

#ifdef __cplusplus
}
#endif

#endif
