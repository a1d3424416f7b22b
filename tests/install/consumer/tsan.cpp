// SPDX-License-Identifier: MIT
/*
 * tsan - uses every lock and count under ThreadSanitizer; the library is not instrumented.
 *
 *   tsan well       correct use: no report
 *   tsan race       a data race: one report
 *   tsan order      two mutexes in both orders, by one thread after the other: one report
 *   tsan readers    two reader-writer locks in both orders: one report
 *   tsan relock     the same, where a wait takes one of them again
 *   tsan destroy    a mutex is destroyed while it is locked: one report; so destroy_recursive,
 *                   destroy_lockref
 *   tsan unlocked   an unlock of a free mutex: one report
 */
#include <holdfast/cond.h>
#include <holdfast/lockref_counted.h>
#include <holdfast/lockref_waitfree.h>
#include <holdfast/mutex_recursive.h>
#include <holdfast/rcuref.h>
#include <holdfast/refcount_lock.h>
#include <holdfast/rwlock.h>
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

	static hf_rwlock_t rwlock = HF_RWLOCK_INIT;
	use_lock([] { hf_rwlock_write_lock(&rwlock); },
		 [] {
			 hf_rwlock_read_lock(&rwlock);
			 check(number >= 0, "a reader reads what writers wrote");
			 hf_rwlock_read_unlock(&rwlock);
			 return hf_rwlock_write_trylock(&rwlock);
		 },
		 [] { hf_rwlock_write_unlock(&rwlock); });
}

/* ---- Counts: the thread that drops the last reference reads what the others wrote ----------- */

struct object {
	hf_refcount_t refs = HF_REFCOUNT_INIT(THREADS);
	hf_rcuref_t rcuref = HF_RCUREF_INIT(THREADS);
	hf_spinlock_t lock = HF_SPINLOCK_INIT;
	std::atomic<int> next{ 0 };
	long wrote[THREADS] = {}; /* not atomic */
};

/* Each drops a reference; true = it was the last. The stress test references has the others. */
static bool (*const puts_[])(object &) = {
	[](object &o) {
		if (!hf_refcount_dec_and_lock(&o.refs, &o.lock))
			return false;
		hf_spinlock_unlock(&o.lock);
		return true;
	},
	[](object &o) { return hf_rcuref_put(&o.rcuref); },
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

/* ---- Two locks ------------------------------------------------------------------------------ */

static void nest(hf_mutex_t *first, hf_mutex_t *second)
{
	hf_mutex_lock(first);
	hf_mutex_lock(second);
	hf_mutex_unlock(second);
	hf_mutex_unlock(first);
}

static void order()
{
	hf_mutex_t a = HF_MUTEX_INIT, b = HF_MUTEX_INIT;

	nest(&a, &b);
	nest(&b, &a);
}

static void read_and_write(hf_rwlock_t *read, hf_rwlock_t *written)
{
	hf_rwlock_read_lock(read);
	hf_rwlock_write_lock(written);
	hf_rwlock_downgrade(written);
	hf_rwlock_read_unlock(written);
	hf_rwlock_read_unlock(read);
}

static void readers()
{
	hf_rwlock_t a = HF_RWLOCK_INIT, b = HF_RWLOCK_INIT;

	read_and_write(&a, &b);
	read_and_write(&b, &a);
}

/* After a wait for @a under @b, both are held: as if @b had been taken first. */
static void relock()
{
	hf_cond_t cond = HF_COND_INIT;
	hf_mutex_t a = HF_MUTEX_INIT, b = HF_MUTEX_INIT;

	hf_mutex_lock(&a);
	hf_mutex_lock(&b);
	hf_cond_wait_timeout(&cond, &a, 1);
	hf_mutex_unlock(&b);
	hf_mutex_unlock(&a);
}

/* What looks like an order, and is none. */
static void no_order()
{
	hf_mutex_t a = HF_MUTEX_INIT, b = HF_MUTEX_INIT;

	nest(&a, &b);
	hf_mutex_init(&a); /* is another one */
	nest(&b, &a);
	hf_mutex_lock(&a);
	check(hf_mutex_trylock(&b), "it is free");
	std::thread([&] { check(!hf_mutex_lock_timeout(&b, 1), "it times out"); }).join();
	hf_mutex_unlock(&b);
	hf_mutex_unlock(&a);
}

/* A value is handed over and back under a mutex that both threads wait with. */
static void use_cond()
{
	hf_mutex_t mutex = HF_MUTEX_INIT;
	hf_cond_t cond = HF_COND_INIT;
	auto take_turns = [&](long mine) {
		for (int i = 0; i < ROUNDS; i++) {
			hf_mutex_lock(&mutex);
			while (number % 2 != mine)
				hf_cond_wait(&cond, &mutex);
			number++;
			hf_cond_broadcast(&cond);
			hf_mutex_unlock(&mutex);
		}
	};

	number = 0;
	std::thread other([&] { take_turns(1); });
	take_turns(0);
	other.join();
	check(number == 2 * ROUNDS, "the threads take turns");
}

/* A static one may be locked at exit: no destructor would run in a program without sanitizer. */
static hf::mutex left_locked;

static void well()
{
	use_locks();
	for (auto put : puts_)
		use_count(put);
	no_order();
	use_cond();
	left_locked.lock();
}

template <class Lock>
void destroy()
{
	Lock lock;

	lock.lock();
}

static void unlocked()
{
	hf_mutex_t mutex = HF_MUTEX_INIT;

	hf_mutex_lock(&mutex);
	hf_mutex_unlock(&mutex);
	hf_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)();
	} cases[] = { { "well", well },
		      { "race", race },
		      { "order", order },
		      { "readers", readers },
		      { "relock", relock },
		      { "destroy", destroy<hf::mutex> },
		      { "destroy_recursive", destroy<hf::recursive_mutex> },
		      { "destroy_lockref", destroy<hf::lockref> },
		      { "unlocked", unlocked } };

	for (auto &one : cases) {
		if (argc > 1 && strcmp(argv[1], one.name) == 0) {
			one.run();
			return 0;
		}
	}
	return 2;
}
