/* SPDX-License-Identifier: MIT */
/*
 * slots - which thread has which queue nodes.
 *
 * State       one bit a slot: 1 = a thread has it.
 *
 * Invariants  S1  a slot is given to one thread at a time: its bit goes from 0 to 1 by
 *                 compare-and-swap (acquire), and back by one (release).
 *             S2  a slot is given back when its thread ends, with no node in use.
 *             S3  claiming allocates nothing and takes no lock: it happens in signal handlers.
 */
#include "holdfast/spinlock/node.h"

#include "env.h"

HF_STATIC_ASSERT(HF_SLOTS >= 1 && HF_SLOTS <= 4095, "a node's index has 15 bits");

#define WORDS ((HF_SLOTS + 31) / 32)

HF_ALIGNED(HF_ARCH_NO_SHARING) hf_node_t hf__nodes[HF_SLOTS * HF_NODES];
__thread volatile struct hf__thread hf__thread;

static hf_atomic32_t taken[WORDS];

/* The slots of word w that exist, as bits. */
static uint32_t existing(unsigned int w)
{
	unsigned int n = HF_SLOTS - w * 32;

	return n >= 32 ? UINT32_MAX : (1u << n) - 1;
}

bool hf__slot_claim(void)
{
	for (unsigned int w = 0; w < WORDS; w++) {
		uint32_t bits = hf_atomic32_load_relaxed(&taken[w]);
		uint32_t free_slots;

		while ((free_slots = ~bits & existing(w)) != 0) {
			unsigned int n = (unsigned int)__builtin_ctz(free_slots);

			if (!hf_atomic32_try_cmpxchg_acquire(&taken[w], &bits, bits | 1u << n))
				continue; /* S1 */
			hf__thread.used = 0;
			hf__thread.base = 1 + (w * 32 + n) * HF_NODES;
			hf__env_at_thread_end(hf__thread.base);
			return true;
		}
	}
	return false;
}

void hf__slot_release(uint32_t base)
{
	unsigned int slot = (base - 1) / HF_NODES;
	uint32_t bits = hf_atomic32_load_relaxed(&taken[slot / 32]);

	hf__thread.base = 0;
	while (!hf_atomic32_try_cmpxchg_release(&taken[slot / 32], &bits,
						bits & ~(1u << slot % 32)))
		; /* S1 */
}

void hf__slot_keep_only(uint32_t base)
{
	for (unsigned int w = 0; w < WORDS; w++)
		hf_atomic32_store_relaxed(&taken[w], 0);
	if (base)
		hf_atomic32_store_relaxed(&taken[(base - 1) / HF_NODES / 32],
					  1u << (base - 1) / HF_NODES % 32);
}
