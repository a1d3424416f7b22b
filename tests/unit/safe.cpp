// SPDX-License-Identifier: MIT
// safe: reads that work where a fault would kill. Cases that change signal handling run in a child.
#include "unit.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "holdfast/nofault.h"

#include "filter.h"

namespace
{

using Safe = testing::Test;

const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
const size_t PAGES = 20; // more than one system call copies

// PAGES accessible pages, and an inaccessible one behind them.
struct Area {
	char *start, *end;

	Area()
	{
		size_t len = PAGES * page;

		start = static_cast<char *>(mmap(nullptr, len + page, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		end = start + len;
		mprotect(end, page, PROT_NONE);
		for (size_t i = 0; i < len; i++)
			start[i] = static_cast<char>(1 + i % 251);
	}
	~Area() { munmap(start, PAGES * page + page); }
	Area(const Area &) = delete;
	Area &operator=(const Area &) = delete;
};

using unit::in_child;

// Async-signal-safe: the caller has made `to` and `from`.
void sweep(const Area &to, const Area &from)
{
	const size_t sizes[] = {
		1, 2, 7, 8, 64, page - 1, page, page + 1, 3 * page + 5, 18 * page,
	};
	const size_t befores[] = {
		0, 1, 5, 8, 63, page - 1, page, page + 1, 2 * page, 17 * page + 3
	};

	for (size_t size : sizes) {
		for (size_t there : befores) { // bytes before the fault, on either side
			for (int side = 0; side < 3; side++) {
				// 0: the source faults; 1: the destination; 2: neither
				const char *src = side == 0 ? from.end - there
							    : from.start + there % 97;
				char *dst = side == 1 ? to.end - there : to.start + 13;
				size_t done = side == 2 || size < there ? size : there;
				char *edge = dst + done;

				memset(to.start, 0x55, PAGES * page);
				errno = 77;
				MUST(hf_copy_safe(dst, src, size) == size - done);
				MUST(errno == 77);
				MUST(memcmp(dst, src, done) == 0);
				MUST(dst == to.start || dst[-1] == 0x55);
				MUST(edge == to.end || *edge == 0x55);
			}
		}
	}
	uint8_t byte = 9;
	uint16_t half = 9;
	uint32_t word = 9;
	uint64_t wide = 9;

	MUST(hf_load64_safe(&wide, from.end - 8) == 0 && memcmp(&wide, from.end - 8, 8) == 0);
	MUST(hf_load64_safe(&wide, from.end - 7) == -EFAULT && memcmp(&wide, from.end - 8, 8) == 0);
	MUST(hf_load32_safe(&word, from.end - 4) == 0 && memcmp(&word, from.end - 4, 4) == 0);
	MUST(hf_load32_safe(&word, from.end - 3) == -EFAULT);
	MUST(hf_load16_safe(&half, from.end - 2) == 0 && memcmp(&half, from.end - 2, 2) == 0);
	MUST(hf_load16_safe(&half, from.end - 1) == -EFAULT);
	MUST(hf_load8_safe(&byte, from.end - 1) == 0 && byte == static_cast<uint8_t>(from.end[-1]));
	MUST(hf_load8_safe(&byte, from.end) == -EFAULT);
	MUST(hf_load8_safe(&byte, nullptr) == -EFAULT);
	MUST(hf_copy_safe(to.start, from.end, 0) == 0);
}

void block(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	MUST(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
}

bool may_read_itself()
{
	char from = 1, to = 0;
	iovec local = { &to, 1 }, remote = { &from, 1 };

	return syscall(SYS_process_vm_readv, getpid(), &local, 1ul, &remote, 1ul, 0ul) == 1;
}

void forbid_reading_itself()
{
	unit::refuse({ SYS_process_vm_readv }, EPERM);
	MUST(!may_read_itself());
}

TEST_IN_CHILD(Safe, WithOurHandler, 0)
{
	Area to, from;

	MUST(hf_nofault_install() == 0);
	sweep(to, from);
}

TEST_IN_CHILD(Safe, WithoutOurHandler, 0)
{
	Area to, from;

	sweep(to, from);
}

TEST(Safe, WithASignalBlocked)
{
	for (int signal : { SIGSEGV, SIGBUS }) {
		EXPECT_EQ(in_child([signal] {
				  Area to, from;

				  MUST(hf_nofault_install() == 0);
				  block(signal);
				  sweep(to, from);
				  // A page that its file does not have: SIGBUS.
				  int fd = memfd_create("safe", MFD_CLOEXEC);
				  void *empty = mmap(nullptr, page, PROT_READ, MAP_SHARED, fd, 0);
				  MUST(empty != MAP_FAILED);
				  MUST(hf_copy_safe(to.start, empty, 8) == 8);
			  }),
			  0)
			<< signal;
	}
}

const Area *handlers_to, *handlers_from;

TEST(Safe, InACrashHandler)
{
	/* A handler installed before the library's, and one installed after it. */
	for (bool before : { true, false }) {
		EXPECT_EQ(in_child([before] {
				  Area to, from;

				  handlers_to = &to;
				  handlers_from = &from;
				  if (!before)
					  MUST(hf_nofault_install() == 0);
				  struct sigaction action;
				  memset(&action, 0, sizeof(action));
				  action.sa_handler = [](int) {
					  sweep(*handlers_to, *handlers_from);
					  _exit(3);
				  };
				  MUST(sigaction(SIGSEGV, &action, nullptr) == 0);
				  if (before)
					  MUST(hf_nofault_install() == 0);
				  *static_cast<volatile char *>(from.end) = 1;
			  }),
			  3)
			<< before;
	}
}

TEST_IN_CHILD_UNLESS(Safe, WhereAProcessMayNotReadItself, 0, unit::emulated,
		     "qemu-user has no seccomp; the cases above went through the pipe")
{
	Area to, from;

	forbid_reading_itself();
	block(SIGSEGV);
	sweep(to, from);
}

TEST_IN_CHILD_UNLESS(Safe, WhereThereIsNoPipeEitherNothingIsCopied, 0, unit::emulated,
		     "qemu-user has no seccomp")
{
	Area to, from;
	rlimit none = { 0, 0 };

	forbid_reading_itself();
	block(SIGSEGV);
	MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
	memset(to.start, 0x55, page);
	MUST(hf_copy_safe(to.start, from.start, 8) == 8);
	MUST(to.start[0] == 0x55);
}

// process_vm_readv() can read neither the vDSO's data nor secret memory.
TEST_IN_CHILD_UNLESS(Safe, MemoryThatTheSystemCannotReadForUs, 0, unit::emulated,
		     "qemu-user has no process_vm_readv")
{
	Area to;
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from = 0, vvar = 0;
	char line[512], name[64];
	int fd = static_cast<int>(syscall(447 /* memfd_secret */, 0));
	void *secret = MAP_FAILED;

	MUST(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%*x %*s %*s %*s %*s %63s", &from, name) == 2 &&
		    !strcmp(name, "[vvar]"))
			vvar = from;
	}
	fclose(maps);
	MUST(hf_nofault_install() == 0);
	block(SIGSEGV);
	if (vvar)
		MUST(hf_copy_safe(to.start, reinterpret_cast<const char *>(vvar), 64) == 0);
	if (fd >= 0 && ftruncate(fd, static_cast<off_t>(2 * page)) == 0)
		secret = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (secret != MAP_FAILED) {
		memset(secret, 5, 2 * page);
		munmap(static_cast<char *>(secret) + page, page);
		MUST(hf_copy_safe(to.start, secret, 2 * page) == page);
		MUST(memcmp(to.start, secret, page) == 0);
	}
	MUST(vvar || secret != MAP_FAILED);
}

TEST_IN_CHILD_UNLESS(Safe, LeavesNoFileOpen, 0, unit::emulated, "qemu-user has no seccomp")
{
	Area to, from;
	int first = dup(0), second = dup(0); /* there may be others behind them */

	close(first);
	close(second);
	forbid_reading_itself();
	block(SIGSEGV);
	for (int i = 0; i < 10; i++)
		MUST(hf_copy_safe(to.start, from.end - 3, 8) == 5);
	MUST(dup(0) == first && dup(0) == second);
}

} // namespace
