// SPDX-License-Identifier: MIT
// objects - nofault in shared objects that are loaded and unloaded; a file that another process
// truncates.
//
//   objects LINKED OWN SLOW EARLY
//
// The plug-ins: linked with the shared library; with its own static copy; with a slow handler; with
// a constructor that uses a region.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <malloc.h>
#include <new>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../ktap.h"
#include "early.h"

#include "../../src/cpu/cpu.h"
#include "holdfast/nofault.h"

namespace
{

const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
char *bad;

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("# line %d: not so: %s\n", __LINE__, #condition);                   \
			return false;                                                              \
		}                                                                                  \
	} while (0)

struct Plugin {
	explicit Plugin(const char *path)
	{
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!handle) {
			printf("# %s\n", dlerror());
			exit(2);
		}
		load = function<int(uint32_t *, const void *)>("plugin_load");
		clear = function<size_t(void *, size_t)>("plugin_clear");
		install = function<int()>("plugin_install");
	}
	~Plugin() { dlclose(handle); }
	template <class F>
	F *function(const char *name) const
	{
		return reinterpret_cast<F *>(dlsym(handle, name));
	}
	// Tests its inlined sites, and those of its library.
	bool works() const
	{
		uint32_t value = 7;

		MUST(load(&value, bad) == -HF_EFAULT && value == 7);
		MUST(clear(bad - 10, 30) == 20);
		return true;
	}
	void *handle;
	int (*load)(uint32_t *, const void *);
	size_t (*clear)(void *, size_t);
	int (*install)();
};

// In a child, because a region installs the handler and this program must start without it.
template <class F>
bool in_child(F works)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(works() ? 0 : 1);
	waitpid(child, &status, 0);
	return status == 0;
}

const bool worked_before_main = in_child(region_without_install);

bool works_in_constructor(const char *path)
{
	return in_child([path] {
		Plugin early(path);

		return early.function<bool()>("plugin_early")();
	});
}

#if HF_TSAN || defined(__SANITIZE_ADDRESS__)
const bool is_watched = true;
#else
const bool is_watched = false;
#endif

bool program_works()
{
	uint32_t value = 7;

	MUST(hf_load32_nofault(&value, bad) == -HF_EFAULT && value == 7);
	MUST(hf_clear_nofault(bad - 10, 30) == 20);
	return true;
}

bool one_object(const char *path)
{
	for (int i = 0; i < 20; i++) {
		Plugin plugin(path);

		MUST(plugin.install() == 0);
		MUST(plugin.works() && program_works());
	}
	return program_works();
}

// Calls body(i) `times` times while three threads fault continuously. Returns false if something
// failed.
bool while_others_fault(int times, const std::function<bool(int)> &body)
{
	std::atomic<bool> stop{ false }, failed{ false };
	std::vector<std::thread> threads;

	for (int t = 0; t < 3; t++) {
		threads.emplace_back([&] {
			while (!stop && !failed)
				failed = !program_works();
		});
	}
	for (int i = 0; i < times && !failed; i++) {
		if (!body(i))
			failed = true;
	}
	stop = true;
	for (std::thread &thread : threads)
		thread.join();
	MUST(!failed);
	return true;
}

bool loaded_while_others_fault(const char *path)
{
	size_t before = 0, after = 0;
	bool good = while_others_fault(400, [&](int i) {
		Plugin plugin(path);

		if (i == 50)
			before = mallinfo2().uordblks;
		after = mallinfo2().uordblks;
		return plugin.works();
	});

	printf("# %zu bytes in use after 50 loads, %zu after 400\n", before, after);
	MUST(after < before + 65536);
	return good;
}

#ifdef HF_ARCH_FAULTING_LOAD
// Unloading a plug-in waits for a thread that is in its handler.
bool unloaded_while_handling(const char *path)
{
	static hf_atomic32_t state = HF_ATOMIC_INIT(0);

	auto *plugin = new Plugin(path);
	auto slow = plugin->function<void(hf_atomic32_t *)>("plugin_slow");

	MUST(slow && plugin->install() == 0);
	slow(&state);
	std::thread thread([] { HF_ARCH_FAULTING_LOAD(bad); });
	while (hf_atomic32_load_relaxed(&state) != 1)
		sched_yield();
	hf_atomic32_store_relaxed(&state, 2);
	delete plugin;
	bool waited = hf_atomic32_load_relaxed(&state) == 3;
	thread.join();
	MUST(waited);
	MUST(!dlopen(path, RTLD_NOW | RTLD_NOLOAD));
	return program_works();
}
#endif

// The same at random moments: each fault reaches the handler that is installed at the time.
bool unloaded_while_others_fault(const char *path)
{
	return while_others_fault(40, [path](int) {
		Plugin plugin(path);

		return plugin.install() == 0 && plugin.works();
	});
}

bool same_page(const void *a, const void *b)
{
	return reinterpret_cast<uintptr_t>(a) / page == reinterpret_cast<uintptr_t>(b) / page;
}

// Is @first, the first unprocessed byte, consistent with the fault address? The two are equal, at
// the start of a page, if the file ended before that page; if the page was lost while it was being
// cleared, they are only in the same page.
bool fits(const char *first, const void *fault)
{
	return first == fault ||
	       (same_page(first, fault) && reinterpret_cast<uintptr_t>(fault) % page != 0);
}

