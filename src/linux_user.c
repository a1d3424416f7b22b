/* SPDX-License-Identifier: MIT */
/* linux_user - Linux user space: standard error, abort, the clock, the ends of threads, forks. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "holdfast/arch.h"
#include "holdfast/report.h"

#include "cpu.h"
#include "env.h"
#include "nofault.h"

/*
 * The key's value is the slot's base; its destructor gives the slot back. pthread_setspecific() is
 * not on POSIX's list of async-signal-safe functions; for a key made this early (glibc keeps the
 * first 32, musl all, in the thread's descriptor) it stores a word and nothing else.
 */
static pthread_key_t slot_key;
static int have_key;

static void thread_ended(void *value)
{
	hf__slot_release((uint32_t)(uintptr_t)value);
}

static void forked(void)
{
	hf__slot_keep_only(hf__thread.base);
}

void hf__env_at_thread_end(uint32_t base)
{
	/* Before the constructor ran, or without a key, the slot stays taken: N3 covers that. */
	if (have_key)
		(void)pthread_setspecific(slot_key, (void *)(uintptr_t)base);
}

void hf__env_print(const char *line, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDERR_FILENO, line, len);

		if (n <= 0)
			return;
		line += n;
		len -= (size_t)n;
	}
}

void hf__env_abort(void)
{
	abort();
}

uint64_t hf__env_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t hf__env_cache_bytes(void)
{
	static const int levels[] = { _SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE,
				      _SC_LEVEL2_CACHE_SIZE };

	for (unsigned int i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		long bytes = sysconf(levels[i]);

		if (bytes > 0)
			return (uint64_t)bytes;
	}
	return 0;
}

void *hf__env_memory_get(size_t len)
{
	void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void hf__env_memory_put(void *memory, size_t len)
{
	(void)munmap(memory, len);
}

static void complain(const char *variable, const char *value, const char *what)
{
	static const char before[] = "holdfast: ";

	hf__env_print(before, sizeof(before) - 1);
	hf__env_print(variable, strlen(variable));
	hf__env_print("=", 1);
	hf__env_print(value, strlen(value));
	hf__env_print(what, strlen(what));
}

static void read_report_mode(void)
{
	static const char *const names[] = { "warn", "abort", "count", "quiet" };
	const char *value = getenv("HOLDFAST_REPORT");

	if (!value || !*value)
		return;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(value, names[i]) == 0) {
			(void)hf_report_set_mode((enum hf_report_mode)i);
			return;
		}
	}
	complain("HOLDFAST_REPORT", value,
		 " is not known; using warn. Known: warn, abort, count, quiet\n");
}

static void hide_features(void)
{
	static const char variable[] = "HOLDFAST_CPU_WITHOUT";
	const char *value = getenv(variable);

	if (value && !hf__cpu_hide(value))
		complain(variable, value, ": not all of these are known; see holdfast/cpu.h\n");
}

uint32_t hf__spin_rate = 65536 / HF_ARCH_HINT_NS;

/* A few microseconds. The least of some batches: what interrupts one makes it longer. */
static void measure_hint(void)
{
	enum { BATCHES = 4, HINTS = 64, LEAST = 65536 / 256, MOST = 65536 * 4 };
	uint64_t least = UINT64_MAX, rate;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t start = hf__env_now(), took;

		for (int i = 0; i < HINTS; i++)
			hf_arch_relax();
		took = hf__env_now() - start;
		if (took < least)
			least = took;
	}
	rate = HINTS * (uint64_t)65536 / (least ? least : 1);
	hf__spin_rate = (uint32_t)(rate < LEAST ? LEAST : rate > MOST ? MOST : rate);
}

__attribute__((constructor(101))) static void start(void)
{
	measure_hint();
	have_key = pthread_key_create(&slot_key, thread_ended) == 0;
	if (have_key && hf__thread.base)
		hf__env_at_thread_end(hf__thread.base);
	(void)pthread_atfork(NULL, NULL, forked);
	read_report_mode();
	hide_features();
	hf__nofault_start(getenv("HOLDFAST_CLEAR"), getenv("HOLDFAST_COPY"));
}
