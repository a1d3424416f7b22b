/* SPDX-License-Identifier: MIT */
/* machine - machine files, classes, and the calibration of transfers. */
#include "machine.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "engine.hpp"
#include "sim.h"

namespace sim
{

const std::vector<std::string> &classes()
{
	static const std::vector<std::string> list = { "fifo", "random", "nearest", "sticky",
						       "nearest-held" };

	return list;
}

std::vector<std::string> classes_of(const Machine &file)
{
	std::vector<std::string> list = classes();

	if (file.class_name != "unknown")
		return { file.class_name };
	if (file.arch == "x86_64")
		list.erase(list.begin());
	return list;
}

static const std::vector<std::string> &kinds()
{
	static const std::vector<std::string> list = { "measured", "published", "fitted", "guess" };

	return list;
}

template <class List>
static bool has(const List &list, const std::string &word)
{
	return std::find(list.begin(), list.end(), word) != list.end();
}

namespace
{

/* Reads a machine file; errors name the file and the line or parameter. */
class File {
public:
	explicit File(const std::string &path) : path_(path) {}
	Machine read();
	/* Reads the parameters that the machine does not have yet. */
	void read_defaults(Machine *machine) const
	{
		for (auto &&[key, node] : parse()) {
			std::string name(key.str());

			if (!machine->parameters.count(name))
				read_parameter(machine, name, *node.as_table());
		}
	}

private:
	std::string path_;

