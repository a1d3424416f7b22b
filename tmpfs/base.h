/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_BASE_H
#define HF_TMPFS_BASE_H
/* base - compiler extensions, and hidden visibility for what tmpfs.h does not declare. */

/* A program that includes all of the sources in one file makes this `static`. */
#ifndef TMPFS_PRIVATE
#define TMPFS_PRIVATE __attribute__((visibility("hidden")))
#endif

#define TMPFS_LIKELY(x) __builtin_expect(!!(x), 1)

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define TMPFS_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define TMPFS_TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define TMPFS_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define TMPFS_TSAN 1
#endif
#ifndef TMPFS_ASAN
#define TMPFS_ASAN 0
#endif
#ifndef TMPFS_TSAN
#define TMPFS_TSAN 0
#endif

/* For functions that lock conditionally, which clang's lock analysis can't follow. */
#ifdef __clang__
#define TMPFS_NO_ANALYSIS __attribute__((no_thread_safety_analysis))
#else
#define TMPFS_NO_ANALYSIS
#endif

#endif
