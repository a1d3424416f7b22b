/* SPDX-License-Identifier: MIT */
/*
 * mutex - no wake-up is lost: parking by itself, and the mutex, with random delays and signals.
 *
 * A lost wake-up is found only if nothing else wakes the thread afterwards. So all is done in short
 * rounds, at whose end every thread must be through; one that stays parked ends by the alarm. At
 * the end of each round the mutex's word must be 0 again. A signal wakes a parked thread, and so
 * mends what a lost wake-up would break: each is done with signals and without. mutex_parks.cpp is
 * the same with a mutex that parks as soon as it can.
 *
 *   stress_mutex [TIMES]   so many times longer than in the tests
 */
#include "stress.h"

#include <cstdlib>
#include <memory>
#include <mutex>

#include <pthread.h>
#include <signal.h>

#include "holdfast/mutex.h"

#ifndef NAME
#define NAME "mutex"
#endif

namespace
{

std::atomic<uint64_t> interrupted(0);

/* Sends signals to threads as long as it lives, without SA_RESTART: system calls are cut short. */
class signals {
public:
	explicit signals(bool wanted)
	{
		struct sigaction action = {};

		action.sa_handler = [](int) { interrupted.fetch_add(1); };
		if (!wanted)
			return;
		sigaction(SIGUSR2, &action, nullptr);
		sender_ = std::thread([this] {
			stress::random random(4711);

			while (!stop_) {
				{
					std::lock_guard<std::mutex> guard(mutex_);

					if (!threads_.empty())
						pthread_kill(threads_[random.below(
								     uint32_t(threads_.size()))],
							     SIGUSR2);
				}
				std::this_thread::sleep_for(
					std::chrono::microseconds(random.below(200)));
			}
		});
	}
	~signals()
	{
		stop_ = true;
		if (sender_.joinable())
			sender_.join();
	}
	/* The calling thread, until it calls no_more(). */
	void to_me()
	{
		std::lock_guard<std::mutex> guard(mutex_);

		threads_.push_back(pthread_self());
	}
	void no_more()
	{
		std::lock_guard<std::mutex> guard(mutex_);

		for (size_t i = 0; i < threads_.size(); i++) {
			if (pthread_equal(threads_[i], pthread_self())) {
				threads_[i] = threads_.back();
				threads_.pop_back();
				return;
			}
		}
	}

private:
	std::mutex mutex_;
	std::vector<pthread_t> threads_;
	std::atomic<bool> stop_{ false };
	std::thread sender_;
};

/* Mostly none; seldom so long that others park meanwhile. */
void delay(stress::random *random)
{
	uint32_t kind = random->below(1024);

	if (kind < 2)
		std::this_thread::sleep_for(std::chrono::microseconds(random->below(50)));
	else if (kind < 20)
		sched_yield();
	else if (kind < 400)
		for (uint32_t i = random->below(100); i > 0; i--)
			hf_arch_relax();
}

#ifndef WITHOUT_PARKING

/* ---- parking -------------------------------------------------------------------------------- */

/* Before it parks, so that the wake-up comes in between as often as not. */
void hesitate(stress::random *random)
{
	for (uint32_t i = random->below(2) ? random->below(250) : 0; i > 0; i--)
		hf_arch_relax();
}

/* A turn goes round: each waits until the word is its own number, and makes it the next one's. */
void pass_around(enum hf_env_scope scope, const char *what, bool with_signals, int threads,
		 int milliseconds)
{
	struct alignas(128) place {
		hf_atomic32_t word = HF_ATOMIC_INIT(0); /* how often it was this one's turn */
	};
	std::vector<place> places(static_cast<size_t>(threads));
	std::atomic<uint64_t> unparks(0), parks(0), not_asleep(0), woken(0);
	std::atomic<bool> stop(false);
	signals signals(with_signals);

	stress::run_threads(threads, [&](int me) {
		stress::deadline end(milliseconds);
		stress::random random(me);
		hf_atomic32_t *mine = &places[size_t(me)].word;
		hf_atomic32_t *next = &places[size_t((me + 1) % threads)].word;
		uint32_t turn = 0;
		uint64_t my_parks = 0, my_not_asleep = 0, my_woken = 0;

		signals.to_me();
		for (;;) {
			/* The first to go needs no turn. */
			if (me != 0 || turn != 0) {
				uint32_t seen;

				while ((seen = hf_atomic32_load_acquire(mine)) ==
				       turn - (me == 0)) {
					my_parks++;
					hesitate(&random);
					my_not_asleep += hf_env_park(mine, seen, HF_ENV_FOREVER,
								     scope) == HF_ENV_CHANGED;
				}
			}
			turn++;
			if (me == 0 && end.passed())
				stop = true;
			bool last = stop;

			delay(&random);
			hf_atomic32_store_release(next, hf_atomic32_load_relaxed(next) + 1);
			my_woken += hf_env_unpark(next, 1, scope);
			if (last)
				break;
		}
		signals.no_more();
		unparks += turn;
		parks += my_parks;
		not_asleep += my_not_asleep;
		woken += my_woken;
	});
	char more[120];

	std::snprintf(more, sizeof(more), ", %llu parks, %llu of them too late to sleep",
		      static_cast<unsigned long long>(parks),
		      static_cast<unsigned long long>(not_asleep));
	stress::did("park", what, unparks + parks, more);
	stress::check(woken <= parks, "park", "more were woken than slept");
	stress::check(woken > 0, "park", "nobody was woken");
}

#endif

/* ---- the mutex ------------------------------------------------------------------------------ */

struct own {
	hf_mutex_t m = HF_MUTEX_INIT;
	void lock() { hf_mutex_lock(&m); }
	bool try_lock() { return hf_mutex_trylock(&m); }
	bool lock_timeout(uint64_t ns) { return hf_mutex_lock_timeout(&m, ns); }
	void unlock() { hf_mutex_unlock(&m); }
};

struct shared {
	hf_mutex_shared_t m = HF_MUTEX_SHARED_INIT;
	void lock() { hf_mutex_shared_lock(&m); }
	bool try_lock() { return hf_mutex_shared_trylock(&m); }
	bool lock_timeout(uint64_t ns) { return hf_mutex_shared_lock_timeout(&m, ns); }
	void unlock() { hf_mutex_shared_unlock(&m); }
};

/* In each round a mutex that is new, and gone as soon as the last has unlocked it (X4). */
template <class M>
void rounds(const char *what, bool with_signals, int threads, int milliseconds)
{
	struct place {
		M mutex;
		uint64_t count = 0;
		int left;
	};
	std::unique_ptr<place> now;
	std::atomic<bool> stop(false);
	stress::barrier barrier(threads);
	std::atomic<uint64_t> done(0), timed_out(0), tried(0);
	uint64_t count = 0, n = 0;
	signals signals(with_signals);

	stress::run_threads(threads, [&](int me) {
		stress::deadline end(milliseconds);
		stress::random random(me);
		uint64_t did = 0, late = 0, in_vain = 0;

		signals.to_me();
		for (;;) {
			if (me == 0) {
				stop = end.passed();
				now.reset(new place);
				now->left = threads;
				n++;
			}
			barrier.wait();
			if (stop)
				break;
			for (uint32_t i = random.below(40); i > 0; i--) {
				uint32_t way = random.below(8);

				delay(&random);
				if (way == 0 && !now->mutex.try_lock()) {
					in_vain++;
					continue;
				}
				if (way == 1 && !now->mutex.lock_timeout(random.below(50000))) {
					late++;
					continue;
				}
				if (way > 1)
					now->mutex.lock();
				now->count++;
				did++;
				delay(&random);
				now->mutex.unlock();
			}
			place *it = now.get();

			it->mutex.lock();
			bool last = --it->left == 0;

			if (last) {
				count += it->count;
				(void)now.release();
			}
			it->mutex.unlock();
			if (last) {
				uint32_t word = hf_atomic32_load_relaxed(&it->mutex.m.word);

				stress::check(word == 0, NAME, "the word is %#x at the end", word);
				delete it;
			}
			barrier.wait();
		}
		signals.no_more();
		done += did;
		timed_out += late;
		tried += in_vain;
	});
	stress::check(count == done, NAME, "count %llu of %llu",
		      static_cast<unsigned long long>(count),
		      static_cast<unsigned long long>(done.load()));
	char more[120];

	std::snprintf(
		more, sizeof(more), " in %llu rounds, %llu timed out, %llu of trylock in vain",
		static_cast<unsigned long long>(n), static_cast<unsigned long long>(timed_out),
		static_cast<unsigned long long>(tried));
	stress::did(NAME, what, done, more);
}

} // namespace

int main(int argc, char **argv)
{
	int times = argc > 1 ? std::atoi(argv[1]) : 1;

	stress::begin();
#ifndef WITHOUT_PARKING
	pass_around(HF_ENV_PRIVATE, "private, 2 threads", false, 2, 150 * times);
	pass_around(HF_ENV_SHARED, "shared, 3 threads", true, 3, 150 * times);
#endif
	rounds<own>("private, 3 threads", false, 3, 200 * times);
	rounds<own>("private, 8 threads", false, 8, 150 * times);
	rounds<own>("private, signals", true, 5, 150 * times);
	rounds<shared>("shared, signals", true, 4, 150 * times);
	std::printf("interrupted %llu times\n", static_cast<unsigned long long>(interrupted));
	stress::check(interrupted > 0, NAME, "no signal came");
	return stress::result();
}
