/* SPDX-License-Identifier: MIT */
/*
 * holdfast - the whole library as one file, for programs that are built without CMake.
 *
 * Use when / not when
 *   Copy include/, src/ and single/ into a program's tree, and compile this as one of its files:
 *
 *     cc  -O2 -DNDEBUG -Iholdfast/include program.c holdfast/single/holdfast.c -pthread
 *     c++ -O2 -DNDEBUG -Iholdfast/include program.cpp -x c holdfast/single/holdfast.c -pthread
 *
 *   Where C++ needs -std=, compile this by a command of its own: cc -O2 -DNDEBUG -Iholdfast/include -c
 *   holdfast/single/holdfast.c. So too in a plug-in, with -fPIC: what is the process's it shares with
 *   other copies of the library. Not beside libholdfast in one program or plug-in: each name would be
 *   there twice. Not for a shared library of that name: that is CMake's.
 *
 *   All of it is linked, where a linker takes from libholdfast.a what is used. -ffunction-sections
 *   -fdata-sections -Wl,--gc-sections leaves most of the rest out.
 *
 * Invariants
 *   S1  The files are those that CMakeLists.txt lists, and no two have a name in common, also none that
 *       is static: tests/single/run.py.
 *   S2  All headers of the system that they include stand before the pragma, and so do those that
 *       declare a sanitizer's functions: they are in other objects.
 */
#undef _GNU_SOURCE
#define _GNU_SOURCE
#define HF_STATIC_LIBRARY

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "holdfast/internal/compiler.h"
#include "holdfast/internal/nofault/sanitize.h"

/* As the library is compiled: what is not public stays within the program or the plug-in. S2 */
#pragma GCC visibility push(hidden)

#include "../src/cond/cond.c"
#include "../src/cpu/cpu.c"
#include "../src/cpu/linux_user_cpu.c"
#include "../src/env/linux_user_spin.c"
#include "../src/env/linux_user_time.c"
#include "../src/mutex/mutex.c"
#include "../src/nofault/arch/aarch64.c"
#include "../src/nofault/arch/x86_64.c"
#include "../src/nofault/arch/x86_64_policy.c"
#include "../src/nofault/choose.c"
#include "../src/nofault/generic.c"
#include "../src/nofault/jump.c"
#include "../src/nofault/memory.c"
#include "../src/nofault/nofault.c"
#include "../src/nofault/safe.c"
#include "../src/nofault/signals.c"
#include "../src/parking/linux_user_parking.c"
#include "../src/parking/parking.c"
#include "../src/process/process.c"
#include "../src/profile/profile.c"
#include "../src/region/region.c"
#include "../src/report/linux_user_report.c"
#include "../src/report/report.c"
#include "../src/slots/linux_user_slots.c"
#include "../src/slots/slots.c"
#include "../src/validate/validate.c"
#include "../src/version/version.c"

#pragma GCC visibility pop
