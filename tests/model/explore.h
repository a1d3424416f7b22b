/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_EXPLORE_H
#define HF_MODEL_EXPLORE_H
/*
 * explore - Relacy's schedulers, compiled once for all models: they are most of what a model compiles.
 */
#include "rl.h"

namespace hf_model
{

struct steps {
	void (*before)(); /* makes the scenario */
	void (*thread)(unsigned int index);
	void (*after)();
};

/*
 * Tries the interleavings of 2 to 4 threads that params.search_type names (all up to a number of
 * preemptions, or some by chance). is_replay: only the one in params.initial_state, and writes it down.
 */
rl::test_result_e explore(int threads, const steps &what, rl::test_params &params,
			  std::ostream &state, bool is_replay);

} // namespace hf_model

#endif
