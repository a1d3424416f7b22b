/* SPDX-License-Identifier: MIT */
#ifndef HF_NOFAULT_H
#define HF_NOFAULT_H
#pragma GCC system_header
/*
 * nofault - access memory that may fault: clear, copy, load, store, atomic words, and more.
 *
 * Use when / not when
 *   For memory that may disappear: a mapping whose file can be truncated, a page of a guest, a
 *   pointer from a plug-in or a script, memory with hardware errors. Not to hide a bug: a pointer
 *   that should be valid and is not must crash. It does not replace a lock: if another thread
 *   changes the memory meanwhile, only the count is reliable.
 *   SIGSEGV and SIGBUS must not be blocked: the system kills a process that faults with them
 *   blocked (as in a handler of one of the two without SA_NODEFER).
 *
 * Operations
 *   hf_nofault_install                   once, early: from then on faults are recovered
 *   hf_nofault_check                     for self-tests: why faults would not be recovered here
 *   hf_clear_nofault, hf_copy_nofault    return the bytes NOT done; _from_ and _to_, hf_strncpy_...
 *   hf_load32_, hf_store32_nofault       one word, of 8 to 64 bits; return 0 or -EFAULT
 *   hf_cmpxchg32_, _exchange32_,         one word, of 32 or 64 bits
 *     _fetch_add32_nofault
 *   hf_fill_nofault                      memset:  returns the bytes NOT done
 *   hf_move_nofault                      memmove: returns the bytes NOT done
 *   hf_compare_nofault                   memcmp:  -1, 0, 1 or -EFAULT, and how many are equal
 *   hf_find_nofault, hf_length_nofault   memchr, strnlen: 0, -ENOENT or -EFAULT, and where
 *   hf_copy_iovec_nofault                between lists of ranges, like those of readv() and
 *                                        writev()
 *   hf_copy_nofault_words                words of 8 bytes, each by one access
 *   hf_copy_safe, hf_load32_safe, ...    for crash handlers, and code with these signals blocked
 *
 * Example  examples/nofault.c, examples/nofault_scan.c, examples/region.c
 *
 * State
 *   A fault is exact: a range of n bytes at p, whose first byte that can't be accessed is p + k
 *
 *        p                        p + k                     p + n
 *        |  done, all of it       |  not touched            |
 *        |------------------------|-------------------------|
 *                                 ^ first bad byte     returned: n - k
 *
 *   Faults are recovered by an exception table (internal/nofault/site.h) of instructions that may
 *   fault and where to continue; the path without a fault has no extra instruction. Each executable
 *   and shared object that includes this header registers its entries when it is loaded, and
 *   removes them when it is unloaded. The signal handler looks the faulting instruction up, and
 *   passes the signal on if it is not in the table.
 *
 *        compare, find      [ k       | ...               ]    the byte at k is the first that differs
 *                                                              or is found, or can't be read
 *        move downwards     [ not touched       | done: k ]    dst above src, and they overlap
 *
 *   Inside a Linux kernel, clear, copy and the one-word operations are for user memory, as
 *   clear_user() and copy_from_user() are: an address outside of user space fails as a whole, and
 *   the exception table is the kernel's own. The rest of this header does not exist there.
 *
 * Invariants
 *   F1  Everything before the fault is done, nothing at or after it is touched, and the count is
 *       exact to the byte, on every processor and in every implementation. So all work is done in
 *       ascending order, and no store crosses into another page before the first one is known.
 *   F2  The handler takes no lock, allocates nothing, preserves errno, and reads only memory that
 *       is certainly mapped: a thread may fault anywhere, in a signal handler too.
 *   F3  A signal is recovered only if the processor raised it (si_code > 0) for an instruction that
 *       is in the table. Every other signal has the effect that it would have without Holdfast.
 *       Exceptions: docs/design/0009-nofault.md, limits.
 *   M1  A move loses nothing: after a fault, the part of the source that was not moved is
 *       unchanged. So it goes downwards where memmove() must, and then the end of the destination
 *       is right.
 *   M2  A search or a comparison whose answer lies before the first byte that can't be read returns
 *       the answer, not a fault. If the memory changes meanwhile, each byte is one that was there
 *       at some moment during the call.
 *   F4  A table that a handler may be reading is not freed, and the lookup writes nothing
 *       (src/nofault/latch.h): a thread may be cancelled during it.
 *
 * Ordering
 *   none for all, but for compare-and-swap, exchange and fetch-and-add: sequentially consistent.
 *
 * Source   docs/design/0009-nofault.md; the counts: gVisor's safecopy has the same definition
 */
