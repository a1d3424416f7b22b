/* SPDX-License-Identifier: MIT */
/* schedule - which cell runs when and how often; progress; who disturbed the run. */
#include "bench.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fnmatch.h>
#include <fstream>
#include <random>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

namespace lab
{

/* ---- plans ---------------------------------------------------------------------------------- */

/* The planned time of a run: the window, and threads to start or two transfers to measure. */
static double planned_ms(const Cell &cell)
{
	return cell.window_ms + cell.setup_ms + (cell.contended() ? 3 : 1);
}

/* A second cell for each row that the table measures twice. */
static std::vector<Cell> measured_again(const Table &table, const std::vector<Cell> &cells)
{
	std::vector<Cell> list;

	for (const Cell &cell : cells) {
		const Row &first = cell.rows.front();

		if (*table.twice ? first.variant != table.twice : first.kind != "default")
			continue;
		if (cell.rounds == 1) /* it takes too long */
			continue;
		list.push_back(cell);
		for (Row &row : list.back().rows) {
			row.labels["base_variant"] = row.variant;
			row.variant += " again";
			row.kind = "again";
		}
	}
	return list;
}

Plan plan(const Table &table, const Settings &settings)
{
	Plan made = { &table, table.cells(settings), settings.seed };
	std::vector<Cell> &cells = made.cells;

	if (!settings.only.empty()) {
		auto named = [&](const Cell &cell) {
			return fnmatch(settings.only.c_str(), cell.rows.front().variant.c_str(),
				       0) == 0;
		};
		auto left_out = [&](const Cell &cell) {
			return !named(cell) && cell.rows.front().variant != table.baseline;
		};

		if (std::none_of(cells.begin(), cells.end(), named))
			cells.clear();
		cells.erase(std::remove_if(cells.begin(), cells.end(), left_out), cells.end());
	}
	for (Cell &cell : measured_again(table, cells))
		cells.push_back(std::move(cell));
	for (Cell &cell : cells) {
		if (settings.window_ms)
			cell.window_ms = settings.window_ms;
		if (settings.rounds)
			cell.rounds = settings.rounds;
		cell.planned = cell.rounds;
	}
	return made;
}

void shorten(std::vector<Plan> *plans, double ms)
{
	double windows = 0, others = 0;

	for (const Plan &one : *plans) {
		for (const Cell &cell : one.cells) {
			windows += cell.window_ms;
			others += planned_ms(cell) - cell.window_ms;
		}
	}
	double share = std::max(0.0, (ms - others) / windows);

	for (Plan &one : *plans) {
		for (Cell &cell : one.cells) {
			if (share < 1 && cell.window_ms)
				cell.window_ms =
					std::max(1, static_cast<int>(cell.window_ms * share));
		}
	}
}

/* ---- the rest, from recorded times ---------------------------------------------------------- */

/* Recorded times over planned ones. */
static double slowness(const std::vector<Plan> &plans)
{
	double spent = 0, planned = 0;

	for (const Plan &one : plans) {
		for (const Cell &cell : one.cells) {
			spent += cell.spent_ms;
			planned += cell.done * planned_ms(cell);
		}
	}
	return planned > 0 ? spent / planned : 1;
}

static double run_ms(const Cell &cell, double slow)
{
	return cell.done ? cell.spent_ms / cell.done : planned_ms(cell) * slow;
}

double left_ms(const std::vector<Plan> &plans)
{
	double sum = 0, slow = slowness(plans);

	for (const Plan &one : plans) {
		for (const Cell &cell : one.cells)
			sum += std::max(0, cell.planned - cell.done) * run_ms(cell, slow);
	}
	return sum;
}

void fit(std::vector<Plan> *plans, double ms)
{
	double slow = slowness(*plans);
	auto rounds = [](const Cell &cell, int least, double share) {
		int wanted = static_cast<int>(cell.rounds * share);

		wanted = std::max(wanted, std::min(cell.least, least));
		return std::max(cell.done, std::min(cell.rounds, wanted));
	};
	auto cost = [&](int least, double share) {
		double sum = 0;

		for (const Plan &one : *plans) {
			for (const Cell &cell : one.cells)
				sum += (rounds(cell, least, share) - cell.done) *
				       run_ms(cell, slow);
		}
		return sum;
	};
	int least = ROUNDS_OF_LEVELS;

	while (least > 1 && cost(least, 0) > ms)
		least--;
	double low = 0, high = 1;

	if (cost(least, 1) <= ms)
		low = 1;
	for (int i = 0; i < 12 && low < 1; i++) {
		double middle = (low + high) / 2;

		(cost(least, middle) <= ms ? low : high) = middle;
	}
	for (Plan &one : *plans) {
		for (Cell &cell : one.cells)
			cell.planned = rounds(cell, least, low);
	}
}

/* ---- progress ------------------------------------------------------------------------------- */

Progress::Progress(const std::vector<Plan> &plans, const Limit &limit)
	: plans_(plans), limit_(limit), terminal_(isatty(STDERR_FILENO))
{
}

Progress::~Progress()
{
	if (terminal_)
		fprintf(stderr, "\r\033[K");
}

void Progress::begin(const Plan &plan, const Cell &cell)
{
	const double now_ms = limit_.passed_ms(), rest_ms = left_ms(plans_);
	const Row &row = cell.rows.front();
	const std::string left = std::to_string(static_cast<int>(rest_ms / 1e3)) + " s left";

	if (now_ms - shown_ms_ < (terminal_ ? 200 : 3000))
		return;
	shown_ms_ = now_ms;
	fprintf(stderr,
		terminal_ ? "\r\033[K%s: %3.0f %% done, %s  %s, %s"
			  : "%s: %3.0f %% done, %s; %s, %s\n",
		plan.table->name, 100 * now_ms / std::max(1.0, now_ms + rest_ms), left.c_str(),
		row.variant.c_str(), row.case_name.c_str());
	fflush(stderr);
}

/* ---- the machine's other users --------------------------------------------------------------- */

static double seconds(const timeval &t)
{
	return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

CpuTime cpu_time()
{
	const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
	std::ifstream in("/proc/stat");
	std::string line;
	CpuTime time;

	while (std::getline(in, line)) {
		enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
		double field[FIELDS] = {};
		std::istringstream words(line);
		std::string name;

		words >> name;
		for (double &value : field)
			words >> value;
		/* The lines of the processors that we may use, without that of all, "cpu". */
		if (std::none_of(allowed_cpus().begin(), allowed_cpus().end(),
				 [&](int cpu) { return name == "cpu" + std::to_string(cpu); }))
			continue;
		for (double value : field)
			time.all += value / ticks;
		time.busy +=
			(field[USER] + field[NICE] + field[SYSTEM] + field[IRQ] + field[SOFTIRQ]) /
			ticks;
		time.stolen += field[STEAL] / ticks;
	}
	for (int who : { RUSAGE_SELF, RUSAGE_CHILDREN }) {
		rusage usage;

		if (getrusage(who, &usage) == 0)
			time.ours += seconds(usage.ru_utime) + seconds(usage.ru_stime);
	}
	return time;
}

double others_share(const CpuTime &then, const CpuTime &now)
{
	double all = now.all - then.all;
	double others = now.busy - then.busy - (now.ours - then.ours);

	if (all <= 0)
		return 0;
	return (std::max(0.0, others) + now.stolen - then.stolen) / all;
}

std::map<std::string, Quality> qualities_of(const std::vector<Plan> &plans,
					    const std::vector<Row> &rows, bool anyway)
{
	std::map<std::string, Quality> found;

	for (const Plan &one : plans) {
		Quality &quality = found[one.table->name];

		for (const Cell &cell : one.cells)
			quality.rows += static_cast<int>(cell.rows.size());
		quality.missing = quality.rows;
		quality.interrupted = was_interrupted();
		quality.anyway = anyway;
	}
	for (const Row &row : rows) {
		found[row.table].missing -= std::isfinite(row.ns_per_op());
		found[row.table].disturbed += row.robbed();
	}
	return found;
}

std::string Quality::words() const
{
	return "of " + std::to_string(rows) + " rows " + std::to_string(disturbed) +
	       " were disturbed by other programs or by the host, and " + std::to_string(missing) +
	       " have no time";
}

/* ---- measuring ------------------------------------------------------------------------------ */

static volatile sig_atomic_t interrupted;

void catch_interrupt()
{
	struct sigaction action = {};

	action.sa_handler = [](int) { interrupted = 1; };
	action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
	sigaction(SIGINT, &action, nullptr);
}

bool was_interrupted()
{
	return interrupted;
}

bool Limit::over(double run_ms) const
{
	return interrupted || passed_ms() + run_ms > 1.5 * ms_;
}

/* True if these two transfer times differ by noise only. */
static bool same_transfer(double a, double b)
{
	return std::max(a, b) < 1.5 * std::min(a, b);
}

static std::vector<Sample> run_cell(const Cell &cell)
{
	double before = cell.contended() ? transfer_ns() : 0;
	std::vector<Sample> samples = cell.run(cell.window_ms);
	double after = cell.contended() ? transfer_ns() : 0;

	for (Sample &sample : samples) {
		sample.transfer_ns = after;
		sample.disturbed |= cell.contended() && !same_transfer(before, after);
	}
	return samples;
}

static bool needs_repeat(const std::vector<Sample> &samples)
{
	return samples.front().disturbed || std::any_of(samples.begin(), samples.end(),
							[](const Sample &s) { return s.starved; });
}

static void run_and_repeat(Cell *cell, int round, const Limit &limit)
{
	double start = limit.passed_ms(), begin = start;
	std::vector<Sample> samples;

	for (int i = 0;; i++) {
		samples = run_cell(*cell);
		double end = limit.passed_ms();

		cell->longest_ms = std::max(cell->longest_ms, end - begin);
		begin = end;
		if (i == REPEATS || !needs_repeat(samples) || limit.over(cell->longest_ms))
			break;
		cell->rows.front().repeated++;
	}
	cell->spent_ms += begin - start;
	cell->done++;
	for (size_t i = 0; i < samples.size(); i++) {
		samples[i].round = round;
		cell->rows[i].samples.push_back(samples[i]);
	}
}

/* The cells of a case run one right after the other, so that they can be compared. */
static std::vector<Cell *> shuffled(Plan *plan)
{
	std::mt19937 random(plan->seed + static_cast<unsigned int>(plan->rounds));
	std::map<std::pair<std::string, int>, std::vector<Cell *>> cases;
	std::vector<std::vector<Cell *> *> order;
	std::vector<Cell *> turn;

	for (Cell &cell : plan->cells)
		cases[{ cell.rows.front().case_name, cell.rows.front().threads }].push_back(&cell);
	for (auto &one : cases)
		order.push_back(&one.second);
	std::shuffle(order.begin(), order.end(), random);
	for (std::vector<Cell *> *one : order) {
		std::shuffle(one->begin(), one->end(), random);
		turn.insert(turn.end(), one->begin(), one->end());
	}
	return turn;
}

static void one_round(Plan *plan, const Limit &limit, Progress *progress)
{
	for (Cell *cell : shuffled(plan)) {
		if (cell->done >= cell->planned)
			continue;
		if (limit.over(cell->longest_ms)) {
			plan->cut_short = true;
			cell->rounds = cell->planned = cell->done;
			continue;
		}
		progress->begin(*plan, *cell);
		run_and_repeat(cell, plan->rounds, limit);
	}
	plan->rounds++;
}

/* Marks the samples of rounds in which others had processors. */
class Watch {
public:
	explicit Watch(Plan *plan) : plan_(plan), round_(plan->rounds) {}
	/* A shorter time than `least` seconds is judged with the next round. */
	void judge(double least)
	{
		CpuTime now = cpu_time();

		if (now.all - then_.all < least * cpus())
			return;
		bool robbed = others_share(then_, now) > DISTURBED;

		for (Cell &cell : plan_->cells) {
			for (Row &row : cell.rows) {
				for (Sample &sample : row.samples)
					sample.robbed |= robbed && sample.round >= round_;
			}
		}
		then_ = now;
		round_ = plan_->rounds;
	}

private:
	Plan *plan_;
	int round_;
	CpuTime then_ = cpu_time();
};

static bool is_disturbed(const Cell &cell)
{
	return std::any_of(cell.rows.begin(), cell.rows.end(),
			   [](const Row &row) { return row.robbed(); });
}

/* Measures the rounds of a plan that fit into the time that is left; returns whether there were
 * any. A cell that other programs disturbed then gets one more round. */
static bool more_rounds(std::vector<Plan> *plans, Plan *plan, const Limit &limit,
			Progress *progress)
{
	Watch watch(plan);
	bool any = false;

	for (;;) {
		fit(plans, limit.left_ms());
		if (std::all_of(plan->cells.begin(), plan->cells.end(),
				[](const Cell &cell) { return cell.done >= cell.planned; }))
			break;
		one_round(plan, limit, progress);
		watch.judge(0.5);
		any = true;
	}
	watch.judge(0.1);
	for (Cell &cell : plan->cells) { /* other time that is left is for the other plans */
		bool again = is_disturbed(cell) && cell.again < REPEATS;

		cell.again += again;
		cell.rounds = cell.done + again;
	}
	return any;
}

void measure(std::vector<Plan> *plans, const Limit &limit, Progress *progress,
	     const std::function<void()> &keep)
{
	std::vector<Plan *> first;

	for (Plan &plan : *plans)
		first.push_back(&plan);
	/* First the plans with runs of seconds, whose real time is the hardest to estimate. */
	std::stable_partition(first.begin(), first.end(), [](Plan *plan) {
		return std::any_of(plan->cells.begin(), plan->cells.end(),
				   [](const Cell &cell) { return cell.setup_ms > 1000; });
	});
	for (Plan *plan : first) {
		Watch watch(plan);

		fit(plans, limit.left_ms());
		one_round(plan, limit, progress);
		watch.judge(0.1);
	}
	keep();
	/* Then plan by plan; and again, while cells that others disturbed get more. */
	for (bool any = true; any;) {
		any = false;
		for (Plan &plan : *plans) {
			if (!more_rounds(plans, &plan, limit, progress))
				continue;
			any = true;
			keep();
		}
	}
}

/* ---- rows ----------------------------------------------------------------------------------- */

std::string Plan::cut() const
{
	size_t rows = 0, none = 0;

	if (!cut_short)
		return "";
	for (const Cell &cell : cells) {
		rows += cell.rows.size();
		none += cell.done ? 0 : cell.rows.size();
	}
	return std::string(interrupted ? "Interrupted" : "The time limit was reached") + ": " +
	       table->name + " has fewer rounds than planned, and " + std::to_string(none) +
	       " of its " + std::to_string(rows) + " rows are not measured.";
}

/* Keeps in a row the runs for which @is_good is true, if at least three are; returns how many it
 * left out. */
template <class IsGood>
static int keep_runs(Row *row, IsGood is_good)
{
	std::vector<Sample> kept;

	for (const Sample &sample : row->samples) {
		if (!sample.checked || is_good(sample)) /* a failed check is never left out */
			kept.push_back(sample);
	}
	int left_out = static_cast<int>(row->samples.size() - kept.size());

	if (kept.size() < 3 || !left_out)
		return 0;
	row->samples = kept;
	return left_out;
}

/* Leaves out runs during which others had the processors, and those whose transfer time is far
 * from the median. */
static void keep_usual_runs(std::vector<Row> *rows)
{
	for (Row &row : *rows)
		row.left_out = keep_runs(&row, [](const Sample &sample) { return !sample.robbed; });
	std::vector<double> all;

	for (const Row &row : *rows) {
		for (const Sample &sample : row.samples) {
			if (sample.transfer_ns > 0)
				all.push_back(sample.transfer_ns);
		}
	}
	if (all.empty())
		return;
	double usual = quantile(all, 0.5);

	for (Row &row : *rows)
		row.set_aside = keep_runs(&row, [&](const Sample &sample) {
			return sample.transfer_ns == 0 || same_transfer(sample.transfer_ns, usual);
		});
}

/* The row that measures the same variant again; NULL if there is none. */
static const Row *again_of(const std::vector<Row> &rows, const Row &row)
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

/* Sets `gap` and `twice` in each row that is measured twice. */
static void note_gaps(std::vector<Row> *rows)
{
	for (Row &row : *rows) {
		const Row *other = row.kind == "again" ? nullptr : again_of(*rows, row);

		row.twice = other != nullptr;
		if (!valid(&row) || !valid(other))
			continue;
		double ratio = other->ratio_to(row);

		row.gap = std::max(ratio, 1 / ratio) - 1;
	}
}

std::vector<Row> rows_of(const Plan &plan)
{
	std::vector<Row> rows;

	for (const Cell &cell : plan.cells) {
		for (const Row &row : cell.rows) {
			if (row.samples.empty())
				continue;
			rows.push_back(row);
			rows.back().baseline = plan.table->baseline;
		}
	}
	keep_usual_runs(&rows);
	note_gaps(&rows);
	return rows;
}

} // namespace lab
