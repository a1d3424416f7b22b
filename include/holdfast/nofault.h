/* SPDX-License-Identifier: MIT */
#ifndef HF_NOFAULT_H
#define HF_NOFAULT_H
#pragma GCC system_header
/*
 * nofault - touch memory that may not be there: clear, copy, load, store, atomic words, and more.
 *
 * Use when / not when
 *   For memory that others may take away: a mapping whose file can be truncated, a page of a guest,
 *   a pointer from a plug-in or a script, memory with hardware errors. Not to hide a bug: a pointer
 *   that should be good and is not must crash. Not for memory whose contents another thread
 *   changes, as if it were a lock: the count is all that is known then.
 *   The signals SIGSEGV and SIGBUS must not be blocked where it is used: the system kills a process
 *   that faults with them blocked (so in a handler of one of the two, unless with SA_NODEFER).
 *
 * Verbs
 *   hf_nofault_install                   once, early: from then on faults are recovered
 *   hf_clear_nofault, hf_copy_nofault    return the bytes NOT done; _from_ and _to_, hf_strncpy_...
 *   hf_load32_, _store32_, _cmpxchg32_   one word, of 8 to 64 bits; return 0 or -EFAULT;
 *   _exchange32_, _fetch_add32_          those two of 32 and 64 bits
 *   fill, move, compare, find, length    nofault/memory.h; also copies between lists of ranges, and
 *                                        by whole words
 *
 * Example  examples/nofault.c, examples/nofault_cat.c
 *
 * State
 *   A fault is exact: a range of n bytes at p, whose first byte that can't be accessed is p + k
 *
 *        p                        p + k                     p + n
 *        |  done, all of it       |  not touched            |
 *        |------------------------|-------------------------|
 *                                 ^ first bad byte     returned: n - k
 *
 *   Faults are recovered by a table of sites (nofault/site.h): an instruction that may fault, and
 *   where to go on. The path without a fault does nothing for it. Each executable and shared object
 *   that includes this header registers its sites when it is loaded, and takes them back when it is
 *   unloaded; a signal handler looks the faulting instruction up and passes on what it doesn't
 *   find.
 *
 *   Inside a Linux kernel all of this is for a user's memory, as clear_user() and copy_from_user()
 *   are: an address that is not a user's fails as a whole, and the table is the kernel's own. There
 *   is no handler, no choice and no hf_strncpy_nofault there.
 *
 * Invariants
 *   F1  Everything before the fault is done, nothing at or after it is touched, and the count says
 *       so to the byte, on every processor and in every implementation. So all work is done in
 *       ascending order, and no store crosses into another page before the first one is known.
 *   F2  The handler takes no lock, allocates nothing, leaves errno alone, and reads only memory
 *       that it knows to be there: a thread may fault anywhere, in a signal handler too.
 *   F3  A signal is recovered only if the processor raised it (si_code > 0) for an instruction that
 *       is a site. Every other one has the effect that it would have had without Holdfast.
 *       Exceptions: docs/design/0009-nofault.md, limits.
 *   F4  A table that a handler may be reading is not freed, and a handler that looks a site up leaves
 *       no trace (nofault/latch.h): its thread may be cancelled there.
 *
 * Ordering
 *   none for all, but for compare-and-swap, exchange and fetch-and-add: sequentially consistent.
 *
 * Source   docs/design/0009-nofault.md; the counts: gVisor's safecopy has the same definition
 */
#include "internal/nofault/dispatch.h"

#if !HF_ENV_HAS_CLEAR
HF_BEGIN_DECLS

/* ---- the handler (user space) ------------------------------------------------------------- */

/**
 * hf_nofault_install - recover faults from now on: take over SIGSEGV and SIGBUS
 *
 * Call it once, early. A second call does nothing where we still have the signals, takes them again
 * where others have set SIG_DFL or SIG_IGN since, and leaves a handler of theirs (hf_nofault_owned()
 * is false then). A handler that is installed afterwards, by others, must pass on what it does not
 * own to the one before: to us. Programs that own these signals don't call it, but
 * hf_nofault_handle() in their handler.
 * A thread's alternate stack, if it has one, needs room for getauxval(AT_MINSIGSTKSZ) + 1024 bytes.
 *
 * Context:  any thread, several at once; not in a signal handler
 * Ordering: full barrier
 * Errors:   -errno of sigaction()
 * Return:   0, or an error, and nothing is changed
 */
