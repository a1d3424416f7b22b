/* SPDX-License-Identifier: MIT */
/* user_nodes - the nodes, and which slots are taken. */
#include "user_nodes.h"

#include <pthread.h>

#include "holdfast/internal/arch.h"

/* The number of threads that can have nodes at one time; with 4095 an index fits in 15 bits. */
enum { SLOTS = 4095 };

HF_ALIGNED(HF_ARCH_NO_SHARING) hf_node_t hf_lab_nodes[SLOTS * HF_NODES];
__thread volatile struct hf_lab_slot hf_lab_slot;

static hf_atomic32_t taken[SLOTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

/* Frees the slot of a thread that ends. A slot with a node in use is never reused. */
static void leave(void *value)
{
	uint8_t used = 0;

	(void)value;
	for (uint32_t n = 0; n < HF_NODES; n++)
		used |= hf_lab_slot.used[n];
	if (!used)
		hf_atomic32_store_release(&taken[(hf_lab_slot.base - 1) / HF_NODES], 0);
	hf_lab_slot.base = 0;
}

static void make_key(void)
{
	if (pthread_key_create(&key, leave) != 0)
		__builtin_trap();
}

bool hf_lab_slot_claim(void)
{
	(void)pthread_once(&once, make_key);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		uint32_t free_slot = 0;

		if (hf_atomic32_load_relaxed(&taken[slot]) == 0 &&
		    hf_atomic32_try_cmpxchg_acquire(&taken[slot], &free_slot, 1)) {
			hf_lab_slot.base = 1 + slot * HF_NODES;
			(void)pthread_setspecific(key, &taken[slot]);
			return true;
		}
	}
	return false;
}
