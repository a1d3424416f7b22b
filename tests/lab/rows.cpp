/* SPDX-License-Identifier: MIT */
/*
 * rows - simulated runs, processed by hf-lab's code, for run.py: cases that are rare in real
 * measurements.
 *
 *   hf-lab-rows            made-up rows, as hf-lab --json writes them
 *   hf-lab-rows wrong      one row has a wrong count
 *   hf-lab-rows robbed     others had the processors
 *   hf-lab-rows again      the same in the planned rounds only
 *   hf-lab-rows levels     the levels of made-up times, and a row that has two, as text
 */
#include "../../lab/bench.hpp"

#include <climits>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

using namespace lab;

namespace lab
{
std::vector<Missing> missing_peers()
{
	return { { "a \"quoted\"\npeer", "none" } };
}
} // namespace lab

static bool wrong;
static int robbed; /* so many runs of each cell */

/* Runs `starved_from` to `starved_to`, counted from 1, have no operation. */
static Cell made_up(const char *variant, double ns, int starved_from = 0, int starved_to = 0,
		    bool checked = true)
{
	Cell cell;

	cell.rows = { Row("made up", variant, "ours", "case", 1) };
	cell.rounds = 3;
	cell.run = [=, runs = 0](int) mutable {
		bool starved = ++runs >= starved_from && runs <= starved_to;
		Sample sample =
			sample_of({ { starved ? 0u : 10u }, 10 * ns, runs <= robbed }, checked);

		sample.more["extra"] = starved ? 0 : ns;
		return std::vector<Sample>{ sample };
	};
	return cell;
}

/* Takes 10 and 12 ns in turn, so that the second in a round differs by a fifth from the first. */
static Cell made_up_twice()
{
	Cell cell = made_up("twice", 10);
	std::shared_ptr<int> runs(new int(0));

	cell.run = [runs](int) {
		return std::vector<Sample>{ sample_of(
			{ { 10 }, (*runs)++ % 2 ? 120.0 : 100.0, *runs <= 2 * robbed }, true) };
	};
	return cell;
}

static std::vector<Cell> cells(const Settings &)
{
	std::vector<Cell> list = {
		made_up("good", 10),
		made_up("starved once", 20, 1, 1),
		/* The first run of the second round, and all its repetitions. */
		made_up("starved in a round", 30, 2, 2 + REPEATS),
		made_up("starved", 40, 1, 1000),
		made_up("endless", INFINITY),
		made_up("too short", 0),
		made_up_twice(),
	};

	if (wrong)
		list.push_back(made_up("wrong", 50, 0, 0, false));
	return list;
}

static void levels()
{
	const std::vector<double> tests[] = {
		{ 7.4, 17.2, 7.5, 18.9, 17.5, 7.3, 18.1, 17.8, 17.0 }, /* two levels */
		{ 10, 10.2, 10.1, 10.4, 9.9, 10, 10.3 },               /* one */
		{ 10, 10.1, 10.2, 10.3, 10.1, 10, 10.2, 10.1, 30 },    /* one, and an outlier */
		{ 10, 12, 15, 19, 24, 30, 38 },                        /* a wide one */
		{ 7, 17, 7, 17 },                                      /* too few */
		{ 7, 17, 7, 7, 7 },                                    /* an outlier */
		{ 7, 17, 7, 17, 7 },                                   /* two levels */
	};

	for (const std::vector<double> &times : tests) {
		printf("%zu:", times.size());
		for (const Level &level : levels_of(times))
			printf(" %.1f ns %.2f", level.ns_per_op, level.share);
		printf("\n");
	}
	std::vector<Row> rows = { Row("made up", "one", "ours", "case", 1),
				  Row("made up", "two", "ours", "case", 1) };

	for (double ns : { 7.0, 17.0, 7.0, 17.0, 17.0 }) {
		rows[0].samples.push_back(sample_of({ { 10 }, 70, false }, true));
		rows[1].samples.push_back(sample_of({ { 10 }, 10 * ns, false }, true));
	}
	print_plain(rows);
}

int main(int argc, char **argv)
{
	const std::string mode = argc > 1 ? argv[1] : "";
	Settings settings;
	Table table = { "made up", "", "good", cells, "twice" };

	wrong = mode == "wrong";
	robbed = mode == "robbed" ? INT_MAX / 2 : mode == "again" ? 3 * (1 + REPEATS) : 0;
	if (mode == "levels") {
		levels();
		return 0;
	}
	std::vector<Plan> plans = { plan(table, settings) };
	Limit limit(INFINITY);
	Progress progress(plans, limit);

	measure(&plans, limit, &progress, [] {});
	std::vector<Row> rows = rows_of(plans.front());

	fputs(to_json(rows, this_run(rows, settings, plans)).c_str(), stdout);
	return report_failures(rows);
}
