/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_RUN_H
#define HF_MODEL_RUN_H
/*
 * run - explores the interleavings of a scenario with Relacy, and reports the result.
 *
 * Use
 *   Included first: it puts Relacy in place of the hardware.
 *   struct puts : hf_model::scenario { ...thread(i), end()... };
 *   int main() {
 *           hf_model::run run("stem");
 *           run.search<puts, 2>("what", 3);       all interleavings with up to 3 preemptions
 *           run.search<puts, 2>("what", ALL);     all
 *           run.random<puts, 2>("what", 10000);   10000 random ones, with a fixed seed
 *           run.must_reach("T1", count);          fails if count is 0: T1 was not tested
 *           return run.end();
 *   }
 *   Arguments, or HF_MODEL_ONLY in the environment, select scenarios by a prefix of "what: 2
 *   threads, search"; HF_MUTANT and others (backend.h) inject a flaw. A mutant names the scenarios
 *   that find it soonest.
 *
 * Exit status   0  no error: the last line is "model.<stem>: N interleavings, no error"
 *               1  an error: its interleaving, then "caught: <what Relacy says>"
 *               2  something was never reached, or anything else
 */
#define HF_ATOMIC_HEADER "backend.h"
#define HF_ARCH_HEADER "arch_model.h"
#define HF_ENV_HEADER "env_model.h"
#include "backend.h"
#include "explore.h"

#include <time.h>

#include "holdfast/report.h"
#include "holdfast/internal/node.h"

namespace hf_model
{

/* Defines an enum, its size, and the names of its values in <name>_names. */
#define HF_MODEL_ENUMERATOR(name, text) name,
#define HF_MODEL_TEXT(name, text) text,
#define HF_MODEL_NAMED(name, size, LIST)                                                           \
	enum name { LIST(HF_MODEL_ENUMERATOR) size };                                              \
	inline const char *const name##_names[size] = { LIST(HF_MODEL_TEXT) };

/* How often each kind of misuse was reported in this interleaving. */
inline unsigned int reports[HF_REPORT_KINDS];

inline unsigned int all_reports()
{
	unsigned int sum = 0;

	for (unsigned int n : reports)
		sum += n;
	return sum;
}

inline hf_node_t *all_nodes;

/* A sleeping thread, and the word that it waits on. */
inline struct sleeper {
	const hf_atomic32 *word;
	unsigned int thread;
} sleepers[HF_MODEL_THREADS];
inline unsigned int sleeping;

/* Called after a spurious wakeup, if not NULL. */
inline void (*after_nap)();

/* Removes sleeper i. Returns its thread. */
inline unsigned int stop_sleeping(unsigned int i)
{
	unsigned int thread = sleepers[i].thread;

	for (sleeping--; i < sleeping; i++)
		sleepers[i] = sleepers[i + 1];
	return thread;
}

/* The threads' code; the members are the shared memory. Created anew for each interleaving. */
struct scenario : observer {
	scenario()
	{
		thread_state fresh = {};

		fresh.nodes = 1;
		for (unsigned int i = 0; i < HF_MODEL_THREADS; i++) {
			threads[i] = fresh;
			threads[i].processor = i % 2;
		}
		for (unsigned int &n : reports)
			n = 0;
		sleeping = 0;
		watching = this;
		all_nodes = nodes_;
		for (hf_node_t &node : nodes_) {
			/*
			 * Nodes are not cleared between uses: poison the link, so that reading it
			 * fails.
			 */
			hf_atomic32_store_relaxed(&node.next, 0x7770);
			hf_atomic32_store_relaxed(&node.wait, 0x7771);
		}
	}
	virtual ~scenario() {}

	virtual void thread(unsigned int index) = 0;

	/* Called after all threads have ended. */
	virtual void end() {}

	/* Called as each thread ends. */
	virtual void thread_end(unsigned int index)
	{
		check(threads[index].preempt_off == 0, "a thread ends with preemption off");
		check(threads[index].used == 0, "a thread ends with a node");
	}

private:
	hf_node_t nodes_[HF_MODEL_THREADS * HF_NODES];
};

inline scenario *(*make_scenario)();
inline scenario *current;

template <typename S>
scenario *make()
{
	alignas(S) static unsigned char room[sizeof(S)];

	return ::new (room) S;
}

/* The name of a type. */
template <typename S>
rl::string name_of_type()
{
	rl::string text = strstr(__PRETTY_FUNCTION__, "S = ") + 4;

	return text.substr(0, text.find_first_of(";]"));
}

inline const steps each_interleaving = {
	[] { current = make_scenario(); },
	[](unsigned int index) {
		current->thread(index);
		current->thread_end(index);
	},
	[] {
		current->end();
		current->~scenario();
	},
};

/* For run::search: any number of preemptions. */
constexpr unsigned int ALL = UINT_MAX;

class run {
public:
	explicit run(const char *stem, int argc = 0, char **argv = NULL)
		: stem_(stem), argc_(argc), argv_(argv)
	{
	}

