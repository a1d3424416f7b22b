/* SPDX-License-Identifier: MIT */
#ifndef HF_COMPILER_H
#define HF_COMPILER_H
#pragma GCC system_header
/*
 * compiler - the few GNU C extensions that the headers use, under one name each.
 *
 * Works with gcc 8+ and clang 10+, as C (gnu89, strict C99 and newer) and as C++11 and newer.
 * Nothing here knows a processor or an environment. Every header begins with #pragma GCC
 * system_header, so a program's warning options, such as -Wold-style-cast, do not apply to it.
 */

/* Unsupported compilers are refused here, because most headers include this one first. */
#if !defined(__GNUC__)
#error "Holdfast needs GNU C, which MSVC lacks: compile with gcc 8 or clang 10, or newer"
#elif defined(__clang__) && __clang_major__ < 10
#error "Holdfast needs clang 10 or newer, or gcc 8 or newer"
#elif !defined(__clang__) && __GNUC__ < 8
#error "Holdfast needs gcc 8 or newer, or clang 10 or newer"
#endif
/* Inline functions: GNU C has had them since gnu89. */
#if defined(__cplusplus)
#if __cplusplus < 201103L
#error "Holdfast needs C++11 or newer: compile with -std=c++11, or leave -std= out"
#endif
#elif defined(__STRICT_ANSI__) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#error "Holdfast needs C99 or newer, or GNU C: compile with -std=c11, or leave -std= out"
#endif
/* A lockref needs 64-bit atomics, and tables store pointers in 64 bits. Either byte order works. */
#if !defined(__SIZEOF_POINTER__) || __SIZEOF_POINTER__ != 8
#error "Holdfast needs 64-bit pointers: no -m32, no -mx32; on x86 compile with -m64"
#endif

/* The likely outcome of a condition. */
#define HF_LIKELY(x) __builtin_expect(!!(x), 1)
#define HF_UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * A fast path: inlined even at -O0 and -Os, so that a constant argument folds its branches away.
 * (bindings/extern has another definition, which makes symbols of them.)
 */
#ifndef HF_INLINE
#define HF_INLINE static inline __attribute__((always_inline, unused))
#endif

/* A slow path in a header: one copy per translation unit, out of line. */
#if defined(HF_VALIDATE) && HF_VALIDATE
#define HF_SLOW HF_INLINE /* so that a report names the caller */
#else
#define HF_SLOW static __attribute__((__noinline__, unused))
#endif

/* The same for code that rarely runs: the compiler moves it and the branch to it out of the way. */
#define HF_COLD static __attribute__((__noinline__, cold, unused))

/* On a function: its result must not be ignored. On a type: its alignment, in bytes. */
#define HF_MUST_CHECK __attribute__((warn_unused_result))
#define HF_ALIGNED(n) __attribute__((aligned(n)))

/*
 * On a function that is never defined: a call that the compiler cannot remove is an error. Not in
 * unoptimised code, which keeps such calls, nor with clang before 14, which lacks the attribute.
 */
#if defined(__OPTIMIZE__) && (!defined(__clang__) || __clang_major__ >= 14)
#define HF_DETAIL_CAN_REFUSE 1
#define HF_DETAIL_REFUSED(text) __attribute__((error(text)))
#else
#define HF_DETAIL_CAN_REFUSE 0
#define HF_DETAIL_REFUSED(text)
#endif

/* Accesses through this type may alias any other: a word is accessed whole and by its halves. */
#define HF_MAY_ALIAS __attribute__((may_alias))

#define HF_DETAIL_PASTE2(a, b) a##b
#define HF_DETAIL_PASTE(a, b) HF_DETAIL_PASTE2(a, b)
#define HF_DETAIL_STRING_(a) #a
#define HF_DETAIL_STRING(a) HF_DETAIL_STRING_(a)

#ifdef __cplusplus
#define HF_BEGIN_DECLS extern "C" {
#define HF_END_DECLS }
/* For classes and templates in a header that may be included inside of extern "C". */
#define HF_BEGIN_CXX                                                                               \
	extern "C++" {                                                                             \
	namespace hf                                                                               \
	{
#define HF_END_CXX                                                                                 \
	}                                                                                          \
	}
#define HF_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define HF_BEGIN_DECLS
#define HF_END_DECLS
#define HF_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

/* Exported from the shared library. */
#define HF_API __attribute__((visibility("default")))

/*
 * The same, but each object that links the static library, which is built with HF_STATIC_LIBRARY,
 * has a copy: a plug-in must not leave its addresses in the program's variables.
 */
#ifdef HF_STATIC_LIBRARY
#define HF_API_EACH __attribute__((visibility("hidden")))
#else
#define HF_API_EACH HF_API
#endif

/* 1 under ThreadSanitizer: gcc has a macro, clang a feature. */
#if defined(__SANITIZE_THREAD__)
#define HF_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HF_TSAN 1
#endif
#endif
#ifndef HF_TSAN
#define HF_TSAN 0
#endif

/* Clang's -Wthread-safety finds a missing lock at compile time. */
#if defined(__clang__)
#define HF_DETAIL_THREAD_SAFETY(x) __attribute__((x))
#else
#define HF_DETAIL_THREAD_SAFETY(x)
#endif
#define HF_CAPABILITY(name) HF_DETAIL_THREAD_SAFETY(capability(name))
#define HF_SCOPED_CAPABILITY HF_DETAIL_THREAD_SAFETY(scoped_lockable)
#define HF_GUARDED_BY(lock) HF_DETAIL_THREAD_SAFETY(guarded_by(lock))
#define HF_ACQUIRE(...) HF_DETAIL_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define HF_TRY_ACQUIRE(...) HF_DETAIL_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
#define HF_RELEASE(...) HF_DETAIL_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define HF_ACQUIRE_SHARED(...) HF_DETAIL_THREAD_SAFETY(acquire_shared_capability(__VA_ARGS__))
#define HF_TRY_ACQUIRE_SHARED(...)                                                                 \
	HF_DETAIL_THREAD_SAFETY(try_acquire_shared_capability(__VA_ARGS__))
#define HF_RELEASE_SHARED(...) HF_DETAIL_THREAD_SAFETY(release_shared_capability(__VA_ARGS__))
/* Counts as held to the end of the function: for a guard in C, whose release is not analysed. */
#define HF_ASSERT_HELD(...) HF_DETAIL_THREAD_SAFETY(assert_capability(__VA_ARGS__))
#define HF_ASSERT_SHARED(...) HF_DETAIL_THREAD_SAFETY(assert_shared_capability(__VA_ARGS__))
#define HF_REQUIRES(...) HF_DETAIL_THREAD_SAFETY(requires_capability(__VA_ARGS__))
/* For the body of a lock function, which implements what its attributes promise: not analysed. */
#define HF_NO_THREAD_SAFETY_ANALYSIS HF_DETAIL_THREAD_SAFETY(no_thread_safety_analysis)

/* A unique identifier, for guards. */
#define HF_DETAIL_UNIQUE(name) HF_DETAIL_PASTE(name, __COUNTER__)

#endif
