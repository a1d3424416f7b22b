/* SPDX-License-Identifier: MIT */
/*
 * run_place - groups mutexes and condition variables by the place that made them: a call of init, by
 * its stack, since the one caller is often a wrapper; or their own address, if they are static; or
 * the stack of their first use.
 */
#include <dlfcn.h>
#include <string.h>
#include <unwind.h>

#include "run.h"

HF_RUN_THREAD bool hf_run_is_busy;

struct hf_run_place hf_run_places[HF_RUN_PLACES];

/* ---- stacks ------------------------------------------------------------------------------------ */

/*
 * The unwinder, which is loaded only if something is watched: a process starts sooner without it. It is
 * always that of gcc, whichever the program has.
 */
static __typeof__(_Unwind_Backtrace) *unwind;
static __typeof__(_Unwind_GetIPInfo) *get_ip;
static __typeof__(_Unwind_GetCFA) *get_end;

static void find(void *library, const char *name, void *to)
{
	void *found = dlsym(library, name);

	memcpy(to, &found, sizeof(found));
}

void hf_run_stacks_start(void)
{
	void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
	struct hf_run_stack stack;

	if (!library)
		return; /* stacks are of one frame, the caller */
	find(library, "_Unwind_GetIPInfo", &get_ip);
	find(library, "_Unwind_GetCFA", &get_end);
	if (get_ip && get_end)
		find(library, "_Unwind_Backtrace", &unwind);
	hf_run_stack(&stack, NULL); /* it initialises itself now, not in a lock */
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

struct walk {
	struct hf_run_stack *stack;
	uintptr_t ends[HF_RUN_FRAMES]; /* of the frames that the addresses return from */
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *data)
{
	struct walk *walk = data;
	struct hf_run_stack *stack = walk->stack;
	int is_exact = 0;
	uintptr_t address = get_ip(context, &is_exact);

	if (!address)
		return _URC_END_OF_STACK;
	address -= !is_exact;
	if (address >= (uintptr_t)__ehdr_start && address < (uintptr_t)etext)
		return _URC_NO_REASON;
	walk->ends[stack->count] = get_end(context);
	stack->frame[stack->count++] = (const void *)address;
	return stack->count < HF_RUN_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void hf_run_stack(struct hf_run_stack *stack, const void *caller)
{
	const void *frame = __builtin_frame_address(0);
	struct walk walk = { .stack = stack };

	stack->count = 0;
	if (unwind && !hf_run_is_busy && !hf_run_recall(stack, caller, frame)) {
		hf_run_is_busy = true;
		(void)unwind(add_frame, &walk);
		hf_run_is_busy = false;
		hf_run_remember(stack, walk.ends, caller, frame);
	}
	if (!stack->count) /* code without unwind information */
		stack->frame[stack->count++] = caller;
}

uint64_t hf_run_stack_hash(const struct hf_run_stack *stack)
{
	uint64_t hash = stack->count;

	for (uint32_t i = 0; i < stack->count; i++) {
		hash = (hash ^ (uintptr_t)stack->frame[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash;
}

/* ---- places ------------------------------------------------------------------------------------ */

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

static uint32_t find_place(uint64_t key, enum hf_run_place_kind kind, const void *object,
			   bool is_cond, const struct hf_run_stack *stack)
{
	enum { LOOKED_AT = 64 };

	key = (key + is_cond) * 0xbf58476d1ce4e5b9u | 1;
	for (uint32_t i = 0; i < LOOKED_AT; i++) {
		uint32_t at = 1 + (uint32_t)((key >> 32) + i) % (HF_RUN_PLACES - 1);
		struct hf_run_place *place = &hf_run_places[at];
		uint64_t found = hf_atomic64_load_relaxed(&place->key);

		if (!found && hf_atomic64_try_cmpxchg_relaxed(&place->key, &found, key)) {
			place->kind = kind;
			place->is_cond = is_cond;
			place->object = object;
			place->stack = *stack;
			hf_atomic32_store_release(&place->filled, 1);
			found = key;
		}
		if (found == key) {
			(void)hf_atomic64_fetch_add_relaxed(&place->objects, 1);
			return at;
		}
	}
	(void)hf_atomic64_fetch_add_relaxed(&hf_run_places[0].objects, 1);
	return 0;
}

uint32_t hf_run_place_of_init(const void *object, bool is_cond, const void *caller)
{
	struct hf_run_stack stack;

	hf_run_stack(&stack, caller);
	return find_place(hf_run_stack_hash(&stack), HF_RUN_MADE_BY_INIT, object, is_cond, &stack);
}

uint32_t hf_run_place_of_use(const void *object, bool is_cond, const void *caller)
{
	struct hf_run_stack stack;

	hf_run_stack(&stack, caller);
	if (is_in_object(object))
		return find_place((uintptr_t)object, HF_RUN_IS_STATIC, object, is_cond, &stack);
	return find_place(hf_run_stack_hash(&stack) + 2, HF_RUN_FIRST_USED, object, is_cond,
			  &stack);
}
