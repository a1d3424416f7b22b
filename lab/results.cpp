/* SPDX-License-Identifier: MIT */
/* results - the rows, aims and limits of a measurement, as JSON and as text. */
#include "bench.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <set>

namespace lab
{

static const char NOT_MEASURED[] = "a row is missing, has no time, or failed its check";

/* ---- aims ------------------------------------------------------------------------------------ */

static Aim aim_of(const char *bound, double aim, const std::string &group, const std::string &what,
		  double value, const std::string &detail)
{
	/* Rounded as in the file, so that a reader of the file reaches the same verdict. */
	if (std::isfinite(value))
		value = std::stod(number(value));
	return { group, what, value, bound, aim, detail };
}

Aim at_least(double aim, const std::string &group, const std::string &what, double value,
	     const std::string &detail)
{
	return aim_of("at least", aim, group, what, value, detail);
}

Aim at_most(double aim, const std::string &group, const std::string &what, double value,
	    const std::string &detail)
{
	return aim_of("at most", aim, group, what, value, detail);
}

Aim figure(const std::string &group, const std::string &what, double value,
	   const std::string &detail)
{
	return aim_of("", NAN, group, what, value, detail);
}

const Row *find(const std::vector<Row> &rows, const std::string &variant,
		const std::string &case_name, int threads)
{
	for (const Row &row : rows) {
		if (row.variant == variant && row.case_name == case_name && row.threads == threads)
			return &row;
	}
	return nullptr;
}

const Row *again_of(const std::vector<Row> &rows, const Row &row)
{
	for (const Row &other : rows) {
		auto base = other.labels.find("base_variant");

		if (other.kind == "again" && base != other.labels.end() &&
		    base->second == row.variant && other.case_name == row.case_name &&
		    other.threads == row.threads)
			return &other;
	}
	return nullptr;
}

bool valid(const Row *row)
{
	return row && row->checked() && row->ns_per_op() > 0;
}

double times(const Row *row, const Row *other)
{
	return valid(row) && valid(other) ? row->ratio_to(*other) : NAN;
}

std::string threads_name(int threads)
{
	return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

std::string names_name(int names)
{
	return (names % 1000000 == 0 ? std::to_string(names / 1000000) + " M"
		: names % 1000 == 0  ? std::to_string(names / 1000) + " k"
				     : std::to_string(names)) +
	       " names";
}

std::vector<int> threads_of(const std::vector<Row> &rows)
{
	std::set<int> found;

	for (const Row &row : rows)
		found.insert(row.threads);
	return { found.begin(), found.end() };
}

void Mean::add(double value)
{
	log_sum += std::log(value);
	n++;
}

double Mean::mean() const
{
	return n ? std::exp(log_sum / n) : NAN;
}

/* The largest gap and its row; empty if no row was measured twice. */
static std::vector<Aim> gaps_of(const std::vector<Row> &rows)
{
	std::vector<double> gaps;
	const Row *worst = nullptr;
	int again = 0;

	for (const Row &row : rows) {
		again += row.kind == "again";
		if (!std::isfinite(row.gap))
			continue;
		gaps.push_back(row.gap);
		if (!worst || row.gap > worst->gap)
			worst = &row;
	}
	if (!again)
		return {};
	if (!worst)
		return { figure("", "gap of two measurements of the same", NAN) };
	std::sort(gaps.begin(), gaps.end());
	return { figure("", "gap of two measurements of the same, at most", worst->gap,
			worst->variant + ", " + worst->case_name + ", " +
				threads_name(worst->threads) + "; half of " +
				std::to_string(gaps.size()) + " are at most " +
				number(std::round(gaps[(gaps.size() - 1) / 2] * 1000) / 1000)) };
}

std::vector<Aim> aims_of(const Table &table, const std::vector<Row> &rows)
{
	std::vector<Aim> aims = gaps_of(rows);
	std::vector<Row> once;

	std::copy_if(rows.begin(), rows.end(), std::back_inserter(once),
		     [](const Row &row) { return row.kind != "again"; });
	if (table.aims) {
		for (Aim &aim : table.aims(once))
			aims.push_back(std::move(aim));
	}
	for (Aim &aim : aims)
		aim.table = table.name;
	return aims;
}

/* ---- output --------------------------------------------------------------------------------- */

static const Row *baseline_of(const std::vector<Row> &rows, const Row &row)
{
	for (const Row &other : rows) {
		if (other.table == row.table && other.variant == row.baseline &&
		    other.case_name == row.case_name && other.threads == row.threads)
			return &other;
	}
	return nullptr;
}

std::string quoted(const std::string &text)
{
	std::string out = "\"";

	for (char c : text) {
		if (c == '"' || c == '\\')
			out += '\\';
		if (static_cast<unsigned char>(c) < 0x20) {
			char code[8];

			snprintf(code, sizeof(code), "\\u%04x", static_cast<unsigned int>(c));
			out += code;
		} else {
			out += c;
		}
	}
	return out + "\"";
}

std::string number(double value)
{
	char text[32];

	if (!std::isfinite(value))
		return "null";
	/* Whole numbers, such as sizes, keep all digits. */
	snprintf(text, sizeof(text),
		 value == std::floor(value) && std::fabs(value) < 1e15 ? "%.0f" : "%.6g", value);
	return text;
}

static std::string name_of(const Row &row)
{
	return row.table + ", " + row.variant + ", " + row.case_name + ", " +
	       threads_name(row.threads);
}

static std::vector<std::string> limits(const std::vector<Row> &rows)
{
	std::vector<std::string> list;
	list.push_back("Only " + std::to_string(cpus()) +
		       (cpus() == 1 ? " processor" : " processors") +
		       ": nothing here shows how a variant behaves with more.");
	if (is_virtual_machine())
		list.push_back(
			"A virtual machine: other guests and the host's scheduler disturb it.");
	list.push_back("Only time was measured, without hardware performance counters.");
	if (ns_per_tick() == 0)
		list.push_back("No cheap timestamp on this processor: no lock and unlock columns.");
	int repeated = 0, set_aside = 0;
	std::map<std::string, int> starved;

	for (const Row &row : rows) {
		repeated += row.repeated;
		set_aside += row.set_aside;
		if (!row.checked())
			list.push_back("Failed its check: " + name_of(row));
		if (row.starved())
			starved[row.table]++;
	}
	for (const auto &table : starved)
		list.push_back("No operation in a window, even when repeated: " +
			       std::to_string(table.second) + " rows of " + table.first + ".");
	if (repeated > 0) {
		list.push_back("Other programs used the processors: " + std::to_string(repeated) +
			       " runs were disturbed and repeated.");
	}
	if (set_aside > 0) {
		list.push_back(
			"The transfer time of a cache line between two processors changed "
			"while this was measured (as when a host moves virtual processors): " +
			std::to_string(set_aside) +
			" results with an unusual transfer time are not in the medians.");
	}
	return list;
}

static std::string aim_json(const Aim &aim)
{
	bool measured = std::isfinite(aim.value);

	return "{\"table\": " + quoted(aim.table) + ", \"group\": " + quoted(aim.group) +
	       ", \"what\": " + quoted(aim.what) + ", \"value\": " + number(aim.value) +
	       ", \"unit\": " + quoted(aim.unit) + ", \"bound\": " + quoted(aim.bound) +
	       ", \"aim\": " + number(aim.aim) + ", \"met\": " +
	       (aim.bound.empty() || !measured ? "null"
		: aim.met()                    ? "true"
					       : "false") +
	       ", \"detail\": " + quoted(aim.detail) +
	       ", \"why\": " + quoted(measured ? "" : NOT_MEASURED) + "}";
}

Run this_run(const std::vector<Row> &rows, const Settings &settings, const std::vector<Plan> &plans,
	     double others_before)
{
	Run run = { HF_LAB_VERSION,  machine_json(), limits(rows),
		    missing_peers(), settings,       ns_per_tick() };

	for (const Plan &plan : plans) {
		if (!plan.cut().empty())
			run.limits.push_back(plan.cut());
	}
	run.quality = quality_of(plans, rows);
	run.quality.others_before = others_before;
	run.quality.anyway = settings.anyway;
	return run;
}

std::string to_json(const std::vector<Row> &rows, const std::vector<Aim> &aims, const Run &run)
{
	std::string out = "{\n\"schema\": " + std::to_string(SCHEMA) +
			  ",\n\"holdfast\": " + quoted(run.version) +
			  ",\n\"machine\": " + run.machine + ",\n\"limits\": [";
	const char *comma = "";

	for (const std::string &limit : run.limits) {
		out += comma + quoted(limit);
		comma = ", ";
	}
	out += "],\n\"missing_peers\": [";
	comma = "";
	for (const Missing &missing : run.missing) {
		out += comma + ("{\"peer\": " + quoted(missing.peer)) +
		       ", \"package\": " + quoted(missing.package) + "}";
		comma = ", ";
	}
	out += "],\n\"settings\": {\"window_ms\": " + std::to_string(run.settings.window_ms) +
	       ", \"rounds\": " + std::to_string(run.settings.rounds) +
	       ", \"seed\": " + std::to_string(run.settings.seed) +
	       ", \"ns_per_tick\": " + number(run.ns_per_tick) + "},\n";
	const Quality &quality = run.quality;

	if (quality.rows)
		out += "\"quality\": {\"rows\": " + std::to_string(quality.rows) +
		       ", \"missing\": " + std::to_string(quality.missing) +
		       ", \"disturbed\": " + std::to_string(quality.disturbed) +
		       ", \"others_before\": " + number(quality.others_before) +
		       ", \"words\": " + quoted(quality.bad() ? quality.words() : "") + "},\n";
	out += "\"aims\": [\n";
	comma = "";
	for (const Aim &aim : aims) {
		out += comma + aim_json(aim);
		comma = ",\n";
	}
	out += "\n],\n\"rows\": [\n";
	comma = "";
	for (const Row &row : rows) {
		const Row *base = baseline_of(rows, row);

		out += comma;
		comma = ",\n";
		out += "{\"table\": " + quoted(row.table) +
		       ", \"variant\": " + quoted(row.variant) + ", \"kind\": " + quoted(row.kind) +
		       ", \"case\": " + quoted(row.case_name) +
		       ", \"threads\": " + std::to_string(row.threads) +
		       ", \"ns_per_op\": " + number(row.ns_per_op()) +
		       ", \"spread\": " + number(row.spread()) +
		       ", \"baseline\": " + quoted(row.baseline) +
		       ", \"ratio\": " + number(base ? row.ratio_to(*base) : NAN) +
		       ", \"fairness\": " + number(row.fairness()) +
		       ", \"checked\": " + (row.checked() ? "true" : "false") +
		       ", \"starved\": " + (row.starved() ? "true" : "false") +
		       ", \"rounds\": " + std::to_string(row.samples.size());
		for (const auto &label : row.labels)
			out += ", " + quoted(label.first) + ": " + quoted(label.second);
		double transfer = row.median_of([](const Sample &s) { return s.transfer_ns; });

		if (row.robbed())
			out += ", \"disturbed\": true";
		std::string levels;

		for (const Level &level : row.levels())
			levels += (levels.empty() ? "" : ", ") +
				  ("{\"ns_per_op\": " + number(level.ns_per_op)) +
				  ", \"share\": " + number(level.share) + "}";
		if (!levels.empty())
			out += ", \"levels\": [" + levels + "]";
		if (std::isfinite(row.gap))
			out += ", \"gap\": " + number(row.gap);
		if (transfer > 0)
			out += ", \"transfer_ns\": " + number(transfer);
		std::set<std::string> keys; /* a short run may lack some */

		for (const Sample &sample : row.samples) {
			for (const auto &more : sample.more)
				keys.insert(more.first);
		}
		for (const std::string &key : keys)
			out += ", " + quoted(key) + ": " + number(row.more(key));
		out += "}";
	}
	return out + "\n]\n}\n";
}

std::string text_of(const char *format, double value)
{
	char text[32] = "-";

	if (std::isfinite(value))
		snprintf(text, sizeof(text), format, value);
	return text;
}

/* Pads to a width in columns, of which UTF-8 continuation bytes take none. */
static std::string padded(std::string text, size_t width)
{
	size_t columns = static_cast<size_t>(std::count_if(
		text.begin(), text.end(), [](unsigned char c) { return (c & 0xc0) != 0x80; }));

	return columns < width ? text.append(width - columns, ' ') : text;
}

void print_plain(const std::vector<Row> &rows)
{
	printf("%-9s %-28s %-28s %7s %11s %7s %7s %8s\n", "table", "variant", "case", "threads",
	       "ns/op", "ratio", "spread", "fairness");
	for (const Row &row : rows) {
		const Row *base = baseline_of(rows, row);
		double ratio = base ? row.ratio_to(*base) : NAN;

		std::string levels = levels_text(row.levels());

		/* Of two levels the median is one, by chance. */
		printf("%-9s %-28s %s %7d %11s %7s %7s %8s%s%s%s\n", row.table.c_str(),
		       row.variant.c_str(), padded(row.case_name, 28).c_str(), row.threads,
		       levels.empty() ? text_of("%.2f", row.ns_per_op()).c_str() : "two levels",
		       text_of("%.3f", ratio).c_str(),
		       text_of("%.0f%%", row.spread() * 100).c_str(),
		       text_of("%.2f", row.fairness()).c_str(),
		       levels.empty() ? "" : ("  " + levels).c_str(),
		       row.starved() ? "  no operation in a window" : "",
		       row.checked() ? "" : "  FAILED its check");
	}
}

void print_aims(const std::vector<Aim> &aims)
{
	std::string title;

	for (const Aim &aim : aims) {
		std::string group = aim.table + (aim.group.empty() ? "" : ", ") + aim.group;

		if (group != title)
			printf("%s:\n", group.c_str());
		title = group;
		if (!std::isfinite(aim.value)) {
			printf("  %-52s not measured", aim.what.c_str());
		} else {
			printf("  %-52s %7.3f%s%s", aim.what.c_str(), aim.value,
			       aim.unit.empty() ? "" : " ", aim.unit.c_str());
		}
		if (!aim.bound.empty()) {
			printf(" (aim: %s %.2f%s)", aim.bound.c_str(), aim.aim,
			       !std::isfinite(aim.value) ? ""
			       : aim.met()               ? ": met"
							 : ": missed");
		}
		printf("%s%s\n", aim.detail.empty() ? "" : "  ", aim.detail.c_str());
	}
}

int report_failures(const std::vector<Row> &rows)
{
	std::string names;

	for (const Row &row : rows) {
		if (!row.checked())
			names += "  " + name_of(row) + "\n";
	}
	if (names.empty())
		return 0;
	fprintf(stderr, "hf-lab: the count was wrong in these rows:\n%s", names.c_str());
	return 1;
}

} // namespace lab
