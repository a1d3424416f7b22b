/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_COMMAND_HPP
#define HF_SIM_COMMAND_HPP
/* command - `hf-lab simulate` and `hf-lab classify`. */
#include <string>
#include <vector>

namespace sim
{

/*
 * @words: the arguments after `simulate` or `classify`. Returns the exit status; throws an
 * exception whose message main() prints.
 */
int simulate_command(const std::vector<std::string> &words);
int classify_command(const std::vector<std::string> &words);

/* --validate: simulated figures against published ones; returns 1 if one is out of tolerance. */
int validate(int jobs, bool sweeps);

} // namespace sim

#endif
