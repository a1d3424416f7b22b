/* SPDX-License-Identifier: MIT */
/*
 * run_place - groups mutexes and condition variables by the place that made them: a call of init,
 * by its stack, since the one caller is often a wrapper; or their own address, if they are static;
 * or the stack of their first use.
 *
 * Invariants
 *   S1  A stack takes no lock and calls no malloc(): a thread that takes one may hold any lock of
 *       the program, of libgcc, or of the program's malloc(). So libgcc's unwinder, while it works
 *       for this library, finds the tables of a function with find_table(), and not with its own
 *       function, which locks a mutex if a JIT compiler has registered tables. Code of such tables
 *       ends a stack.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unwind.h>

#include "run.h"

HF_RUN_THREAD bool hf_run_is_busy;

/* ---- the unwinder ----------------------------------------------------------------------- */

/* Of libgcc's unwind-dw2-fde.h */
struct dwarf_eh_bases {
	void *text, *data, *function;
};

typedef const void *find_table_t(void *address, struct dwarf_eh_bases *bases);

/*
 * The unwinder, which is loaded only if something is watched: a process starts sooner without it.
 * It is gcc's, whichever the program has.
 */
static __typeof__(_Unwind_Backtrace) *unwind;
static __typeof__(_Unwind_GetIPInfo) *get_ip;
static __typeof__(_Unwind_GetCFA) *get_end;
static find_table_t *find_table_real;

static HF_RUN_THREAD bool is_unwinding;

