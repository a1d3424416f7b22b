/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_COMMAND_HPP
#define HF_SIM_COMMAND_HPP
/* command - `hf-lab simulate` and `hf-lab classify`. */
#include <string>
#include <vector>

namespace sim
{

/* The words behind `simulate`. Return: exit status. Throws what main() prints. */
int simulate_command(const std::vector<std::string> &words);

/* The words behind `classify`. */
int classify_command(const std::vector<std::string> &words);

/* --validate: published against simulated. Return: 0, or 1 if a figure is outside its tolerance. */
int validate(const std::string &json, int jobs, bool sweeps);

} // namespace sim

#endif
