/* SPDX-License-Identifier: MIT */
/*
 * slots - which thread has which queue nodes: one table for all copies of the library in a process.
 *
 * State
 *   owner   one word a slot: 0 = free; LEFT; else the number of a thread, and above it how often a
 *           thread of that number has found the slot to be its own already
 *   order   slots are looked at from one that depends on the process's number on, so that those of
 *           two processes differ
 *   few     how many of them, from there on, are looked at: doubled when all of those are in use
 *
 * Invariants
 *   S1  a slot is claimed by one thread at a time: its word changes by compare-and-swap only, from
 *       0, or from a number that is this thread's own.
 *   S2  a slot becomes free when its thread has ended, which a claim asks for when it finds none that
 *       is free; and none of its nodes is in use. The word that is swapped for 0 is the one that was
 *       asked about: a new thread with the old one's number has changed it, if the slot is its own.
 *   S3  claiming allocates nothing and takes no lock: it happens in signal handlers. One that comes
 *       in the middle of a claim may leave its thread with two slots; the first is then not used, and
 *       is free when the thread ends.
 *   S4  of a thread's two copies of hf_detail_thread, each in one copy of the library, both may name one
 *       slot: which nodes are in use stands in the nodes themselves.
 */
#include "holdfast/spinlock/node.h"

#include "../env/env.h"
#include "../process/process.h"

HF_STATIC_ASSERT(HF_SLOTS >= 1 && HF_SLOTS <= 4095, "a node's index has 15 bits");

struct slot_table {
	hf_node_t nodes[HF_SLOTS * HF_NODES];
	hf_atomic32_t owner[HF_SLOTS];
	hf_atomic32_t few;     /* 0 = FEW */
	hf_atomic32_t refused; /* claims that found no slot */
};

HF_DETAIL_DEBUGGERS_KNOW(sizeof(hf_node_t) == 16 && HF_NODES == 8 && offsetof(hf_node_t, at) == 8 &&
			 offsetof(struct slot_table, owner) ==
				 sizeof(hf_node_t) * HF_SLOTS * HF_NODES);

enum { FEW = HF_SLOTS < 32 ? HF_SLOTS : 32, DISTANCE = 61 };

#define NUMBER 0x3fffffu /* Linux counts threads to 2^22 */

/*
 * A slot whose nodes were in use at a fork, in the child: no thread's, and free when they are given
 * back (S2). The child's thread claims another slot: else its nodes would have the indexes of the
 * parent's, and be taken for them in a lock that both processes use.
 */
#define LEFT (NUMBER + 1)

/* Copies of the library that were built for different numbers of slots do not fit together. */
HF_DETAIL_PROCESS_STATE(nodes, 0x10000 + HF_SLOTS);

hf_node_t *hf_detail_node_table;
__thread volatile struct hf_detail_thread hf_detail_thread;

static struct slot_table *table(void)
{
	return (struct slot_table *)hf_detail_node_table;
}

void hf_detail_slots_start(void)
{
	struct slot_table *t = hf_detail_process_share(nodes, sizeof(*t), HF_DETAIL_PROCESS_KEEP);

	hf_detail_node_table = t ? t->nodes : NULL;
}

static uint32_t first_slot(void)
{
	return hf_detail_env_process() % HF_SLOTS * DISTANCE % HF_SLOTS;
}

static uint32_t few(struct slot_table *t)
{
	uint32_t n = hf_atomic32_load_relaxed(&t->few);

	return n ? n : FEW;
}

static bool has_used_node(struct slot_table *t, uint32_t slot)
{
	for (uint32_t n = 0; n < HF_NODES; n++) {
		if (hf_atomic32_load_relaxed(&t->nodes[slot * HF_NODES + n].at))
			return true;
	}
	return false;
}

static bool take(struct slot_table *t, uint32_t slot, uint32_t before, uint32_t after)
{
	if (!hf_atomic32_try_cmpxchg_acquire(&t->owner[slot], &before, after)) /* S1 */
		return false;
	hf_detail_thread.nodes = &t->nodes[slot * HF_NODES];
	hf_detail_thread.base = 1 + slot * HF_NODES; /* last: a signal handler may look */
	return true;
}