// Time limit for truncated(), enough for a busy machine.
const std::chrono::minutes patience(5);

// Another process truncates the file and extends it again while this one copies from its mapping
// and clears it. Half of the truncations are undone at once; after the other half the file
// stays short until a copy has been made, so that some copies are certain to fault.
bool truncated()
{
	const auto end = std::chrono::steady_clock::now() + patience;
	const size_t pages = 16, len = pages * page;
	// Fewer with sanitizers, which check each byte that is compared here, and in emulators.
	const unsigned int wanted = is_watched || getenv("HF_SWEEP_EMULATED") ? 500 : 10000;
	char name[] = "/tmp/holdfast-objects-XXXXXX";
	int file = mkstemp(name);
	std::vector<unsigned char> text(len, 'T'), copy(len);
	unsigned int faults = 0, whole = 0;

	MUST(file >= 0 && unlink(name) == 0);
	MUST(pwrite(file, text.data(), len, 0) == static_cast<ssize_t>(len));
	char *map = static_cast<char *>(
		mmap(nullptr, len, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
	MUST(map != MAP_FAILED);
	MUST(ftruncate(file, 0) == 0 && hf_clear_nofault(map, 1) == 1);
	MUST(same_page(map, hf_nofault_last().address));
	MUST(pwrite(file, text.data(), len, 0) == static_cast<ssize_t>(len));
	void *shared =
		mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(shared != MAP_FAILED);
	auto *copies = new (shared) std::atomic<unsigned int>(0);
	pid_t child = fork();

	if (child == 0) {
		unsigned int seed = 1;

		prctl(PR_SET_PDEATHSIG, SIGKILL); /* end with the test, even if that is killed */

		for (;;) {
			seed = seed * 1103515245 + 12345;
			off_t to = static_cast<off_t>(seed / 65536 % (len + 1));

			if (ftruncate(file, to))
				_exit(1);
			// Wait until two copies have ended: the second began after the truncation.
			for (unsigned int before = *copies; seed >> 31 && *copies - before < 2;)
				sched_yield();
			if (pwrite(file, text.data(), len, 0) != static_cast<ssize_t>(len))
				_exit(1);
		}
	}
	for (unsigned int i = 0; faults < wanted && std::chrono::steady_clock::now() < end; i++) {
		MUST(i % 64 || waitpid(child, nullptr, WNOHANG) == 0);
		memset(copy.data(), '#', len);
		size_t start = i * 37 % page, size = len - start - i % 5;
		size_t left = hf_copy_nofault(copy.data() + start, map + start, size);
		size_t done = size - left;

		++*copies;
		faults += left != 0;
		whole += left == 0;
		MUST(left <= size);
		// Where the file ends within a page, the rest of the page reads as zero.
		for (size_t at = 0; at < len; at++) {
			bool is_done = at >= start && at < start + done;
			unsigned char c = copy[at];

			if (is_done ? c != 'T' && c != 0 : c != '#') {
				printf("# byte %zu is %02x; start %zu, %zu done of %zu\n", at, c,
				       start, done, size);
				kill(child, SIGKILL);
				return false;
			}
		}
		if (i % 3 == 0) {
			size_t clear_left = hf_clear_nofault(map + len - page - 100, page + 100);

			MUST(clear_left <= page + 100);
			MUST(clear_left == 0 ||
			     fits(map + len - clear_left, hf_nofault_last().address));
		}
	}
	kill(child, SIGKILL);
	waitpid(child, nullptr, 0);
	munmap(map, len);
	munmap(shared, page);
	close(file);
	printf("# %u copies met the truncated file, %u were whole\n", faults, whole);
	MUST(faults == wanted);
	return true;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: objects LINKED OWN SLOW EARLY\n");
		return 2;
	}
	alarm(570);
	char *pages = static_cast<char *>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	bad = pages + page;
	mprotect(bad, page, PROT_NONE);
	ktap_begin(9);
	ktap_result(worked_before_main, "a region in a static constructor, without an install");
	ktap_result(works_in_constructor(argv[4]), "a region in the constructor of a plug-in");
	// Before the program itself installs a handler.
	{
		Plugin own(argv[2]);

		ktap_result(own.install() == 0 && own.works(), "a plug-in's own handler");
	}
	ktap_result(hf_nofault_install() == 0 && program_works(), "after the plug-in was unloaded");
	ktap_result(one_object(argv[1]) && one_object(argv[2]), "load, use, close");
	ktap_result(loaded_while_others_fault(argv[1]), "load and close while others fault");
	ktap_result(unloaded_while_others_fault(argv[2]),
		    "load and close a plug-in with its own handler while others fault");
#ifdef HF_ARCH_FAULTING_LOAD
	ktap_result(unloaded_while_handling(argv[3]), "unloaded while its handler runs");
#else
	ktap_skip("no faulting load for this processor", "unloaded while its handler runs");
#endif
	if (getenv("HF_SWEEP_EMULATED") && hf_detail_cpu_zva_size())
		ktap_skip("qemu-user 7.2 dies when DC ZVA faults",
			  "a file truncated by another process");
	else
		ktap_result(truncated(), "a file truncated by another process");
	return ktap_end();
}