int hf_nofault_install(void) HF_API_EACH;

/**
 * hf_nofault_remove - put back what was there before
 *
 * For the whole process: a library leaves it to the program.
 *
 * Context:  any thread, several at once; not in a signal handler
 * Ordering: full barrier
 * Errors:   -EBUSY (16): other code has taken over one of the signals since, and may rely on us;
 *           -errno of sigaction()
 * Return:   0, also if nothing was installed; or an error, and nothing is changed
 */
int hf_nofault_remove(void) HF_API_EACH;

/**
 * hf_nofault_owned - do SIGSEGV and SIGBUS still come to our handler first?
 *
 * Context:  any thread, async-signal-safe
 * Ordering: none
 * Return:   false: not installed, or other code has installed another one since, which may or may
 *           not pass on to ours
 */
bool hf_nofault_owned(void) HF_API_EACH;

/**
 * hf_nofault_handle - recover a fault, in a handler of your own for SIGSEGV and SIGBUS
 * @signal:  the handler's three arguments (SA_SIGINFO), unchanged
 * @info:    a siginfo_t
 * @context: a ucontext_t
 *
 * Context:  a signal handler
 * Ordering: none
 * Return:   true: recovered, return from the handler now; false: it is not ours, nothing was
 *           changed
 */
bool hf_nofault_handle(int signal, const void *info, void *context) HF_API_EACH;

/* A recovered fault. */
struct hf_nofault_fault {
	int signal;          /* SIGSEGV or SIGBUS; 0 = none yet */
	int code;            /* si_code: SEGV_MAPERR, SEGV_ACCERR, BUS_ADRERR, BUS_MCEERR_AR... */
	const void *address; /* the first byte that failed; NULL where the processor gives none
				(x86: not canonical), the start of its page where there is no
				more (s390x) */
};

/**
 * hf_nofault_last - this thread's last recovered fault
 *
 * Meaningful after an operation that did not do all; no operation resets it.
 *
 * Context:  any thread; a signal handler that faults changes it for the thread
 * Ordering: none
 * Return:   it, or one whose signal is 0 if there was none
 */
struct hf_nofault_fault hf_nofault_last(void) HF_API_EACH;

HF_END_DECLS

/* ---- which implementation ----------------------------------------------------------------- */

/* One of hf_clear_implementations(). */
struct hf_clear_implementation {
	const char *name;
	hf_clear_function_t function;
	bool (*is_legal)(void); /* on this processor? */
};

/* One of hf_copy_implementations(). */
struct hf_copy_implementation {
	const char *name;
	hf_copy_function_t function;
	bool (*is_legal)(void);
};

HF_BEGIN_DECLS

/**
 * hf_clear_implementations, hf_copy_implementations - all that were built for this processor
 * @count: is set to their number
 *
 * Context:  any thread
 * Ordering: none
 * Return:   an array, legal here or not
 */
const struct hf_clear_implementation *hf_clear_implementations(size_t *count) HF_API_EACH;
const struct hf_copy_implementation *hf_copy_implementations(size_t *count) HF_API_EACH;

/**
 * hf_clear_choose, hf_copy_choose - use this implementation from now on
 * @name: as in the lists, or NULL or "default" for what suits this processor
 *
 * Context:  any thread; one at a time
 * Ordering: none: calls under way end with the one before
 * Errors:   -EINVAL (22): no such name; -ENOTSUP (95): this processor can't run it
 * Return:   0, or an error, and nothing is changed
 */
int hf_clear_choose(const char *name) HF_API_EACH;
int hf_copy_choose(const char *name) HF_API_EACH;

/**
 * hf_clear_chosen, hf_copy_chosen - the name of the implementation in use
 *
 * Context:  any thread
 * Ordering: none
 * Return:   a constant string, never NULL
 */
const char *hf_clear_chosen(void) HF_API_EACH;
const char *hf_copy_chosen(void) HF_API_EACH;

