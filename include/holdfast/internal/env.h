/* SPDX-License-Identifier: MIT */
#ifndef HF_ENV_H
#define HF_ENV_H
#pragma GCC system_header
/*
 * env - which environment (Linux user space, kernel, bare metal): the only place that chooses.
 *
 * Every file env/<environment>.h offers the same things in the same order; bare.h has the contract
 * of each function that a port supplies:
 *
 *   types        fixed-width integers, bool, size_t, NULL; nothing else of a C library
 *   nodes        where nothing parks: hf_env_node_get, hf_env_node_put, the queue nodes of waiters.
 *                They are hf_detail_nodes[] (internal/node.h); one that keeps them elsewhere
 *                defines HF_ENV_HAS_NODES and hf_env_node() itself
 *   preemption   hf_env_preempt_disable, hf_env_preempt_enable; HF_ENV_HAS_IRQ, and if it is 1
 *                hf_env_irq_save, hf_env_irq_restore
 *   forks        HF_ENV_HAS_FORK 1: processes fork, and the child has one thread
 *   variables    HF_ENV_HAS_VARIABLES 1: there are environment variables, which may hide features
 *                of the processor
 *   spinning     hf_env_spin_hints: how many spin hints take a given time; hf_env_processors: how
 *                many processors there are
 *   parking      HF_ENV_HAS_PARK, and if it is 1 hf_env_park, hf_env_unpark (wait on a word, wake
 *                its waiters), hf_env_deadline, hf_env_thread, hf_env_yield. Then there is mutex.h,
 *                and waiters of a spinlock do not queue
 *   lockref      HF_LOCKREF_LOCK_HEADER, if lockrefs hold another 4-byte lock: a header with the
 *                type hf_env_lockref_lock_t and the functions hf_env_lockref_lock, _trylock,
 *                _unlock and _is_locked (lockref.h has the requirements)
 *   profile      HF_ENV_HAS_PROFILE 1: the slow paths of locks time their waits (profile.h)
 *   faults       HF_ENV_SITE, HF_ENV_TOUCH and HF_ENV_HAS_CLEAR, if the environment recovers faults
 *                itself (nofault/site.h, nofault.h); HF_ENV_FAULTS_HEADER, if another header has
 *                these. HF_ENV_HAS_REGION: 1 where mappings lose pages and can be replaced; then
 *                there are region.h and hf_copy_safe()
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
