/* SPDX-License-Identifier: MIT */
#ifndef HF_NOFAULT_SANITIZE_H
#define HF_NOFAULT_SANITIZE_H
#pragma GCC system_header
/*
 * sanitize - by which each function of nofault.h announces the memory that it reads and writes.
 * Sanitizers do not see accesses by assembly, nor by the library, which need not be built with one.
 *
 *   AddressSanitizer   unmapped memory is legitimate here; an overrun or freed heap block, variable
 *                      or global is a bug: reported before the access if the range is known,
 *                      otherwise after it (searches, strings)
 *   MemorySanitizer    memory that was written counts as initialised, also by a copy, whose source
 *                      may be memory of another process
 */
#include "../compiler.h"
#include "../env.h"

#if defined(__SANITIZE_ADDRESS__)
#define HF_DETAIL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HF_DETAIL_ASAN 1
#endif
#if __has_feature(memory_sanitizer)
#define HF_DETAIL_MSAN 1
#endif
#endif

/* A file of the library does not know whether a program has a sanitizer: it declares weak ones. */
#ifdef HF_DETAIL_SANITIZE_WEAK
#define HF_DETAIL_SANITIZER __attribute__((weak))
#else
#define HF_DETAIL_SANITIZER
#endif

#if defined(HF_DETAIL_ASAN) || defined(HF_DETAIL_SANITIZE_WEAK)

HF_BEGIN_DECLS

void *__asan_region_is_poisoned(void *p, size_t len) HF_DETAIL_SANITIZER;
const char *__asan_locate_address(void *p, char *name, size_t name_size, void **start,
				  size_t *len) HF_DETAIL_SANITIZER;
void __asan_loadN(void *p, intptr_t len) HF_DETAIL_SANITIZER; /* as gcc declares it */
void __asan_storeN(void *p, intptr_t len) HF_DETAIL_SANITIZER;

HF_END_DECLS

/*
 * Returns the first byte of the range that overruns a heap block, a variable or a global; NULL if
 * none does. Unmapped memory is no bug.
 */
HF_INLINE char *hf_detail_asan_bad_byte(const volatile void *p, size_t len)
{
	char name[8];
	void *bad, *start;
	size_t size;
	const char *kind;

#ifdef HF_DETAIL_SANITIZE_WEAK
	if (HF_LIKELY(!__asan_region_is_poisoned))
		return NULL;
#endif
	if (!len || len > SIZE_MAX - (uintptr_t)p)
		return NULL;
	bad = __asan_region_is_poisoned((void *)(uintptr_t)p, len);
	if (HF_LIKELY(!bad))
		return NULL;
	kind = __asan_locate_address(bad, name, sizeof(name), &start, &size);
	/* "heap", "stack", "global"; not "heap-invalid" (no process has it), "shadow gap"... */
	return kind && ((kind[0] == 'h' && kind[1] == 'e' && !kind[4]) ||
			(kind[0] == 's' && kind[1] == 't') || kind[0] == 'g')
		       ? (char *)bad
		       : NULL;
}

#endif

#if defined(HF_DETAIL_MSAN) || defined(HF_DETAIL_SANITIZE_WEAK)
HF_BEGIN_DECLS
void __msan_unpoison(const volatile void *p, size_t len) HF_DETAIL_SANITIZER;
HF_END_DECLS
#endif

/*
 * The range that a function is about to read, or has read. ASan reports an access from the bad byte
 * on: it calls a range that only overruns at its end an "unknown-crash".
 */
HF_INLINE void hf_detail_reads(const volatile void *from, size_t len)
{
#if defined(HF_DETAIL_ASAN) || defined(HF_DETAIL_SANITIZE_WEAK)
	char *bad = hf_detail_asan_bad_byte(from, len);

	if (HF_UNLIKELY(bad))
		__asan_loadN(bad, (intptr_t)((uintptr_t)from + len - (uintptr_t)bad));
#else
	(void)from, (void)len;
#endif
}

/* The range that a function is about to write, or has written. */
HF_INLINE void hf_detail_writes(const volatile void *to, size_t len)
{
#if defined(HF_DETAIL_ASAN) || defined(HF_DETAIL_SANITIZE_WEAK)
	char *bad = hf_detail_asan_bad_byte(to, len);

	if (HF_UNLIKELY(bad))
		__asan_storeN(bad, (intptr_t)((uintptr_t)to + len - (uintptr_t)bad));
#else
	(void)to, (void)len;
#endif
}

/* Is a sanitizer linked? Without one, a function that checks this can end in a tail call. */
HF_INLINE bool hf_detail_has_sanitizer(void)
{
#if defined(HF_DETAIL_ASAN) || defined(HF_DETAIL_MSAN)
	return true;
#elif defined(HF_DETAIL_SANITIZE_WEAK)
	return __asan_region_is_poisoned || __msan_unpoison;
#else
	return false;
#endif
}

/* The range that a function has written: it is initialised. */
HF_INLINE void hf_detail_wrote(const volatile void *to, size_t len)
{
#if defined(HF_DETAIL_MSAN)
	__msan_unpoison(to, len);
#elif defined(HF_DETAIL_SANITIZE_WEAK)
	if (__msan_unpoison)
		__msan_unpoison(to, len);
#else
	(void)to, (void)len;
#endif
}

#endif
