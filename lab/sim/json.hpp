/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_JSON_HPP
#define HF_SIM_JSON_HPP
/* json - what the simulator writes for lab/report/simulation.py. */
#include <string>
#include <vector>

#include "tables.hpp"
#include "validate.hpp"

namespace sim
{

/* Machine files' parameters, or rows, or figures: each a JSON array. */
std::string to_json(const std::vector<Machine> &machines);
std::string to_json(const std::vector<Row> &rows);
std::string to_json(const std::vector<Figure> &figures);

/* { "simulated": true, ... } of what is not empty. */
std::string document(const std::string &machines, const std::string &rows,
		     const std::string &figures);

/* Throws if it can't be written. */
void write_file(const std::string &path, const std::string &text);

} // namespace sim

#endif
