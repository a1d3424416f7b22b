/* SPDX-License-Identifier: MIT */
/* memory - see memory.h. */
#include <stdint.h>
#include <sys/mman.h>

#include "memory.h"

#define GRAIN 64
#define SYSTEM_PAGE 4096

struct tmpfs_slab {
	struct tmpfs_slab *next, *previous; /* of the partial ones, or of the reserve */
	unsigned int used, fresh, room;     /* objects: in use, ever used, all */
	void *free;                         /* each begins with the address of the next */
};

_Static_assert(sizeof(struct tmpfs_slab) <= GRAIN, "the header is one grain");

/* TMPFS_MEMORY_CLASSES = too large for a slab: use a separate mapping. */
static unsigned int class_of(size_t size)
{
	unsigned int which = TMPFS_MEMORY_FINE;

	if (size <= (size_t)TMPFS_MEMORY_FINE * GRAIN)
		return size ? (unsigned int)((size - 1) / GRAIN) : 0;
	while (which < TMPFS_MEMORY_CLASSES && size > (size_t)8192 << (which - TMPFS_MEMORY_FINE))
		which++;
	return which;
}

static size_t size_of_class(unsigned int which)
{
	if (which < TMPFS_MEMORY_FINE)
		return ((size_t)which + 1) * GRAIN;
	return (size_t)8192 << (which - TMPFS_MEMORY_FINE);
}

static size_t whole_pages(size_t size)
{
	return (size + SYSTEM_PAGE - 1) / SYSTEM_PAGE * SYSTEM_PAGE;
}

static unsigned int room_of(unsigned int which)
{
	return (unsigned int)((TMPFS_MEMORY_SLAB - GRAIN) / size_of_class(which));
}

static void *map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Consecutive mappings are usually adjacent, so the first try is aligned if the last slab was. */
static struct tmpfs_slab *map_slab(void)
{
	char *at = map(TMPFS_MEMORY_SLAB);
	size_t before;

	if (!at || (uintptr_t)at % TMPFS_MEMORY_SLAB == 0)
		return (struct tmpfs_slab *)(void *)at;
	munmap(at, TMPFS_MEMORY_SLAB);
	at = map(2 * TMPFS_MEMORY_SLAB);
	if (!at)
		return NULL;
	before = TMPFS_MEMORY_SLAB - (uintptr_t)at % TMPFS_MEMORY_SLAB;
	munmap(at, before);
	if (before < TMPFS_MEMORY_SLAB)
		munmap(at + before + TMPFS_MEMORY_SLAB, TMPFS_MEMORY_SLAB - before);
	return (struct tmpfs_slab *)(void *)(at + before);
}

static struct tmpfs_slab *take_slab(struct tmpfs_memory *memory, unsigned int which)
{
	struct tmpfs_slab *slab;

	hf_mutex_lock(&memory->reserve_lock);
	slab = memory->reserve;
	if (slab) {
		memory->reserve = slab->next;
		memory->reserves--;
	}
	hf_mutex_unlock(&memory->reserve_lock);
	if (!slab) {
		slab = map_slab();
		if (!slab)
			return NULL;
		hf_mutex_lock(&memory->reserve_lock);
		memory->slabs++;
		hf_mutex_unlock(&memory->reserve_lock);
	}
	*slab = (struct tmpfs_slab){ .room = room_of(which) };
	return slab;
}

/* Puts the slab into the reserve, and unmaps slabs that exceed the reserve's limit. */
static void give_slab(struct tmpfs_memory *memory, struct tmpfs_slab *slab)
{
	hf_mutex_lock(&memory->reserve_lock);
	slab->next = memory->reserve;
	memory->reserve = slab;
	memory->reserves++;
	while (memory->reserves > TMPFS_MEMORY_RESERVE || memory->reserves > memory->slabs / 8) {
		slab = memory->reserve;
		memory->reserve = slab->next;
		if (munmap(slab, TMPFS_MEMORY_SLAB)) {
			/*
			 * The kernel could not split a mapping: keep the slab, release its pages.
			 */
			(void)madvise(slab, TMPFS_MEMORY_SLAB, MADV_DONTNEED);
			slab->next = memory->reserve;
			memory->reserve = slab;
			break;
		}
		memory->reserves--;
		memory->slabs--;
	}
	hf_mutex_unlock(&memory->reserve_lock);
}

static void link_partial(struct tmpfs_memory_class *of, struct tmpfs_slab *slab)
{
	slab->previous = NULL;
	slab->next = of->partial;
	if (slab->next)
		slab->next->previous = slab;
	of->partial = slab;
}

static void unlink_partial(struct tmpfs_memory_class *of, struct tmpfs_slab *slab)
{
	if (slab->next)
		slab->next->previous = slab->previous;
	if (slab->previous)
		slab->previous->next = slab->next;
	else
		of->partial = slab->next;
}

TMPFS_PRIVATE void *tmpfs_memory_get(struct tmpfs_memory *memory, size_t size)
{
	unsigned int which = class_of(size);
	struct tmpfs_memory_class *of;
	struct tmpfs_slab *slab;
	void *object;

	if (which == TMPFS_MEMORY_CLASSES)
		return map(whole_pages(size));
	of = &memory->class_of[which];
	hf_mutex_lock(&of->lock);
	slab = of->partial;
	if (!slab) {
		slab = take_slab(memory, which);
		if (!slab) {
			hf_mutex_unlock(&of->lock);
			return NULL;
		}
		link_partial(of, slab);
	}
	object = slab->free;
	if (object)
		slab->free = *(void **)object;
	else
		object = (char *)slab + GRAIN + slab->fresh++ * size_of_class(which);
	if (++slab->used == slab->room)
		unlink_partial(of, slab);
	hf_mutex_unlock(&of->lock);
	return object;
}

TMPFS_PRIVATE void tmpfs_memory_put(struct tmpfs_memory *memory, void *object, size_t size)
{
	unsigned int which = class_of(size);
	struct tmpfs_memory_class *of;
	struct tmpfs_slab *slab;
	bool empty;

	if (which == TMPFS_MEMORY_CLASSES) {
		if (munmap(object, whole_pages(size)))
			(void)madvise(object, whole_pages(size), MADV_DONTNEED);
		return;
	}
	of = &memory->class_of[which];
	slab = (struct tmpfs_slab *)(void *)((char *)object -
					     (uintptr_t)object % TMPFS_MEMORY_SLAB);
	hf_mutex_lock(&of->lock);
	*(void **)object = slab->free;
	slab->free = object;
	if (slab->used-- == slab->room)
		link_partial(of, slab);
	empty = slab->used == 0;
	if (empty)
		unlink_partial(of, slab);
	hf_mutex_unlock(&of->lock);
	if (empty)
		give_slab(memory, slab);
}

TMPFS_PRIVATE bool tmpfs_memory_end(struct tmpfs_memory *memory)
{
	bool clean = true;

	for (int i = 0; i < TMPFS_MEMORY_CLASSES; i++)
		clean &= !memory->class_of[i].partial;
	while (memory->reserve) {
		struct tmpfs_slab *slab = memory->reserve;

		memory->reserve = slab->next;
		munmap(slab, TMPFS_MEMORY_SLAB);
	}
	return clean;
}
