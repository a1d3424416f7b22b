/* SPDX-License-Identifier: MIT */
/*
 * mutex - no wake-up is lost, with random delays and signals.
 *
 * A lost wakeup shows only if nothing else wakes the thread afterwards. The test therefore runs in
 * short rounds; every thread must finish its round, and one that stays parked is killed by the
 * alarm. At the end of each round the mutex's word must be 0. A signal also wakes a parked thread,
 * and so hides a lost wakeup: each part runs with and without signals. mutex_parks.cpp is the same
 * with a mutex that parks as soon as it can.
 */
#include "stress.h"

#include <memory>
#include <mutex>

#include <pthread.h>
#include <signal.h>

#include "../unit/kinds.h"

#ifndef NAME
#define NAME "mutex"
#endif

namespace
{

std::atomic<uint64_t> interrupted(0);

/*
 * Sends signals to threads during its lifetime. No SA_RESTART: the signals interrupt system calls.
 */
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
	/* Has a thread been interrupted, if that is wanted? */
	bool have_come() const { return !sender_.joinable() || interrupted > 0; }
	~signals()
	{
		stop_ = true;
		if (sender_.joinable())
			sender_.join();
	}
	/* Sends signals to the calling thread, until it calls no_more(). */
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

/* Usually no delay; rarely one so long that other threads park. */
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

/* ---- the mutex ------------------------------------------------------------------------------ */

/*
 * Each round uses a new mutex, which is destroyed as soon as the last thread has unlocked it (X4).
 */
template <class M>
void rounds(const char *what, bool with_signals, int threads, int milliseconds)
{
	struct place {
		M mutex;
		uint64_t count = 0;
		int left;
	};
	enum { DONE, TIMED_OUT, TRIED, COUNTS };
	std::unique_ptr<place> now;
	std::atomic<bool> stop(false);
	stress::barrier barrier(threads);
	stress::totals<COUNTS> sum;
	uint64_t count = 0, done = 0;
	signals signals(with_signals);

	stress::run_threads(threads, [&](int me) {
		stress::deadline end(milliseconds);
		stress::random random(me);
		stress::counts<COUNTS> n{};

		signals.to_me();
		for (;;) {
			if (me == 0) {
				stop = done > 0 && end.passed() && signals.have_come();
				now.reset(new place);
				now->left = threads;
				done++;
			}
			barrier.wait();
			if (stop)
				break;
			for (uint32_t i = random.below(40); i > 0; i--) {
				uint32_t way = random.below(8);

				delay(&random);
				if (way == 0 && !now->mutex.try_lock()) {
					n[TRIED]++;
					continue;
				}
				if (way == 1 && !now->mutex.lock_timeout(random.below(50000))) {
					n[TIMED_OUT]++;
					continue;
				}
				if (way > 1)
					now->mutex.lock();
				now->count++;
				n[DONE]++;
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
		sum.add(n);
	});
	stress::same(count, "counted", sum[DONE], "done", NAME);
	stress::did(NAME, what, sum[DONE],
		    { { "rounds", done },
		      { "timed out", sum[TIMED_OUT] },
		      { "of trylock failed", sum[TRIED] } });
}

} // namespace

int main()
{
	stress::begin();
	rounds<unit::own>("private, 3 threads", false, 3, 200);
	rounds<unit::own>("private, 8 threads", false, 8, 150);
	rounds<unit::own>("private, signals", true, 5, 150);
	rounds<unit::shared>("shared, signals", true, 4, 150);
	std::printf("interrupted %" PRIu64 " times\n", interrupted.load());
	stress::check(interrupted > 0, NAME, "no thread was interrupted");
	return stress::result();
}
