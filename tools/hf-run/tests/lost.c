/* SPDX-License-Identifier: MIT */
/*
 * lost - a program that loses pages of the files that it maps: it truncates them itself, so that
 * nothing depends on time. It does not know of hf-run; lost.py judges its reports and status.
 *
 *   lost WHAT FOLDER
 *
 * Prints what does not hold, and "done". Ends with status 7 if the case says nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

#define CHECK(condition)                                                                           \
	((condition) ? (void)0 : (void)printf("line %d: %s\n", __LINE__, #condition))

enum { PAGES = 16, STATUS = 7 };

static const char *folder;
static size_t page;

/* ---- files ---------------------------------------------------------------------------------- */

struct mapped {
	char path[256];
	int fd;
	volatile char *at;
	size_t len;
};

static struct mapped make_at(void *at, const char *name, size_t pages, int prot, int flags)
{
	struct mapped m = { .len = pages * page };
	char *bytes = malloc(page);

	snprintf(m.path, sizeof(m.path), "%s/%s", folder, name);
	m.fd = open(m.path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	CHECK(m.fd >= 0);
	memset(bytes, 'a', page);
	for (size_t i = 0; i < pages; i++)
		CHECK(write(m.fd, bytes, page) == (ssize_t)page);
	free(bytes);
	m.at = mmap(at, m.len, prot, flags | (at ? MAP_FIXED : 0), m.fd, 0);
	CHECK(m.at != MAP_FAILED);
	return m;
}

static struct mapped make(const char *name)
{
	return make_at(NULL, name, PAGES, PROT_READ, MAP_SHARED);
}

static void cut(const struct mapped *m, size_t pages)
{
	CHECK(ftruncate(m->fd, (off_t)(pages * page)) == 0);
}

/* The function that the reports name. */
static __attribute__((noinline)) char read_byte(const struct mapped *m, size_t at)
{
	return m->at[at];
}

static __attribute__((noinline)) void write_byte(const struct mapped *m, size_t at, char byte)
{
	m->at[at] = byte;
}

/* Loses the pages of "file" from page 3 on, and reads them. */
static struct mapped lose(void)
{
	struct mapped m = make("file");

