/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_H
#define HF_SIM_H
/*
 * sim - the operations of the simulated processors, which the headers of backend/ call.
 *
 * Context  a simulated thread (engine.hpp)
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hf_sim_rmw { HF_SIM_ADD, HF_SIM_SWAP, HF_SIM_CMPXCHG };

uint64_t hf_sim_load(const volatile void *p, unsigned int size);
void hf_sim_store(volatile void *p, unsigned int size, uint64_t value, int release);

/*
 * Returns the old value. @release: waits for the stores before it. CMPXCHG: stores @b if the value
 * is @a, and sets *ok. ADD, SWAP: adds or stores @a; @ok may be NULL.
 */
uint64_t hf_sim_rmw(volatile void *p, unsigned int size, enum hf_sim_rmw kind, bool release,
		    uint64_t a, uint64_t b, bool *ok);
void hf_sim_fence(void);
void hf_sim_relax(void);
void hf_sim_prefetch(const volatile void *p);

/* Load-exclusive, and WFE if the word is @old; returns the value loaded. */
uint32_t hf_sim_monitor(const volatile void *p, uint32_t old);

uint32_t hf_sim_hints(uint32_t ns);
uint32_t hf_sim_processors(void);
unsigned int hf_sim_thread(void);
uint32_t hf_sim_node_get(void);
void hf_sim_node_put(uint32_t index);
void *hf_sim_node(uint32_t index);

/* For the loops: true after the end of the run; counts an operation; works for so many ns. */
bool hf_sim_done(void);
void hf_sim_op(void);
void hf_sim_work(double ns);
/* The simulated time in picoseconds; adds the times of a lock and an unlock to the statistics. */
int64_t hf_sim_time(void);
void hf_sim_spent(int64_t lock, int64_t unlock);
/* Notes an operation of a lockref that was not inline, and whether it took the lock. */
void hf_sim_fallback(bool fallback);

/* Constants of arch/<cpu>/constants.h and of other headers that a run can change. */
struct hf_sim_knobs {
	/* enum hf_wait_policy */
	int lock_swap, count_few, count_many, free_lock, my_turn, my_node, queue;
	uint32_t retries;             /* HF_LOCKREF_RETRIES */
	uint32_t passes, patience_ns; /* of internal/spinlock_queued.h */
	bool beside;                  /* a lockref's pair takes an MCS lock twice */
	bool single;                  /* only the get of a count's pair */
};
extern struct hf_sim_knobs hf_sim_knobs;

/* One variant of a table: see loops.c. */
struct hf_sim_variant {
	const char *table, *name;
	bool is_lock; /* an operation is lock, increment of a counter in another line, unlock */
	void (*init)(void *object);
	/* Loops until hf_sim_done(). @between, @work: ns within a pair, and between two. */
	void (*body)(void *object, double between, double work);
	/* True if the object is as it must be after so many pairs. */
	bool (*check)(const void *object, uint64_t operations);
};

struct hf_sim_arch {
	struct hf_sim_knobs knobs; /* the defaults */
	const struct hf_sim_variant *variants;
	size_t count;
};
extern const struct hf_sim_arch hf_sim_arch_x86_64, hf_sim_arch_aarch64;

/* The headers' values of the knobs that no arch file defines (defaults.c); the others are 0. */
extern const struct hf_sim_knobs hf_sim_defaults;

#define HF_SIM_OBJECT_BYTES 1024

#ifdef __cplusplus
}
#endif

#endif
