/* SPDX-License-Identifier: MIT */
/* linux_user_slots - Linux user space: threads' and processes' numbers, forks. */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../env/env.h"

/* The number, before the fork, of the thread that forks. */
static __thread uint32_t forking __attribute__((tls_model("initial-exec")));

uint32_t hf_detail_env_thread(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

bool hf_detail_env_thread_has_ended(uint32_t thread)
{
	int kept = errno;
	bool ended = syscall(SYS_tgkill, getpid(), (pid_t)thread, 0) != 0 && errno == ESRCH;

	errno = kept;
	return ended;
}

uint32_t hf_detail_env_process(void)
{
	return (uint32_t)getpid();
}

static void slots_before_fork(void)
{
	forking = hf_detail_env_thread();
}

static void slots_in_child(void)
{
	hf_detail_slots_in_child(forking);
}

__attribute__((constructor(101))) static void start_slots(void)
{
	hf_detail_slots_start();
	(void)pthread_atfork(slots_before_fork, NULL, slots_in_child);
}
