// SPDX-License-Identifier: MIT
// nofault: the library's signal handler beside those of the program, each case in a child.
// tests/nofault/effect.c compares the effect of all other signals: which handlers run, with which
// mask and stack.
#include "unit.h"

#include <cerrno>
#include <cstring>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "holdfast/nofault.h"
#include "holdfast/region.h"

#include "filter.h"

namespace
{

using NoFaultSignals = testing::Test;

#ifdef __riscv
const bool riscv = true;
#else
const bool riscv = false;
#endif

const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
char *good, *bad; // an accessible page, and the inaccessible one behind it

void make_pages()
{
	good = static_cast<char *>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	bad = good + page;
	mprotect(bad, page, PROT_NONE);
}

int in_child(const std::function<void()> &body)
{
	return unit::in_child([&] {
		(void)hf_nofault_remove(); // that of an earlier case in this process
		signal(SIGSEGV, SIG_DFL);  // removes a sanitizer's handler
		signal(SIGBUS, SIG_DFL);
		make_pages();
		body();
	});
}

void must_recover()
{
	char buffer[64];
	volatile size_t left = hf_copy_nofault(buffer, bad - 20, 64);

	MUST(left == 44);
	left = hf_clear_nofault(bad - 8, 20);
	MUST(left == 12);
}

__attribute__((noinline)) void fault()
{
	*static_cast<volatile char *>(bad) = 1;
}

void set(int signal, int flags, void (*handler)(int, siginfo_t *, void *), int also_blocked = 0)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = handler;
	action.sa_flags = flags;
	if (also_blocked)
		sigaddset(&action.sa_mask, also_blocked);
	MUST(sigaction(signal, &action, nullptr) == 0);
}

// A handler that makes the page accessible, so that the faulting instruction succeeds when it
// returns.
volatile sig_atomic_t calls;
void *volatile seen_address;

void open_page(int, siginfo_t *info, void *)
{
	calls = calls + 1;
	seen_address = info->si_addr;
	mprotect(bad, page, PROT_READ | PROT_WRITE);
}

struct sigaction ours_as_others_see_it;

void later_handler(int signal, siginfo_t *info, void *context)
{
	calls = calls + 1;
	ours_as_others_see_it.sa_sigaction(signal, info, context);
}

TEST_IN_CHILD(NoFaultSignals, ALaterHandlerThatPassesOn, -SIGSEGV)
{
	MUST(hf_nofault_install() == 0);
	MUST(hf_nofault_owned());
	sigaction(SIGSEGV, nullptr, &ours_as_others_see_it);
	set(SIGSEGV, SA_SIGINFO, later_handler);
	MUST(!hf_nofault_owned());
	must_recover();
	MUST(calls == 2);
	MUST(hf_nofault_install() == 0);
	MUST(hf_nofault_remove() == -EBUSY);
	must_recover();
	MUST(sigaction(SIGSEGV, &ours_as_others_see_it, nullptr) == 0);
	MUST(hf_nofault_owned());
	MUST(hf_nofault_remove() == 0);
	fault();
}

TEST(NoFaultSignals, InstallReplacesADefaultSetByOthers)
{
	for (int signal : { SIGSEGV, SIGBUS }) {
		for (sighandler_t action : { SIG_DFL, SIG_IGN }) {
			EXPECT_EQ(in_child([signal, action] {
					  struct sigaction now;

					  MUST(hf_nofault_install() == 0);
					  ::signal(signal, action);
					  MUST(!hf_nofault_owned());
					  MUST(hf_nofault_remove() == -EBUSY);
					  MUST(hf_nofault_install() == 0);
					  MUST(hf_nofault_owned());
					  must_recover();
					  MUST(hf_nofault_remove() == 0);
					  sigaction(signal, nullptr, &now);
					  MUST(now.sa_handler == action);
				  }),
				  0)
				<< signal;
		}
	}
}

void must_find(enum hf_nofault_obstacle expected, const char *part)
{
	const char *words = nullptr;

	MUST(hf_nofault_check(nullptr) == expected);
	MUST(hf_nofault_check(&words) == expected && strstr(words, part));
}

TEST_IN_CHILD(NoFaultSignals, CheckFindsAHandlerOfOthers, 0)
{
	for (int signal : { SIGSEGV, SIGBUS }) {
		struct sigaction ours;

		MUST(hf_nofault_install() == 0);
		must_find(HF_NOFAULT_READY, "are recovered");
		must_recover();
		sigaction(signal, nullptr, &ours);
		set(signal, SA_SIGINFO, open_page);
		must_find(HF_NOFAULT_OTHER_HANDLER, "another handler");
		MUST(sigaction(signal, &ours, nullptr) == 0);
	}
}

