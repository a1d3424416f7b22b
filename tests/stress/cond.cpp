/* SPDX-License-Identifier: MIT */
/*
 * cond - a signal wakes one waiter, a broadcast wakes all; with timeouts, and several mutexes.
 *
 * For hf_cond_t in threads, and for hf_cond_shared_t in the threads of two processes: a bounded
 * queue whose items are counted, and rounds, each ended by a broadcast. Each part runs a fixed
 * number of operations; if a signal is lost it hangs, and the alarm kills it. tests/model/cond.cpp
 * checks that each signal ends one wait.
 */
#include "stress.h"

#include <new>

#include <sys/mman.h>
#include <sys/wait.h>

#include "../unit/kinds.h"

namespace
{

using unit::own;
using unit::shared;

/* If @time_outs, half of the waits have a timeout: callers always recheck their condition. */
template <class M>
void wait(M *mutex, typename M::cond *cond, stress::random *random, bool time_outs)
{
	if (time_outs && random->below(2))
		(void)mutex->wait_timeout(cond, random->below(100000));
	else
		mutex->wait(cond);
}

/* ---- a bounded queue, and rounds ------------------------------------------------------------ */

enum { PLACES = 2, PROCESSES = 2, ROOM = 3, THREADS = 3 };

template <class M>
struct place {
	M mutex;
	typename M::cond not_full{}, not_empty{}, round_over{};
	uint32_t item[ROOM];
	uint32_t first = 0, items = 0;
	uint64_t put = 0, got = 0, sum = 0;
	uint32_t round = 0, arrived = 0;
};

template <class M>
struct room {
	place<M> places[PLACES];
	uint64_t rounds = 0;
};

template <class M>
void produce(place<M> *p, stress::random *random, uint32_t n, bool time_outs)
{
	for (uint32_t i = 1; i <= n; i++) {
		p->mutex.lock();
		while (p->items == ROOM)
			wait(&p->mutex, &p->not_full, random, time_outs);
		p->item[(p->first + p->items++) % ROOM] = i;
		p->put++;
		bool within = random->below(2);

		if (within)
			p->mutex.signal(&p->not_empty);
		p->mutex.unlock();
		if (!within)
			p->mutex.signal(&p->not_empty);
	}
}

template <class M>
void consume(place<M> *p, stress::random *random, uint32_t n, bool time_outs)
{
	for (uint32_t i = 1; i <= n; i++) {
		p->mutex.lock();
		while (p->items == 0)
			wait(&p->mutex, &p->not_empty, random, time_outs);
		p->sum += p->item[p->first];
		p->first = (p->first + 1) % ROOM;
		p->items--;
		p->got++;
		p->mutex.unlock();
		p->mutex.signal(&p->not_full);
	}
}

/* No thread continues before all have arrived. */
template <class M>
void go_round(place<M> *p, stress::random *random, uint32_t threads, uint32_t n, bool time_outs)
{
	for (uint32_t i = 0; i < n; i++) {
		p->mutex.lock();
		uint32_t round = p->round;

		stress::check(round == i, "cond", "the round is %u, a thread's own is %u", round,
			      i);
		if (++p->arrived == threads) {
			p->arrived = 0;
			p->round++;
			p->mutex.broadcast(&p->round_over);
		} else {
			while (p->round == round)
				wait(&p->mutex, &p->round_over, random, time_outs);
		}
		p->mutex.unlock();
	}
}

/* The threads of one process: producers, consumers and round threads, for each place. */
template <class M>
void work(room<M> *w, int seed, uint32_t processes, uint32_t n, bool time_outs)
{
	stress::run_threads(PLACES * THREADS * 3, [&](int i) {
		stress::random random(seed + i);
		place<M> *p = &w->places[i % PLACES];

		switch (i / PLACES % 3) {
		case 0:
			produce(p, &random, n, time_outs);
			break;
		case 1:
			consume(p, &random, n, time_outs);
			break;
		default:
			go_round(p, &random, processes * THREADS, n / 4, time_outs);
		}
	});
}

template <class M>
void check_room(room<M> *w, const char *what, uint32_t processes, uint32_t n)
{
	const uint64_t items = uint64_t(processes) * THREADS * n;
	uint64_t done = 0;

	for (place<M> &p : w->places) {
		stress::same(p.put, "put", items, "in all", what);
		stress::same(p.got, "got", items, "in all", what);
		stress::check(p.items == 0, "cond", "%s: %u items are left", what, p.items);
		stress::check(p.sum == items * (n + 1) / 2, "cond",
			      "%s: the sum of the items is wrong", what);
		stress::check(p.round == n / 4 && p.arrived == 0, "cond", "%s: %u rounds", what,
			      p.round);
		stress::check(!p.mutex.is_locked() && M::nobody(&p.not_full) &&
				      M::nobody(&p.not_empty) && M::nobody(&p.round_over),
			      "cond", "%s: a thread waits at the end", what);
		done += p.put + p.got + p.round;
	}
	stress::did("cond", what, done);
}

void in_threads(const char *what, uint32_t n, bool time_outs)
{
	room<own> w;

	work(&w, 0, 1, n, time_outs);
	check_room(&w, what, 1, n);
}

void in_processes(const char *what, uint32_t n, bool time_outs)
{
	void *memory = mmap(NULL, sizeof(room<shared>), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (!stress::check(memory != MAP_FAILED, "cond", "mmap failed"))
		return;
	room<shared> *w = ::new (memory) room<shared>();
	pid_t child = fork();

	if (child == 0) {
		alarm(900);
		work(w, 100, PROCESSES, n, time_outs);
		_exit(stress::failures > 0);
	}
	if (!stress::check(child > 0, "cond", "fork failed"))
		return;
	work(w, 0, PROCESSES, n, time_outs);
	int status = -1;

	stress::check(waitpid(child, &status, 0) == child && status == 0, "cond",
		      "%s: the child's status is %#x", what, unsigned(status));
	check_room(w, what, PROCESSES, n);
	(void)munmap(memory, sizeof(*w));
}

} // namespace

int main()
{
	stress::begin();
	in_threads("private", 4000 / stress::SHARE, false);
	in_threads("private, time-outs", 4000 / stress::SHARE, true);
	in_processes("shared", 1000 / stress::SHARE, false);
	in_processes("shared, time-outs", 1000 / stress::SHARE, true);
	return stress::result();
}
