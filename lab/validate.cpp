/* SPDX-License-Identifier: MIT */
/*
 * The table `validate`: what -DHF_VALIDATE=1 costs. An operation is a lock and an unlock of a mutex
 * by one thread, which holds so many others meanwhile: each is a pair in the graph of lock orders.
 */
#include "bench.hpp"

#include "holdfast/mutex.h"

extern "C" {
uint64_t lab_validate_off(void *state, int thread, const int *stop);
uint64_t lab_validate_on(void *state, int thread, const int *stop);
}

namespace lab
{

std::vector<Cell> validate_cells(const Settings &)
{
	static hf_mutex_t locks[5]; /* zeroed: unlocked, and each a class of its own */
	std::vector<Cell> cells;

	for (int held : { 0, 1, 4 }) {
		for (bool on : { false, true }) {
			auto run = [held, on](int ms) {
				hf_mutex_t *used[6] = {};
				std::vector<void *> state{ used };

				for (int i = 0; i <= held; i++)
					used[i] = &locks[i];
				Window window = run_window(
					1, ms, on ? lab_validate_on : lab_validate_off, state);

				return std::vector<Sample>{ sample_of(window, true) };
			};
			Row row("validate", on ? "HF_VALIDATE" : "off", "ours",
				std::to_string(held) + " others held");

			cells.push_back({ { row }, run, 3, 31 });
		}
	}
	return cells;
}

} // namespace lab
