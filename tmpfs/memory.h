/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_MEMORY_H
#define HF_TMPFS_MEMORY_H
/*
 * memory - a slab allocator that returns empty slabs to the system.
 *
 * Use when / not when
 *   For many objects of few sizes, allocated and freed in large numbers: malloc can't return a heap
 *   while one object at its end is in use. The caller passes each object's size to put.
 *
 * State
 *   A slab is 128 KiB by mmap, at an address that is a multiple of that, for objects of one class:
 *
 *     | header | object | object | free | object | never used ...                    |
 *
 *   partial  a class's slabs that have a free object; full ones are in no list
 *   reserve  empty slabs of any class: at most TMPFS_MEMORY_RESERVE, and at most an eighth of all
 *            slabs; the others are unmapped
 *
 *   Classes are the multiples of 64 up to 4160 (a page and its header), then the powers of two up
 *   to 32 KiB. Each larger object has a separate mapping.
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

/* With all bytes 0 it has no slabs. */
struct tmpfs_memory {
	struct tmpfs_memory_class {
		hf_mutex_t lock;
		struct tmpfs_slab *partial;
	} class_of[TMPFS_MEMORY_CLASSES];
	hf_mutex_t reserve_lock;
	unsigned int slabs, reserves; /* number of all slabs; of those in the reserve */
	struct tmpfs_slab *reserve;
};

#ifdef __cplusplus
extern "C" {
#endif

/* Aligned to 64 bytes, not cleared; NULL = out of memory. */
TMPFS_PRIVATE void *tmpfs_memory_get(struct tmpfs_memory *memory, size_t size);
TMPFS_PRIVATE void tmpfs_memory_put(struct tmpfs_memory *memory, void *object, size_t size);
/* Unmaps all slabs. False = an object was not put. */
TMPFS_PRIVATE bool tmpfs_memory_end(struct tmpfs_memory *memory);

#ifdef __cplusplus
}
#endif

#endif