	[[noreturn]] void fail(const std::string &where, const std::string &what) const
	{
		throw std::runtime_error(path_ + ": " + where + ": " + what);
	}
	toml::table parse() const
	{
		try {
			return toml::parse_file(path_);
		} catch (const toml::parse_error &error) {
			fail("line " + std::to_string(error.source().begin.line),
			     std::string(error.description()));
		}
	}
	std::string text(const std::string &name, const toml::table &table, const char *key,
			 bool required) const
	{
		std::optional<std::string> value = table[key].value<std::string>();

		if (required && (!value || value->empty()))
			fail(name, std::string("needs a ") + key);
		return value.value_or("");
	}
	/* The kind, which must go with a source. */
	std::string kind(const std::string &name, const toml::table &table) const
	{
		(void)text(name, table, "source", true);
		std::string word = text(name, table, "kind", true);

		if (!has(kinds(), word))
			fail(name,
			     "kind is measured, published, fitted or guess, not '" + word + "'");
		if ((word == "fitted") == text(name, table, "fitted_to", false).empty())
			fail(name, "fitted_to goes with kind = \"fitted\"");
		return word;
	}
	void read_parameter(Machine *machine, const std::string &name,
			    const toml::table &table) const
	{
		Parameter p;
		std::optional<double> value = table["value"].value<double>();

		if (!value)
			fail(name, "needs a value, which is a number");
		p.value = *value;
		p.kind = kind(name, table);
		if (const toml::array *sweep = table["sweep"].as_array()) {
			for (const toml::node &node : *sweep) {
				if (!node.value<double>())
					fail(name, "sweep is a list of numbers");
				p.sweep.push_back(*node.value<double>());
			}
		}
		machine->parameters[name] = p;
	}
};

Machine File::read()
{
	Machine m;

	for (auto &&[key, node] : parse()) {
		std::string name(key.str());

		if (name == "title") {
			m.title = node.value<std::string>().value_or("");
			continue;
		}
		const toml::table *table = node.as_table();

		if (!table)
			fail(name, "is not of the form { value, source, kind }");
		if (name == "arch") {
			m.arch = text(name, *table, "value", true);
			(void)kind(name, *table);
			if (m.arch != "x86_64" && m.arch != "aarch64")
				fail(name, "must be x86_64 or aarch64");
		} else if (name == "class") {
			m.class_name = text(name, *table, "value", true);
			if (m.class_name != "unknown" && !has(classes(), m.class_name))
				fail(name, "must be fifo, random, nearest, sticky, nearest-held or "
					   "unknown");
			if ((m.class_name == "unknown") != (kind(name, *table) == "guess"))
				fail(name, "kind = \"guess\" goes with an unknown class only");
		} else {
			read_parameter(&m, name, *table);
		}
	}
	if (m.title.empty())
		fail("title", "missing");
	if (m.arch.empty())
		fail("arch", "missing");
	if (m.class_name.empty())
		fail("class", "missing");
	for (const std::string &common : { m.arch, std::string("all") })
		File(HF_SIM_MACHINES "/common/" + common + ".toml").read_defaults(&m);
	std::map<std::string, Parameter> known;

#define TAKE(field, meaning)                                                                       \
	{                                                                                          \
		auto found = m.parameters.find(#field);                                            \
                                                                                                   \
		if (found == m.parameters.end())                                                   \
			fail(#field, "missing");                                                   \
		m.field = found->second.value;                                                     \
		known.insert(*found);                                                              \
	}
	SIM_NUMBERS(TAKE)
#undef TAKE
	for (const auto &[name, parameter] : m.parameters) {
		if (!known.count(name))
			fail(name, "no such parameter");
	}
	if (m.processors() < 1 || m.caches() > 512)
		fail("cores", "1 to 512 of them are simulated");
	if (m.ghz <= 0 || m.hint_cycles <= 0)
		fail("ghz, hint_cycles", "must be above 0");
	if (m.class_name != "unknown")
		m = as_class(m, m.class_name);
	return m;
}

} // namespace

Machine load_machine(const std::string &path)
{
	return File(path).read();
}

std::string machine_path(const std::string &name)
{
	if (name.find('/') != std::string::npos ||
	    std::filesystem::path(name).extension() == ".toml")
		return name;
	return HF_SIM_MACHINES "/" + name + ".toml";
}

std::vector<std::string> machine_names()
{
	std::vector<std::string> names;

	for (const auto &entry : std::filesystem::directory_iterator(HF_SIM_MACHINES)) {
		if (entry.path().extension() == ".toml")
			names.push_back(entry.path().stem());
	}
	std::sort(names.begin(), names.end());
	return names;
}

void set_parameter(Machine *machine, const std::string &name, double value)
{
#define SET(field, meaning)                                                                        \
	if (name == #field) {                                                                      \
		machine->field = machine->parameters[name].value = value;                          \
		return;                                                                            \
	}
	SIM_NUMBERS(SET)
#undef SET
	throw std::runtime_error("no parameter '" + name + "'; machine files list all parameters");
}

Machine as_class(const Machine &machine, const std::string &class_name)
{
	Machine m = machine;

	if (!has(classes(), class_name))
		throw std::runtime_error(
			"no class '" + class_name +
			"'; there are: fifo, random, nearest, sticky, nearest-held");
	m.class_name = class_name;
	m.arbitration = class_name == "random"            ? Arbitration::RANDOM
			: class_name.find("nearest") == 0 ? Arbitration::NEAREST
							  : Arbitration::FIFO;
	if (class_name != "sticky" && class_name != "nearest-held")
		m.hold_cycles = 0;
	return m;
}

/* The result of the message benchmark between the hardware threads @a and @b. */
static double message_ns(const Machine &machine, int a, int b)
{
	const struct hf_sim_arch &arch = machine.arch == "x86_64" ? hf_sim_arch_x86_64
								  : hf_sim_arch_aarch64;
	const struct hf_sim_variant &variant = arch.variants[arch.count - 1]; /* message */
	Run one;

	void *object = new_object();

	variant.init(object);
	one.machine = &machine;
	one.threads = 2;
	one.processors = { a, b };
	one.warm_up_ns = 1000;
	one.window_ns = 60000;
	one.body = [&](int) { variant.body(object, 0, 0); };
	return run(one).ns_per_op();
}

void calibrate(Machine *machine)
{
	int cores = static_cast<int>(machine->cores), caches = machine->caches();
	struct {
		const char *name;
		double *value;
		int partner; /* of processor 0 */
		bool exists;
	} list[] = {
		{ "transfer_cluster_ns", &machine->transfer_cluster_ns, 1, cores > 1 },
		{ "transfer_socket_ns", &machine->transfer_socket_ns, cores,
		  machine->clusters > 1 },
		{ "transfer_far_ns", &machine->transfer_far_ns,
		  cores * static_cast<int>(machine->clusters), machine->sockets > 1 },
		{ "transfer_smt_ns", &machine->transfer_smt_ns, caches, machine->smt > 1 },
	};

	for (auto &one : list) {
		const std::string &kind = machine->parameters[one.name].kind;
		double target = *one.value;

		if (!one.exists || (kind != "published" && kind != "measured"))
			continue;
		for (int round = 0; round < 8; round++) {
			double printed = message_ns(*machine, 0, one.partner);

			/* Assumes that the benchmark's result grows by as much as the parameter. */
			*one.value = std::max(0.1, *one.value + (target - printed));
			if (std::fabs(printed / target - 1) < 0.01)
				break;
		}
	}
}

} // namespace sim
