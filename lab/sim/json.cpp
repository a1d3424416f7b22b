/* SPDX-License-Identifier: MIT */
/* json - see json.hpp. */
#include "json.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace sim
{

static std::string quoted(const std::string &text)
{
	std::string out = "\"";

	for (char c : text) {
		if (c == '"' || c == '\\')
			out += '\\';
		if (static_cast<unsigned char>(c) >= ' ')
			out += c;
		else
			out += ' ';
	}
	return out + '"';
}

static std::string number(double value)
{
	char text[40];

	if (!std::isfinite(value))
		return "null";
	snprintf(text, sizeof(text), "%.6g", value);
	return text;
}

static std::string field(const char *name, const std::string &value)
{
	return quoted(name) + ": " + value;
}

static std::string range(const char *name, const Range &r)
{
	return field(name,
		     "[" + number(r.low) + ", " + number(r.middle) + ", " + number(r.high) + "]");
}

template <class List>
static std::string array(const List &list)
{
	std::string out = "[";

	for (const std::string &one : list)
		out += (out.size() > 1 ? ",\n    " : "\n    ") + one;
	return out + "\n  ]";
}

static std::string to_json(const Machine &machine)
{
	std::vector<std::string> parameters;

	parameters.push_back("{ " + field("name", quoted("class")) + ", " +
			     field("value", quoted(machine.class_name)) + ", " +
			     field("kind", quoted(machine.class_kind)) + ", " +
			     field("source", quoted(machine.class_source)) + ", " +
			     field("fitted_to", quoted(machine.class_fitted_to)) + " }");
#define ROW(id, meaning)                                                                           \
	{                                                                                          \
		const Parameter &p = machine.parameters.at(#id);                                   \
                                                                                                   \
		parameters.push_back("{ " + field("name", quoted(#id)) + ", " +                    \
				     field("value", number(p.value)) + ", " +                      \
				     field("kind", quoted(p.kind)) + ", " +                        \
				     field("source", quoted(p.source)) + ", " +                    \
				     field("fitted_to", quoted(p.fitted_to)) + ", " +              \
				     field("meaning", quoted(meaning)) + " }");                    \
	}
	SIM_NUMBERS(ROW)
#undef ROW
	return "{ " + field("name", quoted(machine.name)) + ", " +
	       field("title", quoted(machine.title)) + ", " + field("arch", quoted(machine.arch)) +
	       ",\n  " + field("parameters", array(parameters)) + " }";
}

std::string to_json(const std::vector<Row> &rows)
{
	std::vector<std::string> list;

	for (const Row &r : rows) {
		list.push_back(
			"{ " + field("table", quoted(r.table)) + ", " +
			field("variant", quoted(r.variant)) + ", " +
			field("default", r.is_default ? "true" : "false") + ", " +
			field("class", quoted(r.class_name)) + ", " +
			field("threads", number(r.threads)) + ", " +
			field("work_ns", number(r.work_ns)) + ", " +
			field("between_ns", number(r.between_ns)) + ", " +
			range("ns_per_op", r.ns_per_op) + ", " + range("fairness", r.fairness) +
			", " + range("retries", r.retries) + ", " +
			range("fallbacks", r.fallbacks) + ", " + range("transfers", r.transfers) +
			", " + range("longest_wait_ns", r.longest_wait_ns) + ", " +
			field("runs", number(r.runs)) + ", " + field("cut", number(r.cut)) + " }");
	}
	return array(list);
}

static const char *role_name(Role role)
{
	switch (role) {
	case Role::CALIBRATION:
		return "calibration";
	case Role::HELD_OUT:
		return "held out";
	case Role::KNOWN_MISS:
		return "known miss";
	case Role::SHOWN:
		break;
	}
	return "shown";
}

std::string to_json(const std::vector<Figure> &figures)
{
	std::vector<std::string> list;

	for (const Figure &f : figures) {
		list.push_back(
			"{ " + field("group", quoted(f.group)) + ", " +
			field("what", quoted(f.what)) + ", " + field("unit", quoted(f.unit)) +
			", " + field("role", quoted(role_name(f.role))) + ", " +
			field("published", number(f.published)) + ", " +
			field("simulated", number(f.simulated)) + ", " +
			field("low", number(f.low)) + ", " + field("high", number(f.high)) + ", " +
			field("source", quoted(f.source)) + ", " + field("why", quoted(f.why)) +
			", " + field("ok", f.ok() ? "true" : "false") + " }");
	}
	return array(list);
}

std::string to_json(const std::vector<Machine> &machines)
{
	std::vector<std::string> list;

	for (const Machine &machine : machines)
		list.push_back(to_json(machine));
	return array(list);
}

std::string document(const std::string &machines, const std::string &rows,
		     const std::string &figures)
{
	std::string out = "{\n  \"simulated\": true";

	if (!machines.empty())
		out += ",\n  \"machines\": " + machines;
	if (!rows.empty())
		out += ",\n  \"rows\": " + rows;
	if (!figures.empty())
		out += ",\n  \"figures\": " + figures;
	return out + "\n}\n";
}

void write_file(const std::string &path, const std::string &text)
{
	std::ofstream out(path);

	out << text;
	out.close();
	if (!out)
		throw std::runtime_error("can't write " + path);
}

} // namespace sim
