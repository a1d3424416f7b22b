/* SPDX-License-Identifier: MIT */
/*
 * rwlock_litmus - the race between the store of a reader, which has no barrier, and the scan of a
 * writer.
 *
 * A reader reads two words all the time, and a writer changes both now and then; the lock has BIAS
 * again after each write. Without the writer's membarrier() the reader's store may still be in its
 * store buffer at the scan, and the two are inside at once.
 */
#include "stress.h"

#define HF_RWLOCK_SAMPLE 1
#define HF_RWLOCK_REST 0

#include "../../src/rwlock/lines.c"
#include "../../src/rwlock/rwlock.c"

int main()
{
	alignas(128) static hf_rwlock_t lock = HF_RWLOCK_INIT;
	alignas(128) static volatile uint64_t a;
	alignas(128) static volatile uint64_t b;
	/* Both threads write these lines: the misses keep the reader's store in its buffer. */
	enum { LINES = 40 };
	alignas(128) [[maybe_unused]] static volatile char dirty[LINES * 64];
	std::atomic<bool> is_over(false);
	uint64_t differ = 0, reads = 0;

	stress::begin();
	std::thread reader([&] {
		for (; !is_over.load(std::memory_order_relaxed); reads++) {
			uint64_t first;

			for (size_t i = 0; i < LINES; i++)
				dirty[i * 64] = 1;
			hf_rwlock_read_lock(&lock);
			first = a;
			for (int n = 0; n < 300; n++)
				__asm__ volatile("" ::: "memory");
			differ += b != first;
			hf_rwlock_read_unlock(&lock);
		}
	});
	stress::deadline end(400);
	stress::random random(1);

	do {
		for (uint32_t n = random.below(500); n > 0; n--)
			__asm__ volatile("" ::: "memory");
		for (size_t i = 0; i < LINES; i++)
			dirty[i * 64] = 2;
		hf_rwlock_write_lock(&lock);
		a = a + 1;
		for (int n = 0; n < 20; n++)
			__asm__ volatile("" ::: "memory");
		b = b + 1;
		hf_rwlock_write_unlock(&lock);
	} while (!end.passed());
	is_over = true;
	reader.join();
	stress::check(differ == 0, "rwlock", "a writer beside a reader");
	stress::did("rwlock", "litmus", reads);
	return stress::result();
}
