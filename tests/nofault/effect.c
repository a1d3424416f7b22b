/* SPDX-License-Identifier: MIT */
/*
 * effect - F3: a signal that is not caused by a nofault function has the same effect as without the
 * library's handler.
 *
 *   effect [CASE]
 *
 * Each case runs in a child of its own, once without and once with hf_nofault_install(). The test
 * compares its output, how it ended (exit status or signal), and, if the system lets a parent trace
 * its child, the code and address of the last SIGSEGV or SIGBUS, which a core dump would have.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../ktap.h"

#include "holdfast/nofault.h"

enum { CANNOT = 77 }; /* exit status: this case can't run here */
/* Most for one child: on the clock, and of processor time, of which each needs a thousandth. */
enum { SECONDS = 60, PROCESSOR_SECONDS = 3 };

/* Where a context tells which address its thread's last exception was for. */
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(HF_ARCH_GENERIC)
#define HF_KNOWS_FAULTS 1
#endif

#define NOWHERE 0x123456u
static const uintptr_t nowhere = NOWHERE;

/* Differences that docs/design/0009-nofault.md documents. */
enum difference { EQUAL, NO_ADDRESS, NO_CODE };

/* The signal's disposition before the test, and how the signal is generated. */
enum disposition { KEPT, IGNORED, DEFAULT };
enum event { FAULT, KILL, RAISE, QUEUE, QUEUE_VALUE };

struct effect {
	const char *name;
	void (*run)(void);
	enum difference difference;
	/* For simple(); only FAULT and QUEUE use the address. */
	enum event event;
	int signal, code;
	uintptr_t address;
	enum disposition disposition;
	int flags; /* of a handler; mapped(): protection; wrong_tag(): mode */
};

/* ---- in the child ------------------------------------------------------------------------- */

static bool with;
static const struct effect *current;

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(98);
}

static void arm(void)
{
	if (with && hf_nofault_install())
		_exit(99);
}

static __attribute__((noinline)) void touch(uintptr_t address)
{
	(void)*(volatile char *)address;
}

static void *map(int protection)
{
	return mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

typedef void (*handler_t)(int, siginfo_t *, void *);

static void set(int signal, handler_t handler, int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = handler;
	action.sa_flags = flags;
#ifndef __riscv /* whose masks qemu-user 7.2 does not read */
	(void)sigaddset(&action.sa_mask, SIGUSR1);
#endif
	if (sigaction(signal, &action, NULL))
		_exit(98);
}

static char alternate[1 << 16] __attribute__((aligned(16)));

static void set_alternate_stack(void)
{
	stack_t stack;

	memset(&stack, 0, sizeof(stack));
	stack.ss_sp = alternate;
	stack.ss_size = sizeof(alternate);
	if (sigaltstack(&stack, NULL))
		_exit(98);
}

static sigjmp_buf back;

static void jump_back(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	siglongjmp(back, 1);
}

/* Prints its arguments and the state that it finds, and jumps back. */
static void report(int signal, siginfo_t *info, void *context)
{
	char line[200];
	sigset_t now;
	ucontext_t *u = (ucontext_t *)context;

	(void)sigprocmask(SIG_SETMASK, NULL, &now);
	(void)snprintf(line, sizeof(line),
		       "signal %d code %d address %p usr1 %d usr2 %d own %d bus %d alternate %d "
		       "before %d errno %d\n",
		       signal, info->si_code, info->si_code > 0 ? info->si_addr : NULL,
		       sigismember(&now, SIGUSR1), sigismember(&now, SIGUSR2),
		       sigismember(&now, signal), sigismember(&now, SIGBUS),
		       &line[0] >= &alternate[0] && &line[0] < &alternate[sizeof(alternate)],
		       sigismember(&u->uc_sigmask, SIGUSR2), errno);
	say(line);
	siglongjmp(back, 1);
}

static void report_plain(int signal)
{
	say(signal == SIGSEGV ? "SIGSEGV\n" : "another\n");
	siglongjmp(back, 1);
}

static void change_errno(int signal)
{
	(void)signal;
	errno = 77;
}

/* ---- faults ------------------------------------------------------------------------------- */

static void mapped(void)
{
	char *page = (char *)map(current->flags);

	arm();
	*(volatile char *)page = 1;
}

static void jump_to_nowhere(void)
{
	arm();
	((void (*)(void))(uintptr_t)0x1000)();
}

static void past_the_end(void)
{
	char *page = (char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
				  memfd_create("effect", 0), 0);

	arm();
	*(volatile char *)page = 1;
}

static __attribute__((noinline)) int overflow(int n)
{
	volatile char frame[4096];

	frame[0] = (char)n;
	return n < 0 ? 0 : overflow(n + 1) + frame[0];
}

/* Less stack, so that it is soon used up. */
static void less_stack(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };

	(void)setrlimit(RLIMIT_STACK, &limit);
}

