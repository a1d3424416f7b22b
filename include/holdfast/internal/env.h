/* SPDX-License-Identifier: MIT */
#ifndef HF_ENV_H
#define HF_ENV_H
#pragma GCC system_header
/*
 * env - which environment (Linux user space, kernel, bare metal): the only place that chooses.
 *
 * Every file env/<environment>.h offers the same things in the same order; bare.h has the contract
 * of each function that a port supplies, linux_user.h those of parking, and docs/guide/porting.md
 * the macros HF_ENV_HAS_... that say what there is.
 *
 * A port or a model checker names its own file with -DHF_ENV_HEADER='"my_env.h"'.
 */

#if defined(HF_ENV_HEADER)
#include HF_ENV_HEADER
#elif defined(__KERNEL__) && defined(__linux__)
#include "env/linux_kernel.h"
#elif defined(__linux__) && defined(__STDC_HOSTED__) && __STDC_HOSTED__ == 1
#include "env/linux_user.h"
#else
#include "env/bare.h"
#endif

/* Defined where a program and the library may be built separately: env/linux_user.h. */
#ifndef HF_DETAIL_LINKED
#define HF_DETAIL_LINKED(name)
#endif
#ifndef HF_ENV_HAS_VARIABLES
#define HF_ENV_HAS_VARIABLES 0
#endif
#ifndef HF_ENV_HAS_FORK
#define HF_ENV_HAS_FORK 0
#endif
#ifndef HF_ENV_HAS_PROFILE
#define HF_ENV_HAS_PROFILE 0
#endif

#endif
