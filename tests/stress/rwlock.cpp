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
	std::atomic<uint64_t> reads{ 0 }, writes{ 0 };
};

void write(shared *s)
{
	stress::check(s->a == s->b, "rwlock", "a writer beside a writer");
	s->a = s->a + 1;
	s->b = s->b + 1;
}

/* Every @each operations a write; each eighth of those by a try, a time-out, or a downgrade. */
void run(shared *s, unsigned int each, unsigned int operations)
{
	uint64_t reads = 0, writes = 0;

	for (unsigned int i = 1; i <= operations; i++) {
		bool has_written = i % each == 0;

		if (!has_written) {
			hf_rwlock_read_lock(&s->lock);
		} else if (i / each % 8 == 0) {
			has_written = hf_rwlock_write_trylock(&s->lock);
			if (!has_written)
				hf_rwlock_read_lock(&s->lock);
		} else if (i / each % 8 == 1) {
			has_written = hf_rwlock_write_lock_timeout(&s->lock, 1000);
			if (!has_written)
				hf_rwlock_read_lock(&s->lock);
		} else {
			hf_rwlock_write_lock(&s->lock);
		}
		if (has_written) {
			write(s);
			writes++;
			if (i / each % 8 == 2) {
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
			reads++;
		}
	}
	s->reads += reads;
	s->writes += writes;
}

} // namespace

int main()
{
	static const struct {
		int threads;
		unsigned int each, operations;
		const char *name;
	} rounds[] = {
		{ 2, 20000, 8000000, "2 threads, a write in 20,000" },
		{ 4, 5000, 4000000, "4 threads, a write in 5,000" },
		{ 2, 100, 2000000, "2 threads, a write in 100" },
		{ 4, 10, 400000, "4 threads, a write in 10" },
		{ 8, 3, 100000, "8 threads, a write in 3" },
		{ 32, 50, 40000, "32 threads, a write in 50" },
	};

	stress::begin();
	for (const auto &round : rounds) {
		std::unique_ptr<shared> s(new shared);

		stress::run_threads(round.threads, [&](int) {
			run(s.get(), round.each, round.operations / stress::SHARE);
		});
		stress::check(s->a == s->writes && s->b == s->writes, round.name,
			      "a write is lost");
		stress::did("rwlock", round.name, s->reads + s->writes);
	}
	return stress::result();
}