static void overflow_with_handler(void)
{
	less_stack();
	set_alternate_stack();
	set(SIGSEGV, report, SA_SIGINFO | SA_ONSTACK);
	arm();
	if (!sigsetjmp(back, 1))
		_exit(overflow(0));
}

static void overflow_without_alternate(void)
{
	stack_t stack = { .ss_flags = SS_DISABLE };

	less_stack();
	(void)sigaltstack(&stack, NULL); /* a sanitizer's */
	arm();
	_exit(overflow(0));
}

static void while_blocked(void)
{
	sigset_t mask;

	arm();
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGSEGV);
	(void)sigprocmask(SIG_BLOCK, &mask, NULL);
	touch(nowhere);
}

static void fault_again(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	touch(0x777000);
}

static void in_a_handler(void)
{
	set(SIGSEGV, fault_again, SA_SIGINFO);
	arm();
	touch(nowhere);
}

/* A recovered fault leaves nothing behind that hides a later one. */
static void behind_a_recovered_one(void)
{
	uint8_t value = 0;

	arm();
	if (with && hf_load8_nofault(&value, (const void *)nowhere) != -HF_EFAULT)
		_exit(98);
	touch(nowhere);
}

/* The interrupted code is in a copy, but the fault is not the copy's. */
static void fault_at_nowhere(int signal)
{
	(void)signal;
	touch(current->address);
	_exit(97);
}

/* A handler with a bug interrupts a copy, again and again until it does so. */
static void in_a_handler_during_a_copy(void)
{
	enum { BYTES = 1 << 20 };
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	char *to = (char *)mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (to == MAP_FAILED)
		_exit(CANNOT);
	arm();
	(void)signal(SIGVTALRM, fault_at_nowhere);
	(void)setitimer(ITIMER_VIRTUAL, &often, NULL);
	for (;;) {
		if (hf_copy_nofault(to, to + BYTES, BYTES))
			break;
	}
	say("taken for the copy's\n");
}

/* ---- sandboxes ---------------------------------------------------------------------------- */

/* A filter answers EPERM to all system calls that a handler could use but its return. */
static void enter_sandbox(void)
{
#define ALLOW(call)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),                                           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_write),
		ALLOW(SYS_kill),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(CANNOT);
}

static void fault_in_sandbox(void)
{
	pid_t self = getpid();

	if (current->disposition == IGNORED)
		(void)signal(SIGSEGV, SIG_IGN);
	arm();
	enter_sandbox();
	if (current->event == KILL)
		(void)syscall(SYS_kill, self, SIGSEGV);
	else
		touch(current->address);
}

#ifdef HF_KNOWS_FAULTS
/* Allows only read, write, _exit and rt_sigreturn, and kills at any other call. */
static void fault_in_strict_mode(void)
{
	arm();
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(CANNOT);
	touch(nowhere);
}
#endif

/* ---- sent, not raised --------------------------------------------------------------------- */

