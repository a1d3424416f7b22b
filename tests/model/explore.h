/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_EXPLORE_H
#define HF_MODEL_EXPLORE_H
/*
 * explore - Relacy's schedulers, compiled once for all models because they dominate a model's
 * compile time.
 */
#include "rl.h"

namespace hf_model
{

struct steps {
	void (*before)(); /* creates the scenario */
	void (*thread)(unsigned int index);
	void (*after)();
};

/*
 * Explores interleavings of 2 to 4 threads, as params.search_type selects: all of them up to a
 * number of preemptions, or a random sample. is_replay: runs only params.initial_state, and prints
 * its history.
 */
rl::test_result_e explore(int threads, const steps &what, rl::test_params &params,
			  std::ostream &state, bool is_replay);

} // namespace hf_model

#endif
