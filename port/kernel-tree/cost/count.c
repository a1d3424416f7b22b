// SPDX-License-Identifier: MIT
/*
 * count - executes operations of a kernel's objects in this process, and counts their instructions
 * one by one: the trap flag makes the processor trap after each. Prints "OP NAME INSTRUCTIONS".
 *
 * The objects are linked as they are. Their calls of other kernel functions stay unresolved, so an
 * operation that leaves its usual path would crash. Their alternatives are those for a processor
 * without features.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

static volatile long traps;

static void trap(int signal)
{
	(void)signal;
	traps++;
}

/* A count, and a lockref: the count is its upper half. */
static union {
	uint32_t count;
	struct {
		uint32_t lock;
		uint32_t count;
	} lockref;
} __attribute__((aligned(64))) object;
static uint32_t lock[16];

static long call(void (*function)(void))
{
	void *first = &object, *second = lock;

	traps = 0;
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
			 "call *%2\n\t"
			 "pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t"
			 : "+D"(first), "+S"(second)
			 : "b"(function)
			 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
	return traps;
}

/* One instruction. */
void nothing(void);
__asm__(".globl nothing\n.type nothing, @function\nnothing:\n\tret\n\t.size nothing, . - nothing");

#define COUNT(name, from)                                                                          \
	do {                                                                                       \
		void name(void);                                                                   \
		memset(&object, 0, sizeof(object));                                                \
		object.count = (from);                                                             \
		printf("OP %s %ld\n", #name, call(name) - empty + 1);                              \
	} while (0)

#define COUNT_LOCKREF(name, from)                                                                  \
	do {                                                                                       \
		void name(void);                                                                   \
		memset(&object, 0, sizeof(object));                                                \
		object.lockref.count = (from);                                                     \
		printf("OP %s %ld\n", #name, call(name) - empty + 1);                              \
	} while (0)

int main(void)
{
	struct sigaction action = { .sa_handler = trap };
	long empty;

	sigaction(SIGTRAP, &action, NULL);
	empty = call(nothing);
	COUNT(op_refcount_read, 5);
	COUNT(op_refcount_inc, 5);
	COUNT(op_refcount_add, 5);
	COUNT(op_refcount_dec, 5);
	COUNT(op_refcount_inc_not_zero, 5);
	COUNT(op_refcount_dec_and_test, 5);
	COUNT(op_refcount_sub_and_test, 5);
	COUNT(refcount_dec_not_one, 5);
	COUNT(refcount_dec_if_one, 1);
	COUNT(refcount_dec_and_lock, 5);
	COUNT(refcount_dec_and_mutex_lock, 5);
	COUNT_LOCKREF(lockref_get, 5);
	COUNT_LOCKREF(lockref_get_not_zero, 5);
	COUNT_LOCKREF(lockref_get_not_dead, 5);
	COUNT_LOCKREF(lockref_put_return, 5);
	COUNT_LOCKREF(lockref_put_not_zero, 5);
	COUNT_LOCKREF(lockref_put_or_lock, 5);
	return 0;
}
