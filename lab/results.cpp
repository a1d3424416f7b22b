/* SPDX-License-Identifier: MIT */
/* results - the rows and limits of a measurement, as JSON and as text. */
#include "bench.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <tuple>

namespace lab
{

bool valid(const Row *row)
{
	return row && row->checked() && row->ns_per_op() > 0;
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

/* ---- output --------------------------------------------------------------------------------- */

/* The rows of one case with one number of threads. */
using Place = std::tuple<std::string, std::string, int>;
using Places = std::map<Place, std::vector<const Row *>>;

static Place place_of(const Row &row)
{
	return { row.table, row.case_name, row.threads };
}

static Places places_of(const std::vector<Row> &rows)
{
	Places places;

	for (const Row &row : rows)
		places[place_of(row)].push_back(&row);
	return places;
}

/* The row's time over that of the row in its place for which @is is true; NAN if there is none. */
template <class Is>
static double ratio_to(const Places &places, const Row &row, Is is)
{
	for (const Row *other : places.at(place_of(row))) {
		if (is(*other))
			return row.ratio_to(*other);
	}
	return NAN;
}

static double ratio_to_baseline(const Places &places, const Row &row)
{
	return ratio_to(places, row,
			[&](const Row &other) { return other.variant == row.baseline; });
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
	int repeated = 0, left_out = 0, set_aside = 0;
	std::map<std::string, int> starved;

	for (const Row &row : rows) {
		repeated += row.repeated;
		left_out += row.left_out;
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
	if (left_out > 0)
		list.push_back(
			std::to_string(left_out) +
			" runs during which others had the processors are not in the medians.");
	if (set_aside > 0) {
		list.push_back(
			"The transfer time of a cache line between two processors changed "
			"while this was measured (as when a host moves virtual processors): " +
			std::to_string(set_aside) +
			" results with an unusual transfer time are not in the medians.");
	}
	return list;
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
	run.qualities = qualities_of(plans, rows, settings.anyway);
	run.others_before = others_before;
	return run;
}

static Quality sum_of(const std::map<std::string, Quality> &qualities)
{
	Quality sum;

	for (const auto &table : qualities) {
		sum.rows += table.second.rows;
		sum.missing += table.second.missing;
		sum.disturbed += table.second.disturbed;
	}
	return sum;
}

std::string Run::busy() const
{
	auto is_bad = [](const auto &table) { return table.second.bad(); };

	if (!std::all_of(qualities.begin(), qualities.end(), is_bad))
		return "";
	return "This machine was too busy: " + sum_of(qualities).words() +
	       ". These results decide nothing. Measure again on an idle machine.";
}

static std::string quality_json(const Run &run)
{
	const Quality sum = sum_of(run.qualities);
	std::string withheld;

	for (const auto &table : run.qualities) {
		if (table.second.bad())
			withheld += (withheld.empty() ? "" : ", ") + quoted(table.first) + ": " +
				    quoted(table.second.words());
	}
	return "\"quality\": {\"rows\": " + std::to_string(sum.rows) +
	       ", \"missing\": " + std::to_string(sum.missing) +
	       ", \"disturbed\": " + std::to_string(sum.disturbed) +
	       ", \"others_before\": " + number(run.others_before) +
	       ", \"words\": " + quoted(run.busy()) + ", \"withheld\": {" + withheld + "}},\n";
}

std::string to_json(const std::vector<Row> &rows, const Run &run)
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
	out += quality_json(run) + "\"rows\": [\n";
	const Places places = places_of(rows);

	comma = "";
	for (const Row &row : rows) {
		double to_default =
			ratio_to(places, row, [](const Row &other) { return other.twice; });

		out += comma;
		comma = ",\n";
		out += "{\"table\": " + quoted(row.table) +
		       ", \"variant\": " + quoted(row.variant) + ", \"kind\": " + quoted(row.kind) +
		       ", \"case\": " + quoted(row.case_name) +
		       ", \"threads\": " + std::to_string(row.threads) +
		       ", \"ns_per_op\": " + number(row.ns_per_op()) +
		       ", \"spread\": " + number(row.spread()) +
		       ", \"baseline\": " + quoted(row.baseline) +
		       ", \"ratio\": " + number(ratio_to_baseline(places, row)) +
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
		if (std::isfinite(to_default))
			out += ", \"to_default\": " + number(to_default);
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
	const Places places = places_of(rows);

	for (const Row &row : rows) {
		double ratio = ratio_to_baseline(places, row);
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