static void queue(int signal, int code, uintptr_t address)
{
	siginfo_t info;

	if (!getauxval(AT_SYSINFO_EHDR))
		_exit(CANNOT); /* qemu-user, which dies of it: see src/nofault/handler.c */
	memset(&info, 0, sizeof(info));
	info.si_signo = signal;
	info.si_code = code;
	info.si_addr = (void *)address;
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), signal, &info))
		_exit(CANNOT);
}

/* For the cases that their row of the table describes completely. */
static void simple(void)
{
	const struct effect *e = current;

	if (e->disposition != KEPT)
		set(e->signal,
		    (handler_t)(void (*)(void))(e->disposition == IGNORED ? SIG_IGN : SIG_DFL),
		    e->flags);
	arm();
	if (e->event == FAULT)
		touch(e->address);
	else if (e->event == KILL)
		(void)kill(getpid(), e->signal);
	else if (e->event == RAISE)
		(void)raise(e->signal);
	else if (e->event == QUEUE_VALUE)
		(void)sigqueue(getpid(), e->signal, (union sigval){ .sival_int = 5 });
	else
		queue(e->signal, e->code, e->address);
}

static void queued_with_handler(void)
{
	set(SIGSEGV, report, SA_SIGINFO);
	arm();
	if (!sigsetjmp(back, 1))
		queue(SIGSEGV, SEGV_MAPERR, 0x777);
	if (!sigsetjmp(back, 1))
		queue(SIGSEGV, 128 /* SI_KERNEL */, 0);
}

/* ---- SA_RESETHAND ------------------------------------------------------------------------- */

/* Sets a handler that is reset when it is called, and calls it. */
static void use_up(void)
{
	set(SIGSEGV, jump_back, SA_SIGINFO | (int)SA_RESETHAND);
	arm();
	if (!sigsetjmp(back, 1))
		touch(0x111000);
}

static void reset_after(void)
{
	use_up();
	touch(nowhere);
}

static void reset_and_killed(void)
{
	use_up();
	(void)kill(getpid(), SIGSEGV);
}

static void reset_and_removed(void)
{
	struct sigaction now;
	char line[80];

	use_up();
	if (with && hf_nofault_remove())
		_exit(98);
	(void)sigaction(SIGSEGV, NULL, &now);
	(void)snprintf(line, sizeof(line), "default %d information %d once %d mask %d\n",
		       now.sa_handler == SIG_DFL, !!(now.sa_flags & SA_SIGINFO),
		       !!(now.sa_flags & (int)SA_RESETHAND), sigismember(&now.sa_mask, SIGUSR1));
	say(line);
}

/* ---- handlers ----------------------------------------------------------------------------- */

static void handler(void)
{
	sigset_t mask;

	set_alternate_stack();
	set(SIGSEGV, report, SA_SIGINFO | current->flags);
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGUSR2);
	(void)sigprocmask(SIG_BLOCK, &mask, NULL);
	arm();
	errno = 33;
	if (!sigsetjmp(back, 1))
		touch(nowhere);
	if (!sigsetjmp(back, 1))
		(void)kill(getpid(), SIGSEGV);
	(void)sigprocmask(SIG_SETMASK, NULL, &mask);
	say(sigismember(&mask, SIGSEGV) || sigismember(&mask, SIGUSR1) ||
			    !sigismember(&mask, SIGUSR2)
		    ? "the mask is wrong\n"
		    : "the mask is back\n");
}

static void plain_handler(void)
{
	(void)signal(SIGSEGV, report_plain);
	arm();
	if (!sigsetjmp(back, 1))
		touch(nowhere);
	if (!sigsetjmp(back, 1))
		(void)kill(getpid(), SIGSEGV);
}

static void handler_changes_errno(void)
{
	char line[40];

	(void)signal(SIGSEGV, change_errno);
	arm();
	errno = 33;
	(void)raise(SIGSEGV);
	(void)snprintf(line, sizeof(line), "errno %d\n", errno);
	say(line);
}

