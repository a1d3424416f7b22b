/* SPDX-License-Identifier: MIT */
/*
 * spinlock_loops - lock, increment, unlock: the loops of the spinlock table, for one lock.
 *
 * Before including, define LOCK (a name for C), LOCK_T, LOCK_NODE (what a holder keeps beside the
 * lock; char if nothing) and LOCK_INIT(l), LOCK_IN(l, n), LOCK_OUT(l, n). No include guard: this is
 * meant to be included again and again.
 *
 *   alone      nothing but lock, increment, unlock
 *   contended  the same, and it counts how often the lock has changed hands
 *   split      takes `bulk` locks one after another, increments, releases them, with a timestamp
 *              before and after each of the three
 *
 * The stop flag is looked at after every operation: with more threads than processors one operation
 * can take milliseconds.
 */
#define LOOP__PASTE2(a, b) a##b
#define LOOP__PASTE(a, b) LOOP__PASTE2(a, b)
#define LOOP(what) LOOP__PASTE(what##_, LOCK)

static void LOOP(init)(void *lock)
{
	LOCK_INIT((LOCK_T *)lock);
}

static uint64_t LOOP(alone)(void *argument, int thread, const int *stop)
{
	struct lab_spin *s = ((struct lab_spin_state *)argument)->spin;
	LOCK_T *lock = (LOCK_T *)(void *)s->lock;
	uint64_t ops = 0;

	(void)thread;
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		LOCK_NODE node;

		LOCK_IN(lock, &node);
		s->counter++;
		__asm__ volatile("" ::: "memory"); /* the increment stays in memory */
		LOCK_OUT(lock, &node);
		(void)node;
		ops++;
	}
	return ops;
}

static uint64_t LOOP(contended)(void *argument, int thread, const int *stop)
{
	struct lab_spin *s = ((struct lab_spin_state *)argument)->spin;
	LOCK_T *lock = (LOCK_T *)(void *)s->lock;
	uint64_t mine = 0; /* what I left in the counter; another value: somebody was here */
	uint64_t ops = 0;

	(void)thread;
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		LOCK_NODE node;

		LOCK_IN(lock, &node);
		if (s->counter != mine)
			s->handoffs++;
		mine = ++s->counter;
		__asm__ volatile("" ::: "memory");
		LOCK_OUT(lock, &node);
		(void)node;
		ops++;
	}
	return ops;
}

static uint64_t LOOP(split)(void *argument, int thread, const int *stop)
{
	struct lab_spin_state *state = (struct lab_spin_state *)argument;
	struct lab_split *split = &state->split[thread];
	int bulk = state->bulk;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		uint64_t before, locked, done, after;
		LOCK_NODE nodes[LAB_BULK];

		before = hf_arch_timestamp();
		for (int i = 0; i < bulk; i++)
			LOCK_IN((LOCK_T *)(void *)state->spin[i].lock, &nodes[i]);
		locked = hf_arch_timestamp();
		for (int i = 0; i < bulk; i++)
			state->spin[i].counter++;
		done = hf_arch_timestamp();
		for (int i = 0; i < bulk; i++)
			LOCK_OUT((LOCK_T *)(void *)state->spin[i].lock, &nodes[i]);
		after = hf_arch_timestamp();
		(void)nodes;
		split->lock_ticks += locked - before;
		split->empty_ticks += done - locked;
		split->unlock_ticks += after - done;
		split->rounds++;
	}
	return split->rounds * (uint64_t)bulk;
}

#undef LOOP
#undef LOOP__PASTE
#undef LOOP__PASTE2
#undef LOCK
#undef LOCK_T
#undef LOCK_NODE
#undef LOCK_INIT
#undef LOCK_IN
#undef LOCK_OUT
