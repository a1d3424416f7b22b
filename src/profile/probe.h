/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_PROBE_H
#define HF_SRC_PROBE_H
/*
 * probe - USDT probes: places that bpftrace, perf, gdb and SystemTap can stop at or count.
 *
 * A probe is one nop, and an ELF note that says where the nop and the arguments are. They need
 * -DHF_PROBES=1, which CMake sets if sys/sdt.h is installed. Not for headers: these are compiled
 * into programs, which would need it, too.
 *
 *   probe          arguments
 *   contended      lock, kind                  a thread begins to wait for a mutex
 *   acquired       lock, kind, taken           it has stopped waiting; taken 0 = timed out
 *   park           at, word, deadline          a thread is about to park
 *   wake           at, word                    a parked thread is about to be woken
 *   misuse         kind, object, site, text    a report, in any mode
 *   fault          address, signal, code       a fault of an operation of nofault.h was recovered
 *   region_fault   address, region, signal     a fault of a region was recovered
 *
 *   lock      the address of a mutex
 *   kind      0 = of one process, 1 = between processes, 5 and 6 = a reader and a writer of a
 *             reader-writer lock (hf_detail_profile_kind has these numbers)
 *   at        the address of the mutex or condition variable that a thread waits for
 *   word      the futex word: the same for a thread's park and the wake that ends it
 *   deadline  in nanoseconds of CLOCK_MONOTONIC; UINT64_MAX = none
 *
 * Source    docs/guide/tools.md has a line of bpftrace for each; docs/design/0031-tools.md
 */
#include "holdfast/internal/profile.h"

#if defined(HF_PROBES) && HF_PROBES
#include <sys/sdt.h>
#if defined(__clang__)
/* Its macros use an extension that all compilers have. */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif
#define HF_DETAIL_PROBE2(name, a, b) DTRACE_PROBE2(holdfast, name, a, b)
#define HF_DETAIL_PROBE3(name, a, b, c) DTRACE_PROBE3(holdfast, name, a, b, c)
#define HF_DETAIL_PROBE4(name, a, b, c, d) DTRACE_PROBE4(holdfast, name, a, b, c, d)
#else
#define HF_DETAIL_PROBE2(name, a, b) ((void)(a), (void)(b))
#define HF_DETAIL_PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#define HF_DETAIL_PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

#endif