#ifdef HF_ARCH_FAULTING_LOAD
static void step_over(int signal, siginfo_t *info, void *context)
{
	ucontext_t *u = (ucontext_t *)context;

	(void)signal;
	(void)info;
	say("stepped over\n");
	HF_ARCH_CONTEXT_PC(u) += HF_ARCH_FAULTING_LOAD_BYTES;
}

static void handler_changes_context(void)
{
	set(SIGSEGV, step_over, SA_SIGINFO);
	arm();
	HF_ARCH_FAULTING_LOAD((const char *)nowhere);
}
#endif

/* ---- processor-specific ------------------------------------------------------------------- */

#ifdef __aarch64__
/* A page with memory tags, and a pointer to it that has the wrong one. `mode`: see prctl(2). */
static volatile char *tagged(unsigned long mode)
{
	char *page;

	if (prctl(55 /* PR_SET_TAGGED_ADDR_CTRL */, 1 | mode | 0xfffeul << 3, 0, 0, 0))
		_exit(CANNOT);
	page = (char *)map(PROT_READ | PROT_WRITE | 0x20 /* PROT_MTE */);
	if (page == MAP_FAILED)
		_exit(CANNOT);
	return (volatile char *)((uintptr_t)page | 5ul << 56);
}

static void wrong_tag(void)
{
	volatile char *p = tagged((unsigned long)current->flags);

	arm();
	*p = 1;
	(void)getppid();
}

/* The signal arrives during a copy of accessible memory. */
static void tag_during_copy(void)
{
	static char to[1 << 22], from[1 << 22];
	volatile char *p = tagged(4);
	size_t left;

	arm();
	*p = 1;
	left = hf_copy_nofault(to, from, sizeof(to));
	(void)getppid();
	say(left ? "some is left\n" : "all is done\n");
}
#endif

/* ---- the table ---------------------------------------------------------------------------- */