static void find(void *library, const char *name, void *to)
{
	void *found = dlsym(library, name);

	memcpy(to, &found, sizeof(found));
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35: finds an object without a lock */

static int32_t read_i32(const unsigned char *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t read_u32(const unsigned char *at)
{
	return (uint32_t)read_i32(at);
}

/*
 * The entry of .eh_frame of the function at @address, by the sorted index that linkers write:
 * pairs of where a function and its entry are, relative to the index. NULL = none, or of another
 * form. (S1)
 */
static const void *find_table(void *address, struct dwarf_eh_bases *bases)
{
	enum { HEAD = 12, SIGNED_PC_RELATIVE = 0x1b, UNSIGNED = 3, SIGNED_DATA_RELATIVE = 0x3b };
	struct dl_find_object object;
	const unsigned char *index, *entry;
	uint32_t low = 0, high;
	int64_t at;

	if (_dl_find_object(address, &object) != 0 || !object.dlfo_eh_frame)
		return NULL;
	index = object.dlfo_eh_frame;
	if (index[0] != 1 || index[1] != SIGNED_PC_RELATIVE || index[2] != UNSIGNED ||
	    index[3] != SIGNED_DATA_RELATIVE)
		return NULL;
	at = (const unsigned char *)address - index;
	high = read_u32(index + 8);
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (read_i32(index + HEAD + 8 * (size_t)middle) <= at)
			low = middle;
		else
			high = middle;
	}
	if (!high || read_i32(index + HEAD + 8 * (size_t)low) > at)
		return NULL;
	at -= read_i32(index + HEAD + 8 * (size_t)low);
	entry = index + read_i32(index + HEAD + 8 * (size_t)low + 4);
	if (at >= read_u32(entry + 12)) /* its length; a rare form with 8 bytes ends the stack */
		return NULL;
	*bases = (struct dwarf_eh_bases){ NULL, NULL, (char *)address - at };
	return entry;
}

#else
static const void *find_table(void *address, struct dwarf_eh_bases *bases)
{
	return find_table_real ? find_table_real(address, bases) : NULL;
}
#endif

/* libgcc calls this, since this library comes first: for exceptions of the program, too. */
HF_RUN_EXPORT find_table_t _Unwind_Find_FDE;

const void *_Unwind_Find_FDE(void *address, struct dwarf_eh_bases *bases)
{
	void *library;

	if (is_unwinding)
		return find_table(address, bases);
	if (HF_UNLIKELY(!find_table_real)) {
		library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
		if (library)
			find(library, "_Unwind_Find_FDE", &find_table_real);
	}
	return find_table_real ? find_table_real(address, bases) : find_table(address, bases);
}

void hf_run_stacks_start(void)
{
	void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
	struct hf_detail_stack stack;

	if (!library)
		return; /* stacks are of one frame, the caller */
	find(library, "_Unwind_Find_FDE", &find_table_real);
	find(library, "_Unwind_GetIPInfo", &get_ip);
	find(library, "_Unwind_GetCFA", &get_end);
	if (get_ip && get_end)
		find(library, "_Unwind_Backtrace", &unwind);
	hf_run_stack(&stack, NULL); /* it initialises itself now, not in a lock */
}

/* ---- stacks ----------------------------------------------------------------------------- */

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

struct walk {
	struct hf_detail_stack *stack;
	uintptr_t ends[HF_DETAIL_FRAMES]; /* of the frames that the addresses return from */
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *data)
{
	struct walk *walk = data;
	struct hf_detail_stack *stack = walk->stack;
	int is_exact = 0;
	uintptr_t address = get_ip(context, &is_exact);

	if (!address)
		return _URC_END_OF_STACK;
	address -= !is_exact;
	if (address >= (uintptr_t)__ehdr_start && address < (uintptr_t)etext)
		return _URC_NO_REASON;
	/* One that a signal has interrupted has no word with its address: it is not remembered. */
	walk->ends[stack->count] = is_exact ? 0 : get_end(context);
	stack->frame[stack->count++] = (const void *)address;
	return stack->count < HF_DETAIL_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void hf_run_stack(struct hf_detail_stack *stack, const void *caller)
{
	const void *frame = __builtin_frame_address(0);
	struct walk walk = { .stack = stack };

	stack->count = 0;
	if (unwind && !hf_run_is_busy && !hf_run_recall(stack, caller, frame)) {
		hf_run_is_busy = is_unwinding = true;
		(void)unwind(add_frame, &walk);
		/* Still busy: a handler must not fill in the same memo meanwhile. */
		hf_run_remember(stack, walk.ends, caller, frame);
		hf_run_is_busy = is_unwinding = false;
	}
	if (!stack->count) /* code without unwind information */
		stack->frame[stack->count++] = caller;
}

/* ---- places ----------------------------------------------------------------------------- */

static struct hf_detail_table places;
static struct hf_run_place no_room;

/* Takes no lock of the loader, if this glibc (2.35) has a function for that. */
static bool is_in_object(const void *address)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	struct dl_find_object found;

	return _dl_find_object((void *)(uintptr_t)address, &found) == 0;
#else
	Dl_info info;

	return dladdr(address, &info) != 0;
#endif
}

/* A mutex in memory that processes share may have the number of another process's place. */
struct hf_run_place *hf_run_place(uint32_t number)
{
	return number && number <= hf_detail_table_count(&places)
		       ? hf_detail_table_at(&places, number, sizeof(no_room))
		       : &no_room;
}

static uint32_t find_place(uint64_t id, enum hf_run_origin origin, const void *object,
			   enum hf_run_kind kind, const struct hf_detail_stack *stack)
{
	const struct hf_run_place place = {
		.origin = origin, .kind = kind, .object = object, .stack = *stack
	};
	uint64_t bits = id ^ ((uint64_t)kind << 60 | (uint64_t)origin << 58);

	return hf_detail_table_put(&places, hf_detail_table_key(bits), &place, sizeof(place),
				   HF_RUN_PLACES);
}

/* The place makes one more object. */
static uint32_t add_object(uint32_t number)
{
	(void)hf_atomic64_fetch_add_relaxed(&hf_run_place(number)->objects, 1);
	return number;
}

/* @other: the origin of an object that is not static. */
static uint32_t find_by_use(const void *object, enum hf_run_kind kind, enum hf_run_origin other,
			    const void *caller)
{
	struct hf_detail_stack stack;

	hf_run_stack(&stack, caller);
	if (is_in_object(object))
		return find_place((uintptr_t)object, HF_RUN_IS_STATIC, object, kind, &stack);
	return find_place(hf_detail_stack_hash(&stack), other, object, kind, &stack);
}

uint32_t hf_run_place_of_init(const void *object, enum hf_run_kind kind, const void *caller)
{
	struct hf_detail_stack stack;

	hf_run_stack(&stack, caller);
	return add_object(find_place(hf_detail_stack_hash(&stack), HF_RUN_MADE_BY_INIT, object,
				     kind, &stack));
}

uint32_t hf_run_place_of_use(const void *object, enum hf_run_kind kind, const void *caller)
{
	return add_object(find_by_use(object, kind, HF_RUN_FIRST_USED, caller));
}

uint32_t hf_run_place_of_wait(const void *object, enum hf_run_kind kind, const void *caller)
{
	return find_by_use(object, kind, HF_RUN_WAITED_AT, caller);
}
