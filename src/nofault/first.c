/* SPDX-License-Identifier: MIT */
/*
 * first - Linux user space: chooses the implementations when the library is loaded, and reports a
 * forgotten hf_nofault_install().
 *
 * Until the first call, the pointers to the implementations lead to the functions below. These call
 * hf_detail_nofault_watch(), so that a fault in a `_nofault` function is reported before it kills
 * the process. Then they store the chosen implementations, so later calls pay nothing.
 */
#include <errno.h>
#include <unistd.h>

#include "../env/env.h"
#include "memory.h"

typedef hf_copy_function_t hf_move_function_t, hf_words_function_t;

#define OPERATIONS(X)                                                                              \
	X(size_t, clear, hf_detail_clear, (void *dst, size_t len), (dst, len))                     \
	X(size_t, copy, hf_detail_copy, (void *dst, const void *src, size_t len), (dst, src, len)) \
	X(size_t, fill, hf_detail_memory.fill, (void *dst, uint8_t value, size_t len),             \
	  (dst, value, len))                                                                       \
	X(size_t, move, hf_detail_memory.move, (void *dst, const void *src, size_t len),           \
	  (dst, src, len))                                                                         \
	X(size_t, words, hf_detail_words, (void *dst, const void *src, size_t words),              \
	  (dst, src, words))                                                                       \
	X(struct hf_memory_result, compare, hf_detail_memory.compare,                              \
	  (const void *a, const void *b, size_t len), (a, b, len))                                 \
	X(struct hf_memory_result, find, hf_detail_memory.find,                                    \
	  (const void *p, uint8_t byte, size_t len), (p, byte, len))

#define INDEX(result, name, ...) INDEX_##name,
enum { OPERATIONS(INDEX) COUNT };

static hf_atomic64_t chosen[COUNT];

static void first_call(void);

#define FIRST_CALL(result, name, pointer, parameters, arguments)                                   \
	static result first_##name parameters                                                      \
	{                                                                                          \
		first_call();                                                                      \
		return ((hf_##name##_function_t)(uintptr_t)hf_atomic64_load_relaxed(               \
			&chosen[INDEX_##name]))arguments;                                          \
	}
OPERATIONS(FIRST_CALL)

#define ROW(result, name, pointer, ...) { &(pointer), (uintptr_t)first_##name },
static const struct {
	hf_atomic64_t *pointer;
	uint64_t first;
} rows[COUNT] = { OPERATIONS(ROW) };

/* Leaves pointers alone that a test or the lab has changed meanwhile. */
HF_COLD void first_call(void)
{
	hf_detail_nofault_watch();
	for (unsigned int i = 0; i < COUNT; i++) {
		uint64_t first = rows[i].first;

		(void)hf_atomic64_try_cmpxchg_relaxed(rows[i].pointer, &first,
						      hf_atomic64_load_relaxed(&chosen[i]));
	}
}

/* Here, since choose.c calls it: so static programs get this file, with its constructor. */
uint64_t hf_detail_env_cache_bytes(void)
{
#ifdef _SC_LEVEL4_CACHE_SIZE /* glibc has it, musl doesn't */
	static const int levels[] = { _SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE,
				      _SC_LEVEL2_CACHE_SIZE };
	/* sysconf() does not know these on each processor, and main() begins with errno 0. */
	int kept = errno;
	long bytes = 0;

	for (unsigned int i = 0; i < sizeof(levels) / sizeof(levels[0]) && bytes <= 0; i++)
		bytes = sysconf(levels[i]);
	errno = kept;
	return bytes > 0 ? (uint64_t)bytes : 0;
#else
	return 0;
#endif
}

__attribute__((constructor(101))) static void start_choose(void)
{
	hf_detail_env_hide_features(); /* before the choice */
	hf_detail_nofault_start();
	for (unsigned int i = 0; i < COUNT; i++) {
		hf_atomic64_store_relaxed(&chosen[i], hf_atomic64_load_relaxed(rows[i].pointer));
		hf_atomic64_store_relaxed(rows[i].pointer, rows[i].first);
	}
}
