/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_JSON_HPP
#define HF_SIM_JSON_HPP
/* json - writes the simulator's results for lab/report/report.py. */
#include <string>
#include <vector>

#include "tables.hpp"
#include "validate.hpp"

namespace sim
{

/* { "simulated": true, ... } with an array for each list that is not empty. */
std::string document(const std::vector<Machine> &machines, const std::vector<Row> &rows,
		     const std::vector<Figure> &figures);

/* Throws if it can't be written. */
void write_file(const std::string &path, const std::string &text);

} // namespace sim

#endif
