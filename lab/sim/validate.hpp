/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_VALIDATE_HPP
#define HF_SIM_VALIDATE_HPP
/*
 * validate - published figures, and what the simulator makes of them.
 *
 * A figure is one of
 *   calibration  a parameter was fitted to it; shown, hollow, and held to its tolerance
 *   held out     nothing was fitted to it; held to its tolerance
 *   known miss   the simulator is known to be wrong about it, by about so much: held to that, so
 *                that a change of the model that repairs it, or makes it worse, is noticed
 *   shown        without a tolerance
 */
#include <string>
#include <vector>

namespace sim
{

enum class Role { CALIBRATION, HELD_OUT, KNOWN_MISS, SHOWN };

struct Figure {
	std::string group, what, unit, source;
	Role role;
	double published, simulated;
	double low, high;           /* what simulated / published may be */
	std::string why;            /* of a known miss */
	double least = 0, most = 0; /* over the other values of parameters */

	double ratio() const { return simulated / published; }
	bool ok() const { return role == Role::SHOWN || (ratio() >= low && ratio() <= high); }
};

/* All figures, with seed 1. @sweeps: those with a tolerance also with each parameter's other values. */
std::vector<Figure> figures(int jobs, bool sweeps);

} // namespace sim

#endif
