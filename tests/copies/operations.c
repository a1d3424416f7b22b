/* SPDX-License-Identifier: MIT */
/* operations - linked into the program and into each plug-in: see pair.c. */
#include <sched.h>

#include "holdfast/nofault.h"
#include "holdfast/refcount.h"
#include "holdfast/version.h"

#include "operations.h"

static void count(struct shared *s, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		hf_mutex_lock(&s->mutex);
		if (++s->by_mutex % 16 == 0)
			sched_yield(); /* descheduled with the mutex held: the others park */
		hf_mutex_unlock(&s->mutex);

		hf_spinlock_lock(&s->spinlock);
		if (++s->by_spinlock % 16 == 0)
			sched_yield();
		hf_spinlock_unlock(&s->spinlock);
	}
}

static void wait(struct shared *s)
{
	hf_mutex_lock(&s->mutex);
	s->waiting++;
	while (!s->go)
		hf_cond_wait(&s->cond, &s->mutex);
	hf_mutex_unlock(&s->mutex);
}

static void wake(struct shared *s)
{
	hf_mutex_lock(&s->mutex);
	s->go = 1;
	hf_cond_broadcast(&s->cond);
	hf_mutex_unlock(&s->mutex);
}

static size_t clear(void *at, size_t len)
{
	return hf_clear_nofault(at, len);
}

static void misuse(void)
{
	hf_refcount_t dead = HF_REFCOUNT_INIT(0);

	hf_refcount_inc(&dead);
}

static void handler(enum hf_report_kind kind, const void *object, void *data)
{
	(void)kind;
	(void)object;
	(void)data;
}

static void handle_here(void)
{
	hf_report_set_handler(handler, NULL);
}

struct operations copies_operations = {
	.version = HF_VERSION,
	.count = count,
	.wait = wait,
	.wake = wake,
	.clear = clear,
	.misuse = misuse,
	.handle_here = handle_here,
	.lock = validated_lock,
	.unlock = validated_unlock,
};

/* Addresses of another object's functions are no constants to the compiler of a static one. */
__attribute__((constructor)) static void fill(void)
{
	copies_operations.library = (const void *)hf_version();
	copies_operations.validations = validated_where();
	copies_operations.install = hf_nofault_install;
	copies_operations.remove = hf_nofault_remove;
	copies_operations.set_handler = hf_report_set_handler;
	copies_operations.set_mode = hf_report_set_mode;
	copies_operations.reports = hf_report_count;
	copies_operations.reset = hf_report_reset;
}
