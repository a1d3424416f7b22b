/* SPDX-License-Identifier: MIT */
/*
 * The tables `clear`, `copy`, `loop`, `fault` and `guard`: functions on memory that may fault,
 * beside those of the C library.
 *
 * clear, copy  each implementation that this processor can run, by size. By default the buffer is
 *              hot: each operation uses the same one. cold: each operation uses memory that was
 *              last touched 64 MiB ago. read: the first byte of the result is read, and the next
 *              operation depends on it
 * loop         the same loops with exception-table entries and without: the cost of fault recovery
 *              while nothing faults
 * fault        the cost of a fault that is recovered, beside one whose handler only skips the load
 * guard        a copy without a fault, beside other ways to survive one
 */
#include "bench.hpp"

#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "holdfast/nofault.h"

#include "variants/nofault/implementations.h"

namespace lab
{
namespace
{

constexpr size_t MiB = 1 << 20;
constexpr size_t ARENA = 64 * MiB; /* cold operations cycle through it */
constexpr size_t ROOM = ARENA + MiB;

/* All cells share these two areas, since only one run is active at a time. */
struct Areas {
	char *to = area(), *from = area();

	static char *area()
	{
		void *p = mmap(nullptr, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

		if (p == MAP_FAILED)
			return nullptr;
		(void)madvise(p, ROOM, MADV_HUGEPAGE);
		memset(p, 1, ROOM);
		return static_cast<char *>(p);
	}
};

const Areas &areas()
{
	static const Areas both;

	return both;
}

/* Called through volatile pointers, so that the compiler can't replace the calls. */
void *(*volatile libc_memset)(void *, int, size_t) = memset;
void *(*volatile libc_memcpy)(void *, const void *, size_t) = memcpy;

enum class Way { Libc, Inline, Function };

struct Operation {
	bool copies;
	Way way;
	hf_clear_function_t clear = nullptr;
	hf_copy_function_t copy = nullptr;
	size_t size = 0, offset = 0; /* the source's offset is 3 * offset */
	bool cold = false, read = false;
	uint8_t result = 0; /* the value of each byte afterwards */
	size_t left = 0;    /* bytes not done, of all operations; must be 0 */
	size_t last = 0;    /* position of the last operation */
};

size_t once(const Operation &o, char *to, const char *from)
{
	if (o.copies) {
		if (o.way == Way::Libc)
			return libc_memcpy(to, from, o.size) != to;
		if (o.way == Way::Inline)
			return hf_copy_nofault(to, from, o.size);
		return o.copy(to, from, o.size);
	}
	if (o.way == Way::Libc)
		return libc_memset(to, 0, o.size) != to;
	if (o.way == Way::Inline)
		return hf_clear_nofault(to, o.size);
	return o.clear(to, o.size);
}

template <bool Copies, Way How, bool Read>
uint64_t operations(void *state, int, const int *stop)
{
	Operation o = *static_cast<Operation *>(state);
	uint64_t done = 0;
	const int batch = o.size < 16384 ? 64 : 1;
	size_t at = 0, step = o.cold ? (o.size + 4096) / 64 * 64 : 0, left = 0;
	char *to = areas().to + o.offset;
	const char *from = areas().from + 3 * o.offset;

	o.copies = Copies;
	o.way = How;
	do { /* at least once, however short the window */
		for (int i = 0; i < batch; i++) {
			at += step;
			if (at + o.size > ARENA)
				at = 0;
			left |= once(o, to + at, from + at);
			__asm__ volatile("" ::: "memory");
			if (Read) /* adds 0, but the processor has to load the byte for it */
				at += static_cast<uint8_t>(to[at]) - o.result;
		}
		done += static_cast<uint64_t>(batch);
	} while (!__atomic_load_n(stop, __ATOMIC_RELAXED));
	static_cast<Operation *>(state)->left = left;
	static_cast<Operation *>(state)->last = at;
	return done;
}

template <bool Copies, bool Read>
loop_t loop_of(Way way)
{
	return way == Way::Libc     ? operations<Copies, Way::Libc, Read>
	       : way == Way::Inline ? operations<Copies, Way::Inline, Read>
				    : operations<Copies, Way::Function, Read>;
}

loop_t loop_of(const Operation &o)
{
	if (o.copies)
		return o.read ? loop_of<true, true>(o.way) : loop_of<true, false>(o.way);
	return o.read ? loop_of<false, true>(o.way) : loop_of<false, false>(o.way);
}

/* True if the last operation changed exactly its range. */
bool is_right(const Operation &o)
{
	char *to = areas().to + o.offset + o.last;
	const char *from = areas().from + 3 * o.offset + o.last;

	if (o.left || to[o.size] != 2)
		return false;
	if (o.copies)
		return memcmp(to, from, o.size) == 0;
	return to[0] == 0 && memcmp(to, to + 1, o.size - 1) == 0;
}

std::vector<Sample> run_memory(Operation o, int ms)
{
	/* The byte behind the range must not change; unchecked if cold, where ranges overlap. */
	char *behind = areas().to + o.offset + o.size;

	memset(areas().from, 3, o.cold ? 1 : o.size + 3 * o.offset);
	if (!o.cold) {
		memset(behind - o.size, 1, o.size);
		*behind = 2;
	}
	Window window = run_window(1, ms, loop_of(o), { &o });
	if (o.cold)
		areas().to[o.offset + o.last + o.size] = 2;
	Sample sample = sample_of(window, is_right(o));

	sample.more["size"] = static_cast<double>(o.size);
	sample.more["gb_per_s"] = static_cast<double>(o.size) / sample.ns_per_op;
	return { sample };
}

std::string size_name(size_t size)
{
	if (size >= MiB && size % MiB == 0)
		return std::to_string(size / MiB) + " MiB";
	if (size >= 1024 && size % 1024 == 0)
		return std::to_string(size / 1024) + " KiB";
	return std::to_string(size) + " B";
}

std::vector<Cell> memory_cells(bool copies)
{
	static const size_t sizes[] = { 1,       2,        3,       4,     7,     8,      15,
					16,      24,       31,      32,    48,    64,     100,
					128,     192,      256,     300,   512,   1000,   1024,
					2048,    4096,     6000,    16384, 65536, 262144, MiB,
					4 * MiB, 16 * MiB, 64 * MiB };
	std::vector<Operation> ways = { { copies, Way::Libc }, { copies, Way::Inline } };
	std::vector<std::string> names = { "libc", "default" };
	std::vector<Cell> cells;
	size_t clears, copiers;
	const hf_variant_clear *clear = hf_variant_clears(&clears);
	const hf_variant_copy *copy = hf_variant_copies(&copiers);

	for (size_t i = 0; !copies && i < clears; i++) {
		if (clear[i].is_legal()) {
			names.push_back(clear[i].name);
			ways.push_back({ copies, Way::Function, clear[i].function });
		}
	}
	for (size_t i = 0; copies && i < copiers; i++) {
		if (copy[i].is_legal()) {
			names.push_back(copy[i].name);
			ways.push_back({ copies, Way::Function, nullptr, copy[i].function });
		}
	}
	for (size_t size : sizes) {
		for (int kind = 0; kind < 4; kind++) {
			bool cold = kind == 2, read = kind == 3;

			/* Above the size of the caches each access is cold; four sizes suffice. */
			if (cold && size != 64 && size != 300 && size != 4096 && size != 65536)
				continue;
			/* The load that follows is a small part of a large operation. */
			if (read && size > 256)
				continue;
			for (size_t i = 0; i < ways.size(); i++) {
				Operation o = ways[i];

				o.size = size;
				o.offset = kind == 1 ? 1 : 0;
				o.cold = cold;
				o.read = read;
				o.result = copies ? 3 : 0;
				Row row(copies ? "copy" : "clear", names[i],
					i == 0   ? "peer"
					: i == 1 ? "default"
						 : "ours",
					size_name(size) + (kind == 1 ? " misaligned" : "") +
						(cold ? " cold" : "") + (read ? " read" : ""));

				cells.push_back({ { row },
						  [o](int ms) { return run_memory(o, ms); },
						  size >= MiB ? 6 : 1,
						  size >= MiB ? 7 : 15 });
			}
		}
	}
	return cells;
}

/* ---- loop ----------------------------------------------------------------------------------- */

#if HF_ARCH_HAS_SITES
extern "C" {
size_t lab_guarded_clear(void *dst, size_t len);
size_t lab_guarded_copy(void *dst, const void *src, size_t len);
size_t lab_unguarded_clear(void *dst, size_t len);
size_t lab_unguarded_copy(void *dst, const void *src, size_t len);
}
#endif

/* ---- fault ---------------------------------------------------------------------------------- */

/* The end of a page that can be accessed; the next one can't. */
char *edge()
{
	static char *at = [] {
		char *p = static_cast<char *>(mmap(nullptr, 2 * 65536, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

		memset(p, 1, 65536);
		/* A hole would be filled by a mapping that another table makes. */
		mprotect(p + 65536, 65536, PROT_NONE);
		return p + 65536;
	}();

	return at;
}

#ifdef HF_ARCH_FAULTING_LOAD
void step_over(int, siginfo_t *, void *context)
{
	HF_ARCH_CONTEXT_PC(static_cast<ucontext_t *>(context)) += HF_ARCH_FAULTING_LOAD_BYTES;
}

bool bare_delivery(Task &)
{
	HF_ARCH_FAULTING_LOAD(edge());
	return false;
}
#endif

bool faulting_load(Task &)
{
	uint32_t value;

	return hf_load32_nofault(&value, edge()) != -HF_EFAULT;
}

template <size_t Offset, bool Clears>
bool faulting_range(Task &)
{
	static char buffer[4096];
	char *start = edge() - 2048 - Offset;

	return (Clears ? hf_clear_nofault(start, 4096) : hf_copy_nofault(buffer, start, 4096)) !=
	       2048 - Offset;
}

std::vector<Sample> run_fault(loop_t loop, bool bare, int ms)
{
	struct sigaction before, action;
	Task task;

	memset(&action, 0, sizeof(action));
#ifdef HF_ARCH_FAULTING_LOAD
	action.sa_sigaction = step_over;
	action.sa_flags = SA_SIGINFO;
#endif
	if (bare)
		(void)sigaction(SIGSEGV, &action, &before);
	Window window = run_window(1, ms, loop, { &task });

	if (bare)
		(void)sigaction(SIGSEGV, &before, nullptr);
	return { sample_of(window, task.wrong == 0) };
}

/* ---- guard ---------------------------------------------------------------------------------- */

sigjmp_buf mark;
int ends[2]; /* of the pipe */

bool guard_memcpy(Task &task)
{
	libc_memcpy(areas().to, areas().from, task.size);
	return false;
}

bool guard_nofault(Task &task)
{
	return hf_copy_nofault(areas().to, areas().from, task.size) != 0;
}

bool guard_safe(Task &task)
{
	return hf_copy_safe(areas().to, areas().from, task.size) != 0;
}

/* The mask is never restored: each window has new threads. */
uint64_t guard_safe_blocked(void *state, int thread, const int *stop)
{
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGSEGV);
	static_cast<Task *>(state)->wrong += pthread_sigmask(SIG_BLOCK, &blocked, nullptr) != 0;
	return looped<guard_safe>(state, thread, stop);
}

bool guard_setjmp(Task &task)
{
	if (sigsetjmp(mark, 1) == 0)
		libc_memcpy(areas().to, areas().from, task.size);
	return false;
}

bool guard_readv(Task &task)
{
	iovec to = { areas().to, task.size }, from = { areas().from, task.size };

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(task.size);
}

bool guard_pipe(Task &task)
{
	ssize_t size = static_cast<ssize_t>(task.size);

	return write(ends[1], areas().from, task.size) != size ||
	       read(ends[0], areas().to, task.size) != size;
}

std::vector<Sample> run_guard(loop_t loop, size_t size, int ms)
{
	Task task;

	task.size = size;
	task.wrong = pipe(ends) != 0;
	memset(areas().from, 3, size);
	memset(areas().to, 1, size);
	Window window = run_window(1, ms, loop, { &task });

	close(ends[0]);
	close(ends[1]);
	return { sample_of(window,
			   task.wrong == 0 && memcmp(areas().to, areas().from, size) == 0) };
}

Cell simple_cell(const char *table, const char *variant, const char *kind, const std::string &name,
		 std::function<std::vector<Sample>(int)> run)
{
	return { { Row(table, variant, kind, name) }, std::move(run), 3, 31 };
}

} // namespace

std::vector<Cell> clear_cells(const Settings &)
{
	return memory_cells(false);
}

std::vector<Cell> copy_cells(const Settings &)
{
	return memory_cells(true);
}

std::vector<Cell> loop_cells(const Settings &)
{
	std::vector<Cell> cells;

#if HF_ARCH_HAS_SITES
	for (bool copies : { false, true }) {
		for (size_t size : { size_t(64), size_t(1024), size_t(4096), size_t(65536) }) {
			for (bool guarded : { false, true }) {
				Operation o = { copies, Way::Function,
						guarded ? lab_guarded_clear : lab_unguarded_clear,
						guarded ? lab_guarded_copy : lab_unguarded_copy,
						size };

				cells.push_back(
					simple_cell("loop", guarded ? "guarded" : "unguarded",
						    guarded ? "ours" : "peer",
						    (copies ? "copy " : "clear ") + size_name(size),
						    [o](int ms) { return run_memory(o, ms); }));
			}
		}
	}
#endif
	return cells;
}

std::vector<Cell> fault_cells(const Settings &)
{
	static const struct {
		const char *name, *kind;
		loop_t loop;
		bool bare;
	} ways[] = {
#ifdef HF_ARCH_FAULTING_LOAD
		{ "bare SIGSEGV", "peer", looped<bare_delivery>, true },
#endif
		{ "load", "ours", looped<faulting_load>, false },
		{ "copy, aligned", "ours", looped<faulting_range<0, false>>, false },
		{ "copy, misaligned", "ours", looped<faulting_range<1, false>>, false },
		{ "clear, misaligned", "ours", looped<faulting_range<1, true>>, false },
	};
	std::vector<Cell> cells;

	if (hf_nofault_install())
		return cells;
	for (const auto &way : ways) {
		cells.push_back(
			simple_cell("fault", way.name, way.kind, "one fault",
				    [way](int ms) { return run_fault(way.loop, way.bare, ms); }));
	}
	return cells;
}

std::vector<Cell> guard_cells(const Settings &)
{
	static const struct {
		const char *name, *kind;
		loop_t loop;
	} ways[] = {
		{ "memcpy", "peer", looped<guard_memcpy> },
		{ "copy_nofault", "default", looped<guard_nofault> },
		{ "copy_safe", "ours", looped<guard_safe> },
		{ "copy_safe, SIGSEGV blocked", "ours", guard_safe_blocked },
		{ "sigsetjmp + memcpy", "peer", looped<guard_setjmp> },
		{ "process_vm_readv", "peer", looped<guard_readv> },
		{ "pipe", "peer", looped<guard_pipe> },
	};
	std::vector<Cell> cells;

	if (hf_nofault_install())
		return cells;
	for (size_t size : { size_t(8), size_t(64), size_t(4096) }) {
		for (const auto &way : ways) {
			cells.push_back(simple_cell(
				"guard", way.name, way.kind, size_name(size),
				[way, size](int ms) { return run_guard(way.loop, size, ms); }));
		}
	}
	return cells;
}

} // namespace lab
