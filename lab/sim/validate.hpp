/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_VALIDATE_HPP
#define HF_SIM_VALIDATE_HPP
/*
 * validate - compares simulated figures with published ones.
 *
 * The role of a figure is one of
 *   calibration  a parameter was fitted to it; it must be within its tolerance
 *   held out     nothing was fitted to it; it must be within its tolerance
 *   known miss   the simulator is known to be wrong about it; its error must be within given
 *                bounds, so that a change of the model that repairs it or makes it worse is noticed
 */
#include <string>
#include <vector>

namespace sim
{

enum class Role { CALIBRATION, HELD_OUT, KNOWN_MISS };

struct Figure {
	std::string group, what, unit, source;
	Role role;
	double published, simulated;
	double low, high;           /* bounds of simulated / published */
	std::string why;            /* reason of a known miss */
	double least = 0, most = 0; /* range of @simulated over the values of parameters */

	double ratio() const { return simulated / published; }
	bool ok() const { return ratio() >= low && ratio() <= high; }
};

} // namespace sim

#endif
