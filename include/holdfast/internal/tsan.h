/* SPDX-License-Identifier: MIT */
#ifndef HF_TSAN_H
#define HF_TSAN_H
#pragma GCC system_header
/*
 * tsan - announces to ThreadSanitizer what it does not see: the ordering of assembly and of the
 * library, which need not be built with it, and that a word is a lock. Without -fsanitize=thread
 * nothing is left of it.
 *
 *   ACQUIRE, RELEASE   the ordering of an access
 *   INIT               the memory is a new lock; if one was there, it is gone
 *   DESTROY            reported if the lock is locked, and in the heap or on a stack: at exit
 *                      other threads may hold a static one
 *   LOCK               before a lock: reported if it closes a cycle of lock orders, unless it is a
 *                      trylock, which does not wait
 *   LOCK_ENDED         after it
 *   UNLOCK             before an unlock: reported if this thread does not hold the lock
 *
 *   reads              as a reader of a reader-writer lock
 *   waits              it is no trylock
 *
 * From its pre_lock to its post_lock ThreadSanitizer ignores what the thread does. But a slow path
 * of a library that is built with it must synchronise with the code that wakes it, which is not
 * ignored: so the time between is announced as diverted. An unlock is announced as a whole before
 * it happens: afterwards another thread may have the lock.
 */
#include "compiler.h"

#if HF_TSAN
HF_BEGIN_DECLS
void __tsan_acquire(void *address);
void __tsan_release(void *address);
const char *__tsan_locate_address(void *address, char *name, size_t name_size, void **region,
				  size_t *region_size);
void __tsan_mutex_create(void *address, unsigned int flags);
void __tsan_mutex_destroy(void *address, unsigned int flags);
void __tsan_mutex_pre_lock(void *address, unsigned int flags);
void __tsan_mutex_post_lock(void *address, unsigned int flags, int recursion);
int __tsan_mutex_pre_unlock(void *address, unsigned int flags);
void __tsan_mutex_post_unlock(void *address, unsigned int flags);
void __tsan_mutex_pre_divert(void *address, unsigned int flags);
void __tsan_mutex_post_divert(void *address, unsigned int flags);
HF_END_DECLS

/* Flags of ThreadSanitizer's interface. */
#define HF_DETAIL_TSAN_READ (1u << 3)
#define HF_DETAIL_TSAN_TRY (1u << 4)
#define HF_DETAIL_TSAN_FAILED (1u << 5)

/* Not HF_INLINE, by which libholdfast-extern exports what it inlines. */
#define HF_DETAIL_TSAN_INLINE static inline __attribute__((always_inline, unused))

/*
 * The lock's name is the address behind the word's: a lockref's lock shares the word's address
 * with the count, and an unlock would forget there what puts have released.
 */
HF_DETAIL_TSAN_INLINE void *hf_detail_tsan_id(void *lock)
{
	return (char *)lock + 1;
}

HF_DETAIL_TSAN_INLINE void hf_detail_tsan_init(void *lock)
{
	__tsan_mutex_destroy(hf_detail_tsan_id(lock), 0);
	__tsan_mutex_create(hf_detail_tsan_id(lock), 0);
}

HF_DETAIL_TSAN_INLINE void hf_detail_tsan_destroy(void *lock, bool is_locked)
{
	char name[8];
	void *region;
	size_t size;
	const char *kind = "";

	if (is_locked)
		kind = __tsan_locate_address(lock, name, sizeof(name), &region, &size);
	if (!is_locked || kind[0] == 'h' || kind[0] == 's')
		__tsan_mutex_destroy(hf_detail_tsan_id(lock), 0);
}

HF_DETAIL_TSAN_INLINE void hf_detail_tsan_lock(void *lock, bool reads, bool waits)
{
	if (waits) {
		__tsan_mutex_pre_lock(hf_detail_tsan_id(lock), reads ? HF_DETAIL_TSAN_READ : 0);
		__tsan_mutex_pre_divert(hf_detail_tsan_id(lock), 0);
	}
}

HF_DETAIL_TSAN_INLINE void hf_detail_tsan_lock_ended(void *lock, bool reads, bool waits,
						     bool locked)
{
	unsigned int flags = (reads ? HF_DETAIL_TSAN_READ : 0) | (waits ? 0 : HF_DETAIL_TSAN_TRY) |
			     (locked ? 0 : HF_DETAIL_TSAN_FAILED);

	if (waits)
		__tsan_mutex_post_divert(hf_detail_tsan_id(lock), 0);
	else if (locked)
		__tsan_mutex_pre_lock(hf_detail_tsan_id(lock), flags);
	if (waits || locked)
		__tsan_mutex_post_lock(hf_detail_tsan_id(lock), flags, 0);
	if (locked)
		__tsan_acquire(lock);
}

HF_DETAIL_TSAN_INLINE void hf_detail_tsan_unlock(void *lock, bool reads)
{
	unsigned int flags = reads ? HF_DETAIL_TSAN_READ : 0;

	__tsan_release(lock);
	(void)__tsan_mutex_pre_unlock(hf_detail_tsan_id(lock), flags);
	__tsan_mutex_post_unlock(hf_detail_tsan_id(lock), flags);
}

#define HF_DETAIL_TSAN_ACQUIRE(p) __tsan_acquire((void *)(uintptr_t)(p))
#define HF_DETAIL_TSAN_RELEASE(p) __tsan_release((void *)(uintptr_t)(p))
#define HF_DETAIL_TSAN_INIT(lock) hf_detail_tsan_init(lock)
#define HF_DETAIL_TSAN_DESTROY(lock, is_locked) hf_detail_tsan_destroy(lock, is_locked)
#define HF_DETAIL_TSAN_LOCK(lock, reads, waits) hf_detail_tsan_lock(lock, reads, waits)
#define HF_DETAIL_TSAN_LOCK_ENDED(lock, reads, waits, locked)                                      \
	hf_detail_tsan_lock_ended(lock, reads, waits, locked)
#define HF_DETAIL_TSAN_UNLOCK(lock, reads) hf_detail_tsan_unlock(lock, reads)
#else
#define HF_DETAIL_TSAN_ACQUIRE(p) (void)(p)
#define HF_DETAIL_TSAN_RELEASE(p) (void)(p)
#define HF_DETAIL_TSAN_INIT(lock) (void)(lock)
#define HF_DETAIL_TSAN_DESTROY(lock, is_locked) (void)(lock)
#define HF_DETAIL_TSAN_LOCK(lock, reads, waits) (void)(lock)
#define HF_DETAIL_TSAN_LOCK_ENDED(lock, reads, waits, locked) (void)(lock)
#define HF_DETAIL_TSAN_UNLOCK(lock, reads) (void)(lock)
#endif

#endif
