// SPDX-License-Identifier: MIT
/*
 * region_system - regions beside what the system does: real-time priorities, a file's server that
 * does not answer, limits, personalities, huge files. Some look at the library's state.
 */
#include "unit.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <poll.h>
#include <semaphore.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>

#include "holdfast/mutex.h"
#include "holdfast/region.h"

extern "C" { /* whose headers are included above */
#include "../../src/region/regions.h"
#include "../../src/region/zeros.h"
}

#include "filter.h"
#include "region_map.h"

namespace
{
using unit::Map, unit::page, unit::RW, unit::write_to;

enum { CANT = 77 }; /* a child's exit status: the system does not allow the test */

hf_region_fault fault;

int begin(const Map &map, hf_region_t *r, bool with_file)
{
	return with_file ? map.begin_file(r) : map.begin(r);
}

char read(const volatile char *at)
{
	return *at;
}

using RegionSystem = unit::RegionTest;

/* ---- real-time priorities ------------------------------------------------------------------- */

/*
 * Two real-time threads on one processor. The lower calls @low with a function that it calls while
 * it holds something; then the higher runs at once, in @high, which needs what the lower holds. A
 * thread that spins or yields is killed after 2 s of processor time. Returns as in_child().
 */
template <class Low, class High>
int at_two_priorities(Low low, High high)
{
	return unit::in_child([&] {
		const int least = sched_get_priority_min(SCHED_FIFO);
		struct sched_param lower = {}, higher = {};
		const struct rlimit limit = { 2000000, 2000000 };
		static sem_t starts, holds;
		pthread_attr_t attributes;
		pthread_t thread;
		cpu_set_t all, one;
		int cpu = 0;
		auto run = [](void *function) -> void * {
			sem_wait(&starts);
			(*static_cast<Low *>(function))([] { sem_post(&holds); });
			return nullptr;
		};

		lower.sched_priority = least;
		higher.sched_priority = least + 1;
		MUST(sched_getaffinity(0, sizeof(all), &all) == 0);
		while (!CPU_ISSET(cpu, &all))
			cpu++;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		MUST(sched_setaffinity(0, sizeof(one), &one) == 0);
		MUST(setrlimit(RLIMIT_RTTIME, &limit) == 0);
		if (sched_setscheduler(0, SCHED_FIFO, &higher))
			_exit(CANT);
		sem_init(&starts, 0, 0);
		sem_init(&holds, 0, 0);
		pthread_attr_init(&attributes);
		pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
		pthread_attr_setschedparam(&attributes, &lower);
		if (pthread_create(&thread, &attributes, run, &low))
			_exit(CANT);
		sem_post(&starts);
		sem_wait(&holds);
		high();
		pthread_join(thread, nullptr);
	});
}

#define EXPECT_AT_TWO_PRIORITIES(low, high)                                                        \
	do {                                                                                       \
		int ended = at_two_priorities(low, high);                                          \
                                                                                                   \
		if (unit::emulated || ended == CANT)                                               \
			GTEST_SKIP() << "no real-time priorities here";                            \
		EXPECT_EQ(ended, 0);                                                               \
	} while (0)

/* As a thread in the handler of a lost page. */
template <class F>
void as_a_handler(F holds)
{
	uint32_t parity = hf_grace_enter(&hf_detail_open_regions.grace);

	holds();
	hf_grace_leave(&hf_detail_open_regions.grace, parity);
}

TEST_F(RegionSystem, AnEndAtAHigherPriority)
{
	EXPECT_AT_TWO_PRIORITIES([](auto holds) { as_a_handler(holds); },
				 [] {
					 Map map(1);
					 hf_region_t r;

					 MUST(map.begin(&r) == 0);
					 MUST(hf_region_end(&r, nullptr) == map.size);
				 });
}

TEST_F(RegionSystem, ABeginAfterALossAtAHigherPriority)
{
	EXPECT_AT_TWO_PRIORITIES([](auto holds) { as_a_handler(holds); },
				 [] {
					 Map map(2);
					 hf_region_t r;
					 hf_region_t later;

					 MUST(map.begin(&r) == 0);
					 map.cut(page);
					 MUST(read(map.at + page) == 0);
					 MUST(map.begin(&later) == 0);
					 MUST(hf_region_end(&later, nullptr) == page);
					 MUST(hf_region_end(&r, nullptr) == page);
				 });
}

TEST_F(RegionSystem, ALockOfTheListsAtAHigherPriority)
{
	static hf_mutex_t mutex;

	EXPECT_AT_TWO_PRIORITIES(
		[](auto holds) {
			hf_mutex_lock(&mutex);
			holds();
			hf_mutex_unlock(&mutex);
		},
		[] {
			hf_mutex_lock(&mutex);
			hf_mutex_unlock(&mutex);
		});
}

/* ---- a server that does not answer ---------------------------------------------------------- */

/*
 * From now on this thread's system calls that may wait for this file's server wait for an answer of
 * whoever has the listener that is returned; -1: not allowed here.
 */
int notify(int file)
{
	unit::rules filter = { unit::load_number() };
	auto add = [&](unsigned int number, unsigned int argument) {
		const struct sock_filter one[] = {
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4),
			unit::load_argument(argument),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned int>(file), 0, 1),
			unit::result(SECCOMP_RET_USER_NOTIF),
			unit::result(SECCOMP_RET_ALLOW),
		};