/**
 * hf_nofault_calibrate - measure on this machine what the default does from which size on
 *
 * Takes less than 2 ms and some more than 1 MiB for that time. It may lower the size from which on the
 * default uses a repeated instruction, and never raises it; and chooses the default unless the
 * environment forces another one.
 *
 * Context:  any thread; one at a time; not in a signal handler
 * Errors:   -ENOMEM (12): no memory to measure with; -EAGAIN (11): the machine was too busy to
 *           measure in that time; -ENOTSUP (95): there is nothing to choose between on this
 *           processor
 * Return:   0, or an error, and nothing is changed
 */
int hf_nofault_calibrate(void) HF_API_EACH;

HF_END_DECLS

#endif /* !HF_ENV_HAS_CLEAR */

/* ---- clear and copy ----------------------------------------------------------------------- */

/**
 * hf_clear_nofault - zero memory that may fault
 * @dst: start, any alignment
 * @len: bytes
 *
 * Context:  any thread; needs hf_nofault_install() or hf_nofault_handle()
 * Ordering: none
 * Errors:   never traps; stops at the first byte that can't be written
 * Return:   bytes NOT cleared; 0 = all done
 */
HF_INLINE HF_MUST_CHECK size_t hf_clear_nofault(void *dst, size_t len)
{
	return hf_detail_dispatch_clear(dst, len);
}

/**
 * hf_copy_nofault - copy memory, and either side may fault
 * @dst: start, any alignment; must not overlap the source
 * @src: start, any alignment
 * @len: bytes
 *
 * Context:  any thread; needs hf_nofault_install() or hf_nofault_handle()
 * Ordering: none
 * Errors:   never traps; stops at the first byte that can't be read, or can't be written
 * Return:   bytes NOT copied; 0 = all done
 */
HF_INLINE HF_MUST_CHECK size_t hf_copy_nofault(void *dst, const void *src, size_t len)
{
	return hf_detail_dispatch_copy(dst, src, len);
}

/**
 * hf_copy_from_nofault - the same, where it is the source that may fault
 * hf_copy_to_nofault - the same, where it is the destination
 *
 * In user space both sides are guarded in all three. A kernel tells them apart: one side is the
 * user's, the other its own.
 */
HF_INLINE HF_MUST_CHECK size_t hf_copy_from_nofault(void *dst, const void *src, size_t len)
{
	return hf_detail_dispatch_copy_from(dst, src, len);
}

HF_INLINE HF_MUST_CHECK size_t hf_copy_to_nofault(void *dst, const void *src, size_t len)
{
	return hf_detail_dispatch_copy_to(dst, src, len);
}

#if !HF_ENV_HAS_CLEAR
HF_BEGIN_DECLS

/**
 * hf_strncpy_nofault - copy a string that may fault, up to its end or `size` bytes
 * @dst:  room for `size` bytes; may fault too
 * @src:  the string
 * @size: bytes
 *
 * Context:  as hf_copy_nofault()
 * Ordering: none
 * Errors:   -EFAULT (14): everything before the fault is in dst, nothing at or after it is touched
 * Return:   the length without the terminating 0, which was copied too; `size` if there was none in
 *           the first `size` bytes: dst is then not terminated
 */
HF_MUST_CHECK long hf_strncpy_nofault(char *dst, const char *src, size_t size) HF_API_EACH;

HF_END_DECLS
#endif

/* ---- one word ----------------------------------------------------------------------------- */

/**
 * hf_load8_nofault, hf_load16_nofault, hf_load32_nofault, hf_load64_nofault - read one word
 * @value: gets it; is not changed by a fault
 * @p:     any alignment; one access where it is aligned
 *
 * Context:  as hf_copy_nofault()
 * Ordering: none
 * Return:   0, or -EFAULT (14)
 */
HF_INLINE HF_MUST_CHECK int hf_load8_nofault(uint8_t *value, const volatile void *p)
{
	return HF_ENV_TOUCH(p, 1, -HF_EFAULT, hf_arch_load8_nofault(value, p));
}

HF_INLINE HF_MUST_CHECK int hf_load16_nofault(uint16_t *value, const volatile void *p)
{
	return HF_ENV_TOUCH(p, 2, -HF_EFAULT, hf_arch_load16_nofault(value, p));
}

