/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_H
#define HF_SIM_H
/*
 * sim - the operations of the simulated processors, on which the backend's headers are built.
 *
 * Context  a simulated thread (engine.hpp), but for hf_sim_knobs
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
 * Returns the value before. @release: after the stores before it. CMPXCHG: @a is expected, @b is
 * stored, *ok says whether. ADD, SWAP: @a.
 */
uint64_t hf_sim_rmw(volatile void *p, unsigned int size, enum hf_sim_rmw kind, bool release,
		    uint64_t a, uint64_t b, bool *ok);
void hf_sim_fence(void);
void hf_sim_relax(void);
void hf_sim_prefetch(const volatile void *p);

/* Load-exclusive; if the word is @old, WFE. */
uint32_t hf_sim_monitor(const volatile void *p, uint32_t old);

uint32_t hf_sim_hints(uint32_t ns);
uint32_t hf_sim_processors(void);
unsigned int hf_sim_thread(void);
uint32_t hf_sim_node_get(void);
void hf_sim_node_put(uint32_t index);
void *hf_sim_node(uint32_t index);

/* As hf_env_park() and so on. Return of park: 0 woken, 1 changed, 2 timed out. */
int hf_sim_park(const volatile void *word, uint32_t expected, uint64_t deadline);
uint32_t hf_sim_unpark(const volatile void *word, uint32_t n);
uint64_t hf_sim_now(void);
void hf_sim_yield(void);
uint32_t hf_sim_processor(void);
void hf_sim_barrier_all(void);

/*
 * Memory that exists once per process, zeroed before each run. Call it in init() first, not in a
 * thread.
 */
void *hf_sim_table(size_t bytes);

/* Thread-local words of a simulated thread, 0 at first. */
int32_t *hf_sim_local(unsigned int index);

/* For the loops: has the window ended; count one operation; do other work for so many ns. */
bool hf_sim_done(void);
void hf_sim_op(void);
void hf_sim_work(double ns);
/* The simulated time in picoseconds; adds what a lock and an unlock took. */
int64_t hf_sim_time(void);
void hf_sim_spent(int64_t lock, int64_t unlock);
void hf_sim_retries(uint32_t retries, bool fallback);

/* The knob `beside`: no other lock, arm64's spinlock until Linux 4.18, or the one since. */
enum hf_sim_beside { HF_SIM_ALONE, HF_SIM_TICKET, HF_SIM_MCS };

/* Constants of arch/<cpu>/constants.h and of some headers that a run may change. */
struct hf_sim_knobs {
	/* enum hf_wait_policy */
	int lock_swap, count_few, count_many, free_lock, my_turn, my_node, queue;
	uint32_t late_min_ns, late_max_ns; /* HF_WAIT_LATE */
	uint32_t retries;                  /* HF_LOCKREF_RETRIES */
	uint32_t passes, patience_ns;      /* of internal/spinlock_queued.h */
	uint32_t beside; /* enum hf_sim_beside: a lock that each pair of a lockref takes twice */
	uint32_t single; /* 1: of a count's pair, the get alone */
};
extern struct hf_sim_knobs hf_sim_knobs;

/* One variant of a table: see loops.c. */
struct hf_sim_variant {
	const char *table, *name;
	bool defaults; /* the one that the header ships */
	bool is_lock;  /* between_ns is the critical section, with a store to a line of its own */
	void (*init)(void *object);
	/* Loops until hf_sim_done(). @between: ns inside of the pair; @work: ns between pairs. */
	void (*body)(void *object, double between, double work);
	/* Is the object as it was after init()? @operations is how many pairs were done. */
	bool (*check)(const void *object, uint64_t operations);
};

struct hf_sim_arch {
	const char *name;
	struct hf_sim_knobs knobs; /* the defaults */
	const struct hf_sim_variant *variants;
	size_t count;
};
extern const struct hf_sim_arch hf_sim_arch_x86_64, hf_sim_arch_aarch64;

/* The mutex, which has sources of its own: mutex_loops.c. No knobs. */
extern const struct hf_sim_arch hf_sim_mutex_x86_64, hf_sim_mutex_aarch64;

/* Those that no arch file has, as the headers have them (defaults.c); the others are 0. */
extern const struct hf_sim_knobs hf_sim_defaults;

#define HF_SIM_OBJECT_BYTES 1024

#ifdef __cplusplus
}
#endif

#endif