		filter.insert(filter.end(), std::begin(one), std::end(one));
	};

#ifdef SYS_fstat
	add(SYS_fstat, 0);
#endif
#ifdef SYS_newfstatat
	add(SYS_newfstatat, 0);
#endif
	add(SYS_statx, 0);
	add(SYS_mmap, 4);
	filter.push_back(unit::result(SECCOMP_RET_ALLOW));
	struct sock_fprog program = { static_cast<unsigned short>(filter.size()), filter.data() };

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
					SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

/* While a system call of another thread waits for its file, regions of other files end. */
void nobody_waits(const Map &local)
{
	struct hf_detail_regions *all = &hf_detail_open_regions;
	hf_region_t r;

	MUST(hf_atomic32_load_seq_cst(&all->grace.inside[0]) == 0);
	MUST(hf_atomic32_load_seq_cst(&all->grace.inside[1]) == 0);
	MUST(hf_mutex_trylock(&all->lock));
	hf_mutex_unlock(&all->lock);
	MUST(local.begin(&r) == 0);
	MUST(hf_region_end(&r, nullptr) == local.size);
	MUST(hf_region_begin_process(&r, local.at, local.size) == 0);
	MUST(hf_region_end(&r, nullptr) == local.size);
}

/*
 * A region of a file loses a page. If @refused the first system call, the fstat() of begin, is, so
 * that the file is looked up at the loss.
 */
void lose_beside(bool refused)
{
	Map map(4), local(1);
	std::atomic<int> listener{ 0 };
	int calls = 0;
	std::thread thread([&] {
		hf_region_t r;

		listener = notify(map.fd);
		if (listener < 0)
			return;
		MUST(map.begin_file(&r) == 0);
		map.cut(page);
		MUST(read(map.at + 2 * page) == 0);
		MUST(hf_region_end(&r, &fault) == page && fault.error == 0);
	});

	unit::wait_until([&] { return listener != 0; });
	for (struct pollfd ready = { listener, POLLIN, 0 };
	     listener > 0 && poll(&ready, 1, -1) == 1 && ready.revents & POLLIN; calls++) {
		struct seccomp_notif call;
		struct seccomp_notif_resp answer;

		memset(&call, 0, sizeof(call));
		memset(&answer, 0, sizeof(answer));
		MUST(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0);
		nobody_waits(local);
		answer.id = call.id;
		if (refused && calls == 0)
			answer.error = -EPERM;
		else
			answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		MUST(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0);
	}
	thread.join();
	if (listener < 0)
		_exit(CANT);
	/* fstat at begin and at the end, mmap at the end; and to look up the file, both. */
	MUST(calls == (refused ? 5 : 3));
}

TEST_F(RegionSystem, AFileThatIsWaitedForStopsNoOtherRegion)
{
	if (unit::emulated)
		GTEST_SKIP() << "an emulator has no filters";
	for (bool refused : { false, true }) {
		int ended = unit::in_child([&] { lose_beside(refused); });

		if (ended == CANT)
			GTEST_SKIP() << "no filter with a listener may be set here";
		EXPECT_EQ(ended, 0) << refused;
	}
}

