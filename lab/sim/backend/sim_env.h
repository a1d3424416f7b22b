/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_ENV_H
#define HF_SIM_ENV_H
/*
 * sim_env - the environment of simulated threads. Thread t has the nodes 1 + t * 8 + n, in
 * simulated memory. HF_ENV_HAS_PARK is 1, as in user space, which makes hf_spinlock_t the small
 * form; nothing that is simulated parks.
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

/* Each thread has a processor. */
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

#endif
