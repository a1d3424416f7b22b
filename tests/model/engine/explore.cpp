/* SPDX-License-Identifier: MIT */
#include "explore.h"

namespace
{

const hf_model::steps *the_steps;

template <int N>
struct suite : rl::test_suite<suite<N>, N> {
	void before() { the_steps->before(); }
	void thread(unsigned int index) { the_steps->thread(index); }
	void after() { the_steps->after(); }
};

template <int N>
rl::test_result_e explore_with(rl::test_params &params, std::ostream &state, bool is_replay)
{
	if (params.search_type == rl::sched_random)
		return rl::run_test<suite<N>, rl::random_scheduler<N>>(params, state, is_replay);
	return rl::run_test<suite<N>, rl::context_bound_scheduler<N>>(params, state, is_replay);
}

} // namespace

rl::test_result_e hf_model::explore(int threads, const steps &what, rl::test_params &params,
				    std::ostream &state, bool is_replay)
{
	the_steps = &what;
	switch (threads) {
	case 2:
		return explore_with<2>(params, state, is_replay);
	case 3:
		return explore_with<3>(params, state, is_replay);
	case 4:
		return explore_with<4>(params, state, is_replay);
	default:
		abort();
	}
}
