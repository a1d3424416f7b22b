/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_MACHINE_HPP
#define HF_SIM_MACHINE_HPP
/*
 * machine - the simulator's parameters of a processor, each with its source.
 *
 * A machine file (machines/<name>.toml) has one line for each parameter:
 *
 *   rmw_cycles = { value = 18, source = "...", kind = "published", fitted_to = "..." }
 *
 *   kind        measured    by `hf-lab classify` on such a machine
 *               published   elsewhere; the source names the publication
 *               fitted      so that the simulation gives a published figure; fitted_to names it
 *               guess       none of these; the source gives a reason. `sweep = [...]` lists other
 *                           values to be tried
 *
 * A file without one of the parameters, or a parameter without value, source or kind, is rejected.
 */
#include <map>
#include <string>
#include <vector>

namespace sim
{

/* Which of the requests that wait for a line is served next. */
enum class Arbitration { FIFO, RANDOM, NEAREST };

/* X(parameter, meaning), in the order of the files. */
#define SIM_NUMBERS(X)                                                                             \
	X(sockets, "sockets")                                                                      \
	X(clusters, "clusters a socket")                                                           \
	X(cores, "cores a cluster")                                                                \
	X(smt, "hardware threads a core")                                                          \
	X(ghz, "clock, GHz")                                                                       \
	X(instruction_cycles, "other instructions around an access")                               \
	X(l1_cycles, "a load or store that hits the first-level cache")                            \
	X(rmw_cycles, "a compare-and-swap or an add that hits")                                    \
	X(swap_cycles, "an exchange that hits")                                                    \
	X(release_cycles, "a store-release takes this much more than a plain store")               \
	X(hint_cycles, "the spin hint")                                                            \
	X(transfer_smt_ns, "one message between two hardware threads of a core")                   \
	X(transfer_cluster_ns, "one message between two cores of a cluster")                       \
	X(transfer_socket_ns, "one message between two clusters")                                  \
	X(transfer_far_ns, "one message between two sockets")                                      \
	X(request_share, "share of a transfer in which the request reaches the home")              \
	X(jitter, "relative random deviation of a transfer, up or down")                           \
	X(home_ns, "the home is busy with one read of a shared line")                              \
	X(invalidate_ns, "each copy that must be invalidated")                                     \
	X(hold_cycles, "if the class holds lines: an access t cycles after the last one finds "    \
		       "the line with probability e^(-t / this)")                                  \
	X(nearest_share, "nearest first: share of the choices that take the nearest")              \
	X(slip_ns, "mean delay of one read-modify-write in eight")                                 \
	X(far_add, "1 = adds and exchanges are done at the home")                                  \
	X(far_ns, "one of them at the home")                                                       \
	X(llsc, "1 = a read-modify-write is a load-exclusive and a store-exclusive")               \
	X(monitor_cycles, "from the event to the instruction after WFE")                           \
	X(tso, "1 = a read-modify-write waits for all stores before it")

struct Parameter {
	double value;
	std::string kind;
	std::vector<double> sweep; /* the other values of a guess */
};

struct Machine {
	std::string title;
	std::string arch;       /* x86_64 or aarch64: selects the constants of the headers */
	std::string class_name; /* one of classes(), or `unknown`: all are tried */

	/* The file's values, changed by --set. */
	std::map<std::string, Parameter> parameters;

	/* The values that the engine uses, with calibrated transfers. */
#define SIM_FIELD(field, meaning) double field = 0;
	SIM_NUMBERS(SIM_FIELD)
#undef SIM_FIELD
	Arbitration arbitration = Arbitration::FIFO;

	int caches() const
	{
		return static_cast<int>(sockets * clusters * cores);
	}
	int processors() const
	{
		return static_cast<int>(caches() * smt);
	}
};

/*
 * The classes of machines, in the order of the tables. A class says which request of a line's queue
 * is served next, and whether a line that has arrived is held for some accesses.
 *
 *   fifo          the first one
 *   random        a random one
 *   nearest       the one nearest to the line's owner
 *   sticky        the first one, after the line was held
 *   nearest-held  the nearest one, after the line was held
 */
const std::vector<std::string> &classes();

/*
 * The classes that a machine is simulated as: its own, or if that is unknown, each that its
 * architecture may have. On x86-64 that excludes fifo, which is 14 to 40 times off where x86-64 was
 * measured (docs/design/0021).
 */
std::vector<std::string> classes_of(const Machine &file);

/* Reads and checks a file; throws a std::runtime_error that names the line or parameter. */
Machine load_machine(const std::string &path);

/* The path of a machine file; a name with a slash or .toml is a path already. */
std::string machine_path(const std::string &name);

/* The names of all machine files of the lab, sorted. */
std::vector<std::string> machine_names();

/* --set NAME=VALUE; throws if there is no such parameter. */
void set_parameter(Machine *machine, const std::string &name, double value);

/* The machine with this class; throws for an unknown class. */
Machine as_class(const Machine &machine, const std::string &class_name);

/*
 * Adjusts the transfers until the simulated message benchmark gives the machine file's values. In
 * it two threads pass a word back and forth by compare-and-swap; it prints half of a round trip.
 */
void calibrate(Machine *machine);

} // namespace sim

#endif