TEST_IN_CHILD(NoFaultSignals, CheckFindsABlockedSignal, 0)
{
	MUST(hf_nofault_install() == 0);
	for (int signal : { SIGSEGV, SIGBUS }) {
		sigset_t mask;

		sigemptyset(&mask);
		sigaddset(&mask, signal);
		pthread_sigmask(SIG_BLOCK, &mask, nullptr);
		must_find(HF_NOFAULT_BLOCKED, "blocked");
		pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
	}
	must_find(HF_NOFAULT_READY, "are recovered");
}

// As tests/nofault/alternate_stack.c, which faults on such a stack.
size_t least_stack()
{
	unsigned long frame = getauxval(51 /* AT_MINSIGSTKSZ */);

	return (frame ? frame : static_cast<unsigned long>(MINSIGSTKSZ)) + 1024;
}

TEST_IN_CHILD(NoFaultSignals, CheckFindsASmallAlternateStack, 0)
{
	static char room[1 << 16];
	stack_t stack = {};

	MUST(hf_nofault_install() == 0);
	stack.ss_sp = room;
	stack.ss_size = least_stack();
	MUST(sigaltstack(&stack, nullptr) == 0);
	must_find(HF_NOFAULT_READY, "are recovered");
	stack.ss_size--;
	MUST(sigaltstack(&stack, nullptr) == 0);
	must_find(HF_NOFAULT_SMALL_STACK, "alternate signal stack");
	stack.ss_flags = SS_DISABLE;
	MUST(sigaltstack(&stack, nullptr) == 0);
	must_find(HF_NOFAULT_READY, "are recovered");
}

// On the stack itself, what is left of it counts.
TEST_IN_CHILD_UNLESS(NoFaultSignals, CheckOnTheAlternateStack, 0, unit::tsan || unit::asan,
		     "sanitizers have stacks of their own")
{
	static char room[1 << 16];
	static enum hf_nofault_obstacle found;
	stack_t stack = {};

	MUST(hf_nofault_install() == 0);
	stack.ss_sp = room;
	struct sigaction action = {};
	action.sa_handler = [](int) { found = hf_nofault_check(nullptr); };
	action.sa_flags = SA_ONSTACK;
	MUST(sigaction(SIGUSR1, &action, nullptr) == 0);
	for (size_t size : { sizeof(room), least_stack() + 256 }) {
		stack.ss_size = size;
		MUST(sigaltstack(&stack, nullptr) == 0);
		raise(SIGUSR1);
		MUST(found == (size == sizeof(room) ? HF_NOFAULT_READY : HF_NOFAULT_SMALL_STACK));
	}
}

TEST_IN_CHILD_UNLESS(NoFaultSignals, CheckFindsAFilter, 0, unit::emulated || unit::tsan,
		     "qemu-user has no filters of system calls; ThreadSanitizer answers "
		     "sigaction() by itself")
{
	unit::refuse({ SYS_rt_sigaction }, EPERM);
	MUST(hf_nofault_install() == -EPERM);
	must_find(HF_NOFAULT_FILTERED, "seccomp");
}

#ifdef __x86_64__
// A sandbox's handler: the system call fails.
void answer_eperm(int, siginfo_t *, void *context)
{
	calls = calls + 1;
	static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RAX] = -EPERM;
}

// Chromium's and Bun's kind of filter; the handler of a loss opens /proc/self/maps.
TEST_IN_CHILD_UNLESS(NoFaultSignals, ALossUnderAFilterThatTraps, 0, unit::emulated || unit::tsan,
		     "qemu-user has no filters of system calls; ThreadSanitizer delays signals")
{
	int file = memfd_create("lost", 0);
	hf_region_t region;

	MUST(ftruncate(file, static_cast<off_t>(2 * page)) == 0);
	char *map = static_cast<char *>(mmap(nullptr, 2 * page, PROT_READ, MAP_SHARED, file, 0));
	MUST(map != MAP_FAILED);
	set(SIGSYS, SA_SIGINFO, answer_eperm);
	MUST(hf_nofault_install() == 0);
	MUST(hf_region_begin(&region, map, 2 * page) == 0);
	MUST(ftruncate(file, static_cast<off_t>(page)) == 0);
	unit::refuse({ SYS_openat }, 0);
	(void)*static_cast<volatile char *>(map + page);
	MUST(hf_region_end(&region, nullptr) == page);
	MUST(calls > 0);
}

// gVisor's code for a lost page is that of an unaligned access: exception 17 tells them apart.
bool is_alignment_check;

void as_in_gvisor(int signal, siginfo_t *info, void *context)
{
	info->si_code = BUS_ADRALN;
	if (is_alignment_check)
		static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_TRAPNO] = 17;
	MUST(hf_nofault_handle(signal, info, context) == !is_alignment_check);
	if (is_alignment_check)
		MUST(mmap(bad, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		     bad);
}