	template <typename S, int N>
	void search(const char *what, unsigned int preemptions)
	{
		rl::test_params params;

		params.search_type = rl::sched_bound;
		params.context_bound = preemptions;
		one<S, N>(what, "search", params);
	}

	template <typename S, int N>
	void random(const char *what, unsigned int count)
	{
		rl::test_params params;

		params.search_type = rl::sched_random;
		params.iteration_count = count;
		one<S, N>(what, "random", params);
	}

	/* Not checked for mutants, nor if only some scenarios were selected. */
	void must_reach(const char *what, unsigned long count)
	{
		if (the_mutant != mutant::none || environment("HF_MODEL_ONLY")[0] || argc_ > 1)
			return;
		printf("  reached %lu times: %s\n", count, what);
		if (count == 0) {
			printf("model.%s: never reached: %s\n", stem_, what);
			exit(2);
		}
	}

	int end()
	{
		if (total_ == 0) {
			printf("model.%s: nothing was run\n", stem_);
			return 2;
		}
		printf("model.%s: %llu interleavings, no error\n", stem_, total_);
		return 0;
	}

private:
	const char *stem_;
	int argc_;
	char **argv_;
	unsigned long long total_ = 0;

	bool chosen(const char *what, int threads, const char *how) const
	{
		const char *only = environment("HF_MODEL_ONLY");
		char text[200];

		snprintf(text, sizeof(text), "%s: %d threads, %s", what, threads, how);
		if (strncmp(text, only, strlen(only)) != 0)
			return false;
		for (int i = 1; i < argc_; i++)
			if (strncmp(text, argv_[i], strlen(argv_[i])) == 0)
				return true;
		return argc_ <= 1;
	}

	template <typename S, int N>
	void one(const char *what, const char *how, rl::test_params &params)
	{
		static_assert(N >= 2 && N <= HF_MODEL_THREADS, "explore.cpp has 2 to 4 threads");
		/* rl::, not std::, whose allocations would be counted as the scenario's. */
		rl::ostringstream output;
		rl::ostringstream state;
		std::ostream nowhere(NULL);
		clock_t start = clock();

		if (!chosen(what, N, how))
			return;
		params.output_stream = &output;
		params.progress_stream = &nowhere;
		params.execution_depth_limit = 4000;
		make_scenario = make<S>;
		if (explore(N, each_interleaving, params, state, false) ==
		    rl::test_result_success) {
			total_ += params.stop_iteration;
			printf("  %s, %s: %d threads, %s, %llu interleavings, %ld ms\n", what,
			       name_of_type<S>().c_str(), N, how,
			       (unsigned long long)params.stop_iteration,
			       (long)((clock() - start) / (CLOCKS_PER_SEC / 1000)));
			fflush(stdout);
			return;
		}

		/* Replay the failing interleaving, to print its history. */
		rl::test_result_e result = params.test_result;

		params.initial_state = state.str();
		params.collect_history = true;
		if (explore(N, each_interleaving, params, state, true) != result) {
			printf("model.%s: %s: not the same when it is done again\n", stem_, what);
			exit(2);
		}

		rl::string said = output.str();

		printf("%s\n", said.c_str());
		printf("model.%s: %s, %s: %d threads, %s\n", stem_, what, name_of_type<S>().c_str(),
		       N, how);
		printf("caught: %s\n", said.substr(0, said.find('\n')).c_str());
		fflush(stdout);
		_exit(1);
	}
};

} // namespace hf_model

/* For all models. */
using hf_model::ALL;
using hf_model::check;
using hf_model::get;
using hf_model::increment;
using hf_model::plain;
using hf_model::set;
using hf_model::threads;
using hf_model::where;

hf_node_t *hf_env_node(uint32_t index)
{
	hf_model::check(index >= 1 && index <= HF_MODEL_THREADS * HF_NODES,
			"a link leads to no node");
	return &hf_model::all_nodes[index - 1];
}

