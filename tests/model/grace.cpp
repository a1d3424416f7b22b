// SPDX-License-Identifier: MIT
/*
 * grace - no reader uses a table that was freed.
 *
 * Checked
 *   A writer publishes tables one after the other; after each it waits for a grace period, then
 *   frees the previous one (a plain write). Readers enter, load the pointer, read the table (plain
 *   reads) and leave. A read never races with a free, and never sees a freed table. (GP2)
 *
 * The mutant `own` waits for one counter only.
 */
// MUTANT: enter_relaxed HF_MUTANT=fetch_add_seq_cst HF_MUTANT_IN=hf_grace_enter
// MUTANT: leave_relaxed HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_grace_leave
// MUTANT: wait_looks_relaxed HF_MUTANT=load_seq_cst HF_MUTANT_IN=hf_grace_wait
// MUTANT: one_round HF_MUTANT=own
#include "run.h"

#include "../../src/nofault/grace.h"

static unsigned long old_table, new_table;

/* Thread 0 writes, the others read. */
template <int Writes>
class tables : public hf_model::scenario {
	hf_grace grace_;
	hf_atomic64_t table_;
	plain there_[Writes + 1];

	void one_round()
	{
		uint32_t old = hf_atomic32_load_relaxed(&grace_.parity);

		(void)hf_atomic32_xchg_seq_cst(&grace_.parity, 1 - old);
		while (hf_atomic32_load_seq_cst(&grace_.inside[old]))
			hf_arch_relax();
	}

	void write()
	{
		for (unsigned int n = 1; n <= Writes; n++) {
			set(there_[n], 1);
			hf_atomic64_store_seq_cst(&table_, n);
			if (hf_model::the_mutant == hf_model::mutant::own)
				one_round();
			else
				hf_grace_wait(&grace_);
			set(there_[n - 1], 0);
		}
	}

	void read()
	{
		uint32_t parity = hf_grace_enter(&grace_);
		uint64_t n = hf_atomic64_load_seq_cst(&table_);

		++(n == 0 ? old_table : new_table);
		check(get(there_[n]) == 1, "the table is there");
		hf_grace_leave(&grace_, parity);
	}

public:
	tables()
	{
		hf_atomic32_store_relaxed(&grace_.parity, 0);
		hf_atomic32_store_relaxed(&grace_.inside[0], 0);
		hf_atomic32_store_relaxed(&grace_.inside[1], 0);
		hf_atomic64_store_relaxed(&table_, 0);
		for (plain &p : there_)
			set(p, 0);
		set(there_[0], 1);
	}

	void thread(unsigned int index)
	{
		if (index == 0)
			write();
		else
			read();
	}
};

int main(int argc, char **argv)
{
	hf_model::run run("grace", argc, argv);

	run.search<tables<1>, 2>("a write and a read", 4);
	run.search<tables<2>, 2>("writes and a read", 4);
	run.search<tables<2>, 3>("writes and reads", 2);
	run.random<tables<3>, 3>("writes and reads", 100000);
	run.must_reach("a reader finds the old table", old_table);
	run.must_reach("a reader finds a new one", new_table);
	return run.end();
}