HF_INLINE HF_MUST_CHECK int hf_load32_nofault(uint32_t *value, const volatile void *p)
{
	return HF_ENV_TOUCH(p, 4, -HF_EFAULT, hf_arch_load32_nofault(value, p));
}

HF_INLINE HF_MUST_CHECK int hf_load64_nofault(uint64_t *value, const volatile void *p)
{
	return HF_ENV_TOUCH(p, 8, -HF_EFAULT, hf_arch_load64_nofault(value, p));
}

/**
 * hf_store8_nofault, hf_store16_nofault, hf_store32_nofault, hf_store64_nofault - write one word
 * @p:     any alignment; one access where it is aligned
 * @value: what is written
 *
 * Context:  as hf_copy_nofault()
 * Ordering: none
 * Errors:   a word that lies on two pages may be written in part where the processor does so; one
 *           that is aligned is written whole or not at all
 * Return:   0, or -EFAULT (14)
 */
HF_INLINE HF_MUST_CHECK int hf_store8_nofault(volatile void *p, uint8_t value)
{
	return HF_ENV_TOUCH(p, 1, -HF_EFAULT, hf_arch_store8_nofault(p, value));
}

HF_INLINE HF_MUST_CHECK int hf_store16_nofault(volatile void *p, uint16_t value)
{
	return HF_ENV_TOUCH(p, 2, -HF_EFAULT, hf_arch_store16_nofault(p, value));
}

HF_INLINE HF_MUST_CHECK int hf_store32_nofault(volatile void *p, uint32_t value)
{
	return HF_ENV_TOUCH(p, 4, -HF_EFAULT, hf_arch_store32_nofault(p, value));
}

HF_INLINE HF_MUST_CHECK int hf_store64_nofault(volatile void *p, uint64_t value)
{
	return HF_ENV_TOUCH(p, 8, -HF_EFAULT, hf_arch_store64_nofault(p, value));
}

/**
 * hf_cmpxchg32_nofault, hf_cmpxchg64_nofault - compare and swap one word
 * @p:        aligned to its size
 * @expected: is replaced by `desired` if it is what *p holds
 * @desired:  what it is replaced by
 * @found:    gets what *p held: the swap was made if, and only if, that is `expected`; is not
 *            changed by an error
 *
 * Context:  as hf_copy_nofault()
 * Ordering: sequentially consistent
 * Errors:   memory that can be read and not written faults whether the value is expected or not
 *           (x86-64), or only if it is (elsewhere)
 * Return:   0, -EFAULT (14), or -EINVAL (22) if p is not aligned
 */
HF_INLINE HF_MUST_CHECK int hf_cmpxchg32_nofault(volatile void *p, uint32_t expected,
						 uint32_t desired, uint32_t *found)
{
	int error;

	if (HF_UNLIKELY((uintptr_t)p % 4))
		return -HF_EINVAL;
	HF_DETAIL_TSAN_RELEASE(p);
	error = HF_ENV_TOUCH(p, 4, -HF_EFAULT,
			     hf_arch_cmpxchg32_nofault(p, expected, desired, found));
	HF_DETAIL_TSAN_ACQUIRE(p);
	return error;
}

HF_INLINE HF_MUST_CHECK int hf_cmpxchg64_nofault(volatile void *p, uint64_t expected,
						 uint64_t desired, uint64_t *found)
{
	int error;

	if (HF_UNLIKELY((uintptr_t)p % 8))
		return -HF_EINVAL;
	HF_DETAIL_TSAN_RELEASE(p);
	error = HF_ENV_TOUCH(p, 8, -HF_EFAULT,
			     hf_arch_cmpxchg64_nofault(p, expected, desired, found));
	HF_DETAIL_TSAN_ACQUIRE(p);
	return error;
}

/**
 * hf_exchange32_nofault, hf_exchange64_nofault - *found = *p, *p = value, as one step
 * hf_fetch_add32_nofault, hf_fetch_add64_nofault - *found = *p, *p += value, as one step
 * @p:     aligned to its size
 * @value: what *p becomes, or what is added to it (it wraps around)
 * @found: gets what *p held; is not changed by an error
 *
 * Context:  as hf_copy_nofault()
 * Ordering: sequentially consistent
 * Errors:   memory that can be read and not written faults
 * Return:   0, -EFAULT (14), or -EINVAL (22) if p is not aligned; *p is as it was after an error
 */
