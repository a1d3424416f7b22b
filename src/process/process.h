/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_PROCESS_H
#define HF_SRC_PROCESS_H
/*
 * process - state that exists once in a process, however many copies of the library are loaded.
 *
 * Use when / not when
 *   For state that a program and its plug-ins must share (the waiters of a lock), each of which
 *   may be linked with the static library. Not for state that each copy may keep for itself.
 *
 * State
 *   For each kind of state a copy has a pointer, NULL until the copy has started, and an ELF note
 *   with the distance from the note to the pointer:
 *
 *     note "Holdfast"  | kind, 8 characters | layout | pointer - here |
 *
 *   dl_iterate_phdr() finds the notes of all objects. A copy that starts takes the pointer of any
 *   other copy, or maps the memory.
 *
 * Invariants
 *   R1  All pointers of one kind that are set are equal. A new mapping is stored, by
 *       compare-and-swap, in the first object in the loader's order that has such a note; a copy
 *       that finds a pointer there takes it and unmaps its own memory.
 *   R2  The memory is anonymous and stays mapped until the process ends or calls exec(): it
 *       outlives objects that are unloaded, so nothing in it may point into an object.
 *   R3  It is zero at first, and with HF_DETAIL_PROCESS_WIPE again in the child of a fork,
 *       whichever call made the child.
 *   R4  Copies whose layouts differ cannot share it, and a lock that both use would hang: the
 *       second copy to start reports the names of both objects, and aborts. The layout has two
 *       parts: that of the state, and that of the locks (HF_DETAIL_LAYOUT, version.h).
 *
 *   Not covered: dlmopen() with a new namespace, whose objects the loader hides from the others.
 */
#include "holdfast/internal/atomic.h"
#include "holdfast/version.h"

enum hf_detail_process_fork {
	HF_DETAIL_PROCESS_KEEP, /* the child of a fork has a copy of it */
	HF_DETAIL_PROCESS_WIPE, /* the child of a fork finds it empty */
};

/* A pointer that other copies may read at any moment. */
struct hf_detail_process_state {
	hf_atomic64_t memory;
	const char *kind;
	int32_t layout;
	size_t bytes; /* to wipe, in the list of process.c */
	struct hf_detail_process_state *next;
};

/*
 * This copy's pointer to one kind of state, and its note. @name: at most 7 characters; @what: the
 * layout of the memory, a number below 2^24, to be increased with each change.
 */
#define HF_DETAIL_PROCESS_STATE(name, what)                                                        \
	extern struct hf_detail_process_state hf_detail_process_##name                             \
		__attribute__((visibility("hidden")));                                             \
	__attribute__((used)) struct hf_detail_process_state hf_detail_process_##name = {          \
		HF_ATOMIC_INIT(0), #name, HF_DETAIL_PROCESS_LAYOUT(what), 0, NULL                  \
	};                                                                                         \
	__asm__(".pushsection .note.holdfast,\"a\",%note\n"                                        \
		".balign 4\n"                                                                      \
		".4byte 9, 16, 1\n"                                                                \
		".asciz \"Holdfast\"\n"                                                            \
		".balign 4\n"                                                                      \
		"1: .ascii \"" #name "\"\n"                                                        \
		".org 1b + 8, 0\n"                                                                 \
		".4byte " HF_DETAIL_STRING(HF_DETAIL_PROCESS_LAYOUT(                               \
			what)) "\n"                                                                \
			       "2: .4byte hf_detail_process_" #name " - 2b\n"                      \
			       ".popsection")

#define HF_DETAIL_PROCESS_LAYOUT(what) ((HF_DETAIL_LAYOUT << 24) + (what))

#define hf_detail_process_share(name, bytes, fork)                                                 \
	hf_detail_process_find(&hf_detail_process_##name, bytes, fork)

/*
 * The memory of this kind, which all copies share; NULL = it could not be mapped. The first call
 * comes before there are other threads. Not in a signal handler.
 */
HF_BEGIN_DECLS
void *hf_detail_process_find(struct hf_detail_process_state *mine, size_t bytes,
			     enum hf_detail_process_fork fork);
HF_END_DECLS

/* An executable or shared object, by an address in it. */
struct hf_detail_object {
	const void *address;
	char name[224];  /* the loader's: empty for the program */
	uintptr_t start; /* where it is loaded */
	uintptr_t shift; /* an address in memory minus the same one in the file */
	bool is_program;
};

/* Finds the object that has this address. Takes the loader's lock. Returns false if none has it. */
bool hf_detail_process_object(struct hf_detail_object *object);

#endif