/* Makes the slots of threads that have ended free. Returns how many. */
static uint32_t sweep(struct slot_table *t, uint32_t first, uint32_t n)
{
	uint32_t freed = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = (first + i) % HF_SLOTS;
		uint32_t owner = hf_atomic32_load_relaxed(&t->owner[slot]);

		if (owner && (owner == LEFT || hf_detail_env_thread_has_ended(owner & NUMBER)) &&
		    !has_used_node(t, slot))
			freed += hf_atomic32_try_cmpxchg_release(&t->owner[slot], &owner,
								 0); /* S2 */
	}
	return freed;
}

bool hf_detail_slot_claim(void)
{
	uint32_t me = hf_detail_env_thread(), first = first_slot();
	struct slot_table *t;

	if (!hf_detail_node_table)
		hf_detail_slots_start();
	t = table();
	if (!t)
		return false;
	/* A signal handler may have claimed one meanwhile. */
	while (!hf_detail_thread.base) {
		uint32_t n = few(t), free_slot = HF_SLOTS;
		bool changed = false;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t slot = (first + i) % HF_SLOTS;
			uint32_t owner = hf_atomic32_load_relaxed(&t->owner[slot]);

			if (owner && (owner & NUMBER) == me) { /* S4, or one that had my number */
				if (take(t, slot, owner, owner + NUMBER + 1))
					return true;
				changed = true;
			} else if (!owner && free_slot == HF_SLOTS) {
				free_slot = slot;
			}
		}
		if (changed)
			continue;
		if (free_slot != HF_SLOTS) {
			if (take(t, free_slot, 0, me))
				return true;
			continue;
		}
		if (n < HF_SLOTS) {
			/* Half of them free, or twice as many: a claim costs some few questions. */
			if (sweep(t, first, n) < n / 2)
				(void)hf_atomic32_try_cmpxchg_relaxed(
					&t->few, &(uint32_t){ n == FEW ? 0 : n },
					n < HF_SLOTS / 2 ? 2 * n : HF_SLOTS);
			continue;
		}
		if (hf_atomic32_fetch_add_relaxed(&t->refused, 1) % HF_SLOTS != 0 ||
		    sweep(t, first, n) == 0)
			return false;
	}
	return true;
}

void hf_detail_slots_in_child(uint32_t forked)
{
	uint32_t me = hf_detail_env_thread(), mine;
	struct slot_table *t = table();

	if (!t)
		return;
	/* The first of several copies does it, and the others find it done. */
	for (uint32_t slot = 0; slot < HF_SLOTS; slot++) {
		uint32_t owner = hf_atomic32_load_relaxed(&t->owner[slot]);

		if (!owner)
			continue;
		if (((owner & NUMBER) == forked || (owner & NUMBER) == me || owner == LEFT) &&
		    has_used_node(t, slot)) {
			hf_atomic32_store_relaxed(&t->owner[slot], LEFT);
			continue;
		}
		for (uint32_t n = 0; n < HF_NODES; n++)
			hf_atomic32_store_relaxed(&t->nodes[slot * HF_NODES + n].at, 0);
		hf_atomic32_store_relaxed(&t->owner[slot], 0);
	}
	hf_atomic32_store_relaxed(&t->few, 0);
	hf_atomic32_store_relaxed(&t->refused, 0);
	mine = (hf_detail_thread.base - 1) / HF_NODES;
	if (hf_detail_thread.base && hf_atomic32_load_relaxed(&t->owner[mine]) != me)
		hf_detail_thread.base = 0;
}

void hf_detail_node_refuse(const void *lock)
{
	static const char text[] = ": an mcs lock that threads of two processes, or of a process "
				   "and its fork, wait for: "
				   "it can't be used so\n";
	char address[2 * sizeof(lock)];
	uintptr_t bits = (uintptr_t)lock;

	for (size_t i = sizeof(address); i-- > 0; bits >>= 4)
		address[i] = "0123456789abcdef"[bits & 15];
	hf_detail_env_print("holdfast: 0x", 12);
	hf_detail_env_print(address, sizeof(address));
	hf_detail_env_print(text, sizeof(text) - 1);
	hf_detail_env_abort();
	__builtin_unreachable();
}
