/* SPDX-License-Identifier: MIT */
/*
 * The table `region`: the cost of reading a mapping that may lose its pages.
 *
 * begin + end             no page is lost: the cost of every use. Peers: a SIGBUS handler that is
 *                         installed and removed each time, and sigsetjmp with the signal mask
 * begin + end, 63 open    the same, within 63 other regions
 * a lost page             begin, one read that faults, end, and mapping the file again
 * a lost page, 1 GiB      the same, with 1 GiB of small pages resident: what reads page tables
 *                         shows here
 * a lost page, 63 open    the same, within 63 other regions without that page: the cost of the
 *                         look-up
 * 16 MiB lost             one read of each of 4,096 lost pages. Peer: a handler that replaces one
 *                         page for each fault
 */
#include "bench.hpp"

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#include "holdfast/region.h"

namespace lab
{
namespace
{

constexpr size_t LARGE = 16u << 20;
constexpr int OPEN = 63;
constexpr size_t RESIDENT = 1u << 30;

/* A mapping of an empty file: each of its pages is lost. */
struct Lost {
	int file = memfd_create("lab", MFD_CLOEXEC);
	size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
	char *at = static_cast<char *>(
		mmap(nullptr, LARGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));

	void map_again(size_t len) const
	{
		if (mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != at)
			abort();
	}
};

const Lost &lost()
{
	static const Lost file;

	return file;
}

/* ---- begin + end ----------------------------------------------------------------------------- */

void replace_one_page(int, siginfo_t *info, void *)
{
	uintptr_t page = lost().page, at = reinterpret_cast<uintptr_t>(info->si_addr) / page * page;

	if (mmap(reinterpret_cast<void *>(at), page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort();
}

bool own_handler(Task &)
{
	struct sigaction action, before;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = replace_one_page;
	action.sa_flags = SA_SIGINFO;
	return sigaction(SIGBUS, &action, &before) || sigaction(SIGBUS, &before, nullptr);
}

sigjmp_buf mark;

bool jump_mark(Task &)
{
	return sigsetjmp(mark, 1) != 0;
}

bool begin_end(Task &task)
{
	hf_region_t region;

	return hf_region_begin(&region, lost().at, task.size) ||
	       hf_region_end(&region, nullptr) != task.size;
}

bool begin_end_file(Task &task)
{
	hf_region_t region;

	/* The file is empty, so no byte of the region is good. */
	return hf_region_begin_file(&region, lost().at, task.size, PROT_READ | PROT_WRITE,
				    MAP_SHARED, lost().file, 0) ||
	       hf_region_end(&region, nullptr) != 0;
}

bool begin_end_process(Task &task)
{
	hf_region_t region;

	return hf_region_begin_process(&region, lost().at, task.size) ||
	       hf_region_end(&region, nullptr) != task.size;
}

void nothing(void *)
{
}

bool call(Task &task)
{
	return hf_region_call(lost().at, task.size, nothing, nullptr, nullptr) != 0;
}

/* ---- a lost page ----------------------------------------------------------------------------- */

/* Reads a byte of each page; returns true if one is not 0. */
bool read_pages(size_t len)
{
	unsigned char sum = 0;

	for (size_t at = 0; at < len; at += lost().page)
		sum |= *reinterpret_cast<const volatile unsigned char *>(lost().at + at);
	return sum != 0;
}

bool loss_own_handler(Task &task)
{
	struct sigaction action, before;
	bool wrong;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = replace_one_page;
	action.sa_flags = SA_SIGINFO;
	wrong = sigaction(SIGBUS, &action, &before) || read_pages(task.size);
	lost().map_again(task.size);
	return sigaction(SIGBUS, &before, nullptr) || wrong;
}

bool loss_region(Task &task)
{
	hf_region_t region;
	bool wrong = hf_region_begin_file(&region, lost().at, task.size, PROT_READ | PROT_WRITE,
					  MAP_SHARED, lost().file, 0) ||
		     read_pages(task.size);

	return hf_region_end(&region, nullptr) != 0 || wrong;
}

void read_first(void *)
{
	(void)read_pages(1);
}

bool loss_call(Task &task)
{
	return hf_region_call(lost().at, task.size, read_first, nullptr, nullptr) != -HF_EFAULT;
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* Maps so much memory in small pages; NULL if that fails. */
void *small_pages(size_t bytes)
{
	void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return nullptr;
	(void)madvise(at, bytes, MADV_NOHUGEPAGE);
	return memset(at, 1, bytes);
}

std::vector<Sample> run_region(loop_t loop, size_t len, int open, size_t resident, int ms)
{
	struct Outer {
		hf_region_t region[OPEN];
		loop_t loop;
		Task task;
		int open;
		static uint64_t run(void *state, int thread, const int *stop)
		{
			Outer *o = static_cast<Outer *>(state);
			/* They cover another page, so that none of them handles the fault. */
			char *far = lost().at + LARGE / 2;
			uint64_t done;

			for (int i = 0; i < o->open; i++)
				o->task.wrong += hf_region_begin(&o->region[i], far, 1) != 0;
			done = o->loop(&o->task, thread, stop);
			for (int i = o->open; i-- > 0;)
				o->task.wrong += hf_region_end(&o->region[i], nullptr) != 1;
			return done;
		}
	} outer;
	void *memory = resident ? small_pages(resident) : nullptr;

	outer.loop = loop;
	outer.task = Task();
	outer.task.wrong = resident && !memory;
	outer.task.size = len;
	outer.open = open;
	Window window = run_window(1, ms, Outer::run, { &outer });

	if (memory)
		munmap(memory, resident);
	return { sample_of(window, outer.task.wrong == 0) };
}

} // namespace

std::vector<Cell> region_cells(const Settings &)
{
	static const struct {
		const char *variant, *kind;
		loop_t loop;
		const char *name;
		size_t len;
		int open;
		size_t resident;
	} all[] = {
		{ "own handler", "peer", looped<own_handler>, "begin + end", 4096, 0, 0 },
		{ "sigsetjmp", "peer", looped<jump_mark>, "begin + end", 4096, 0, 0 },
		{ "region", "default", looped<begin_end>, "begin + end", 4096, 0, 0 },
		{ "region, file", "ours", looped<begin_end_file>, "begin + end", 4096, 0, 0 },
		{ "region, process", "ours", looped<begin_end_process>, "begin + end", 4096, 0, 0 },
		{ "call", "ours", looped<call>, "begin + end", 4096, 0, 0 },
		{ "own handler", "peer", looped<own_handler>, "begin + end, 63 open", 4096, OPEN,
		  0 },
		{ "region", "default", looped<begin_end>, "begin + end, 63 open", 4096, OPEN, 0 },
		{ "own handler", "peer", looped<loss_own_handler>, "a lost page", 1, 0, 0 },
		{ "region", "default", looped<loss_region>, "a lost page", 1, 0, 0 },
		{ "call", "ours", looped<loss_call>, "a lost page", 1, 0, 0 },
		{ "own handler", "peer", looped<loss_own_handler>, "a lost page, 1 GiB", 1, 0,
		  RESIDENT },
		{ "region", "default", looped<loss_region>, "a lost page, 1 GiB", 1, 0, RESIDENT },
		{ "own handler", "peer", looped<loss_own_handler>, "a lost page, 63 open", 1, OPEN,
		  0 },
		{ "region", "default", looped<loss_region>, "a lost page, 63 open", 1, OPEN, 0 },
		{ "own handler", "peer", looped<loss_own_handler>, "16 MiB lost", LARGE, 0, 0 },
		{ "region", "default", looped<loss_region>, "16 MiB lost", LARGE, 0, 0 },
	};
	std::vector<Cell> cells;

	if (hf_nofault_install())
		return cells;
	for (const auto &one : all) {
		bool large = one.len == LARGE;

		cells.push_back({ { Row("region", one.variant, one.kind, one.name) },
				  [one](int ms) {
					  return run_region(one.loop, one.len, one.open,
							    one.resident, ms);
				  },
				  large ? 20 : 3,
				  one.resident ? 5
				  : large      ? 9
					       : 31 });
	}
	return cells;
}

} // namespace lab
