/* SPDX-License-Identifier: MIT */
/*
 * fuse_workers - the threads that serve requests. A thread's memory is allocated before its first
 * request, so that a later shortage can't end the mount. If there is too little memory at the
 * start, fewer threads are started.
 *
 *   main      sigwait: SIGINT, SIGTERM, SIGHUP from outside, SIGUSR1 from a worker that ends
 *   worker    read, serve, read, ...          a SIGUSR1 from main ends its read
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fuse_front.h"

#define STACK ((size_t)256 << 10)
#define CLONE _IOR(229, 0, uint32_t) /* FUSE_DEV_IOC_CLONE */

static struct fuse_session *session;
static struct front_worker workers[FRONT_WORKERS_MAX];
static unsigned int running;
static atomic_bool ending;
static atomic_int failure; /* error of reading the device, or 0 */
static pthread_t waiting;
static sem_t begun;
static sigset_t ends; /* signals that end the server, and SIGUSR1 from a worker that ended */

static void *work(void *data)
{
	struct front_worker *me = data;
	sigset_t wake;
	int result = 0;

	me->error = hf_tmpfs_thread_begin();
	sem_post(&begun);
	if (me->error)
		return NULL;
	sigemptyset(&wake);
	sigaddset(&wake, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
	while (!atomic_load_explicit(&ending, memory_order_relaxed) && !result)
		result = front_serve(session, me);
	if (result < 0)
		atomic_store(&failure, result);
	atomic_store(&ending, true);
	pthread_kill(waiting, SIGUSR1);
	return NULL;
}

/* With `clone`, a new descriptor for the session's device if possible; else the session's. */
static int device_for(bool clone)
{
	uint32_t from = (uint32_t)fuse_session_fd(session);
	int device = clone ? open("/dev/fuse", O_RDWR | O_CLOEXEC) : -1;

	if (device >= 0 && ioctl(device, CLONE, &from) == 0)
		return device;
	if (device >= 0)
		close(device);
	return (int)from;
}

static void drop(struct front_worker *me)
{
	munmap(me->buffer, FRONT_BUFFER);
	if (me->device != fuse_session_fd(session))
		close(me->device);
}

static bool start(struct front_worker *me, const pthread_attr_t *attributes, bool clone)
{
	me->buffer = mmap(NULL, FRONT_BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	if (me->buffer == MAP_FAILED)
		return false;
	me->device = device_for(clone);
	if (pthread_create(&me->thread, attributes, work, me) == 0) {
		while (sem_wait(&begun))
			;
		if (!me->error)
			return true;
		pthread_join(me->thread, NULL);
	}
	drop(me);
	return false;
}

/* A signal that arrives just before a read does not interrupt it, so signal repeatedly. */
static void stop(struct front_worker *me)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	while (pthread_tryjoin_np(me->thread, NULL) == EBUSY) {
		pthread_kill(me->thread, SIGUSR1);
		nanosleep(&moment, NULL);
	}
	drop(me);
}

static void nothing(int signal)
{
	(void)signal;
}

void front_signals(void)
{
	struct sigaction action = { .sa_handler = nothing };

	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
}

int front_workers(struct fuse_session *of, unsigned int count, bool clone)
{
	pthread_attr_t attributes;
	int signal = 0;

	session = of;
	waiting = pthread_self();
	sem_init(&begun, 0, 0);
	if (pthread_attr_init(&attributes))
		return -ENOMEM;
	pthread_attr_setstacksize(&attributes, STACK);
	while (running < count && start(&workers[running], &attributes, clone))
		running++;
	pthread_attr_destroy(&attributes);
	if (running == 0)
		return -ENOMEM;
	while (!atomic_load(&ending)) {
		sigwait(&ends, &signal);
		if (signal != SIGUSR1)
			atomic_store(&ending, true);
	}
	while (running > 0)
		stop(&workers[--running]);
	sem_destroy(&begun);
	return atomic_load(&failure);
}