static enum hf_env_parked park_in_model(const struct hf_atomic32 *word, uint32_t expected,
					uint64_t deadline, const hf_model::where &at, bool *napped)
{
	hf_model::thread_state &self = hf_model::self();
	bool is_last = deadline >= HF_MODEL_LATE, is_timed = deadline != HF_ENV_FOREVER;
	hf_atomic32 *p = const_cast<hf_atomic32 *>(word); /* the load is a cmpxchg that fails */
	bool torn = hf_model::is_mutant(hf_model::mutant::park_torn, at);

	if (is_timed && !is_last &&
	    (self.patrols == 0 || (self.longest_sleep && deadline > self.longest_sleep)))
		is_timed = false;
	if (torn && hf_model::last(p, at) != expected)
		return HF_ENV_CHANGED;

	hf_model::step one;

	if (!torn && hf_model::last(p, at) != expected)
		return HF_ENV_CHANGED;
	hf_model::sleepers[hf_model::sleeping++] = { word, (unsigned int)rl::thread_index() };
	switch (rl::ctx().park_current_thread(is_timed, self.naps > 0, false, at)) {
	case rl::unpark_reason_normal:
		return HF_ENV_WOKEN;
	case rl::unpark_reason_timeout:
		if (is_last)
			self.late = true;
		else if (self.patrols != UINT_MAX)
			self.patrols--;
		break;
	default:
		self.naps--;
		is_timed = false;
		*napped = true;
	}
	for (unsigned int i = 0; i < hf_model::sleeping; i++) {
		if (hf_model::sleepers[i].thread == rl::thread_index()) {
			(void)hf_model::stop_sleeping(i);
			break;
		}
	}
	return is_timed ? HF_ENV_TIMEOUT : HF_ENV_WOKEN;
}

enum hf_env_parked hf_env_park(const struct hf_atomic32 *word, uint32_t expected, uint64_t deadline,
			       enum hf_env_scope, const hf_model::where &at)
{
	bool napped = false;
	enum hf_env_parked result = park_in_model(word, expected, deadline, at, &napped);

	if (napped && hf_model::after_nap)
		hf_model::after_nap();
	return result;
}

uint32_t hf_env_unpark(const struct hf_atomic32 *word, uint32_t n, enum hf_env_scope,
		       const hf_model::where &at)
{
	uint32_t woken = 0;

	hf_model::access();
	hf_model::step one;

	if (hf_model::is_mutant(hf_model::mutant::unpark_missing, at))
		return 0;
	for (; woken < n; woken++) {
		unsigned int here[HF_MODEL_THREADS], count = 0;

		for (unsigned int i = 0; i < hf_model::sleeping; i++) {
			if (hf_model::sleepers[i].word == word)
				here[count++] = i;
		}
		if (count == 0)
			break;
		unsigned int which = here[count > 1 ? rl::rand(count) : 0];

		rl::ctx().unpark_thread(hf_model::stop_sleeping(which), false, at);
	}
	if (hf_model::is_mutant(hf_model::mutant::unpark_says_one, at))
		return 1;
	return woken;
}

/* Wakes one sleeper and moves the others to @to. If *@word is not @expected, wakes all of them. */
void hf_env_requeue(const struct hf_atomic32 *word, uint32_t expected, const struct hf_atomic32 *to,
		    enum hf_env_scope scope, const hf_model::where &at)
{
	bool same;

	if (hf_model::is_mutant(hf_model::mutant::requeue_missing, at))
		return;
	{
		hf_model::step one;

		same = hf_model::last(const_cast<hf_atomic32 *>(word), at) == expected;
		if (same) {
			bool woken = false;

			for (unsigned int i = 0; i < hf_model::sleeping; i++) {
				if (hf_model::sleepers[i].word != word)
					continue;
				if (woken) {
					hf_model::sleepers[i].word = to;
				} else {
					rl::ctx().unpark_thread(hf_model::stop_sleeping(i--), false,
								at);
					woken = true;
				}
			}
		}
	}
	if (!same)
		(void)hf_env_unpark(word, UINT32_MAX, scope, at);
}

bool hf_env_barrier_all(const hf_model::where &at)
{
	if (hf_model::self().no_barriers)
		return false;
	if (!hf_model::is_mutant(hf_model::mutant::barrier_missing, at))
		rl::atomic_thread_fence(rl::mo_seq_cst, at);
	return true;
}

bool hf_env_barrier_now(const hf_model::where &at)
{
	return hf_env_barrier_all(at);
}

void hf_report(enum hf_report_kind kind, const volatile void *object)
{
	(void)object;
	hf_model::reports[kind]++;
}

void hf_report_at(enum hf_report_kind kind, const volatile void *object, const void *site)
{
	(void)site;
	hf_report(kind, object);
}

#endif
