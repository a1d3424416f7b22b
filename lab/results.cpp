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
	Json withheld;

	for (const auto &table : run.qualities) {
		if (table.second.bad())
			withheld.text(table.first.c_str(), table.second.words());
	}
	return Json()
		.number("rows", sum.rows)
		.number("missing", sum.missing)
		.number("disturbed", sum.disturbed)
		.number("others_before", run.others_before)
		.text("words", run.busy())
		.add("withheld", withheld.object())
		.object();
}

static std::string row_json(const Places &places, const Row &row)
{
	double to_default = ratio_to(places, row, [](const Row &other) { return other.twice; });
	double transfer = row.median_of([](const Sample &s) { return s.transfer_ns; });
	std::set<std::string> keys; /* a short run may lack some */
	Json json, levels;

	json.text("table", row.table).text("variant", row.variant).text("kind", row.kind);
	json.text("case", row.case_name).number("threads", row.threads);
	json.number("ns_per_op", row.ns_per_op()).number("spread", row.spread());
	json.text("baseline", row.baseline).number("ratio", ratio_to_baseline(places, row));
	json.number("fairness", row.fairness());
	json.add("checked", row.checked() ? "true" : "false");
	json.add("starved", row.starved() ? "true" : "false");
	json.number("rounds", static_cast<double>(row.samples.size()));
	for (const auto &label : row.labels)
		json.text(label.first.c_str(), label.second);
	if (row.robbed())
		json.add("disturbed", "true");
	for (const Level &level : row.levels())
		levels.item(Json().number("ns_per_op", level.ns_per_op)
				    .number("share", level.share)
				    .object());
	if (!levels.empty())
		json.add("levels", levels.array());
	if (std::isfinite(to_default))
		json.number("to_default", to_default);
	if (std::isfinite(row.gap))
		json.number("gap", row.gap);
	if (transfer > 0)
		json.number("transfer_ns", transfer);
	for (const Sample &sample : row.samples) {
		for (const auto &more : sample.more)
			keys.insert(more.first);
	}
	for (const std::string &key : keys)
		json.number(key.c_str(), row.more(key));
	return json.object();
}

/* A line for each row. */
std::string to_json(const std::vector<Row> &rows, const Run &run)
{
	const Places places = places_of(rows);
	Json limits, missing, settings;
	std::string lines;

	for (const std::string &limit : run.limits)
		limits.item(quoted(limit));
	for (const Missing &one : run.missing)
		missing.item(Json().text("peer", one.peer).text("package", one.package).object());
	settings.number("window_ms", run.settings.window_ms).number("rounds", run.settings.rounds);
	settings.number("seed", run.settings.seed).number("ns_per_tick", run.ns_per_tick);
	for (const Row &row : rows)
		lines += (lines.empty() ? "" : ",\n") + row_json(places, row);
	return "{\n\"schema\": " + std::to_string(SCHEMA) +
	       ",\n\"holdfast\": " + quoted(run.version) + ",\n\"machine\": " + run.machine +
	       ",\n\"limits\": " + limits.array() + ",\n\"missing_peers\": " + missing.array() +
	       ",\n\"settings\": " + settings.object() + ",\n\"quality\": " + quality_json(run) +
	       ",\n\"rows\": [\n" + lines + "\n]\n}\n";
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
