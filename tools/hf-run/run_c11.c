/* SPDX-License-Identifier: MIT */
/* run_c11 - mtx_*() and cnd_*(), which in glibc have the objects of pthread's functions (R2). */
#include <errno.h>
#include <threads.h>

#include "run.h"

HF_STATIC_ASSERT(sizeof(mtx_t) == sizeof(pthread_mutex_t), "");
HF_STATIC_ASSERT(sizeof(cnd_t) == sizeof(pthread_cond_t), "");

static pthread_mutex_t *mutex_of(mtx_t *mutex)
{
	return (pthread_mutex_t *)mutex;
}

static pthread_cond_t *cond_of(cnd_t *cond)
{
	return (pthread_cond_t *)cond;
}

static int result_of(int error)
{
	switch (error) {
	case 0:
		return thrd_success;
	case EBUSY:
		return thrd_busy;
	case ETIMEDOUT:
		return thrd_timedout;
	default:
		return thrd_error;
	}
}

HF_RUN_EXPORT int mtx_init(mtx_t *mutex, int type)
{
	hf_run_init(mutex_of(mutex),
		    type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL,
		    HF_RUN_CALLER);
	return thrd_success;
}

HF_RUN_EXPORT int mtx_lock(mtx_t *mutex)
{
	return result_of(hf_run_lock(mutex_of(mutex), HF_RUN_CALLER));
}

HF_RUN_EXPORT int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict end)
{
	return result_of(hf_run_lock_until(mutex_of(mutex), CLOCK_REALTIME, end, HF_RUN_CALLER));
}

HF_RUN_EXPORT int mtx_trylock(mtx_t *mutex)
{
	return result_of(hf_run_trylock(mutex_of(mutex), HF_RUN_CALLER));
}

HF_RUN_EXPORT int mtx_unlock(mtx_t *mutex)
{
	return result_of(hf_run_unlock(mutex_of(mutex), HF_RUN_CALLER));
}

HF_RUN_EXPORT void mtx_destroy(mtx_t *mutex)
{
	(void)pthread_mutex_destroy(mutex_of(mutex));
}

HF_RUN_EXPORT int cnd_init(cnd_t *cond)
{
	hf_run_cond_init(cond_of(cond), CLOCK_REALTIME, HF_RUN_CALLER);
	return thrd_success;
}

HF_RUN_EXPORT int cnd_wait(cnd_t *cond, mtx_t *mutex)
{
	return result_of(hf_run_cond_wait(cond_of(cond), mutex_of(mutex), 0, NULL, HF_RUN_CALLER));
}

HF_RUN_EXPORT int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex,
				const struct timespec *restrict end)
{
	return result_of(hf_run_cond_wait(cond_of(cond), mutex_of(mutex), CLOCK_REALTIME, end,
					  HF_RUN_CALLER));
}

HF_RUN_EXPORT int cnd_signal(cnd_t *cond)
{
	return result_of(hf_run_cond_wake(cond_of(cond), false, HF_RUN_CALLER));
}

HF_RUN_EXPORT int cnd_broadcast(cnd_t *cond)
{
	return result_of(hf_run_cond_wake(cond_of(cond), true, HF_RUN_CALLER));
}

HF_RUN_EXPORT void cnd_destroy(cnd_t *cond)
{
	(void)pthread_cond_destroy(cond_of(cond));
}
