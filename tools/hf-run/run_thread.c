/* SPDX-License-Identifier: MIT */
/*
 * run_thread - what this library keeps of each thread that is watched. A thread that ends leaves
 * its entry, with what was counted in it, to the next one that begins.
 */
#include <string.h>

#include "run.h"

struct hf_detail_table hf_run_threads;

static HF_RUN_THREAD struct hf_run_thread *mine;
static HF_RUN_THREAD uint32_t my_serial; /* not used again after the thread's end */
static hf_atomic32_t serials;
static hf_mutex_t lock; /* of the list of entries without a thread */
static struct hf_run_thread *unused;
static pthread_key_t at_end;
static bool has_at_end;

static void end_of_thread(void *thread)
{
	if (thread != mine)
		return;
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
		mine = unused;
		if (mine)
			unused = mine->next_unused;
		HF_RUN_PAUSE();
		hf_mutex_unlock(&lock);
	}
	if (!mine) {
		number = hf_detail_table_add(&hf_run_threads, sizeof(*mine));
		mine = number ? hf_run_thread_at(number) : NULL;
	}
	if (mine && has_at_end)
		(void)pthread_setspecific(at_end, mine);
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
	unused = mine = NULL;
	if (has_at_end)
		(void)pthread_setspecific(at_end, NULL);
}
