/* SPDX-License-Identifier: MIT */
/*
 * rwlock - readers find two words equal that writers change one after the other. Most rounds have
 * few writes, so that the lock has BIAS, and loses it, all the time; some have many, or more
 * threads than processors, so that readers and writers park.
 */
#include "stress.h"

#include <memory>

#include "holdfast/rwlock.h"

namespace
{

struct shared {
	alignas(128) hf_rwlock_t lock = HF_RWLOCK_INIT;
	alignas(128) volatile uint64_t a = 0;
	alignas(128) volatile uint64_t b = 0;
};

const int MILLISECONDS = 100; /* each round */
enum { READS, WRITES, COUNTS };

/* Every @each operations one of 8 writes: of those a try, a time-out, and a downgrade. */
void run(shared *s, unsigned int each, stress::counts<COUNTS> *n)
{
	for (unsigned int i = 1; i <= 8 * each; i++) {
		bool has_written = i % each == 0;

		if (!has_written) {
			hf_rwlock_read_lock(&s->lock);
		} else if (i / each <= 2) {
			has_written = i / each == 1 ? hf_rwlock_write_trylock(&s->lock)
						    : hf_rwlock_write_lock_timeout(&s->lock, 1000);
			if (!has_written)
				hf_rwlock_read_lock(&s->lock);
		} else {
			hf_rwlock_write_lock(&s->lock);
		}
		if (has_written) {
			stress::check(s->a == s->b, "rwlock", "a writer beside a writer");
			s->a = s->a + 1;
			s->b = s->b + 1;
			(*n)[WRITES]++;
			if (i / each == 3) {
				hf_rwlock_downgrade(&s->lock);
				has_written = false;
			}
		}
		if (has_written) {
			hf_rwlock_write_unlock(&s->lock);
		} else {
			uint64_t a = s->a;

			stress::check(s->b == a, "rwlock", "a writer beside a reader");
			hf_rwlock_read_unlock(&s->lock);
			(*n)[READS]++;
		}
	}
}

} // namespace

int main()
{
	static const struct {
		int threads;
		unsigned int each;
		const char *name;
	} rounds[] = {
		{ 2, 20000, "2 threads, a write in 20,000" },
		{ 4, 5000, "4 threads, a write in 5,000" },
		{ 2, 100, "2 threads, a write in 100" },
		{ 4, 10, "4 threads, a write in 10" },
		{ 8, 3, "8 threads, a write in 3" },
		{ 32, 50, "32 threads, a write in 50" },
	};

	stress::begin();
	for (const auto &round : rounds) {
		std::unique_ptr<shared> s(new shared);
		auto n = stress::run_for<COUNTS>(
			round.threads, MILLISECONDS,
			[&](int, auto &, auto &mine) { run(s.get(), round.each, &mine); });

		stress::check(s->a == n[WRITES] && s->b == n[WRITES], round.name,
			      "a write is lost");
		stress::did("rwlock", round.name, n[READS] + n[WRITES]);
	}
	return stress::result();
}
