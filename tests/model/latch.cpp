// SPDX-License-Identifier: MIT
/*
 * latch - a successful read returns one consistent copy, as it was published.
 *
 * Checked
 *   A writer publishes increasing numbers; a copy is two words that hold the same number. Readers
 *   read both words of the current copy. A reader that need not retry has read the same number
 *   twice, and none older than the version that it read. (L1)
 *   A reader that disappears in the middle, such as a cancelled thread, blocks no other thread.
 *   (L2)
 *
 * The mutant `own` makes the writer modify the copy that is being read.
 */
// MUTANT: begin_relaxed HF_MUTANT=load_acquire HF_MUTANT_IN=hf_latch_begin
// MUTANT: retry_without_fence HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_latch_retry
// MUTANT: write_without_fence HF_MUTANT=fence_seq_cst HF_MUTANT_IN=hf_latch_write_begin
// MUTANT: publish_relaxed HF_MUTANT=store_release HF_MUTANT_IN=hf_latch_publish
// MUTANT: one_copy HF_MUTANT=own
#include "run.h"

#include "../../src/nofault/latch.h"

static unsigned long succeeded, retried, newest;

/* Thread 0 writes, the others read; with `Leaves` the last reader disappears in the middle. */
template <int Writes, bool Leaves>
class copies : public hf_model::scenario {
	hf_latch latch_;
	hf_atomic32_t words_[2][2];

	void write()
	{
		for (int i = 0; i < Writes; i++) {
			uint32_t version = hf_latch_write_begin(&latch_);
			hf_atomic32_t *copy = words_[version % 2];

			if (hf_model::the_mutant == hf_model::mutant::own)
				copy = words_[(version - 1) % 2];
			hf_atomic32_store_relaxed(&copy[0], version);
			hf_atomic32_store_relaxed(&copy[1], version);
			hf_latch_publish(&latch_, version);
		}
	}

	void read(bool leaves)
	{
		uint32_t version = hf_latch_begin(&latch_);
		uint32_t first = hf_atomic32_load_relaxed(&words_[version % 2][0]);

		if (leaves)
			return;
		uint32_t second = hf_atomic32_load_relaxed(&words_[version % 2][1]);

		if (hf_latch_retry(&latch_, version)) {
			retried++;
			return;
		}
		check(first == second, "one copy, as it was published");
		check(first == version, "the one of this version");
		succeeded++;
		newest += version == Writes;
	}

public:
	copies()
	{
		hf_atomic32_store_relaxed(&latch_.version, 0);
		for (auto &copy : words_) {
			for (hf_atomic32_t &word : copy)
				hf_atomic32_store_relaxed(&word, 0);
		}
	}

	void thread(unsigned int index)
	{
		if (index == 0)
			write();
		else
			read(Leaves && index == 2);
	}
};

int main(int argc, char **argv)
{
	hf_model::run run("latch", argc, argv);

	run.search<copies<2, false>, 2>("writes and a read", ALL);
	run.search<copies<3, false>, 2>("more writes and a read", 4);
	run.search<copies<3, true>, 3>("writes, a read, and one that leaves", 2);
	run.random<copies<4, false>, 3>("writes and reads", 100000);
	run.must_reach("a read succeeds", succeeded);
	run.must_reach("a reader retries", retried);
	run.must_reach("a reader finds the last version", newest);
	return run.end();
}