	cut(&m, 3);
	CHECK(read_byte(&m, 3 * page + 5) == 0);
	CHECK(read_byte(&m, 3 * page - 1) == 'a' && read_byte(&m, m.len - 1) == 0);
	return m;
}

/* ---- losses --------------------------------------------------------------------------------- */

CASE(once)
{
	(void)lose();
}

/* Three losses of one mapping, then the same file mapped again. */
CASE(thrice)
{
	struct mapped m = make("file");

	for (size_t left = 12; left; left -= 4) {
		cut(&m, left);
		CHECK(read_byte(&m, left * page) == 0 && read_byte(&m, left * page - 1) == 'a');
	}
	munmap((void *)m.at, m.len);
	(void)make_at((void *)m.at, "file", PAGES, PROT_READ, MAP_SHARED);
	cut(&m, 1);
	CHECK(read_byte(&m, page) == 0);
}

/* Around the mapping that loses pages are those of other files, and anonymous memory. */
CASE(neighbours)
{
	char *room = mmap(NULL, 4 * PAGES * page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct mapped below = make_at(room, "below", PAGES, PROT_READ, MAP_SHARED);
	struct mapped m = make_at(room + PAGES * page, "file", PAGES, PROT_READ, MAP_SHARED);
	struct mapped next = make_at(room + 2 * PAGES * page, "next", PAGES, PROT_READ, MAP_SHARED);

	memset(room + 3 * PAGES * page, 'x', PAGES * page);
	cut(&m, 0);
	CHECK(read_byte(&m, 0) == 0 && read_byte(&m, m.len - 1) == 0);
	for (size_t i = 0; i < PAGES * page; i++) {
		if (below.at[i] != 'a' || next.at[i] != 'a' || room[3 * PAGES * page + i] != 'x') {
			printf("line %d: byte %zu of another mapping\n", __LINE__, i);
			break;
		}
	}
	/* What follows its lost part is zeros, but of another mapping's loss. */
	cut(&below, 3);
	CHECK(read_byte(&below, 3 * page) == 0);
}

static void writes(int flags)
{
	struct mapped m = make_at(NULL, "file", PAGES, PROT_READ | PROT_WRITE, flags);

	cut(&m, 3);
	write_byte(&m, 5 * page + 7, 'b');
	write_byte(&m, 9 * page, 'c');
	CHECK(read_byte(&m, 5 * page + 7) == 'b' && read_byte(&m, 4 * page) == 0);
	write_byte(&m, 4, 'd');
	CHECK(read_byte(&m, 4) == 'd');
}

CASE(writes_shared)
{
	writes(MAP_SHARED);
}

CASE(writes_private)
{
	writes(MAP_PRIVATE);
}

static void never(int number)
{
	(void)number;
	printf("line %d: the program's handler of SIGSEGV ran\n", __LINE__);
	_exit(1);
}

/* The program handles SIGSEGV itself, so a write must not raise it. */
CASE(writes_handled)
{
	signal(SIGSEGV, never);
	writes(MAP_SHARED);
}

/* A mapping that may be read only stays so: a write is a bug. */
CASE(writes_read_only)
{
	struct mapped m = lose();

	write_byte(&m, 4 * page, 'b');
}

/* The folder is on a small file system: it is full, and a hole of the file gets no page. */
CASE(full)
{
	struct mapped m = make_at(NULL, "file", 1, PROT_READ | PROT_WRITE, MAP_SHARED);
	char path[256], *bytes = calloc(1, page);
	int filler;

	cut(&m, PAGES);
	m.len = PAGES * page;
	m.at = mmap(NULL, m.len, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
	snprintf(path, sizeof(path), "%s/filler", folder);
	filler = open(path, O_RDWR | O_CREAT, 0666);
	while (write(filler, bytes, page) == (ssize_t)page)
		;
	write_byte(&m, 8 * page, 'b');
	CHECK(read_byte(&m, 8 * page) == 'b');
}

/* ---- what is not a lost page ------------------------------------------------------------ */

static void handler(int number)
{
	(void)number;
	printf("the program's handler\n");
	fflush(stdout);
	_exit(STATUS);
}

CASE(own_handler)
{
	struct sigaction action = { .sa_handler = handler }, found;

	CHECK(sigaction(SIGBUS, NULL, &found) == 0 && found.sa_handler == SIG_DFL);
	CHECK(sigaction(SIGBUS, &action, NULL) == 0);
	CHECK(signal(SIGBUS, handler) == handler); /* is reported once */
	(void)lose();
}

/* The program gives its handler up: from then on, pages are replaced. */
CASE(no_handler)
{
	CHECK(signal(SIGBUS, handler) == SIG_DFL);
	CHECK(signal(SIGBUS, SIG_DFL) == handler);
	CHECK(signal(SIGBUS, SIG_DFL) == SIG_DFL);
	(void)lose();
}

CASE(blocked)
{
	sigset_t all;

	sigfillset(&all);
	CHECK(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
	CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
	(void)lose();
}

static void queue(int code, void *at)
{
	siginfo_t info = { .si_signo = SIGBUS, .si_code = code };

	info.si_addr = at;
	syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGBUS, &info);
}

/* It has the code of a lost page, but is no access: the page is there. */
CASE(queued)
{
	struct mapped m = make("file");

	queue(BUS_ADRERR, (void *)m.at);
}

CASE(alignment)
{
#if defined(__x86_64__)
	struct mapped m = lose();

	__asm__ volatile("pushfq\n\torl $0x40000, (%%rsp)\n\tpopfq\n\tmovl 1(%0), %%eax"
			 :
			 : "r"(m.at)
			 : "rax", "cc", "memory");
#else
	struct mapped m = make("file");

	queue(BUS_ADRALN, (void *)m.at);
#endif
}

/* Where there are none left, reading one is SIGBUS with the code of a lost page. */
CASE(huge)
{
	size_t len = (size_t)2 << 20;
	volatile char *at = mmap(NULL, len, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED) {
		printf("no huge pages here: %s\n", strerror(errno));
		return;
	}
	(void)at[page];
	printf("there are huge pages\n");
}

CASE(fetched)
{
	struct mapped m = make_at(NULL, "file", PAGES, PROT_READ | PROT_EXEC, MAP_SHARED);
	void (*function)(void);

	cut(&m, 3);
	memcpy(&function, &(void *){ (void *)(m.at + 4 * page) }, sizeof(function));
	function();
}

/* ---- processes, threads, ends --------------------------------------------------------------- */

CASE(by_exit)
{
	(void)lose();
	_exit(STATUS);
}

CASE(by_quick_exit)
{
	(void)lose();
	quick_exit(STATUS);
}

CASE(by_kill)
{
	(void)lose();
	kill(getpid(), SIGKILL);
}

CASE(by_exec)
{
	(void)lose();
	execl("/bin/true", "true", (char *)NULL);
}

static void in_child(bool is_vfork)
{
	struct mapped m = make("file");
	int status;
	pid_t child;

	cut(&m, 3);
	child = is_vfork ? vfork() : fork();
	if (child == 0) {
		(void)read_byte(&m, 4 * page);
		_exit(3);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	printf("child %d\n", WEXITSTATUS(status));
	if (is_vfork) /* which shares the memory, and so the zeros */
		CHECK(read_byte(&m, 4 * page) == 0);
}

CASE(in_fork)
{
	in_child(false);
}

CASE(in_vfork)
{
	in_child(true);
}

static pthread_barrier_t barrier;

static void *read_all(void *data)
{
	const struct mapped *m = data;
	int sum = 0;

	pthread_barrier_wait(&barrier);
	for (size_t i = 3; i < PAGES; i++)
		sum += read_byte(m, i * page);
	return (void *)(long)sum;
}

/* All lose the same pages at once. */
CASE(threads)
{
	struct mapped m = make("file");
	pthread_t all[8];
	void *sum;

	cut(&m, 3);
	pthread_barrier_init(&barrier, NULL, 8);
	for (int i = 0; i < 8; i++)
		pthread_create(&all[i], NULL, read_all, &m);
	for (int i = 0; i < 8; i++) {
		pthread_join(all[i], &sum);
		CHECK(sum == NULL);
	}
}

static bool is_read;

static void *read_cancelled(void *data)
{
	pthread_cancel(pthread_self());
	is_read = read_byte(data, 4 * page) == 0;
	pthread_testcancel();
	return NULL;
}

/* A thread that has been cancelled loses a page: that is no point of cancellation. */
CASE(cancelled)
{
	struct mapped m = make("file");
	pthread_t thread;

	cut(&m, 3);
	pthread_create(&thread, NULL, read_cancelled, &m);
	pthread_join(thread, NULL);
	CHECK(is_read);
}

static struct mapped in_handler;

static void interrupt(int number)
{
	(void)number;
	CHECK(read_byte(&in_handler, 4 * page) == 0);
}

/* In a handler, on an alternate stack. */
CASE(interrupted)
{
	stack_t stack = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
	struct sigaction action = { .sa_handler = interrupt, .sa_flags = SA_ONSTACK };

	in_handler = make("file");
	cut(&in_handler, 3);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	errno = 42;
	raise(SIGUSR1);
	CHECK(errno == 42);
}

/* From now on this system call is refused. */
static bool refuse(unsigned int call, unsigned int error)
{
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(lines) / sizeof(lines[0]), lines };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0)
		return true;
	printf("no seccomp here\n");
	return false;
}

/* No file can be opened: each page becomes zeros alone. */
CASE(sandboxed)
{
	struct mapped m = make("file");

	cut(&m, 3);
	if (refuse(SYS_openat, EPERM))
		CHECK(read_byte(&m, 4 * page) == 0 && read_byte(&m, 5 * page) == 0);
}

/* Linux before 6.11 does not answer for one mapping. */
CASE(old_kernel)
{
	if (refuse(SYS_ioctl, ENOTTY))
		(void)lose();
}

/* Standard error is a pipe whose reader is gone. */
CASE(closed_pipe)
{
	int ends[2];

	CHECK(pipe(ends) == 0 && close(ends[0]) == 0 && dup2(ends[1], STDERR_FILENO) == 2);
	(void)lose();
}

int main(int count, char **arguments)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	folder = count == 3 ? arguments[2] : "";
	if (count != 3 || !run_case(arguments[1]))
		return 2;
	printf("done\n");
	return STATUS;
}
