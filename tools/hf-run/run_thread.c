/* SPDX-License-Identifier: MIT */
/*
 * run_thread - what this library keeps of each thread that is watched. A thread that ends leaves
 * its entry, with what was counted in it, to the next one that begins.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "run.h"

struct hf_detail_table hf_run_threads;

static HF_RUN_THREAD struct hf_run_thread *mine;
static HF_RUN_THREAD uint32_t my_serial; /* not used again after the thread's end */
static hf_atomic32_t serials;
static hf_mutex_t lock; /* of the list of entries without a thread */
static struct hf_run_thread *unused;
static pthread_key_t at_end;
static bool has_at_end;

/* ---- how long threads live -------------------------------------------------------------- */

static hf_atomic64_t created, ended_ns, ended_ready_ns; /* without the first thread */
static uint64_t running_before;

/* How long a thread was ready to run without a processor; 0 = it has ended, or is not known. */
static uint64_t ready_ns(pid_t number)
{
	char text[64] = "";
	const char *second;
	int file;

	(void)snprintf(text, sizeof(text), "/proc/self/task/%d/schedstat", (int)number);
	file = open(text, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	memset(text, 0, sizeof(text));
	(void)!read(file, text, sizeof(text) - 1); /* running, ready, turns */
	(void)close(file);
	second = strchr(text, ' ');
	return second ? strtoull(second, NULL, 10) : 0;
}

static uint64_t running_ns(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

struct hf_run_times hf_run_times(void)
{
	uint64_t now = hf_detail_env_now();
	struct hf_run_times times = {
		.threads = 1 + hf_atomic64_load_relaxed(&created),
		.all_ns = now - hf_run_begun + hf_atomic64_load_relaxed(&ended_ns),
		.running_ns = running_ns() - running_before,
		.ready_ns = ready_ns(getpid()) + hf_atomic64_load_relaxed(&ended_ready_ns),
	};

	for (uint32_t i = 1; i <= hf_detail_table_count(&hf_run_threads); i++) {
		const struct hf_run_thread *thread = hf_run_thread_at(i);
		uint64_t begun = __atomic_load_n(&thread->begun, __ATOMIC_RELAXED);

		if (begun && begun < now) {
			times.all_ns += now - begun;
			times.ready_ns += ready_ns(thread->number);
		}
	}
	return times;
}

/* The first thread lives as long as the process. */
static void begin_life(void)
{
	mine->number = gettid();
	if (mine->number == getpid())
		return;
	(void)hf_atomic64_fetch_add_relaxed(&created, 1);
	__atomic_store_n(&mine->begun, hf_detail_env_now(), __ATOMIC_RELAXED);
}

static void end_life(void)
{
	uint64_t begun = mine->begun;
	int kept = errno;

	if (!begun)
		return;
	(void)hf_atomic64_fetch_add_relaxed(&ended_ready_ns, ready_ns(mine->number));
	__atomic_store_n(&mine->begun, 0, __ATOMIC_RELAXED);
	(void)hf_atomic64_fetch_add_relaxed(&ended_ns, hf_detail_env_now() - begun);
	errno = kept;
}

/* ---- entries ---------------------------------------------------------------------------- */

static void end_of_thread(void *thread)
{
	if (thread != mine)
		return;
	end_life();
	hf_mutex_lock(&lock);
	mine->next_unused = unused;
	unused = mine;
	hf_mutex_unlock(&lock);
	mine = NULL;
}

static HF_RUN_COLD struct hf_run_thread *begin(void)
{
	uint32_t number;

	my_serial = hf_atomic32_fetch_add_relaxed(&serials, 1) + 1;
	if (hf_mutex_trylock(&lock)) { /* a signal handler may have interrupted its holder */
		HF_RUN_PAUSE();
		mine = unused;
		if (mine)
			unused = mine->next_unused;
		hf_mutex_unlock(&lock);
	}
	if (!mine) {
		number = hf_detail_table_add(&hf_run_threads, sizeof(*mine));
		mine = number ? hf_run_thread_at(number) : NULL;
	}
	if (mine && has_at_end)
		(void)pthread_setspecific(at_end, mine);
	if (mine)
		begin_life();
	return mine;
}

struct hf_run_thread *hf_run_thread(void)
{
	return HF_LIKELY(mine != NULL) ? mine : begin();
}

uint32_t hf_run_thread_serial(void)
{
	return my_serial;
}

void hf_run_threads_start(void)
{
	has_at_end = pthread_key_create(&at_end, end_of_thread) == 0;
	running_before = running_ns();
}

/* What a new thread runs. (The program's malloc() may fail.) */
struct first_call {
	void *(*function)(void *);
	void *argument;
};

static void *first_call(void *allocated)
{
	struct first_call call = *(struct first_call *)allocated;

	free(allocated);
	(void)hf_run_thread();
	return call.function(call.argument);
}

/* With a profile a thread is known from its first instruction on, and not from its first lock. */
HF_RUN_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
				 void *(*function)(void *), void *argument)
{
	struct first_call *call = hf_run_watch & HF_RUN_PROFILE ? malloc(sizeof(*call)) : NULL;
	int error;

	if (!call)
		return hf_run_real()->pthread_create(thread, attr, function, argument);
	*call = (struct first_call){ function, argument };
	error = hf_run_real()->pthread_create(thread, attr, first_call, call);
	if (error)
		free(call);
	return error;
}

/*
 * The child has one thread, and has counted nothing. The memory is given back without a look at
 * what was counted: a shell forks for each command.
 */
void hf_run_threads_forked(void)
{
	for (uint32_t i = 1; i <= hf_detail_table_count(&hf_run_threads); i++) {
		struct hf_run_thread *thread = hf_run_thread_at(i);

		hf_detail_table_unmap(&thread->records, sizeof(struct hf_run_record));
	}
	hf_detail_table_unmap(&hf_run_threads, sizeof(*mine));
	hf_mutex_init(&lock);
	hf_atomic64_store_relaxed(&created, 0);
	hf_atomic64_store_relaxed(&ended_ns, 0);
	hf_atomic64_store_relaxed(&ended_ready_ns, 0);
	running_before = running_ns();
	unused = mine = NULL;
	if (has_at_end)
		(void)pthread_setspecific(at_end, NULL);
}
