/* SPDX-License-Identifier: MIT */
#ifndef HF_NOFAULT_SANITIZE_H
#define HF_NOFAULT_SANITIZE_H
#pragma GCC system_header
/*
 * sanitize - reports to AddressSanitizer and MemorySanitizer which memory assembly touches.
 *
 * For nofault/dispatch.h, in programs that are built with one of the two; the library need not be.
 * Elsewhere all of this is nothing.
 *
 *   AddressSanitizer   memory that is not there is what nofault is for; a heap block, a variable or a
 *                      global that is overrun, or was freed, is a bug. So it reports a range that runs
 *                      over one of these, before it is touched, and no other.
 *   MemorySanitizer    what was cleared, copied or exchanged is initialised from then on: of a copy too,
 *                      whatever its source was, which may be memory of another process.
 *
 * hf_strncpy_nofault, whose length is known only afterwards, is not checked by AddressSanitizer.
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

#ifdef HF_DETAIL_ASAN

HF_BEGIN_DECLS

void *__asan_region_is_poisoned(void *p, size_t len);
const char *__asan_locate_address(void *p, char *name, size_t name_size, void **start, size_t *len);
void __asan_loadN(void *p, intptr_t len); /* as gcc declares it */
void __asan_storeN(void *p, intptr_t len);

HF_END_DECLS

/* Does the range run over a heap block, a variable or a global, and not just into nowhere? */
HF_INLINE bool hf_detail_asan_is_bug(const volatile void *p, size_t len)
{
	char name[8];
	void *bad, *start;
	size_t size;
	const char *kind;

	if (!len || len > SIZE_MAX - (uintptr_t)p)
		return false;
	bad = __asan_region_is_poisoned((void *)(uintptr_t)p, len);
	if (HF_LIKELY(!bad))
		return false;
	kind = __asan_locate_address(bad, name, sizeof(name), &start, &size);
	/* "heap", "stack", "global"; else "shadow gap" and such */
	return kind && ((kind[0] == 'h' && kind[1] == 'e') || (kind[0] == 's' && kind[1] == 't') ||
			kind[0] == 'g');
}

HF_INLINE void hf_detail_will_read(const volatile void *p, size_t len)
{
	if (HF_UNLIKELY(hf_detail_asan_is_bug(p, len)))
		__asan_loadN((void *)(uintptr_t)p, (intptr_t)len);
}

HF_INLINE void hf_detail_will_write(const volatile void *p, size_t len)
{
	if (HF_UNLIKELY(hf_detail_asan_is_bug(p, len)))
		__asan_storeN((void *)(uintptr_t)p, (intptr_t)len);
}

#else

HF_INLINE void hf_detail_will_read(const volatile void *p, size_t len)
{
	(void)p;
	(void)len;
}

HF_INLINE void hf_detail_will_write(const volatile void *p, size_t len)
{
	(void)p;
	(void)len;
}

#endif

#ifdef HF_DETAIL_MSAN

HF_BEGIN_DECLS
void __msan_unpoison(const volatile void *p, size_t len);
HF_END_DECLS

HF_INLINE void hf_detail_has_written(const volatile void *p, size_t len)
{
	__msan_unpoison(p, len);
}

#else

HF_INLINE void hf_detail_has_written(const volatile void *p, size_t len)
{
	(void)p;
	(void)len;
}

#endif

#endif
