/* SPDX-License-Identifier: MIT */
/* linux_user_slots - Linux user space: the ends of threads, forks. */
#include <pthread.h>

#include "env.h"

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

__attribute__((constructor(101))) static void start(void)
{
	have_key = pthread_key_create(&slot_key, thread_ended) == 0;
	if (have_key && hf__thread.base)
		hf__env_at_thread_end(hf__thread.base);
	(void)pthread_atfork(NULL, NULL, forked);
}
