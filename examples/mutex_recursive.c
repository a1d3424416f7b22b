/* SPDX-License-Identifier: MIT */
/*
 * mutex_recursive - a list of observers that is called with its mutex held, as in code that was
 * written for a recursive pthread mutex: an observer may change the list.
 */
#include <stdio.h>

#include <holdfast/mutex_recursive.h>

#include "must.h"

struct observers {
	hf_mutex_recursive_t lock; /* all bytes 0: unlocked */
	void (*call[4])(struct observers *observers);
	unsigned int n, calls;
};

static void observers_add(struct observers *observers, void (*call)(struct observers *observers))
{
	HF_MUTEX_RECURSIVE_GUARD(&observers->lock);
	must(observers->n < 4);
	observers->call[observers->n++] = call;
}

static void observers_call(struct observers *observers)
{
	HF_MUTEX_RECURSIVE_GUARD(&observers->lock);
	for (unsigned int i = 0; i < observers->n; i++)
		observers->call[i](observers);
}

static void count(struct observers *observers)
{
	observers->calls++;
}

/* Called with the mutex held, which observers_add() takes again. */
static void add_another(struct observers *observers)
{
	if (observers->n < 3)
		observers_add(observers, count);
}

int main(void)
{
	static struct observers observers;

	observers_add(&observers, add_another);
	observers_add(&observers, count);
	observers_call(&observers);
	must(!hf_mutex_recursive_is_mine(&observers.lock));
	printf("%u observers, %u calls of those that count\n", observers.n, observers.calls);
	return 0;
}
