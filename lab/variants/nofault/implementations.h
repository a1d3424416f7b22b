/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_VARIANTS_NOFAULT_H
#define HF_LAB_VARIANTS_NOFAULT_H
/*
 * implementations - lists all implementations of clear, copy, fill, move, compare and find for
 * memory that may fault: those that the library chooses from in user space, those that only a
 * kernel chooses (src/nofault/arch/x86_64_words.h), and the vector loops without the library's
 * assembly for small sizes. For the lab and the tests, which link the static library: the library
 * itself has neither the lists nor a way to force one.
 *
 * In a program with this file, the environment variables HOLDFAST_CLEAR and HOLDFAST_COPY name the
 * implementation that is used from the start.
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

/* A set of them; @move is the function for ranges that overlap. */
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
 * Uses this implementation from now on; NULL or "default" is the library's choice for this
 * processor. Returns 0, or -EINVAL (22): no such implementation, or this processor can't run it.
 */
int hf_variant_clear_choose(const char *name);
int hf_variant_copy_choose(const char *name);

HF_END_DECLS

#endif
