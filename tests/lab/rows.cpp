// SPDX-License-Identifier: MIT
/*
 * rows - simulated runs, processed by hf-lab's code: cases that are rare in real measurements. For run.py.
 *
 *   hf-lab-rows [wrong | slow]      wrong: one row has a wrong count; slow: the time limit is reached
 */
#include "../../lab/bench.hpp"

#include <cstdio>
#include <cstring>
#include <memory>

using namespace lab;

namespace lab
{
std::vector<Missing> missing_peers()
{
	return { { "a \"quoted\"\npeer", "none" } };
}
} // namespace lab

static bool wrong;

/* Runs `starved_from` to `starved_to`, counted from 1, have no operation. */
static Cell made_up(const char *variant, double ns, int starved_from = 0, int starved_to = 0,
		    bool checked = true)
{
	Cell cell;

	cell.rows = { Row("made up", variant, "ours", "case", 1) };
	cell.rounds = 3;
	cell.run = [=, runs = 0](int) mutable {
		bool starved = ++runs >= starved_from && runs <= starved_to;
		Sample sample = sample_of({ { starved ? 0u : 10u }, 10 * ns, false }, checked);

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
			{ { 10 }, (*runs)++ % 2 ? 120.0 : 100.0, false }, true) };
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

static std::vector<Aim> aims(const std::vector<Row> &rows)
{
	auto row = [&](const char *name) { return find(rows, name, "case", 1); };
	double two = times(row("starved once"), row("good"));

	return {
		at_least(2, "group", "reached", two, "detail"),
		at_least(2.1, "group", "missed", two),
		at_most(2, "group", "reached", two),
		at_most(1.9, "group", "missed", two),
		/* Rounded to 2 in the file, so the aim is met there and must be met here. */
		at_least(2, "group", "nearly", 2 - 1e-9),
		figure("", "figure", two),
		at_most(2, "", "starved", times(row("starved"), row("good"))),
		at_most(2, "", "endless", times(row("endless"), row("good"))),
		at_most(2, "", "too short", times(row("too short"), row("good"))),
		at_most(2, "", "wrong or not there", times(row("wrong"), row("good"))),
	};
}

int main(int argc, char **argv)
{
	Settings settings;
	Table table = { "made up", "", "good", cells, aims, "twice" };

	wrong = argc > 1 && !strcmp(argv[1], "wrong");
	Plan made = plan(table, settings);
	Progress progress(made.ms);
	/* "slow": each reading of the clock advances it by a second, and the limit is 30. */
	static double looks;
	auto slow = [] { return 1e9 * looks++; };
	Limit limit = argc > 1 && !strcmp(argv[1], "slow") ? Limit(30e9, slow) : Limit(INFINITY);
	std::vector<Row> rows = measure(&made, settings, limit, &progress);

	fputs(to_json(rows, aims_of(table, rows), this_run(rows, settings, { made.cut })).c_str(),
	      stdout);
	return report_failures(rows);
}