#include "internal/arch_access.h"
#include "internal/atomic.h"
#include "internal/nofault/sanitize.h"
#include "internal/nofault/site.h"

#ifndef HF_ENV_HAS_CLEAR
#define HF_ENV_HAS_CLEAR 0
#endif

/* One access to a word. Where memory must be opened before an access, HF_ENV_TOUCH does so. */
#ifdef HF_ENV_TOUCH
#define HF_DETAIL_WORD(operation, p, len, access) HF_ENV_TOUCH(p, len, -HF_EFAULT, access)
#else
#define HF_DETAIL_WORD(operation, p, len, access)                                                  \
	__extension__({                                                                            \
		int hf_detail_error;                                                               \
                                                                                                   \
		hf_detail_touch(HF_DETAIL_OPERATION(operation), p, len, p, len);                   \
		hf_detail_error = (access);                                                        \
		hf_detail_touched(HF_DETAIL_OPERATION(operation), p, hf_detail_error ? 0 : len);   \
		hf_detail_error;                                                                   \
	})
#endif

/* One atomic operation on a word, which must be aligned. */
#define HF_DETAIL_ATOMIC_WORD(operation, p, len, access)                                           \
	__extension__({                                                                            \
		int hf_detail_result = -HF_EINVAL;                                                 \
                                                                                                   \
		if (HF_LIKELY((uintptr_t)(p) % (len) == 0)) {                                      \
			HF_DETAIL_TSAN_RELEASE(p);                                                 \
			hf_detail_result = HF_DETAIL_WORD(operation, p, len, access);              \
			HF_DETAIL_TSAN_ACQUIRE(p);                                                 \
		}                                                                                  \
		hf_detail_result;                                                                  \
	})

#if !HF_ENV_HAS_CLEAR
HF_BEGIN_DECLS

/* ---- the handler (user space) ------------------------------------------------------------- */

/**
 * hf_nofault_install - recover faults from now on: take over SIGSEGV and SIGBUS
 *
 * Call it once, early: without it, and without a handler of its own, a program dies of the first
 * fault, after a line on standard error that says so (one-word operations: below). Idempotent: a further call reinstalls the
 * handler if it was reset to SIG_DFL or SIG_IGN, and never replaces another handler
 * (hf_nofault_owned() is false then). A handler that other code installs later must call the
 * previous one, ours, for signals that it does not handle.
 * Programs with their own handler call hf_nofault_handle() in it instead.
 * A thread's alternate stack, if it has one, needs room for getauxval(AT_MINSIGSTKSZ) + 1024 bytes.
 *
 * Context:  any thread, several at once; not in a signal handler
 * Ordering: full barrier
 * Errors:   -errno of sigaction()
 * Return:   0, or an error, and nothing is changed
 */
int hf_nofault_install(void) HF_API_EACH;

/**
 * hf_nofault_remove - restore the previous handlers
 *
 * Affects the whole process: for the program to call, not for a library.
 *
 * Context:  any thread, several at once; not in a signal handler
 * Ordering: full barrier
 * Errors:   -EBUSY (16): other code has replaced one of the handlers, and may call ours;
 *           -errno of sigaction()
 * Return:   0, also if nothing was installed; or an error, and nothing is changed
 */
int hf_nofault_remove(void) HF_API_EACH;

/**
 * hf_nofault_owned - is Holdfast's handler the installed one for SIGSEGV and SIGBUS?
 *
 * Context:  any thread, async-signal-safe
 * Ordering: none
 * Return:   false: not installed, or other code has installed a handler since, which may or may
 *           not call ours
 */
bool hf_nofault_owned(void) HF_API_EACH;

/* What hf_nofault_check() finds; in this order, if there are several. */
enum hf_nofault_obstacle {
	HF_NOFAULT_READY = 0,         /* none: faults are recovered */
	HF_NOFAULT_FILTERED = 1,      /* a filter of system calls (seccomp) refuses the queries */
	HF_NOFAULT_NOT_INSTALLED = 2, /* nor was hf_nofault_handle() called */
	HF_NOFAULT_OTHER_HANDLER =
		3,                  /* it must call hf_nofault_handle(), or the handler before it */
	HF_NOFAULT_BLOCKED = 4,     /* SIGSEGV or SIGBUS, in this thread */
	HF_NOFAULT_SMALL_STACK = 5, /* this thread's alternate stack: hf_nofault_install() */
};

