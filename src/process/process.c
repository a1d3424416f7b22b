/* SPDX-License-Identifier: MIT */
/* process - finds the other copies of the library. R1 to R4 are defined in process.h. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../env/env.h"
#include "process.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* The contents of a note. @here: the distance from this member to the pointer. */
struct desc {
	char kind[8];
	int32_t layout, here;
};

struct search {
	struct hf_detail_process_state *mine;
	uint64_t offered; /* memory to publish if there is none yet; 0 = only search */
	uint64_t found;
};

HF_COLD int has_address(struct dl_phdr_info *object, size_t size, void *data)
{
	struct hf_detail_object *found = data;
	bool has_it = false;

	(void)size;
	found->start = UINTPTR_MAX;
	found->shift = object->dlpi_addr;
	for (unsigned int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uintptr_t start = object->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		has_it = has_it || (uintptr_t)found->address - start < segment->p_memsz;
		start &= ~(uintptr_t)(segment->p_align ? segment->p_align - 1 : 0);
		found->start = start < found->start ? start : found->start;
	}
	found->is_program = found->is_program && has_it; /* the first object is the program */
	if (has_it && object->dlpi_name)
		strncpy(found->name, object->dlpi_name, sizeof(found->name) - 1);
	return has_it;
}

bool hf_detail_process_object(struct hf_detail_object *object)
{
	memset(object->name, 0, sizeof(object->name));
	object->is_program = true;
	return dl_iterate_phdr(has_address, object);
}

/* R4. The parts of a layout: that of the locks, and that of this kind of state. */
HF_COLD void refuse(const struct hf_detail_process_state *mine, int32_t layout, const char *object)
{
	static const char program[] = "the program";
	struct hf_detail_object me = { .address = mine };

	(void)hf_detail_process_object(&me);
	(void)dprintf(STDERR_FILENO,
		      "holdfast: two versions of the library in this process do not fit together: "
		      "%s: layout %d.%d in %s, layout %d.%d in %s\n",
		      mine->kind, layout >> 24, layout & 0xffffff, *object ? object : program,
		      mine->layout >> 24, mine->layout & 0xffffff, *me.name ? me.name : program);
	hf_detail_env_abort();
}

/* Reads or sets the pointer of a note of this kind. Returns true if the pointer is set now. */
static bool visit(const ElfW(Nhdr) * note, const char *name, const struct desc *desc,
		  const char *object, struct search *search)
{
	struct hf_detail_process_state *other;
	uint64_t memory = 0;

	if (note->n_type != 1 || note->n_namesz != 9 || memcmp(name, "Holdfast", 9) != 0 ||
	    note->n_descsz != sizeof(*desc) ||
	    strncmp(desc->kind, search->mine->kind, sizeof(desc->kind)) != 0)
		return false;
	if (desc->layout != search->mine->layout)
		refuse(search->mine, desc->layout, object);
	other = (struct hf_detail_process_state *)((uintptr_t)&desc->here +
						   (uintptr_t)(intptr_t)desc->here);
	if (!search->offered)
		memory = hf_atomic64_load_acquire(&other->memory);
	else if (hf_atomic64_try_cmpxchg_acq_rel(&other->memory, &memory, search->offered))
		memory = search->offered; /* R1 */
	search->found = memory;
	return memory != 0;
}

static int each_object(struct dl_phdr_info *object, size_t size, void *data)
{
	(void)size;
	for (unsigned int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		const char *at, *end;

		if (segment->p_type != PT_NOTE || segment->p_align > 4)
			continue;
		at = (const char *)object->dlpi_addr + segment->p_vaddr;
		end = at + segment->p_memsz;
		while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = at + sizeof(*note);
			const char *desc = name + (((size_t)note->n_namesz + 3) & ~(size_t)3);

			if (visit(note, name, (const void *)desc, object->dlpi_name, data))
				return 1;
			at = desc + (((size_t)note->n_descsz + 3) & ~(size_t)3);
		}
	}
	return 0;
}

/* States to zero in the child of a fork where the kernel doesn't: Linux before 4.14, qemu-user. */
static struct hf_detail_process_state *to_wipe;

static void wipe(void)
{
	for (const struct hf_detail_process_state *s = to_wipe; s; s = s->next)
		memset((void *)(uintptr_t)hf_atomic64_load_relaxed(&s->memory), 0, s->bytes);
}

/* An emulator may accept any advice and follow none, so one that does not exist is tried, too. */
static bool is_wiped_by_kernel(void *memory, size_t bytes)
{
	return madvise(memory, bytes, MADV_WIPEONFORK) == 0 && madvise(memory, bytes, 9999) != 0;
}

static void *find_or_map(struct hf_detail_process_state *mine, size_t bytes,
			 enum hf_detail_process_fork fork)
{
	struct search search = { mine, 0, 0 };
	uint64_t set = 0; /* by each_object(), or by another thread of this copy */
	void *memory = NULL;

	(void)dl_iterate_phdr(each_object, &search);
	if (!search.found) {
		memory = hf_detail_env_map(bytes);
		if (!memory)
			return NULL;
		search.offered = (uint64_t)(uintptr_t)memory;
		(void)dl_iterate_phdr(each_object, &search);
		/* No object has a note, not even ours, if a linker dropped it: use our memory. */
		if (!search.found)
			search.found = search.offered;
		if (search.found != search.offered)
			(void)munmap(memory, bytes);
	}
	while (!set && !hf_atomic64_try_cmpxchg_acq_rel(&mine->memory, &set, search.found))
		;
	memory = (void *)(uintptr_t)(set ? set : search.found);
	/* Every copy does this, since the first one may be unloaded. */
	if ((!set || set == search.offered) && fork == HF_DETAIL_PROCESS_WIPE &&
	    !is_wiped_by_kernel(memory, bytes)) {
		if (!to_wipe)
			(void)pthread_atfork(NULL, NULL, wipe);
		mine->bytes = bytes;
		mine->next = to_wipe;
		to_wipe = mine;
	}
	return memory;
}

void *hf_detail_process_find(struct hf_detail_process_state *mine, size_t bytes,
			     enum hf_detail_process_fork fork)
{
	uint64_t found = hf_atomic64_load_acquire(&mine->memory);
	int kept = errno; /* constructors call this, and main() begins with 0 */
	void *memory = found ? (void *)(uintptr_t)found : find_or_map(mine, bytes, fork);

	errno = kept;
	return memory;
}
