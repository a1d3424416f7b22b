/* SPDX-License-Identifier: MIT */
/* archive - see archive.hpp. */
#include "archive.hpp"
#include "options.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fnmatch.h>
#include <set>

#if HF_LAB_HAVE_ARCHIVE
#include <nlohmann/json.hpp>
#include <zlib.h>
#endif

namespace lab
{

#if HF_LAB_HAVE_ARCHIVE

namespace
{

using json = nlohmann::json;

/* The contents of a file, unpacked if it is compressed by gzip. */
std::string contents(const std::string &name)
{
	std::string text;
	char part[65536];
	int n;

	errno = 0;
	gzFile file = gzopen(name.c_str(), "rb");

	if (!file)
		fail("can't read " + name + ": " + strerror(errno ? errno : ENOMEM));
	while ((n = gzread(file, part, sizeof(part))) > 0)
		text.append(part, static_cast<size_t>(n));
	int status = gzclose_r(file);

	if (n < 0 || status != Z_OK)
		fail("can't read " + name + ": " + (errno ? strerror(errno) : "not whole"));
	return text;
}

double number_of(const json &object, const char *key)
{
	auto at = object.find(key);

	return at != object.end() && at->is_number() ? at->get<double>() : NAN;
}

Row row_of(const json &object)
{
	static const std::set<std::string> known = {
		"table",     "variant", "kind",        "case",     "threads",
		"ns_per_op", "spread",  "ratio",       "baseline", "checked",
		"starved",   "rounds",  "transfer_ns", "fairness", "gap",
	};
	Row row(object.at("table"), object.at("variant"), object.at("kind"), object.at("case"),
		object.at("threads"));
	Sample sample;

	row.baseline = object.value("baseline", "");
	sample.ns_per_op = number_of(object, "ns_per_op");
	sample.fairness = number_of(object, "fairness");
	sample.checked = object.at("checked");
	/* The file's ns_per_op leaves starved windows out: a row with a time is not starved. */
	sample.starved = object.value("starved", false) && !std::isfinite(sample.ns_per_op);
	if (std::isfinite(number_of(object, "transfer_ns")))
		sample.transfer_ns = number_of(object, "transfer_ns");
	for (const auto &more : object.items()) {
		if (known.count(more.key()))
			continue;
		if (more.value().is_number())
			sample.more[more.key()] = more.value();
		else if (more.value().is_string())
			row.labels[more.key()] = more.value();
	}
	row.samples.push_back(sample);
	return row;
}

struct File {
	std::string name;
	json whole;
	Run run;
	std::vector<Row> rows;
	std::map<std::string, double> spread; /* by key_of() */
	std::string busy;                     /* why its results decide nothing, or "" */
};

std::string key_of(const Row &row)
{
	return row.table + '\n' + row.variant + '\n' + row.case_name + '\n' +
	       std::to_string(row.threads);
}

File load(const std::string &name)
{
	File file;
	std::string text = contents(name);

	file.name = name;
	try {
		file.whole = json::parse(text);
		int schema = file.whole.value("schema", 1);

		if (schema > SCHEMA)
			fail(name + " has schema " + std::to_string(schema) +
			     ", this hf-lab reads up to " + std::to_string(SCHEMA) +
			     ": use the hf-lab that wrote it, or a newer one");
		file.run.version = file.whole.at("holdfast");
		file.run.machine = file.whole.at("machine").dump();
		file.run.limits = file.whole.at("limits").get<std::vector<std::string>>();
		for (const json &missing : file.whole.at("missing_peers"))
			file.run.missing.push_back({ missing.at("peer"), missing.at("package") });
		const json &settings = file.whole.at("settings");

		file.run.settings.window_ms = settings.at("window_ms");
		file.run.settings.rounds = settings.at("rounds");
		file.run.settings.seed = settings.at("seed");
		file.run.ns_per_tick = number_of(settings, "ns_per_tick");
		if (file.whole.contains("quality"))
			file.busy = file.whole.at("quality").value("words", "");
		for (const json &object : file.whole.at("rows")) {
			file.rows.push_back(row_of(object));
			file.spread[key_of(file.rows.back())] = number_of(object, "spread");
		}
	} catch (const json::exception &error) {
		fail(name + " is not a result file of hf-lab: " + error.what());
	}
	if (file.rows.empty())
		fail(name + " has no rows");
	return file;
}

std::string machine_text(const json &machine, const char *key)
{
	auto at = machine.find(key);

	if (at == machine.end())
		return "not known";
	return at->is_string() ? at->get<std::string>() : at->dump();
}

/* ---- compare -------------------------------------------------------------------------------- */

/* The largest difference between two rows of a table that measure the same code. */
std::map<std::string, double> gaps(const std::vector<Row> &rows)
{
	std::map<std::string, double> largest;

	for (const Row &row : rows) {
		auto same = row.labels.find(row.kind == "again" ? "base_variant" : "is");

		if ((row.kind != "again" && row.kind != "default") || same == row.labels.end())
			continue;
		for (const Row &other : rows) {
			if (other.table != row.table || other.variant != same->second ||
			    other.case_name != row.case_name || other.threads != row.threads ||
			    !valid(&row) || !valid(&other))
				continue;
			double gap = std::fabs(row.ns_per_op() / other.ns_per_op() - 1);

			largest[row.table] = std::max(largest[row.table], gap);
		}
	}
	return largest;
}

void print_machine(const char *which, const File &file)
{
	const json machine = file.whole.at("machine");

	printf("%s  %s\n     %s, %s processors, kernel %s, %s, commit %s, %s\n", which,
	       file.name.c_str(), machine_text(machine, "cpu").c_str(),
	       machine_text(machine, "cpus").c_str(), machine_text(machine, "kernel").c_str(),
	       machine_text(machine, "compiler").c_str(), machine_text(machine, "commit").c_str(),
	       machine_text(machine, "date").c_str());
}

struct Compared {
	Mean mean;
	int faster = 0, slower = 0, same = 0, not_compared = 0;
};

double or_zero(double value)
{
	return std::isfinite(value) ? value : 0;
}

} // namespace

int compare(const std::string &old_name, const std::string &new_name, const std::string &only)
{
	File before = load(old_name), after = load(new_name);
	std::map<std::string, double> gap = gaps(before.rows);
	std::map<std::string, const Row *> old_rows;
	std::map<std::string, Compared> tables;
	std::vector<std::string> order;
	size_t found = 0;

	for (const auto &more : gaps(after.rows))
		gap[more.first] = std::max(gap[more.first], more.second);
	print_machine("old", before);
	print_machine("new", after);
	printf("\n%-9s %-28s %-22s %7s %11s %11s %8s %7s\n", "table", "variant", "case", "threads",
	       "old ns/op", "new ns/op", "new/old", "noise");
	for (const Row &row : before.rows)
		old_rows[key_of(row)] = &row;
	for (const Row &row : after.rows) {
		auto at = old_rows.find(key_of(row));

		if (!only.empty() && fnmatch(only.c_str(), row.variant.c_str(), 0))
			continue;
		if (at == old_rows.end())
			continue;
		const Row &was = *at->second;

		found++;
		if (!tables.count(row.table))
			order.push_back(row.table);
		Compared &table = tables[row.table];

		if (!valid(&row) || !valid(&was)) {
			const Row &culprit = valid(&row) ? was : row;

			table.not_compared++;
			printf("%-9s %-28s %-22s %7d %11s %11s %8s %7s  %s in the %s file\n",
			       row.table.c_str(), row.variant.c_str(), row.case_name.c_str(),
			       row.threads, text_of("%.2f", was.ns_per_op()).c_str(),
			       text_of("%.2f", row.ns_per_op()).c_str(), "-", "-",
			       culprit.checked() ? "not measured" : "FAILED its check",
			       &culprit == &row ? "new" : "old");
			continue;
		}
		double ratio = row.ns_per_op() / was.ns_per_op();
		double noise =
			std::max({ or_zero(before.spread[key_of(was)]),
				   or_zero(after.spread[key_of(row)]), gap[row.table], 0.01 });
		const char *verdict = "";

		table.mean.add(ratio);
		if (ratio > 1 + noise) {
			verdict = "  slower";
			table.slower++;
		} else if (ratio < 1 / (1 + noise)) {
			verdict = "  faster";
			table.faster++;
		} else {
			table.same++;
		}
		printf("%-9s %-28s %-22s %7d %11.2f %11.2f %8.3f %6.0f%%%s\n", row.table.c_str(),
		       row.variant.c_str(), row.case_name.c_str(), row.threads, was.ns_per_op(),
		       row.ns_per_op(), ratio, noise * 100, verdict);
	}
	if (!found)
		fail("no row is in both files" + (only.empty() ? "" : " that matches " + only));
	printf("\nNoise: the largest of the two rows' spreads, the gap between two measurements of "
	       "the "
	       "same code,\nand 1 %%. A smaller difference is called neither faster nor slower.\n");
	for (const std::string &name : order) {
		const Compared &table = tables[name];

		printf("%-9s new/old %s in the geometric mean; %d faster, %d slower, %d within "
		       "noise, %d not compared\n",
		       name.c_str(), text_of("%.3f", table.mean.mean()).c_str(), table.faster,
		       table.slower, table.same, table.not_compared);
	}
	if (only.empty() && (before.rows.size() > found || after.rows.size() > found)) {
		printf("Only in the old file: %zu rows; only in the new one: %zu.\n",
		       before.rows.size() - found, after.rows.size() - found);
	}
	return 0;
}

/* ---- merge ---------------------------------------------------------------------------------- */

std::string merge(const std::vector<std::string> &names)
{
	std::vector<File> files;
	std::vector<Row> rows;
	std::map<std::string, size_t> place;

	for (const std::string &name : names)
		files.push_back(load(name));
	const json first = files.front().whole.at("machine");
	Run run = files.front().run;

	for (const File &file : files) {
		const json machine = file.whole.at("machine");

		if (!file.busy.empty())
			fail(file.name + ": " + file.busy);
		for (const char *key :
		     { "cpu", "cpus", "microcode", "kernel", "compiler", "commit", "governor" }) {
			if (machine_text(machine, key) != machine_text(first, key)) {
				fail(file.name + " has another " + key + " than " +
				     files.front().name + " (" + machine_text(machine, key) + ", " +
				     machine_text(first, key) + "): 'hf-lab compare' shows both");
			}
		}
		if (file.run.settings.window_ms != run.settings.window_ms ||
		    file.run.settings.rounds != run.settings.rounds)
			fail(file.name +
			     " was measured with another --window-ms or --rounds than " +
			     files.front().name);
		for (const std::string &limit : file.run.limits) {
			if (std::find(run.limits.begin(), run.limits.end(), limit) ==
			    run.limits.end())
				run.limits.push_back(limit);
		}
		for (const Row &row : file.rows) {
			auto added = place.insert({ key_of(row), rows.size() });

			if (added.second)
				rows.push_back(row);
			else
				rows[added.first->second].samples.push_back(row.samples.front());
		}
	}
	std::vector<Aim> aims;

	for (const Table &table : tables()) {
		std::vector<Row> its_rows;

		for (const Row &row : rows) {
			if (row.table == table.name)
				its_rows.push_back(row);
		}
		if (its_rows.empty())
			continue;
		note_gaps(&its_rows);
		for (Aim &aim : aims_of(table, its_rows))
			aims.push_back(std::move(aim));
	}
	print_aims(aims);
	return to_json(rows, aims, run);
}

#else /* !HF_LAB_HAVE_ARCHIVE */

static const char NOT_BUILT[] =
	"hf-lab was built without nlohmann-json3-dev or zlib1g-dev, which it "
	"needs to read result files: install them and build it again";

int compare(const std::string &, const std::string &, const std::string &)
{
	fail(NOT_BUILT);
}

std::string merge(const std::vector<std::string> &)
{
	fail(NOT_BUILT);
}

#endif

} // namespace lab
