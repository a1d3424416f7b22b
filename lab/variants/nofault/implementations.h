/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_VARIANTS_NOFAULT_H
#define HF_LAB_VARIANTS_NOFAULT_H
/*
 * implementations - all that clear, copy, fill, move, compare and find memory that may fault: what the
 * library chooses from in user space, what only a kernel chooses (src/nofault/arch/x86_64_words.h), and
 * the loops by vectors, which the library has with its small sizes by hand. For the lab and the tests,
 * which link the static library: the library itself has neither the lists nor a way to force one.
 *
 * Where this is linked, HOLDFAST_CLEAR and HOLDFAST_COPY name what is used from the start.
 */
#include "holdfast/nofault.h"

struct hf_variant_clear {
	const char *name;
	hf_clear_function_t function;
	bool (*is_legal)(void); /* on this processor? */
};

struct hf_variant_copy {
	const char *name;
	hf_copy_function_t function;
	bool (*is_legal)(void);
};

/* One of all: of `move` where the ranges overlap. */
struct hf_variant_memory {
	const char *name;
	hf_fill_function_t fill;
	hf_copy_function_t move;
	hf_compare_function_t compare;
	hf_find_function_t find;
	bool (*is_legal)(void);
};

HF_BEGIN_DECLS

/* All of them, legal here or not. */
const struct hf_variant_clear *hf_variant_clears(size_t *count);
const struct hf_variant_copy *hf_variant_copies(size_t *count);
const struct hf_variant_memory *hf_variant_memories(size_t *count);

/*
 * Uses this one from now on; NULL or "default": what suits this processor. Returns 0, -EINVAL (22): no
 * such name, or -ENOTSUP (95): this processor can't run it.
 */
int hf_variant_clear_choose(const char *name);
int hf_variant_copy_choose(const char *name);
int hf_variant_memory_choose(const char *name);

/* The name of what was chosen. */
const char *hf_variant_clear_chosen(void);
const char *hf_variant_copy_chosen(void);
const char *hf_variant_memory_chosen(void);

HF_END_DECLS

#endif