/* ---- limits --------------------------------------------------------------------------------- */

void limit(decltype(RLIMIT_DATA) what, size_t bytes)
{
	const struct rlimit to = { bytes, bytes };

	MUST(setrlimit(what, &to) == 0);
}

/* A number of /proc/self/status, in bytes. */
size_t of_status(const std::string &name)
{
	std::ifstream status("/proc/self/status");
	size_t kib = 0;

	for (std::string word; status >> word;) {
		if (word == name + ":")
			status >> kib;
	}
	return kib << 10;
}

#define SKIP_UNLESS_NATIVE                                                                         \
	do {                                                                                       \
		if (unit::emulated || unit::tsan || unit::asan)                                    \
			GTEST_SKIP() << "the memory is also the emulator's or the sanitizer's";    \
	} while (0)

// All memory is locked: the zeros are counted beside the pages that they replace.
TEST_F(RegionSystem, ALimitOfLockedMemory)
{
	SKIP_UNLESS_NATIVE;
	for (bool with_file : { false, true }) {
		int ended = unit::in_child([&] {
			const size_t size = 64 * page;
			hf_region_t r;

			limit(RLIMIT_MEMLOCK, size + size / 2);
			if (geteuid() == 0) /* root's memory has no limit */
				MUST(syscall(SYS_setresuid, 65534, 65534, 65534) == 0);
			MUST(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0); /* for /proc/self */
			if (syscall(SYS_mlockall, 2 /* MCL_FUTURE */))
				_exit(CANT);
			Map map(size / page);

			MUST(map.at != MAP_FAILED);
			MUST(begin(map, &r, with_file) == 0);
			map.cut(page);
			MUST(read(map.at + 2 * page) == 0);
			write_to(map.at + 3 * page, 'w');
			MUST(hf_region_end(&r, &fault) == (with_file ? page : 2 * page));
			MUST(fault.written == 3 * page && fault.error == 0);
		});

		if (ended == CANT)
			GTEST_SKIP() << "memory can't be locked here";
		EXPECT_EQ(ended, 0) << with_file;
	}
}

// Writable pages of a private mapping are data. Each page is made writable by a fault of its own.
TEST_F(RegionSystem, ALimitOfData)
{
	SKIP_UNLESS_NATIVE;
	for (bool with_file : { false, true }) {
		int ended = unit::in_child([&] {
			Map map(1024);
			hf_region_t r;

			MUST(begin(map, &r, with_file) == 0);
			limit(RLIMIT_DATA, of_status("VmData") + 5 * page);
			map.cut(512 * page);
			write_to(map.at + 600 * page, 'w');
			write_to(map.at + 700 * page, 'v');
			MUST(map.at[600 * page] == 'w' && map.at[700 * page] == 'v');
			MUST(hf_region_end(&r, &fault) == (with_file ? 512 : 600) * page);
			MUST(fault.written == 600 * page);
			MUST(fault.error == (with_file ? 0 : -ENOMEM));
		});

		EXPECT_EQ(ended, 0) << with_file;
	}
}

/* From now on more than a page of writable memory is refused, as by strict overcommit. */
void refuse_writable()
{
	unit::filter({ unit::load_number(), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 2),
		       unit::load_argument(2), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RW, 3, 4),
		       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
		       unit::load_argument(1),
		       BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, uint32_t(page), 0, 1),
		       unit::result(SECCOMP_RET_ERRNO | ENOMEM), unit::result(SECCOMP_RET_ALLOW) });
}

TEST_F(RegionSystem, WritableMemoryIsRefused)
{
	SKIP_UNLESS_NATIVE;
	EXPECT_EQ(unit::in_child([] {
			  Map map(64);
			  hf_region_t r;

			  MUST(map.begin_file(&r) == 0);
			  refuse_writable();
			  map.cut(32 * page);
			  write_to(map.at + 40 * page, 'w');
			  map.cut(16 * page); /* now a write is noted */
			  MUST(read(map.at + 20 * page) == 0);
			  write_to(map.at + 21 * page, 'u');
			  MUST(map.at[40 * page] == 'w' && map.at[21 * page] == 'u');
			  (void)!hf_region_end(&r, nullptr); /* may not map it again */
		  }),
		  0);
}