TEST_IN_CHILD_UNLESS(NoFaultSignals, ALostPageInGVisor, 0, unit::emulated,
		     "qemu-user does not give the number of an exception")
{
	int file = memfd_create("lost", 0);
	char to[40];

	MUST(mmap(bad, page, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == bad);
	set(SIGBUS, SA_SIGINFO, as_in_gvisor);
	hf_nofault_handle(0, nullptr, nullptr);
	size_t left = hf_copy_nofault(to, bad - 20, 40);
	MUST(left == 20);
	MUST(hf_nofault_last().address == bad);
	is_alignment_check = true;
	left = hf_copy_nofault(to, bad - 20, 40);
	MUST(left == 0);
}
#endif

// Code that puts back what signal() returned drops SA_SIGINFO, and our handler gets no siginfo.
TEST(NoFaultSignals, SetAgainBySignal)
{
	for (int signal : { SIGSEGV, SIGBUS }) {
		EXPECT_EQ(in_child([signal] {
				  struct sigaction before, now;

				  set(signal, SA_SIGINFO, open_page);
				  sigaction(signal, nullptr, &before);
				  MUST(hf_nofault_install() == 0);
				  for (bool again : { true, false }) {
					  ::signal(signal, ::signal(signal, SIG_IGN));
					  MUST(!hf_nofault_owned());
					  must_find(HF_NOFAULT_OTHER_HANDLER, "install it again");
					  if (again) {
						  MUST(hf_nofault_install() == 0);
						  MUST(hf_nofault_owned());
						  must_recover();
					  }
				  }
				  MUST(hf_nofault_remove() == 0);
				  sigaction(signal, nullptr, &now);
				  MUST(now.sa_sigaction == before.sa_sigaction);
				  MUST(now.sa_flags == before.sa_flags);
			  }),
			  0)
			<< signal;
	}
}

// The kernel's struct: the C library's hides its own two signals, 32 and 33.
struct kernel_action {
	void *handler;
	unsigned long flags;
#ifndef __riscv
	void *restorer;
#endif
	uint64_t mask;
	void *room[2];
};

TEST_IN_CHILD_UNLESS(NoFaultSignals, NothingInterruptsOurHandler, 0,
		     (unit::emulated && riscv) || unit::tsan,
		     "qemu-user 7.2 has the wrong struct of the kernel's on RISC-V; "
		     "ThreadSanitizer gives the kernel a handler and a mask of its own")
{
	kernel_action now = {};

	MUST(hf_nofault_install() == 0);
	MUST(syscall(SYS_rt_sigaction, SIGSEGV, nullptr, &now, 8) == 0);
	uint64_t mask = now.mask | 1u << (SIGKILL - 1) | 1u << (SIGSTOP - 1), raised = 0;

	// What our handler's own system calls and instructions raise; blocked, it would kill.
	for (int signal : { SIGSYS, SIGTRAP, SIGILL })
		raised |= uint64_t{ 1 } << (signal - 1);
	MUST((mask & raised) == 0);
	MUST((mask | raised) == UINT64_MAX);
}

// A thread that is cancelled at any point of a fault must not block other threads.
TEST_IN_CHILD_UNLESS(NoFaultSignals, ThreadsAreCancelledInAFault, 0,
		     unit::emulated || unit::tsan || unit::asan,
		     "qemu-user 7.2 stops for ever when a thread is cancelled at any moment; "
		     "ThreadSanitizer does not survive it; AddressSanitizer takes the rest of the "
		     "thread's stack for its own error")
{
	set(SIGSEGV, SA_SIGINFO, [](int signal, siginfo_t *info, void *context) {
		MUST(hf_nofault_handle(signal, info, context));
	});
	for (int i = 0; i < 300; i++) {
		std::atomic<bool> runs{ false };
		pthread_t thread;
		auto body = [](void *argument) -> void * {
			uint8_t value;

			pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
			*static_cast<std::atomic<bool> *>(argument) = true;
			for (;;)
				MUST(hf_load8_nofault(&value, bad) == -14);
		};

		MUST(pthread_create(&thread, nullptr, body, &runs) == 0);
		while (!runs)
			sched_yield();
		MUST(pthread_cancel(thread) == 0);
		MUST(pthread_join(thread, nullptr) == 0);
		// Changing the table waits for its readers: no cancelled thread may be left as one.
		static const struct hf_detail_site site = { 0, 0 };

		hf_detail_sites_register(&site, &site + 1);
		hf_detail_sites_unregister(&site, &site + 1);
	}
}

void own_handler(int signal, siginfo_t *info, void *context)
{
	if (hf_nofault_handle(signal, info, context))
		return;
	open_page(signal, info, context);
}

TEST_IN_CHILD(NoFaultSignals, AProgramThatOwnsItsHandlers, 0)
{
	set(SIGSEGV, SA_SIGINFO, own_handler);
	must_recover();
	MUST(calls == 0 && !hf_nofault_owned());
	fault();
	MUST(calls == 1 && seen_address == bad);
}

TEST_IN_CHILD(NoFaultSignals, RemoveGivesBackWhatWasThere, 0)
{
	struct sigaction now;

	set(SIGSEGV, SA_SIGINFO | SA_NODEFER, open_page, SIGUSR1);
	for (int i = 0; i < 3; i++) {
		MUST(hf_nofault_install() == 0 && hf_nofault_install() == 0);
		MUST(hf_nofault_owned());
		must_recover();
		MUST(hf_nofault_remove() == 0 && hf_nofault_remove() == 0);
		MUST(!hf_nofault_owned());
	}
	sigaction(SIGSEGV, nullptr, &now);
	MUST(now.sa_sigaction == open_page && now.sa_flags & SA_NODEFER);
	MUST(sigismember(&now.sa_mask, SIGUSR1));
	sigaction(SIGBUS, nullptr, &now);
	MUST(now.sa_handler == SIG_DFL);
}

TEST_IN_CHILD(NoFaultSignals, ManyThreadsInstallFaultAndFork, 0)
{
	unit::run_threads(8, [](int t) {
		for (int i = 0; i < 300; i++) {
			MUST(hf_nofault_install() == 0);
			must_recover();
			if (t == 0 && i % 60 == 0)
				MUST(unit::in_child(must_recover) == 0);
		}
	});
}

#ifdef __x86_64__
// The delivery of a signal keeps the flag, and our handler's own accesses may be unaligned.
TEST_IN_CHILD_UNLESS(NoFaultSignals, AlignmentChecksAreOn, 0, unit::tsan || unit::asan,
		     "a sanitizer's own code accesses unaligned words")
{
	uint8_t value = 0;
	int error;

	MUST(hf_nofault_install() == 0);
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | 0x40000);
	error = hf_load8_nofault(&value, bad);
	bool kept = __builtin_ia32_readeflags_u64() & 0x40000;

	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~0x40000ull);
	MUST(error == -14 && kept);
	must_recover();
}

