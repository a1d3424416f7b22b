/* SPDX-License-Identifier: MIT */
/*
 * fork_step - a signal handler forks before each single instruction of an unlock, and of a signal
 * with the mutex held. The child returns from the handler, goes on, and uses the mutex with threads
 * of its own: none may hang. A tracer steps a new process to each instruction.
 */
#include "unit.h"

#if defined(__x86_64__) && !defined(HF_EMULATED)

#include <sys/ptrace.h>

#include "holdfast/cond.h"

#include "waiters.h"

namespace
{

/* What the traced process and its child report. */
struct progress {
	std::atomic<bool> over{ false }; /* the operation has ended */
	std::atomic<bool> traced{ true };
};

enum mode { UNLOCKS, SIGNALS };
enum result { WELL, NO_FORK, CHILD_HANGS, CHILD_FAILS };

hf_mutex_t mutex;
hf_cond_t conds[8];
bool go;
volatile bool is_child;
volatile pid_t kid = -1;

void fork_in_handler(int)
{
	kid = static_cast<pid_t>(syscall(SYS_fork));
	if (kid == 0) {
		is_child = true;
		alarm(30); /* a working child takes milliseconds */
	}
}

struct hf_detail_bucket *bucket_at(const void *at)
{
	return &hf_detail_parking_table()->bucket[HF_DETAIL_PARKING_INDEX(at)];
}

hf_cond_t *cond_elsewhere()
{
	for (hf_cond_t &cond : conds)
		if (bucket_at(&cond) != bucket_at(&mutex))
			return &cond;
	return nullptr;
}

/* Starts a thread that waits, and returns when it is parked as the only waiter of its bucket. */
std::thread start_waiter(hf_cond_t *cond)
{
	std::thread thread([cond] {
		hf_mutex_lock(&mutex);
		while (!go)
			hf_cond_wait(cond, &mutex);
		hf_mutex_unlock(&mutex);
	});

	unit::wait_until([cond] {
		uint64_t arrived = hf_atomic64_load_relaxed(&bucket_at(cond)->arrived);
		auto *waiter = reinterpret_cast<struct hf_detail_waiter *>(arrived);

		return arrived && !(arrived & 1) && !hf_mutex_is_locked(&mutex) &&
		       hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_PARKED;
	});
	return thread;
}

/* The child's own threads: each must get the mutex, parked. */
[[noreturn]] void use_in_child()
{
	std::vector<std::thread> threads;

	hf_mutex_lock(&mutex);
	for (int i = 0; i < 2; i++) {
		threads.emplace_back([] {
			hf_mutex_lock(&mutex);
			hf_mutex_unlock(&mutex);
		});
	}
	unit::wait_until([] { return unit::waiters(&mutex, true) == 2; });
	hf_mutex_unlock(&mutex);
	for (std::thread &thread : threads)
		thread.join();
	_exit(unit::table_is_empty() ? WELL : CHILD_FAILS);
}

result traced(mode how, progress *shared)
{
	hf_cond_t *cond = cond_elsewhere();
	cpu_set_t one;
	int status;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one); /* a signal moves waiters of its own processor */
	std::signal(SIGUSR1, fork_in_handler);
	hf_mutex_lock(&mutex);
	(void)hf_cond_wait_timeout(cond, &mutex, 1000); /* from now on this thread has a mark */
	/* A waiter that was queued sets `born` of the mutex's bucket, as in most programs. */
	std::thread queued([] {
		hf_mutex_lock(&mutex);
		hf_mutex_unlock(&mutex);
	});
	unit::wait_until([] { return unit::waiters(&mutex) == 1; });
	hf_mutex_unlock(&mutex);
	queued.join();
	std::thread waiter = start_waiter(cond);

	hf_mutex_lock(&mutex);
	go = true;
	if (how == UNLOCKS)
		hf_cond_signal(cond);
	shared->traced = ptrace(PTRACE_TRACEME, 0, 0, 0) == 0;
	raise(SIGSTOP);
	if (how == UNLOCKS)
		hf_mutex_unlock(&mutex);
	else
		hf_cond_signal(cond);
	if (!is_child)
		shared->over = true;
	if (how == SIGNALS)
		hf_mutex_unlock(&mutex);
	if (is_child)
		use_in_child();
	waiter.join();
	if (kid == -1)
		return NO_FORK;
	status = unit::status_of(kid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? CHILD_HANGS
	       : status                                           ? CHILD_FAILS
								  : WELL;
}

/*
 * Forks before instruction @step. Returns the traced process's result. @is_over: it ended before.
 */
int fork_at(mode how, int step, progress *shared, bool *is_over)
{
	int status, signal = 0;
	pid_t pid;

	shared->over = false;
	pid = unit::start_process([how, shared] { return traced(how, shared); });
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		return -1;
	if (!shared->traced) {
		kill(pid, SIGKILL);
		(void)unit::status_of(pid);
		return -1;
	}
	for (int i = 0; i < step; i++) {
		ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return -1;
	}
	*is_over = shared->over;
	syscall(SYS_tgkill, pid, pid, SIGUSR1);
	do {
		ptrace(PTRACE_CONT, pid, 0, signal);
		if (waitpid(pid, &status, 0) != pid)
			return -1;
		signal = WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1 ? SIGUSR1 : 0;
	} while (WIFSTOPPED(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void each_instruction(mode how)
{
	unit::shared_object<progress> shared;
	bool is_over = false;

	if (HF_TSAN || unit::asan)
		GTEST_SKIP() << "a sanitizer's code is not to be interrupted by forks";
	for (int step = 1; !is_over; step++) {
		int result = fork_at(how, step, shared.operator->(), &is_over);

		if (!shared->traced)
			GTEST_SKIP() << "this process must not trace another one";
		ASSERT_EQ(result, WELL) << "a fork before instruction " << step;
	}
}

TEST(ForkStep, Unlock)
{
	each_instruction(UNLOCKS);
}

TEST(ForkStep, Signal)
{
	each_instruction(SIGNALS);
}

} // namespace

#endif
