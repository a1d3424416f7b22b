/* SPDX-License-Identifier: MIT */
/*
 * first - Linux user space: reports a forgotten hf_nofault_install().
 *
 * Until the first call, the pointers to the implementations lead to the functions below. These call
 * hf_detail_nofault_watch(), so that a fault in a `_nofault` function is reported before it kills
 * the process. Then they store the chosen implementations, so later calls pay nothing.
 */
#include "memory.h"

#define POINTERS(X)                                                                                \
	X(clear, hf_detail_clear)                                                                  \
	X(copy, hf_detail_copy)                                                                    \
	X(fill, hf_detail_memory.fill)                                                             \
	X(move, hf_detail_memory.move)                                                             \
	X(compare, hf_detail_memory.compare)                                                       \
	X(find, hf_detail_memory.find)                                                             \
	X(words, hf_detail_words)

#define INDEX(name, pointer) INDEX_##name,
enum { POINTERS(INDEX) COUNT };

static hf_atomic64_t chosen[COUNT];

#define POINTER(name, pointer) &(pointer),
static hf_atomic64_t *const pointers[COUNT] = { POINTERS(POINTER) };

static void first_call(void);

typedef hf_copy_function_t hf_move_function_t, hf_words_function_t;

#define FIRST_CALL(result, name, parameters, arguments)                                            \
	static result first_##name parameters                                                      \
	{                                                                                          \
		first_call();                                                                      \
		return ((hf_##name##_function_t)(uintptr_t)hf_atomic64_load_relaxed(               \
			&chosen[INDEX_##name]))arguments;                                          \
	}

FIRST_CALL(size_t, clear, (void *dst, size_t len), (dst, len))
FIRST_CALL(size_t, copy, (void *dst, const void *src, size_t len), (dst, src, len))
FIRST_CALL(size_t, fill, (void *dst, uint8_t value, size_t len), (dst, value, len))
FIRST_CALL(size_t, move, (void *dst, const void *src, size_t len), (dst, src, len))
FIRST_CALL(size_t, words, (void *dst, const void *src, size_t words), (dst, src, words))
FIRST_CALL(struct hf_memory_result, compare, (const void *a, const void *b, size_t len),
	   (a, b, len))
FIRST_CALL(struct hf_memory_result, find, (const void *p, uint8_t byte, size_t len), (p, byte, len))

#define FIRST(name, pointer) (uintptr_t) first_##name,
static const uint64_t firsts[COUNT] = { POINTERS(FIRST) };

/* Leaves pointers alone that a test or the lab has changed meanwhile. */
HF_COLD void first_call(void)
{
	hf_detail_nofault_watch();
	for (unsigned int i = 0; i < COUNT; i++) {
		uint64_t first = firsts[i];

		(void)hf_atomic64_try_cmpxchg_relaxed(pointers[i], &first,
						      hf_atomic64_load_relaxed(&chosen[i]));
	}
}

/* For hf_clear_chosen() and hf_copy_chosen(). */
static uint64_t behind(uint64_t function)
{
	for (unsigned int i = 0; i < COUNT; i++) {
		if (function == firsts[i])
			return hf_atomic64_load_relaxed(&chosen[i]);
	}
	return function;
}

void hf_detail_nofault_await_first(void)
{
	for (unsigned int i = 0; i < COUNT; i++) {
		hf_atomic64_store_relaxed(&chosen[i], hf_atomic64_load_relaxed(pointers[i]));
		hf_atomic64_store_relaxed(pointers[i], firsts[i]);
	}
	hf_detail_nofault_behind = behind;
}