// The C library's code accesses unaligned words, so our handler switches the checks off. It calls
// pthread_sigmask() before it passes a signal on: there a filter lets this look at the flags.
void must_be_off(int, siginfo_t *, void *context)
{
	greg_t *registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;

	calls = calls + 1;
	MUST(!(registers[REG_EFL] & 0x40000));
	registers[REG_RAX] = 0;
}

TEST_IN_CHILD_UNLESS(
	NoFaultSignals, AlignmentChecksAreOffInOurHandler, 0,
	unit::emulated || unit::tsan || unit::asan,
	"qemu-user has no filters of system calls; a sanitizer's own code accesses unaligned words")
{
	set(SIGSYS, SA_SIGINFO, must_be_off);
	set(SIGSEGV, SA_SIGINFO, [](int, siginfo_t *, void *) {
		MUST(mmap(bad, page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == bad);
	});
	MUST(hf_nofault_install() == 0);
	unit::refuse({ SYS_rt_sigprocmask }, 0);
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | 0x40000);
	*static_cast<volatile char *>(bad) = 1;
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~0x40000ull);
	MUST(calls == 1);
}
#endif

TEST_IN_CHILD(NoFaultSignals, ASentSignalIsNotTakenForAFault, 0)
{
	static std::atomic<int> handled{ 0 };
	static char to[1 << 20], from[1 << 20];

	set(SIGSEGV, SA_SIGINFO, [](int, siginfo_t *info, void *) {
		MUST(info->si_code <= 0);
		handled++;
	});
	MUST(hf_nofault_install() == 0);
	pthread_t self = pthread_self();
	std::thread sender([&] {
		/* Not for ever: on a busy machine they may come faster than they are handled. */
		while (handled < 300) {
			pthread_kill(self, SIGSEGV);
			usleep(20);
		}
	});

	memset(from, 'f', sizeof(from));
	while (handled < 300) {
		size_t left = hf_copy_nofault(to, from, sizeof(to));

		MUST(left == 0 && memcmp(to, from, sizeof(to)) == 0);
		memset(to, 0, sizeof(to));
	}
	sender.join();
}

TEST(NoFaultSignals, ExitWhileThreadsStillFault)
{
	for (int round = 0; round < 10; round++) {
		EXPECT_EQ(in_child([] {
				  MUST(hf_nofault_install() == 0);
				  for (int t = 0; t < 3; t++) {
					  std::thread([] {
						  for (;;)
							  must_recover();
					  }).detach();
				  }
				  usleep(3000);
				  exit(0); // runs the destructors while the threads continue
			  }),
			  0);
	}
}

} // namespace