/**
 * hf_nofault_check - what would keep a fault of this thread from being recovered here?
 * @words: gets a constant string, never NULL, that describes the result in English; or NULL
 *
 * For a self-test at the start of a program or a thread. It does not fault. A program whose own
 * handler calls hf_nofault_handle() gets HF_NOFAULT_OTHER_HANDLER where all is well.
 *
 * Context:  any thread, async-signal-safe; not in seccomp's strict mode, which kills at a query
 * Ordering: none
 * Return:   HF_NOFAULT_READY (0), or the first obstacle
 */
enum hf_nofault_obstacle hf_nofault_check(const char **words) HF_API_EACH;

/**
 * hf_nofault_handle - recover a fault, in a handler of your own for SIGSEGV and SIGBUS
 * @signal:  the handler's three arguments (SA_SIGINFO), unchanged
 * @info:    a siginfo_t
 * @context: a ucontext_t
 *
 * After the first call, which may be hf_nofault_handle(0, NULL, NULL) when the program starts,
 * regions no longer install the handler by themselves (region.h).
 *
 * Context:  a signal handler
 * Ordering: none
 * Return:   true: recovered, return from the handler now; false: not a fault of Holdfast's,
 *           nothing was changed
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
 * Meaningful after an operation that failed or did not complete; no operation resets it.
 *
 * Context:  any thread; a signal handler that faults changes it for the thread
 * Ordering: none
 * Return:   the fault; its signal is 0 if there was none
 */
struct hf_nofault_fault hf_nofault_last(void) HF_API_EACH;

HF_END_DECLS

/* ---- which implementation ----------------------------------------------------------------- */

/* The result of a search or a comparison, returned in two registers. */
struct hf_memory_result {
	size_t at;
	long result;
};

/* The functions that these operations call on this processor. */
typedef size_t (*hf_clear_function_t)(void *dst, size_t len);
typedef size_t (*hf_copy_function_t)(void *dst, const void *src, size_t len);
typedef size_t (*hf_fill_function_t)(void *dst, uint8_t value, size_t len);
typedef struct hf_memory_result (*hf_compare_function_t)(const void *a, const void *b, size_t len);
typedef struct hf_memory_result (*hf_find_function_t)(const void *p, uint8_t byte, size_t len);

/* The addresses of the functions in use; of `move` where the ranges overlap. */
struct hf_detail_memory_functions {
	hf_atomic64_t fill, move, compare, find;
};

HF_BEGIN_DECLS

/*
 * Set once before main(), for this processor (src/nofault/choose.c); an earlier call gets the
 * generic implementation.
 */
extern hf_atomic64_t hf_detail_clear HF_API_EACH;
extern hf_atomic64_t hf_detail_copy HF_API_EACH;
extern struct hf_detail_memory_functions hf_detail_memory HF_API_EACH;

/**
 * hf_clear_chosen, hf_copy_chosen - the name of the implementation in use, for reports
 *
 * Context:  any thread
 * Ordering: none
 * Return:   a constant string, never NULL: a name of docs/design/0010
 */
const char *hf_clear_chosen(void) HF_API_EACH;
const char *hf_copy_chosen(void) HF_API_EACH;

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
#if HF_ENV_HAS_CLEAR && HF_ARCH_HAS_REP
	if (HF_ENV_CLEAR_INLINE)
		return HF_ENV_TOUCH(dst, len, len, hf_arch_rep_stosb(dst, len));
#endif
#if HF_ENV_HAS_CLEAR
	return hf_env_clear(dst, len);
#else
	uint64_t function = hf_atomic64_load_relaxed(&hf_detail_clear);
	size_t left;

	hf_detail_touch(HF_DETAIL_OPERATION(hf_clear_nofault), NULL, 0, dst, len);
	left = ((hf_clear_function_t)(uintptr_t)function)(dst, len);
	hf_detail_touched(HF_DETAIL_OPERATION(hf_clear_nofault), dst, len - left);
	return left;
#endif
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
#if HF_ENV_HAS_CLEAR
	return hf_env_copy(dst, src, len);
