/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_ENV_H
#define HF_SIM_ENV_H
/*
 * sim_env - the environment of simulated threads: simulated time, preemption and parking.
 *
 * Slots    thread t has nodes 1 + t * 8 + n, in simulated memory.
 * Parking  comparing the word and going to sleep are one step; waiters are woken first in, first
 *          out.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "holdfast/internal/compiler.h"

#include "../sim.h"

#define HF_ENV_HAS_NODES 1
#define HF_NODES 8

typedef struct hf_node hf_node_t;

HF_INLINE uint32_t hf_env_node_get(void)
{
	return hf_sim_node_get();
}

HF_INLINE void hf_env_node_put(uint32_t index)
{
	hf_sim_node_put(index);
}

HF_INLINE hf_node_t *hf_env_node(uint32_t index)
{
	return (hf_node_t *)hf_sim_node(index);
}

/* As in user space, a thread can't disable preemption. */
HF_INLINE void hf_env_preempt_disable(void)
{
}

HF_INLINE void hf_env_preempt_enable(void)
{
}

#define HF_ENV_HAS_IRQ 0

HF_INLINE uint32_t hf_env_spin_hints(uint32_t ns)
{
	return hf_sim_hints(ns);
}

HF_INLINE uint32_t hf_env_processors(void)
{
	return hf_sim_processors();
}

#define HF_ENV_HAS_PARK 1
#define HF_ENV_FOREVER UINT64_MAX

enum hf_env_scope { HF_ENV_PRIVATE, HF_ENV_SHARED };
enum hf_env_parked { HF_ENV_WOKEN, HF_ENV_CHANGED, HF_ENV_TIMEOUT };

struct hf_atomic32;

HF_INLINE enum hf_env_parked hf_env_park(const struct hf_atomic32 *word, uint32_t expected,
					 uint64_t deadline, enum hf_env_scope scope)
{
	(void)scope;
	return (enum hf_env_parked)hf_sim_park(word, expected, deadline);
}

HF_INLINE uint32_t hf_env_unpark(const struct hf_atomic32 *word, uint32_t n,
				 enum hf_env_scope scope)
{
	(void)scope;
	return hf_sim_unpark(word, n);
}

HF_INLINE uint64_t hf_env_deadline(uint64_t nanoseconds)
{
	uint64_t now = hf_sim_now();

	return nanoseconds < UINT64_MAX - now ? now + nanoseconds : HF_ENV_FOREVER;
}

/* A full barrier in every thread: empties each processor's store buffer. */
HF_INLINE bool hf_env_barrier_all(void)
{
	hf_sim_barrier_all();
	return true;
}

/* There are no signals. */
HF_INLINE uint64_t hf_env_signals_block(void)
{
	return 0;
}

HF_INLINE void hf_env_signals_restore(uint64_t before)
{
	(void)before;
}

HF_INLINE uint32_t hf_env_processor(void)
{
	return hf_sim_processor();
}

HF_INLINE bool hf_env_is_real_time(void)
{
	return false;
}

HF_INLINE void hf_env_yield(void)
{
	hf_sim_yield();
}

#endif
