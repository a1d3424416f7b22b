/* SPDX-License-Identifier: MIT */
/* json - see json.hpp. */
#include "json.hpp"

#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace sim
{

using json = nlohmann::ordered_json;

static json to_json(const Range &r)
{
	return { r.low, r.middle, r.high };
}

static json to_json(const Machine &machine)
{
	json parameters = { { { "name", "class" },
			      { "value", machine.class_name },
			      { "kind", machine.class_kind },
			      { "source", machine.class_source },
			      { "fitted_to", machine.class_fitted_to } } };
	auto add = [&](const char *name, const char *meaning) {
		const Parameter &p = machine.parameters.at(name);

		parameters.push_back({ { "name", name },
				       { "value", p.value },
				       { "kind", p.kind },
				       { "source", p.source },
				       { "fitted_to", p.fitted_to },
				       { "meaning", meaning } });
	};

#define ADD(id, meaning) add(#id, meaning);
	SIM_NUMBERS(ADD)
#undef ADD
	return { { "name", machine.name },
		 { "title", machine.title },
		 { "arch", machine.arch },
		 { "parameters", parameters } };
}

static json to_json(const Row &r)
{
	return { { "table", r.table },
		 { "variant", r.variant },
		 { "default", r.is_default },
		 { "class", r.class_name },
		 { "threads", r.threads },
		 { "work_ns", r.work_ns },
		 { "between_ns", r.between_ns },
		 { "ns_per_op", to_json(r.ns_per_op) },
		 { "fairness", to_json(r.fairness) },
		 { "retries", to_json(r.retries) },
		 { "fallbacks", to_json(r.fallbacks) },
		 { "transfers", to_json(r.transfers) },
		 { "longest_wait_ns", to_json(r.longest_wait_ns) },
		 { "runs", r.runs },
		 { "cut", r.cut } };
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

static json to_json(const Figure &f)
{
	return { { "group", f.group },
		 { "what", f.what },
		 { "unit", f.unit },
		 { "role", role_name(f.role) },
		 { "published", f.published },
		 { "simulated", f.simulated },
		 { "low", f.low },
		 { "high", f.high },
		 { "source", f.source },
		 { "why", f.why },
		 { "ok", f.ok() } };
}

template <class T>
static void add_list(json *out, const char *name, const std::vector<T> &list)
{
	for (const T &one : list)
		(*out)[name].push_back(to_json(one));
}

std::string document(const std::vector<Machine> &machines, const std::vector<Row> &rows,
		     const std::vector<Figure> &figures)
{
	json out = { { "simulated", true } };

	add_list(&out, "machines", machines);
	add_list(&out, "rows", rows);
	add_list(&out, "figures", figures);
	return out.dump(2) + "\n";
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