HF_INLINE HF_MUST_CHECK int hf_exchange32_nofault(volatile void *p, uint32_t value, uint32_t *found)
{
	int error;

	if (HF_UNLIKELY((uintptr_t)p % 4))
		return -HF_EINVAL;
	HF_DETAIL_TSAN_RELEASE(p);
	error = HF_ENV_TOUCH(p, 4, -HF_EFAULT, hf_arch_exchange32_nofault(p, value, found));
	HF_DETAIL_TSAN_ACQUIRE(p);
	return error;
}

HF_INLINE HF_MUST_CHECK int hf_exchange64_nofault(volatile void *p, uint64_t value, uint64_t *found)
{
	int error;

	if (HF_UNLIKELY((uintptr_t)p % 8))
		return -HF_EINVAL;
	HF_DETAIL_TSAN_RELEASE(p);
	error = HF_ENV_TOUCH(p, 8, -HF_EFAULT, hf_arch_exchange64_nofault(p, value, found));
	HF_DETAIL_TSAN_ACQUIRE(p);
	return error;
}

HF_INLINE HF_MUST_CHECK int hf_fetch_add32_nofault(volatile void *p, uint32_t value,
						   uint32_t *found)
{
	int error;

	if (HF_UNLIKELY((uintptr_t)p % 4))
		return -HF_EINVAL;
	HF_DETAIL_TSAN_RELEASE(p);
	error = HF_ENV_TOUCH(p, 4, -HF_EFAULT, hf_arch_fetch_add32_nofault(p, value, found));
	HF_DETAIL_TSAN_ACQUIRE(p);
	return error;
}

HF_INLINE HF_MUST_CHECK int hf_fetch_add64_nofault(volatile void *p, uint64_t value,
						   uint64_t *found)
{
	int error;

	if (HF_UNLIKELY((uintptr_t)p % 8))
		return -HF_EINVAL;
	HF_DETAIL_TSAN_RELEASE(p);
	error = HF_ENV_TOUCH(p, 8, -HF_EFAULT, hf_arch_fetch_add64_nofault(p, value, found));
	HF_DETAIL_TSAN_ACQUIRE(p);
	return error;
}

/* ---- fill, move, compare, find, vectors of ranges, whole words ----------------------------- */

#include "internal/nofault/memory.h"

/* The sites of this executable or shared object, on their way to the handler's table. */
#if HF_ARCH_HAS_SITES && defined(HF_ENV_REGISTER_SITES)
HF_ENV_REGISTER_SITES
#endif

#ifdef __cplusplus
/*
 * The same over whatever has data() and size(): std::span, std::vector, std::array, std::string.
 * Sizes and results are in BYTES.
 */
HF_BEGIN_CXX

template <class T>
[[nodiscard]] inline size_t hf_detail_clear_objects(T *objects, size_t count)
{
	static_assert(__is_trivially_copyable(T), "zero bytes need not be a valid object");
	return hf_clear_nofault(objects, count * sizeof(T));
}

template <class T>
[[nodiscard]] inline size_t hf_detail_copy_objects(T *to, size_t room, const T *from, size_t count)
{
	static_assert(__is_trivially_copyable(T), "a copy of the bytes need not be a valid object");
	size_t fit = count < room ? count : room;

	return hf_copy_nofault(to, from, fit * sizeof(T)) + (count - fit) * sizeof(T);
}

/* clear_nofault - hf_clear_nofault() of a whole span. Returns the bytes not cleared. */
template <class Span>
[[nodiscard]] inline size_t clear_nofault(Span &&span)
{
	return hf_detail_clear_objects(span.data(), span.size());
}

/*
 * copy_nofault - hf_copy_nofault() of the whole of `from`, which has elements of the same type.
 * Returns the bytes of it not copied; what `to` has no room for is never copied.
 */
template <class To, class From>
[[nodiscard]] inline size_t copy_nofault(To &&to, const From &from)
{
	return hf_detail_copy_objects(to.data(), to.size(), from.data(), from.size());
}

HF_END_CXX
#endif

#endif
