/* SPDX-License-Identifier: MIT */
/*
 * probes - reaches each of the library's probes, where gdb stops it (probes.py, probes_checks.py).
 *
 * The expected arguments are in variables, which the checks read in at_end().
 */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../asleep.h"

#include "holdfast/cond.h"
#include "holdfast/nofault.h"
#include "holdfast/refcount.h"
#include "holdfast/region.h"

hf_mutex_t mutex = HF_MUTEX_INIT;
hf_mutex_shared_t shared = HF_MUTEX_SHARED_INIT;
hf_cond_t cond = HF_COND_INIT;
hf_refcount_t count = HF_REFCOUNT_INIT(0);
hf_region_t region;
char *nowhere; /* an address that nothing is mapped at */
char *lost;    /* a page beyond the end of its file */
static hf_atomic32_t lwp = HF_ATOMIC_INIT(0), go = HF_ATOMIC_INIT(0);

__attribute__((__noinline__)) void at_end(void)
{
	__asm__ volatile("" ::: "memory");
}

static void *contend(void *nothing)
{
	hf_atomic32_store_release(&lwp, (uint32_t)syscall(SYS_gettid));
	hf_mutex_lock(&mutex);
	hf_mutex_unlock(&mutex);
	hf_mutex_shared_lock(&shared);
	hf_mutex_shared_unlock(&shared);
	hf_mutex_lock(&mutex);
	while (!hf_atomic32_load_relaxed(&go))
		hf_cond_wait(&cond, &mutex);
	hf_mutex_unlock(&mutex);
	return nothing;
}

static void wait_until_asleep(void)
{
	while (!is_asleep((int)hf_atomic32_load_acquire(&lwp)))
		sched_yield();
}

static void meet_waits(void)
{
	pthread_t thread;
	int error;

	hf_mutex_lock(&mutex);
	hf_mutex_shared_lock(&shared);
	error = pthread_create(&thread, NULL, contend, NULL);
	assert(!error);
	wait_until_asleep();
	hf_mutex_unlock(&mutex);
	while (hf_atomic32_load_relaxed(&shared.word) != HF_DETAIL_MUTEX_PARKED)
		sched_yield();
	wait_until_asleep();
	hf_mutex_shared_unlock(&shared);
	while (!hf_atomic32_load_relaxed(&cond.waiters))
		sched_yield();
	wait_until_asleep();
	hf_mutex_lock(&mutex);
	hf_atomic32_store_relaxed(&go, 1);
	hf_mutex_unlock(&mutex);
	hf_cond_signal(&cond);
	(void)pthread_join(thread, NULL);
}

static void meet_faults(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), left, bad;
	char name[] = "/tmp/holdfast-probes-XXXXXX";
	int file = mkstemp(name), error = hf_nofault_install();
	volatile char seen;
	char *two;

	assert(!error && file >= 0);
	(void)unlink(name);
	error = ftruncate(file, (off_t)(2 * page));
	assert(!error);
	two = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, file, 0);
	assert(two != MAP_FAILED);
	lost = two + page;
	error = ftruncate(file, (off_t)page);
	assert(!error);
	nowhere = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert(nowhere != MAP_FAILED);

	left = hf_clear_nofault(nowhere, 100);
	assert(left == 100);
	error = hf_region_begin(&region, two, 2 * page);
	assert(!error);
	seen = *(volatile char *)(lost + 8);
	bad = hf_region_end(&region, NULL);
	assert(seen == 0 && bad == page);
	(void)close(file);
}

int main(void)
{
	alarm(600);
	hf_report_set_mode(HF_REPORT_MODE_QUIET); /* the probe must be reached in every mode */
	meet_waits();
	hf_refcount_inc(&count);
	meet_faults();
	at_end();
	return 0;
}
