/* SPDX-License-Identifier: MIT */
/*
 * mutex_seccomp - a sandbox that forbids membarrier() is entered while threads wait and work.
 *
 * A process enters the sandbox while two of its threads are parked on a mutex and others work.
 * membarrier() then fails with EPERM in one run, with ENOSYS in the other. All threads must finish,
 * with correct counts. A wakeup that is lost without the barrier must be recovered (W1 of
 * holdfast/mutex.h). Skipped where seccomp filters (an emulator) or membarrier() are unavailable.
 */
#include "stress.h"

#include <cerrno>
#include <cstddef>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "holdfast/cond.h"

#include "../unit/waiters.h"

#if defined(SYS_membarrier) && defined(SYS_seccomp) && defined(SECCOMP_FILTER_FLAG_TSYNC)

namespace
{

enum { SKIPPED = 77, WORKERS = 4, PARKED = 2, EACH = 400 };

/* For all threads of this process, from now on. */
bool forbid(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | unsigned(error)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ==
		       0;
}

bool is_forbidden(int error)
{
	return syscall(SYS_membarrier, 0, 0, 0) == -1 && errno == error;
}

/* Locks EACH times, and holds the mutex now and then for so long that others park. */
void work(hf_mutex_t *mutex, uint64_t *count, int seed, std::atomic<int> *steps)
{
	stress::random random(seed);

	for (int i = 0; i < EACH; i++) {
		hf_mutex_lock(mutex);
		++*count;
		if (random.below(16) == 0)
			std::this_thread::sleep_for(std::chrono::microseconds(100));
		hf_mutex_unlock(mutex);
		(*steps)++;
		if (random.below(4) == 0)
			sched_yield();
	}
}

/* An unlock that misses a parking thread: only a store. The parked thread must recheck. */
void lose_wakeup()
{
	hf_mutex_t mutex = HF_MUTEX_INIT;

	hf_mutex_lock(&mutex);
	std::thread waiter([&] {
		hf_mutex_lock(&mutex);
		hf_mutex_unlock(&mutex);
	});

	while (unit::waiters(&mutex.word, true) == 0)
		sched_yield();
	/* By then it is parked in the kernel, most of the time. */
	std::this_thread::sleep_for(std::chrono::milliseconds(2));
	HF_DETAIL_TSAN_RELEASE(&mutex.word);
	hf_atomic32_store_release(&mutex.word, 0);
	waiter.join();
}

/* The child; returns its exit status. */
int enter_sandbox(int error)
{
	hf_mutex_t held = HF_MUTEX_INIT, busy = HF_MUTEX_INIT, door = HF_MUTEX_INIT;
	hf_cond_t cond = HF_COND_INIT;
	uint64_t held_count = 0, busy_count = 0;
	std::atomic<int> steps(0), ignored(0);
	std::atomic<bool> entered(false);
	bool open = false;

	stress::begin();
	stress::run_threads(2 + PARKED + WORKERS, [&](int me) {
		if (me == 0) {
			hf_mutex_lock(&held);
			while (unit::waiters(&held.word, true) < PARKED ||
			       unit::waiters(&cond.waiters) < 1 || steps < WORKERS * EACH / 4)
				sched_yield();
			entered = forbid(error);
			hf_mutex_unlock(&held);
			hf_mutex_lock(&door);
			open = true;
			hf_cond_signal(&cond);
			hf_mutex_unlock(&door);
		} else if (me == 1) {
			hf_mutex_lock(&door);
			while (!open)
				hf_cond_wait(&cond, &door);
			hf_mutex_unlock(&door);
		} else if (me < 2 + PARKED) {
			while (!hf_mutex_is_locked(&held) && !entered)
				sched_yield();
			work(&held, &held_count, me, &ignored);
		} else {
			work(&busy, &busy_count, me, &steps);
		}
		stress::check(!entered || is_forbidden(error), "mutex_seccomp",
			      "membarrier() is not forbidden");
	});
	if (!entered)
		return SKIPPED;
	stress::check(!hf_env_barrier_all(), "mutex_seccomp", "hf_env_barrier_all() returns true");
	for (int i = 0; i < 10; i++)
		lose_wakeup();
	stress::check(held_count == PARKED * EACH && busy_count == WORKERS * EACH, "mutex_seccomp",
		      "counts %llu and %llu", static_cast<unsigned long long>(held_count),
		      static_cast<unsigned long long>(busy_count));
	stress::check(unit::table_is_empty(), "mutex_seccomp", "a thread waits at the end");
	stress::did("mutex_seccomp", error == EPERM ? "EPERM" : "ENOSYS", held_count + busy_count);
	return stress::result();
}

} // namespace

int main()
{
	stress::begin();
	for (int error : { EPERM, ENOSYS }) {
		int status = -1;
		pid_t child = fork();

		if (child == 0)
			_exit(enter_sandbox(error));
		if (child < 0 || waitpid(child, &status, 0) != child) {
			std::printf("fork failed\n");
			return 1;
		}
		if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
			std::printf("skipped: no seccomp filter can be set\n");
			return SKIPPED;
		}
		stress::check(status == 0, "mutex_seccomp", "error %d: the child's status is %#x",
			      error, unsigned(status));
	}
	return stress::result();
}

#else

int main()
{
	std::printf("skipped: this system has no seccomp filters or no membarrier()\n");
	return 77;
}

#endif
