/* SPDX-License-Identifier: MIT */
/*
 * mutex_calls - checks the number of system calls of mutex and cond operations against a table.
 *
 * Each step waits for the state that the previous step leads to, and no time limit of the mutex can
 * expire, so the load of the machine does not change the counts. The program replaces the C
 * library's syscall() by one that counts. membarrier() is counted where it is requested, because
 * the library limits the actual calls to 1/8 of the time.
 */
#include "../../src/parking/parking.h"

#include "stress.h"

#include <cstdarg>

#include <dlfcn.h>
#include <sys/syscall.h>

#include "holdfast/cond.h"

static bool count_barrier();
static uint32_t the_processor();
#define HF_MUTEX_SPIN_NS 1
#define HF_PARKING_HEAD_SPIN_NS 1
#define HF_PARKING_TURN_NS (UINT64_MAX / 4)
#define hf_env_barrier_all count_barrier
#define hf_env_processor the_processor
#include "../../src/parking/queue.c"
#include "../../src/parking/move.c"
#include "../../src/parking/to_lock.c"
#include "../../src/parking/to_wait.c"

#include "../../src/mutex/mutex.c"

/* How long a waiter spins: 0, or until any signal has come. */
static uint32_t cond_spin_ns;
#define HF_COND_SPIN_NS cond_spin_ns
#include "../../src/cond/cond.c"

#ifndef SYS_futex
#define SYS_futex SYS_futex_time64
#endif

namespace
{

enum { ROUNDS = 300, MOST = 4 };
/* More calls in a first round: its waiters take the bucket's lock, and no thread has a mark. */
enum { FIRST = 20 };
enum call { PARKS, WAKES, BARRIERS, SIGNALS, CALLS };
const char *const names[CALLS] = { "park", "wake", "membarrier", "signal mask" };

std::atomic<unsigned long> calls[CALLS];

} // namespace

/* No barrier is needed: the bucket lock orders each step in this test. */
static bool count_barrier()
{
	calls[BARRIERS]++;
	return true;
}

/* All threads seem to share one: a broadcast then moves its waiters. */
static uint32_t the_processor()
{
	return 0;
}

/*
 * Reads six arguments, the most of any call; AddressSanitizer would report those that the caller
 * lacks.
 */
extern "C" __attribute__((no_sanitize("address"))) long syscall(long number, ...) noexcept
{
	static const auto next = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
	long a[6];
	va_list list;

	va_start(list, number);
	for (long &one : a)
		one = va_arg(list, long);
	va_end(list);
	if (number == SYS_futex)
		calls[(a[1] & 127) == 1 ? WAKES : PARKS]++;
	if (number == SYS_rt_sigprocmask)
		calls[SIGNALS]++;
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

namespace
{

void wait_for(const std::atomic<unsigned long> &word, unsigned long value)
{
	while (word < value)
		sched_yield();
}

hf_mutex_t mutex = HF_MUTEX_INIT;
hf_cond_t cond = HF_COND_INIT;
bool open_door;
unsigned long broadcasts;

void lock_once()
{
	hf_mutex_lock(&mutex);
	hf_mutex_unlock(&mutex);
}

void wait_once()
{
	hf_mutex_lock(&mutex);
	while (!open_door)
		hf_cond_wait(&cond, &mutex);
	open_door = false;
	hf_mutex_unlock(&mutex);
}

void hold()
{
	hf_mutex_lock(&mutex);
}
void let_go()
{
	hf_mutex_unlock(&mutex);
}
void nothing()
{
}

void signal_one()
{
	hf_mutex_lock(&mutex);
	open_door = true;
	hf_mutex_unlock(&mutex);
	hf_cond_signal(&cond);
}

void wait_for_all()
{
	hf_mutex_lock(&mutex);
	for (unsigned long before = broadcasts; broadcasts == before;)
		hf_cond_wait(&cond, &mutex);
	hf_mutex_unlock(&mutex);
}

void signal_all()
{
	hf_mutex_lock(&mutex);
	broadcasts++;
	hf_cond_broadcast(&cond);
	hf_mutex_unlock(&mutex);
}

/* A round: before(), then the threads park in wait() one by one, then after(). */
const struct script {
	const char *name;
	int waiters;
	void (*before)(), (*wait)(), (*after)();
	unsigned long expected[CALLS];
	uint32_t spin_ns;
} scripts[] = {
	{ "alone", 0, hold, nothing, let_go, { 0, 0, 0, 0 }, 0 },
	/* The signal mask changes twice each to queue, to park, to wake, and to leave the queue. */
	{ "one waiter", 1, hold, lock_once, let_go, { 1, 1, 1, 8 }, 0 },
	/* To queue, 4 times; to park as the first; to wake, 4 times; to leave, 4 times. */
	{ "four waiters", 4, hold, lock_once, let_go, { 4, 4, 1, 26 }, 0 },
	/* The only waiter of its bucket, which has had one before. */
	{ "signal", 1, nothing, wait_once, signal_one, { 1, 1, 0, 0 }, 0 },
	/*
	 * Only the broadcast takes a bucket's lock (W7); its thread has a mark from the second
	 * round on.
	 */
	{ "broadcast", 4, nothing, wait_for_all, signal_all, { 4, 4, 0, 2 }, 0 },
	{ "signal to a thread that spins",
	  1,
	  nothing,
	  wait_once,
	  signal_one,
	  { 0, 0, 0, 0 },
	  UINT32_MAX },
};

void run(const script &s)
{
	std::atomic<unsigned long> may[MOST] = {}, done(0);
	std::vector<std::thread> threads;
	unsigned long before[CALLS];

	cond_spin_ns = s.spin_ns;
	for (int i = 0; i < s.waiters; i++) {
		threads.emplace_back([&, i] {
			for (unsigned long round = 1; round <= ROUNDS; round++) {
				wait_for(may[i], round);
				s.wait();
				done++;
			}
		});
	}
	for (int c = 0; c < CALLS; c++)
		before[c] = calls[c];
	for (unsigned long round = 1; round <= ROUNDS; round++) {
		s.before();
		for (int i = 0; i < s.waiters; i++) {
			unsigned long parked = calls[PARKS];

			may[i] = round;
			if (s.expected[PARKS])
				wait_for(calls[PARKS], parked + 1);
			while (!s.expected[PARKS] &&
			       (hf_atomic32_load_relaxed(&cond.waiters) == 0 ||
				hf_mutex_is_locked(&mutex)))
				sched_yield();
		}
		s.after();
		wait_for(done, round * static_cast<unsigned long>(s.waiters));
	}
	for (int c = 0; c < CALLS; c++) {
		unsigned long made = calls[c] - before[c], expected = s.expected[c] * ROUNDS;

		/* A thread that is woken while its waker holds the bucket's lock may park there. */
		stress::check(made >= expected && made <= expected + expected / 20 + FIRST,
			      "mutex_calls", "%s: %lu calls of %s in %d rounds, not %lu", s.name,
			      made, names[c], ROUNDS, expected);
	}
	for (std::thread &thread : threads)
		thread.join();
	stress::did("mutex_calls", s.name, ROUNDS);
}

} // namespace

int main()
{
	stress::begin();
	hf_detail_processors = 2; /* with one, no thread spins */
	for (const script &s : scripts)
		run(s);
	return stress::result();
}