// What is mapped for reading is executable, too: so are the zeros.
TEST_F(RegionSystem, APersonalityThatExecutesWhatItReads)
{
	for (bool with_file : { false, true }) {
		int ended = unit::in_child([&] {
			hf_region_t r;

			if (personality(READ_IMPLIES_EXEC) < 0)
				_exit(CANT);
			Map map(4);

			MUST(begin(map, &r, with_file) == 0);
			map.cut(page);
			MUST(read(map.at + page) == 0);
			write_to(map.at + 2 * page, 'w');
			MUST(hf_region_end(&r, &fault) == page);
			MUST(fault.written == 2 * page && fault.error == 0);
			map.cut(map.size);
			MUST(pwrite(map.fd, "n", 1, static_cast<off_t>(2 * page)) == 1);
			MUST(map.at[2 * page] == (with_file ? 'n' : 'w'));
		});

		if (ended == CANT)
			GTEST_SKIP() << "no such personality here";
		EXPECT_EQ(ended, 0) << with_file;
	}
}

/* ---- what is counted ------------------------------------------------------------------------ */

// hf_region_call() ends the regions that its function has left open: the file is mapped again, and
// the loss is not counted any more (R2).
TEST_F(RegionSystem, ACallThatEndsALostRegion)
{
	EXPECT_EQ(unit::in_child([] {
			  Map outer(4), inner(4);
			  hf_region_t left_open;
			  auto lose_both = [&] {
				  MUST(inner.begin_file(&left_open) == 0);
				  inner.cut(page);
				  MUST(read(inner.at + 2 * page) == 0);
				  outer.cut(page);
				  (void)read(outer.at + 2 * page);
				  MUST(false);
			  };
			  auto run = [](void *f) { (*static_cast<decltype(lose_both) *>(f))(); };

			  MUST(hf_region_call(outer.at, outer.size, run, &lose_both, &fault) ==
			       -EFAULT);
			  MUST(hf_atomic32_load_seq_cst(&hf_detail_open_regions.losses) == 0);
			  inner.cut(4 * page);
			  MUST(pwrite(inner.fd, "y", 1, static_cast<off_t>(2 * page)) == 1);
			  MUST(read(inner.at + 2 * page) == 'y');
		  }),
		  0);
}

/* ---- a file system that does not answer fstat() --------------------------------------------- */

void refuse_fstat(unsigned int error)
{
	unit::refuse(
		{
#ifdef SYS_fstat
			SYS_fstat,
#endif
#ifdef SYS_newfstatat
			SYS_newfstatat,
#endif
			SYS_statx },
		error);
}

// Then device and inode are not known: no reason to take anonymous memory, which has none, for the
// file's, and to map over it.
TEST_F(RegionSystem, MemoryOfOthersInPlaceOfAnUnknownFile)
{
	if (unit::emulated)
		GTEST_SKIP() << "an emulator has no filters";
	EXPECT_EQ(unit::in_child([] {
			  Map map(4);
			  /* Memory of other rights on both sides, so that nothing merges. */
			  char *at = static_cast<char *>(mmap(nullptr, 6 * page, PROT_NONE,
							      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
			  hf_region_t r;

			  MUST(at != MAP_FAILED);
			  at += page;
			  MUST(mmap(at, map.size, RW, MAP_PRIVATE | MAP_FIXED, map.fd, 0) == at);
			  refuse_fstat(EIO);
			  MUST(hf_region_begin_file(&r, at, map.size, RW, MAP_PRIVATE, map.fd, 0) ==
			       0);
			  map.cut(page);
			  MUST(read(at + page) == 0);
			  MUST(mmap(at, map.size, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
				    0) == at);
			  write_to(at + page, 'o');
			  MUST(hf_region_end(&r, &fault) == page && fault.error == -EIO);
			  MUST(read(at + page) == 'o');
		  }),
		  0);
}

#ifdef __x86_64__
/* ---- gVisor --------------------------------------------------------------------------------- */

// As in gVisor, whose private mappings of /dev/zero are shown as anonymous memory.
void map_anonymous(int, siginfo_t *, void *context)
{
	greg_t *regs = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;

	regs[REG_RAX] = syscall(SYS_mmap, regs[REG_RDI], regs[REG_RSI], regs[REG_RDX],
				regs[REG_R10] | MAP_ANONYMOUS, -1, 0);
}

// From now on, mappings with the offset that marks zeros are anonymous.
void as_in_gvisor()
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_flags = SA_SIGINFO;
	action.sa_sigaction = map_anonymous;
	hf_atomic32_store_relaxed(&hf_detail_zeros_mark, HF_DETAIL_MARK_UNKNOWN);
	MUST(sigaction(SIGSYS, &action, nullptr) == 0);
	unit::filter({ unit::load_number(), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		       unit::load_argument(5, true),
		       BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1u << 30, 0, 1),
		       unit::result(SECCOMP_RET_TRAP), unit::result(SECCOMP_RET_ALLOW) });
}

