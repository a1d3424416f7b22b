/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_MACHINE_HPP
#define HF_SIM_MACHINE_HPP
/*
 * machine - what the simulator knows of a processor: numbers, each with its source.
 *
 * A machine file (machines/<name>.toml) has one line a parameter:
 *
 *   rmw_cycles = { value = 18, source = "...", kind = "published", fitted_to = "..." }
 *
 *   kind        measured    by `hf-lab classify` on such a machine
 *               published   by somebody else; the source says where
 *               fitted      chosen so that a published figure comes out; fitted_to names the figure
 *               guess       neither; the source says what speaks for it. `sweep = [...]` lists the
 *                           other values that are tried
 *
 * A file without one of the parameters, or a parameter without value, source or kind, is refused.
 */
#include <map>
#include <string>
#include <vector>

namespace sim
{

/* Which of the requests that wait for a line is served next. */
enum class Arbitration { FIFO, RANDOM, NEAREST };

/*
 * X(field, file's name, meaning). The order is that of the files and of the report.
 */
#define SIM_NUMBERS(X)                                                                             \
	X(sockets, "sockets")                                                                      \
	X(clusters, "clusters a socket")                                                           \
	X(cores, "cores a cluster")                                                                \
	X(smt, "hardware threads a core")                                                          \
	X(ghz, "clock, GHz")                                                                       \
	X(instruction_cycles, "other instructions around an access")                               \
	X(l1_cycles, "a load or store of a line that is here")                                     \
	X(rmw_cycles, "a compare-and-swap or an add, of a line that is here")                      \
	X(swap_cycles, "an exchange of a line that is here")                                       \
	X(release_cycles, "a store-release, beside a plain store")                                 \
	X(hint_cycles, "the spin hint")                                                            \
	X(transfer_smt_ns, "one message between two hardware threads of a core")                   \
	X(transfer_cluster_ns, "one message between two cores of a cluster")                       \
	X(transfer_socket_ns, "one message between two clusters")                                  \
	X(transfer_far_ns, "one message between two sockets")                                      \
	X(request_share, "part of a transfer that is the way of the request")                      \
	X(jitter, "a transfer takes that part more or less")                                       \
	X(home_ns, "the home is busy with one read of a shared line")                              \
	X(invalidate_ns, "each copy that must be invalidated")                                     \
	X(hold_cycles, "where a line is held: an access t cycles after the last one finds it "     \
		       "with probability e^(-t / this)")                                           \
	X(nearest_share, "nearest first: part of the choices that take the nearest")               \
	X(slip_ns, "one access in eight of a loop is late by this, in the mean")                   \
	X(far_add, "1 = adds and exchanges are done at the home")                                  \
	X(far_swap, "1 = a compare-and-swap too")                                                  \
	X(far_ns, "each of them, at the home")                                                     \
	X(llsc, "1 = read-modify-writes are a pair of load- and store-exclusive")                  \
	X(llsc_exclusive, "1 = the load-exclusive fetches the line to be written")                 \
	X(monitor_cycles, "from the event to the instruction after WFE")                           \
	X(tso, "1 = a read-modify-write waits for all stores before it")                           \
	X(slice_us, "time slice")                                                                  \
	X(switch_ns, "switching between two threads")                                              \
	X(syscall_ns, "one system call: park, unpark, yield")                                      \
	X(wake_ns, "from the wake-up to the first instruction, on an idle processor")

struct Parameter {
	double value;
	std::string source, kind, fitted_to;
	std::vector<double> sweep; /* the other values of a guess */
};

struct Machine {
	std::string name, title;
	std::string arch; /* whose constants: x86_64 or aarch64 */
	std::string arch_source;
	std::string class_name; /* one of classes(), or `unknown`: swept */
	std::string class_source, class_kind, class_fitted_to;
	bool calibrate = false; /* the transfers are what a benchmark printed: see calibrate() */

	/* As the file has them, but for --set. */
	std::map<std::string, Parameter> parameters;

	/* What the engine works with; transfers calibrated. */
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
 * The classes that a machine may be of, in the order of the tables: which request of a line's queue
 * is served next, and whether a line that has arrived is held for the next access.
 *
 *   fifo          the first one
 *   random        any
 *   nearest       the nearest to the line's owner
 *   sticky        the first one, after the line was held
 *   nearest-held  the nearest, after the line was held
 */
const std::vector<std::string> &classes();

/*
 * The classes that a machine is simulated as: its own; or, if that is not known, all that may be.
 * fifo is not among those of x86-64: it is 14 to 40 times off where x86-64 was measured
 * (docs/design/0021).
 */
std::vector<std::string> classes_of(const Machine &file);

/* Reads and checks a file; throws std::runtime_error that names the line and what is wrong. */
Machine load_machine(const std::string &path);

/* Looks for a name in the folder of machine files; a name with a slash or .toml is a path. */
std::string machine_path(const std::string &name);

/* All machine files that come with the lab, by name. */
std::vector<std::string> machine_names();

/* --set NAME=VALUE; throws if there is no such parameter. */
void set_parameter(Machine *machine, const std::string &name, double value);

/* The machine as one of a class; throws for an unknown class. */
Machine as_class(const Machine &machine, const std::string &class_name);

/*
 * Transfers so that the simulated message benchmark prints what the machine file has: two threads
 * that swap one word to and fro, half of a round trip.
 */
void calibrate(Machine *machine);

/* What that benchmark prints between the hardware threads @a and @b. */
double message_ns(const Machine &machine, int a, int b);

} // namespace sim

#endif