#else
	uint64_t function = hf_atomic64_load_relaxed(&hf_detail_copy);
	size_t left;

	hf_detail_touch(HF_DETAIL_OPERATION(hf_copy_nofault), src, len, dst, len);
	left = ((hf_copy_function_t)(uintptr_t)function)(dst, src, len);
	hf_detail_touched(HF_DETAIL_OPERATION(hf_copy_nofault), dst, len - left);
	return left;
#endif
}

/**
 * hf_copy_from_nofault - as hf_copy_nofault(), where the source may fault
 * hf_copy_to_nofault - as hf_copy_nofault(), where the destination may fault
 *
 * In user space all three guard both sides. In a kernel one side is user memory, the other its own.
 */
HF_INLINE HF_MUST_CHECK size_t hf_copy_from_nofault(void *dst, const void *src, size_t len)
{
#if HF_ENV_HAS_CLEAR
	return hf_env_copy_from(dst, src, len);
#else
	return hf_copy_nofault(dst, src, len);
#endif
}

HF_INLINE HF_MUST_CHECK size_t hf_copy_to_nofault(void *dst, const void *src, size_t len)
{
#if HF_ENV_HAS_CLEAR
	return hf_env_copy_to(dst, src, len);
#else
	return hf_copy_nofault(dst, src, len);
#endif
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

/*
 * In user space a program that has forgotten hf_nofault_install() dies at a fault of one of these
 * without a line on standard error, if it has not called clear, copy, fill, move, compare or find
 * before: these set the handler that prints it.
 */

/**
 * hf_load8_nofault, hf_load16_nofault, hf_load32_nofault, hf_load64_nofault - read one word
 * @value: gets the word; unchanged after a fault
 * @p:     any alignment; one access where it is aligned
 *
 * Context:  as hf_copy_nofault()
 * Ordering: none
 * Return:   0, or -EFAULT (14)
 */
HF_INLINE HF_MUST_CHECK int hf_load8_nofault(uint8_t *value, const volatile void *p)
{
	return HF_DETAIL_WORD(hf_load8_nofault, p, 1, hf_arch_load8_nofault(value, p));
}

HF_INLINE HF_MUST_CHECK int hf_load16_nofault(uint16_t *value, const volatile void *p)
{
	return HF_DETAIL_WORD(hf_load16_nofault, p, 2, hf_arch_load16_nofault(value, p));
}

HF_INLINE HF_MUST_CHECK int hf_load32_nofault(uint32_t *value, const volatile void *p)
{
	return HF_DETAIL_WORD(hf_load32_nofault, p, 4, hf_arch_load32_nofault(value, p));
}

HF_INLINE HF_MUST_CHECK int hf_load64_nofault(uint64_t *value, const volatile void *p)
{
	return HF_DETAIL_WORD(hf_load64_nofault, p, 8, hf_arch_load64_nofault(value, p));
}

/**
 * hf_store8_nofault, hf_store16_nofault, hf_store32_nofault, hf_store64_nofault - write one word
 * @p:     any alignment; one access where it is aligned
 * @value: the new value
 *
 * Context:  as hf_copy_nofault()
 * Ordering: none
 * Errors:   a word that lies on two pages may be written in part where the processor does so; one
 *           that is aligned is written whole or not at all
 * Return:   0, or -EFAULT (14)
 */
HF_INLINE HF_MUST_CHECK int hf_store8_nofault(volatile void *p, uint8_t value)
{
	return HF_DETAIL_WORD(hf_store8_nofault, p, 1, hf_arch_store8_nofault(p, value));
}

HF_INLINE HF_MUST_CHECK int hf_store16_nofault(volatile void *p, uint16_t value)
{
	return HF_DETAIL_WORD(hf_store16_nofault, p, 2, hf_arch_store16_nofault(p, value));
}

HF_INLINE HF_MUST_CHECK int hf_store32_nofault(volatile void *p, uint32_t value)
{
	return HF_DETAIL_WORD(hf_store32_nofault, p, 4, hf_arch_store32_nofault(p, value));
}

HF_INLINE HF_MUST_CHECK int hf_store64_nofault(volatile void *p, uint64_t value)
{
	return HF_DETAIL_WORD(hf_store64_nofault, p, 8, hf_arch_store64_nofault(p, value));
}

/**
 * hf_cmpxchg32_nofault, hf_cmpxchg64_nofault - compare and swap one word
 * @p:        aligned to its size
 * @expected: the value that *p must have
 * @desired:  its new value
 * @found:    gets the old value: the swap was made if, and only if, it equals `expected`; unchanged
 *            after an error
 *
 * Context:  as hf_copy_nofault()
 * Ordering: sequentially consistent
 * Errors:   read-only memory always faults on x86-64, elsewhere only if *p has the expected value
 * Return:   0, -EFAULT (14), or -EINVAL (22) if p is not aligned
 */
HF_INLINE HF_MUST_CHECK int hf_cmpxchg32_nofault(volatile void *p, uint32_t expected,
						 uint32_t desired, uint32_t *found)
{
	return HF_DETAIL_ATOMIC_WORD(hf_cmpxchg32_nofault, p, 4,
				     hf_arch_cmpxchg32_nofault(p, expected, desired, found));
}

HF_INLINE HF_MUST_CHECK int hf_cmpxchg64_nofault(volatile void *p, uint64_t expected,
						 uint64_t desired, uint64_t *found)
{
	return HF_DETAIL_ATOMIC_WORD(hf_cmpxchg64_nofault, p, 8,
				     hf_arch_cmpxchg64_nofault(p, expected, desired, found));
}

/**
 * hf_exchange32_nofault, hf_exchange64_nofault - *found = *p, *p = value, as one step
 * hf_fetch_add32_nofault, hf_fetch_add64_nofault - *found = *p, *p += value, as one step
 * @p:     aligned to its size
 * @value: the new value, or what is added (it wraps around)
 * @found: gets the old value; unchanged after an error
 *
 * Context:  as hf_copy_nofault()
 * Ordering: sequentially consistent
 * Errors:   read-only memory faults
 * Return:   0, -EFAULT (14), or -EINVAL (22) if p is not aligned; *p is unchanged after an error
 */
HF_INLINE HF_MUST_CHECK int hf_exchange32_nofault(volatile void *p, uint32_t value, uint32_t *found)
{
	return HF_DETAIL_ATOMIC_WORD(hf_exchange32_nofault, p, 4,
				     hf_arch_exchange32_nofault(p, value, found));
}

HF_INLINE HF_MUST_CHECK int hf_exchange64_nofault(volatile void *p, uint64_t value, uint64_t *found)
{
	return HF_DETAIL_ATOMIC_WORD(hf_exchange64_nofault, p, 8,
				     hf_arch_exchange64_nofault(p, value, found));
}

HF_INLINE HF_MUST_CHECK int hf_fetch_add32_nofault(volatile void *p, uint32_t value,
						   uint32_t *found)
{
	return HF_DETAIL_ATOMIC_WORD(hf_fetch_add32_nofault, p, 4,
				     hf_arch_fetch_add32_nofault(p, value, found));
}

HF_INLINE HF_MUST_CHECK int hf_fetch_add64_nofault(volatile void *p, uint64_t value,
						   uint64_t *found)
{
	return HF_DETAIL_ATOMIC_WORD(hf_fetch_add64_nofault, p, 8,
				     hf_arch_fetch_add64_nofault(p, value, found));
}

#if !HF_ENV_HAS_CLEAR

/* ---- fill and move ------------------------------------------------------------------------ */

/**
 * hf_fill_nofault - set each byte of memory that may fault to a value
 * @dst:   start, any alignment
 * @value: the value of a byte
 * @len:   bytes
 *
 * Context:  any thread; needs hf_nofault_install() or hf_nofault_handle()
 * Ordering: none
 * Errors:   never traps; stops at the first byte that can't be written
 * Return:   bytes NOT filled; 0 = all done
 */
HF_INLINE HF_MUST_CHECK size_t hf_fill_nofault(void *dst, uint8_t value, size_t len)
{
	uint64_t function = hf_atomic64_load_relaxed(&hf_detail_memory.fill);
	size_t left;

	hf_detail_touch(HF_DETAIL_OPERATION(hf_fill_nofault), NULL, 0, dst, len);
	left = ((hf_fill_function_t)(uintptr_t)function)(dst, value, len);
	hf_detail_touched(HF_DETAIL_OPERATION(hf_fill_nofault), dst, len - left);
	return left;
}

/**
 * hf_move_is_down - does a move of this range go downwards, from its last byte to its first?
 * @dst, @src, @len: the arguments of hf_move_nofault()
 *
 * Context:  any
 * Ordering: none
 * Return:   true: dst is above src, and they overlap
 */
HF_INLINE bool hf_move_is_down(const void *dst, const void *src, size_t len)
{
	return (uintptr_t)dst > (uintptr_t)src && (uintptr_t)dst - (uintptr_t)src < len;
}

/**
 * hf_move_nofault - copy memory, where either side may fault and the two may overlap
 * @dst: start, any alignment
 * @src: start, any alignment
 * @len: bytes
 *
 * After a fault with `left` bytes not done, and `done` = len - left:
 *
 *   upwards     the first `done` bytes of dst are right. Continue with (dst + done, src + done,
 *               left)
 *   downwards   (hf_move_is_down()) the last `done` bytes of dst are right, and the first `left` of
 *               src unchanged. Continue with (dst, src, left)
 *
 * Context:  as hf_fill_nofault()
 * Ordering: none
 * Errors:   never traps; stops at the first byte, in its direction, that can't be read or written.
 *           A range that goes past the last address has no last byte: downwards nothing is moved
 * Return:   bytes NOT moved; 0 = all done
 */
HF_INLINE HF_MUST_CHECK size_t hf_move_nofault(void *dst, const void *src, size_t len)
{
	uintptr_t above = (uintptr_t)dst - (uintptr_t)src;
	uint64_t function;
	size_t left;

	if (HF_LIKELY(above >= len && -above >= len))
		return hf_copy_nofault(dst, src, len);
	if (HF_UNLIKELY(len > -(uintptr_t)dst && hf_move_is_down(dst, src, len)))
		return len;
	function = hf_atomic64_load_relaxed(&hf_detail_memory.move);
	hf_detail_touch(HF_DETAIL_OPERATION(hf_move_nofault), src, len, dst, len);
	left = ((hf_copy_function_t)(uintptr_t)function)(dst, src, len);
	hf_detail_touched(HF_DETAIL_OPERATION(hf_move_nofault),
			  (char *)dst + (hf_move_is_down(dst, src, len) ? left : 0), len - left);
	return left;
}

/* Not found: Linux's ENOENT, on every processor and in every environment. */
#define HF_ENOENT 2

/* ---- compare and find --------------------------------------------------------------------- */

/**
 * hf_compare_nofault - compare memory, and either side may fault
 * @a, @b:  start of each side, any alignment
 * @len:    bytes
 * @equal:  gets the number of equal bytes at the start: the offset of the first byte that differs
 *          or can't be read; len if there is none
 *
 * Context:  as hf_fill_nofault()
 * Ordering: none
 * Errors:   -EFAULT (14): all bytes before a fault are equal
 * Return:   0: all are equal; -1 or 1: the first byte that differs is less, or greater, in `a`
 *           (unsigned); or the error: check for it before the sign
 */
HF_INLINE HF_MUST_CHECK int hf_compare_nofault(const void *a, const void *b, size_t len,
					       size_t *equal)
{
	uint64_t function = hf_atomic64_load_relaxed(&hf_detail_memory.compare);
	struct hf_memory_result r = ((hf_compare_function_t)(uintptr_t)function)(a, b, len);

	/* After the call, since it reads no further than its answer. */
	hf_detail_touch(HF_DETAIL_OPERATION(hf_compare_nofault), a,
			r.at + (r.result * r.result == 1), NULL, 0);
	hf_detail_touch(HF_DETAIL_OPERATION(hf_compare_nofault), b,
			r.at + (r.result * r.result == 1), NULL, 0);
	*equal = r.at;
	return (int)r.result;
}

/**
 * hf_find_nofault - look for a byte in memory that may fault
 * @p:    start, any alignment
 * @byte: the byte to find
 * @len:  bytes
 * @at:   gets the offset of the first such byte, or of the first that can't be read; len if there
 *        is none
 *
 * Context:  as hf_fill_nofault()
 * Ordering: none
 * Errors:   -ENOENT (2): not found; -EFAULT (14): not found before the fault
 * Return:   0: found at p + *at; or an error
 */
HF_INLINE HF_MUST_CHECK int hf_find_nofault(const void *p, uint8_t byte, size_t len, size_t *at)
{
	uint64_t function = hf_atomic64_load_relaxed(&hf_detail_memory.find);
	struct hf_memory_result r = ((hf_find_function_t)(uintptr_t)function)(p, byte, len);

	/* After the call, since it reads no further than its answer. */
	hf_detail_touch(HF_DETAIL_OPERATION(hf_find_nofault), p, r.at + (r.result == 0), NULL, 0);
	*at = r.at;
	return (int)r.result;
}

/**
 * hf_length_nofault - the length of a string that may fault
 * @string: start, any alignment
 * @most:   the most bytes to search
 * @length: gets the number of bytes before the terminating 0, or before the first byte that can't be
 *          read; `most` if there is neither
 *
 * Context:  as hf_fill_nofault()
 * Ordering: none
 * Errors:   -ENOENT (2): no 0 in the first `most` bytes; -EFAULT (14): none before the fault
 * Return:   0, or an error
 */
HF_INLINE HF_MUST_CHECK int hf_length_nofault(const char *string, size_t most, size_t *length)
{
	return hf_find_nofault(string, 0, most, length);
}

/* ---- lists of ranges, whole words --------------------------------------------------------- */

/* One range, with the layout of POSIX's struct iovec, so a pointer to one may be cast. */
struct hf_iovec {
	void *base;
	size_t len;
} HF_MAY_ALIAS;

/*
 * Where a copy between lists stopped. For each side: the index of the range with the first byte not
 * copied, and its offset in that range; the number of ranges and 0 if all were used.
 */
struct hf_iovec_stop {
	size_t done; /* bytes copied */
	size_t dst, dst_offset;
	size_t src, src_offset;
};

HF_BEGIN_DECLS

/**
 * hf_copy_iovec_nofault - copy between lists of ranges, which may fault; the lists must not
 * @dst, @dst_count: the destination; ranges of 0 bytes are skipped
 * @src, @src_count: the source; must not overlap the destination
 * @stop:            gets where it stopped; or NULL
 *
 * Copies as many bytes as the shorter list has. hf_nofault_last() returns the address that faulted,
 * and so the side.
 *
 * Context:  as hf_fill_nofault()
 * Ordering: none
 * Errors:   never traps; stops at the first byte that can't be read, or can't be written;
 *           -EINVAL (22): the lengths of a list add up to more than LONG_MAX, as for readv(), and
 *           nothing was copied
 * Return:   bytes NOT copied; 0 = all done; or the error
 */
HF_MUST_CHECK long hf_copy_iovec_nofault(const struct hf_iovec *dst, size_t dst_count,
					 const struct hf_iovec *src, size_t src_count,
					 struct hf_iovec_stop *stop) HF_API_EACH;

/**
 * hf_copy_nofault_words - copy words of 8 bytes that others may write or read at the same time
 * @dst, @src: aligned to 8; must not overlap
 * @words:     of 8 bytes
 *
 * No word is torn: each is read and written by one access, which may cover two aligned words. The
 * words are not ordered among each other.
 *
 * Context:  as hf_fill_nofault()
 * Ordering: none
 * Errors:   never traps; stops at the first word that can't be read or written; does nothing if a
 *           side is not aligned
 * Return:   WORDS not copied; 0 = all done
 */
HF_MUST_CHECK size_t hf_copy_nofault_words(void *dst, const void *src, size_t words) HF_API_EACH;

HF_END_DECLS

#endif /* !HF_ENV_HAS_CLEAR */

/* ---- where no fault can be taken ---------------------------------------------------------- */

#if HF_ENV_HAS_REGION
/*
 * In a handler of SIGSEGV or SIGBUS, a crash reporter, or a thread with these signals blocked, the
 * operations above would kill the process. Elsewhere they are faster: these query the signal mask
 * and handlers at each call, since no state is kept. They copy by
 *
 *     hf_copy_nofault()      if Holdfast's handler receives both signals
 *     process_vm_readv()     otherwise, 16 pages a call
 *     a pipe                 where that copies nothing more: page by page in and out
 *
 * The pipe is for systems that don't let a process read itself, and for memory that an instruction can
 * read and process_vm_readv() can't: memfd_secret, the data of the vDSO, device memory. It needs
 * two file descriptors; without them nothing is copied.
 *
 *   S1  Each piece given to the system lies in one page on either side. Memory is mapped by pages,
 *       so the system copies a whole piece or nothing, and the count is exact. If a page is
 *       unmapped or mapped during the call, part of a piece may have been copied and not counted.
 *   S2  No lock, no allocation, no more than 1 KiB of stack; errno is kept.
 */
HF_BEGIN_DECLS

/**
 * hf_copy_safe - copy memory, either side of which may fault, whatever the signal mask is
 * @dst: start, any alignment; must not overlap the source
 * @src: start, any alignment
 * @len: bytes
 *
 * Context:  any thread, any signal handler: async-signal-safe. Needs no hf_nofault_install()
 * Ordering: none
 * Errors:   never traps; stops at the first byte that can't be read, or can't be written
 * Return:   bytes NOT copied; 0 = all done
 */
HF_MUST_CHECK size_t hf_copy_safe(void *dst, const void *src, size_t len) HF_API_EACH;

HF_END_DECLS

/* One word of `len` bytes. */
HF_INLINE int hf_detail_load_safe(void *value, const volatile void *p, size_t len)
{
	uint64_t found = 0;

	if (hf_copy_safe(&found, (const void *)(uintptr_t)p, len))
		return -HF_EFAULT;
	__builtin_memcpy(value, &found, len);
	return 0;
}

/**
 * hf_load8_safe, hf_load16_safe, hf_load32_safe, hf_load64_safe - read one word
 * @value: gets it; is not changed by a fault
 * @p:     any alignment
 *
 * Context:  as hf_copy_safe()
 * Ordering: none; a word that changes meanwhile may be torn
 * Return:   0, or -EFAULT (14)
 */
HF_INLINE HF_MUST_CHECK int hf_load8_safe(uint8_t *value, const volatile void *p)
{
	return hf_detail_load_safe(value, p, 1);
}

HF_INLINE HF_MUST_CHECK int hf_load16_safe(uint16_t *value, const volatile void *p)
{
	return hf_detail_load_safe(value, p, 2);
}

HF_INLINE HF_MUST_CHECK int hf_load32_safe(uint32_t *value, const volatile void *p)
{
	return hf_detail_load_safe(value, p, 4);
}

HF_INLINE HF_MUST_CHECK int hf_load64_safe(uint64_t *value, const volatile void *p)
{
	return hf_detail_load_safe(value, p, 8);
}

#endif /* HF_ENV_HAS_REGION */

/* Registers the exception table of this executable or shared object. */
#if HF_ARCH_HAS_SITES && defined(HF_ENV_REGISTER_SITES)
HF_ENV_REGISTER_SITES
#endif

#ifdef __cplusplus
/*
 * The same for any type with data() and size(): std::span, std::vector, std::array, std::string.
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
 * copy_nofault - hf_copy_nofault() of all of `from`, whose elements are of the same type. Returns
 * the bytes not copied, which include those for which `to` has no room.
 */
template <class To, class From>
[[nodiscard]] inline size_t copy_nofault(To &&to, const From &from)
{
	return hf_detail_copy_objects(to.data(), to.size(), from.data(), from.size());
}

#if !HF_ENV_HAS_CLEAR
template <class T>
[[nodiscard]] inline size_t hf_detail_fill_objects(T *objects, size_t count, uint8_t value)
{
	static_assert(__is_trivially_copyable(T), "such bytes need not be a valid object");
	return hf_fill_nofault(objects, value, count * sizeof(T));
}

template <class T>
[[nodiscard]] inline size_t hf_detail_copy_words(T *to, size_t room, const T *from, size_t count)
{
	static_assert(__is_trivially_copyable(T) && sizeof(T) == 8, "words of 8 bytes");
	size_t fit = count < room ? count : room;

	return hf_copy_nofault_words(to, from, fit) + (count - fit);
}

/* fill_nofault - hf_fill_nofault() of a whole span. Returns the BYTES not filled. */
template <class Span>
[[nodiscard]] inline size_t fill_nofault(Span &&span, uint8_t value)
{
	return hf_detail_fill_objects(span.data(), span.size(), value);
}

/*
 * copy_nofault_words - hf_copy_nofault_words() of all of `from`, whose elements are of the same
 * type, of 8 bytes. Returns the WORDS not copied, which include those for which `to` has no room.
 */
template <class To, class From>
[[nodiscard]] inline size_t copy_nofault_words(To &&to, const From &from)
{
	return hf_detail_copy_words(to.data(), to.size(), from.data(), from.size());
}
#endif

HF_END_CXX
#endif

#endif