// A thread's fault whose handler runs after that of another thread has served the same page.
void fault_late(int signal, int code, char *at)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = signal;
	info.si_code = code;
	info.si_addr = at;
	MUST(syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, &info) == 0);
}

TEST_F(RegionSystem, ZerosThatAreShownAsAnonymousMemory)
{
	SKIP_UNLESS_NATIVE;
	for (bool with_file : { false, true }) {
		for (bool writes : { false, true }) {
			EXPECT_EQ(
				unit::in_child([&] {
					Map map(8);
					hf_region_t r;

					MUST(begin(map, &r, with_file) == 0);
					as_in_gvisor();
					map.cut(page);
					MUST(read(map.at + page) == 0);
					fault_late(SIGBUS, BUS_ADRERR, map.at + 3 * page);
					if (writes) {
						write_to(map.at + 4 * page, 'w');
						fault_late(SIGBUS, BUS_ADRERR, map.at + 3 * page);
						fault_late(SIGSEGV, SEGV_ACCERR, map.at + 5 * page);
					}
					MUST(hf_region_end(&r, &fault) == page);
					MUST(fault.written == (writes ? 4 * page : map.size));
					/* Zeros with data can't be told from others' memory. */
					MUST(fault.error == (with_file && writes ? -EEXIST : 0));
					map.cut(map.size);
					MUST(pwrite(map.fd, "n", 1, static_cast<off_t>(2 * page)) ==
					     1);
					MUST(read(map.at + 2 * page) ==
					     (with_file && !writes ? 'n' : 0));
				}),
				0)
				<< with_file << writes;
		}
	}
}
#endif

/* ---- huge files ----------------------------------------------------------------------------- */

// What later regions inherit is exact to the page, during a loss and after it was healed.
TEST_F(RegionSystem, ARegionOfManyGigabytes)
{
	for (int bits : { 34, 36, 40 }) {
		const uint64_t bytes = UINT64_C(1) << bits;

		if (bytes > SIZE_MAX)
			GTEST_SKIP() << "pointers have 32 bits";
		Map map(static_cast<size_t>(bytes) / page, PROT_READ);
		const size_t cut = map.size / 2 + 5 * page, around = 3 * page;
		hf_region_t all, part, later;
		auto bad = [&](size_t at) {
			EXPECT_EQ(hf_region_begin(&later, map.at + at, page), 0);
			return hf_region_end(&later, nullptr);
		};

		if (map.at == MAP_FAILED)
			GTEST_SKIP() << "no room for so large a mapping: " << strerror(errno);
		ASSERT_EQ(hf_region_begin_process(&all, map.at, map.size), 0);
		ASSERT_EQ(hf_region_begin_file(&part, map.at + cut - around,
					       map.size - cut + around, PROT_READ, MAP_SHARED,
					       map.fd, cut - around),
			  0);
		map.cut(cut);
		EXPECT_EQ(read(map.at + cut), 0);
		EXPECT_EQ(bad(cut - page), page);
		EXPECT_EQ(bad(cut), 0u);
		EXPECT_EQ(bad(map.size - page), 0u);
		map.cut(map.size);
		EXPECT_EQ(hf_region_end(&part, nullptr), around);
		for (size_t at = cut - around; at < cut + around; at += page)
			EXPECT_EQ(bad(at), page) << at;
		EXPECT_EQ(hf_region_end(&all, nullptr), cut);
	}
}

} // namespace
