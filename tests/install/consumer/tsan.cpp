// SPDX-License-Identifier: MIT
/*
 * tsan - uses every lock and count under ThreadSanitizer; the library is not instrumented.
 *
 *   tsan well    correct use: no report
 *   tsan race    a data race: one report
 */
#include <holdfast/lockref.h>
#include <holdfast/lockref_waitfree.h>
#include <holdfast/mutex.h>
#include <holdfast/rcuref.h>
#include <holdfast/refcount_lock.h>
#include <holdfast/spinlock_ticket.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 40 };

/* Runs f in THREADS threads, and g in this one meanwhile. */
template <class F, class G>
static void in_threads(F f, G g)
{
	std::thread threads[THREADS];

	for (std::thread &thread : threads)
		thread = std::thread(f);
	g();
	for (std::thread &thread : threads)
		thread.join();
}

static void check(bool is_so, const char *what)
{
	if (is_so)
		return;
	printf("not so: %s\n", what);
	exit(1);
}

/* ---- Locks: threads change a plain variable under each --------------------------------------- */

static long number; /* not atomic */

template <class Lock, class Trylock, class Unlock>
static void use_lock(Lock lock, Trylock trylock, Unlock unlock)
{
	number = 0;
	lock();
	in_threads(
		[=] {
			for (int i = 0; i < ROUNDS; i++) {
				if (i % 4 || !trylock())
					lock();
				number++;
				unlock();
			}
		},
		[=] {
			usleep(5000); /* the threads wait, and some park: reaches each slow path */
			number++;
			unlock();
		});
	check(number == THREADS * ROUNDS + 1, "no increment is lost");
}

/* `acquire`: a statement with `l`. */
#define USE_LOCK(name, initialiser, acquire)                                                       \
	do {                                                                                       \
		static name##_t l = initialiser;                                                   \
		use_lock([] { acquire; }, [] { return name##_trylock(&l); },                       \
			 [] { name##_unlock(&l); });                                               \
	} while (0)

static void use_locks()
{
	USE_LOCK(hf_spinlock, HF_SPINLOCK_INIT, hf_spinlock_lock(&l));
	USE_LOCK(hf_spinlock_ticket, HF_SPINLOCK_TICKET_INIT, hf_spinlock_ticket_lock(&l));
	USE_LOCK(hf_mutex, HF_MUTEX_INIT, hf_mutex_lock(&l));
	USE_LOCK(hf_mutex, HF_MUTEX_INIT, while (!hf_mutex_lock_timeout(&l, 1000000)));
	USE_LOCK(hf_mutex_shared, HF_MUTEX_SHARED_INIT, hf_mutex_shared_lock(&l));
	USE_LOCK(hf_lockref, HF_LOCKREF_INIT(1), hf_lockref_lock(&l));
	USE_LOCK(hf_lockref, HF_LOCKREF_INIT(1), while (hf_lockref_put_or_lock(&l)));
	USE_LOCK(hf_lockref_waitfree, HF_LOCKREF_WAITFREE_INIT(1), hf_lockref_waitfree_lock(&l));
}

/* ---- Counts: the thread that drops the last reference reads what the others wrote ----------- */

struct object {
	hf_refcount_t refs = HF_REFCOUNT_INIT(THREADS);
	hf_rcuref_t rcuref = HF_RCUREF_INIT(THREADS);
	hf_lockref_t lockref = HF_LOCKREF_INIT(THREADS);
	hf_lockref_waitfree_t waitfree = HF_LOCKREF_WAITFREE_INIT(THREADS);
	hf_spinlock_t lock = HF_SPINLOCK_INIT;
	std::atomic<int> next{ 0 };
	long wrote[THREADS] = {}; /* not atomic */
};

/* Each drops a reference; true = it was the last. */
static bool (*const puts_[])(object &) = {
	[](object &o) {
		hf_refcount_inc(&o.refs);
		return hf_refcount_sub_and_test(2, &o.refs);
	},
	[](object &o) { return hf_refcount_dec_and_test(&o.refs); },
	[](object &o) {
		if (!hf_refcount_dec_and_lock(&o.refs, &o.lock))
			return false;
		hf_spinlock_unlock(&o.lock);
		return true;
	},
	[](object &o) { return hf_rcuref_put(&o.rcuref); },
	[](object &o) {
		if (hf_lockref_put_or_lock(&o.lockref))
			return false;
		hf_lockref_mark_dead(&o.lockref);
		hf_lockref_unlock(&o.lockref);
		return true;
	},
	[](object &o) {
		if (hf_lockref_waitfree_put_or_lock(&o.waitfree))
			return false;
		bool last = hf_lockref_waitfree_mark_dead(&o.waitfree, 0);
		hf_lockref_waitfree_unlock(&o.waitfree);
		return last;
	},
};

static void use_count(bool (*put)(object &))
{
	object o;
	bool dropped = false;

	in_threads(
		[&] {
			long sum = 0;

			o.wrote[o.next.fetch_add(1, std::memory_order_relaxed)] = 1;
			if (!put(o))
				return;
			for (long n : o.wrote)
				sum += n;
			check(sum == THREADS, "the last one sees all");
			memset(o.wrote, 0, sizeof(o.wrote));
			dropped = true;
		},
		[] {});
	check(dropped, "one thread drops the last reference");
}

/* ---- A race: two threads use different locks for one variable ------------------------------- */

static void race()
{
	static hf_mutex_t mine = HF_MUTEX_INIT, yours = HF_MUTEX_INIT;
	std::atomic<bool> turn{ false }; /* relaxed, so it orders nothing */
	std::thread second([&turn] {
		while (!turn.load(std::memory_order_relaxed))
			usleep(1000);
		hf_mutex_lock(&yours);
		number++;
		hf_mutex_unlock(&yours);
	});
	std::thread first([&turn] {
		hf_mutex_lock(&mine);
		number++;
		hf_mutex_unlock(&mine);
		turn.store(true, std::memory_order_relaxed);
	});

	first.join();
	second.join();
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "race") == 0) {
		race();
		return 0;
	}
	use_locks();
	for (auto put : puts_)
		use_count(put);
	return 0;
}
