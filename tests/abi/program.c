/* SPDX-License-Identifier: MIT */
/*
 * program - inlines all code that reads objects of the library: the locks' slow paths, and the
 * memory functions. Linked with the shared library at fixed addresses, so that the linker copies
 * those objects into the program (copy relocations): run.py checks which.
 */
#include <holdfast/cond.h>
#include <holdfast/lockref.h>
#include <holdfast/nofault.h>
#include <holdfast/spinlock.h>
#include <holdfast/spinlock_ticket.h>

static hf_mutex_t mutex;
static hf_cond_t cond;
static hf_lockref_t lockref = HF_LOCKREF_INIT(1);

static hf_spinlock_t spinlock;
static hf_spinlock_ticket_t ticket;

int main(void)
{
	char from[8] = "1234567", to[8];
	size_t left;

	hf_spinlock_lock(&spinlock);
	hf_spinlock_unlock(&spinlock);
	hf_spinlock_ticket_lock(&ticket);
	hf_spinlock_ticket_unlock(&ticket);
	hf_mutex_lock(&mutex);
	hf_cond_signal(&cond);
	hf_mutex_unlock(&mutex);
	hf_lockref_lock(&lockref);
	hf_lockref_unlock(&lockref);
	left = hf_copy_nofault(to, from, sizeof(from)) + hf_clear_nofault(from, sizeof(from));
	left += hf_fill_nofault(from, 1, sizeof(from));
	return left != 0 || to[6] != '7';
}