static const struct effect effects[] = {
	{ "unmapped", .run = simple, .address = NOWHERE },
	{ "null pointer", .run = simple, .address = 8 },
	{ "read-only", .run = mapped, .flags = PROT_READ },
	{ "no access", .run = mapped, .flags = PROT_NONE },
	{ "jump to nowhere", .run = jump_to_nowhere },
	{ "past the end of a file", .run = past_the_end },
	{ "stack overflow, an alternate stack and a handler", .run = overflow_with_handler },
	{ "stack overflow, no alternate stack", .run = overflow_without_alternate,
	  .difference = NO_ADDRESS },
	{ "a fault with SIGSEGV blocked", .run = while_blocked },
	{ "a fault in a handler", .run = in_a_handler },
	{ "a fault after a recovered one", .run = behind_a_recovered_one },
	{ "a fault in a handler during a copy", .run = in_a_handler_during_a_copy, .address = 8 },
	{ "in a sandbox, a fault", .run = fault_in_sandbox, .address = NOWHERE },
	{ "in a sandbox, ignored, a fault", .run = fault_in_sandbox, .disposition = IGNORED,
	  .address = NOWHERE },
	{ "in a sandbox, kill", .run = fault_in_sandbox, .event = KILL, .difference = NO_CODE },
#ifdef HF_KNOWS_FAULTS
	{ "in seccomp's strict mode, a fault", .run = fault_in_strict_mode },
#endif
	{ "kill", .run = simple, .event = KILL, .signal = SIGSEGV },
	{ "raise", .run = simple, .event = RAISE, .signal = SIGBUS },
	{ "sigqueue", .run = simple, .event = QUEUE_VALUE, .signal = SIGSEGV },
	{ "queued to itself as a fault", .run = simple, .event = QUEUE, .signal = SIGSEGV,
	  .code = SEGV_MAPERR, .address = 0x777 },
	{ "queued to itself as misaligned", .run = simple, .event = QUEUE, .signal = SIGBUS,
	  .code = BUS_ADRALN, .address = 0x777 },
	{ "queued to itself as a memory error", .run = simple, .event = QUEUE, .signal = SIGBUS,
	  .code = 5 /* BUS_MCEERR_AO */, .address = 0x777000 },
	/* As the kernel sends it: later, and with no address. */
	{ "queued to itself as a tag fault", .run = simple, .event = QUEUE, .signal = SIGSEGV,
	  .code = 8 /* SEGV_MTEAERR */ },
	{ "queued to itself, a handler", .run = queued_with_handler },
	{ "ignored, kill", .run = simple, .disposition = IGNORED, .event = KILL,
	  .signal = SIGSEGV },
	{ "ignored, queued as a fault", .run = simple, .disposition = IGNORED, .event = QUEUE,
	  .signal = SIGBUS, .code = BUS_ADRERR, .address = 0x777 },
	{ "ignored, a fault", .run = simple, .disposition = IGNORED, .signal = SIGSEGV,
	  .address = NOWHERE },
	{ "ignored with SA_SIGINFO, kill", .run = simple, .disposition = IGNORED,
	  .flags = SA_SIGINFO, .event = KILL, .signal = SIGSEGV },
	{ "ignored with SA_SIGINFO, a fault", .run = simple, .disposition = IGNORED,
	  .flags = SA_SIGINFO, .signal = SIGSEGV, .address = NOWHERE },
	{ "default with SA_SIGINFO, a fault", .run = simple, .disposition = DEFAULT,
	  .flags = SA_SIGINFO, .signal = SIGSEGV, .address = NOWHERE },
	{ "default with SA_SIGINFO, kill", .run = simple, .disposition = DEFAULT,
	  .flags = SA_SIGINFO | SA_ONSTACK, .event = KILL, .signal = SIGBUS },
	{ "SA_RESETHAND used up", .run = reset_after },
	{ "SA_RESETHAND used up, kill", .run = reset_and_killed },
	{ "SA_RESETHAND used up, removed", .run = reset_and_removed },
	{ "a handler", .run = handler },
	{ "a handler on the alternate stack", .run = handler, .flags = SA_ONSTACK },
	{ "a handler that is not deferred", .run = handler, .flags = SA_NODEFER },
	{ "a plain handler", .run = plain_handler },
	{ "a handler that changes errno", .run = handler_changes_errno },
#ifdef HF_ARCH_FAULTING_LOAD
	{ "a handler that changes the context", .run = handler_changes_context },
#endif
#ifdef __x86_64__
	{ "in a sandbox, an address that is not canonical", .run = fault_in_sandbox,
	  .address = 0x8000000000000000u },
	{ "an address that is not canonical", .run = simple, .address = 0x8000000000000000u },
#endif
#ifdef __aarch64__
	{ "a wrong memory tag, at once", .run = wrong_tag, .flags = 2 },
	{ "a wrong memory tag, asynchronous", .run = wrong_tag, .flags = 4 },
	{ "a wrong memory tag, during a copy", .run = tag_during_copy },
#endif
};

enum { EFFECTS = sizeof(effects) / sizeof(effects[0]) };

/* ---- in the parent ------------------------------------------------------------------------ */

struct outcome {
	int status; /* of waitpid() */
	int signal, code;
	uintptr_t address; /* of the last SIGSEGV or SIGBUS; 0 = none seen */
	char output[1024];
};

static bool traces;

static void child(const struct effect *effect, bool armed, int output)
{
	with = armed;
	current = effect;
	(void)alarm(SECONDS);
	(void)signal(SIGSEGV, SIG_DFL); /* not a sanitizer's */
	(void)signal(SIGBUS, SIG_DFL);
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	(void)setrlimit(RLIMIT_CPU, &(struct rlimit){ PROCESSOR_SECONDS, RLIM_INFINITY });
	if (dup2(output, STDOUT_FILENO) < 0)
		_exit(98);
	if (traces) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(98);
		(void)raise(SIGSTOP);
	}
	effect->run();
	_exit(0);
}

/* Follows the child through its signals until it ends. */
static void follow(pid_t pid, struct outcome *outcome)
{
	while (waitpid(pid, &outcome->status, 0) == pid && WIFSTOPPED(outcome->status)) {
		int signal = WSTOPSIG(outcome->status);
		siginfo_t info;

		if (signal == SIGSEGV || signal == SIGBUS) {
			memset(&info, 0, sizeof(info));
			(void)ptrace(PTRACE_GETSIGINFO, pid, NULL, &info);
			outcome->signal = info.si_signo;
			outcome->code = info.si_code;
			outcome->address = info.si_code > 0 ? (uintptr_t)info.si_addr : 0;
		}
		if (signal == SIGTRAP || signal == SIGSTOP)
			signal = 0;
		(void)ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(uintptr_t)PTRACE_O_EXITKILL);
		(void)ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)signal);
	}
}

static void run(const struct effect *effect, bool armed, struct outcome *outcome)
{
	int ends[2];
	pid_t pid;
	ssize_t got;

	memset(outcome, 0, sizeof(*outcome));
	if (pipe(ends)) {
		perror("pipe");
		exit(2);
	}
	pid = fork();
	if (pid == 0)
		child(effect, armed, ends[1]);
	(void)close(ends[1]);
	if (traces)
		follow(pid, outcome);
	else
		(void)waitpid(pid, &outcome->status, 0);
	got = read(ends[0], outcome->output, sizeof(outcome->output) - 1);
	outcome->output[got > 0 ? got : 0] = 0;
	(void)close(ends[0]);
}

static void print(const char *title, const struct outcome *o)
{
	if (WIFSIGNALED(o->status))
		printf("# %s: killed by %d", title, WTERMSIG(o->status));
	else
		printf("# %s: exit %d", title, WEXITSTATUS(o->status));
	printf(", last signal %d code %d address %#lx\n", o->signal, o->code,
	       (unsigned long)o->address);
	for (const char *at = o->output; *at;) {
		size_t len = strcspn(at, "\n");

		printf("#     %.*s\n", (int)len, at);
		at += len + (at[len] != 0);
	}
}

static bool same(const struct outcome *a, const struct outcome *b)
{
	return a->status == b->status && a->signal == b->signal && a->code == b->code &&
	       a->address == b->address && strcmp(a->output, b->output) == 0;
}

static void compare(const struct effect *effect)
{
	struct outcome without, armed;
	/* Emulators of user programs now and then kill a process by a signal that it ignores. */
	int attempts = traces ? 1 : 3;

	do {
		run(effect, false, &without);
		if (WIFEXITED(without.status) && WEXITSTATUS(without.status) == CANNOT) {
			ktap_skip("not on this processor or system", "%s", effect->name);
			return;
		}
		run(effect, true, &armed);
	} while (--attempts && !same(&without, &armed));
	/* NO_ADDRESS: the kernel, which finds no room for a handler, gives none. */
	if (effect->difference == NO_CODE ||
	    (effect->difference == NO_ADDRESS && armed.code == 128 && armed.address == 0)) {
		armed.code = without.code;
		armed.address = without.address;
	}
	if (!ktap_result(same(&without, &armed), "%s", effect->name)) {
		print("without", &without);
		print("with", &armed);
	}
}

/* Can a parent trace its child? Not under an emulator of user programs. */
static bool can_trace(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 0);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv)
{
	unsigned int planned = 0;

	for (unsigned int i = 0; i < EFFECTS; i++)
		planned += argc < 2 || strcmp(argv[1], effects[i].name) == 0;
	traces = can_trace();
	ktap_begin(planned);
	if (!traces)
		printf("# a parent can't trace its child here: code and address are not "
		       "compared\n");
	fflush(stdout);
	for (unsigned int i = 0; i < EFFECTS; i++) {
		if (argc < 2 || strcmp(argv[1], effects[i].name) == 0)
			compare(&effects[i]);
	}
	return ktap_end();
}
