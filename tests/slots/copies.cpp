// SPDX-License-Identifier: MIT
// copies - one lock, and threads that come to it through different copies of the library.
//
//   copies LINKED-PLUGIN OWN-PLUGIN     one that is linked to the shared library, one that has a
//                                       static copy of its own; so has this program
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../ktap.h"

#include "verbs.h"

namespace
{

// A copy of the library, and of the verbs that are inlined into its user.
struct copy {
	const char *name;
	const verbs *v;
	void *handle;
};

copy load(const char *name, const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		printf("# %s\n", dlerror());
		exit(2);
	}
	return { name, static_cast<const verbs *>(dlsym(handle, "slots_verbs")), handle };
}

// Half of the threads through each copy, all at one lock. Few where service is in strict order: each
// time that one is not running, all wait for it.
bool work(const copy &a, const copy &b, void (*verbs::*verb)(counted *), int count,
	  unsigned long each)
{
	counted c = {};
	std::vector<std::thread> threads;
	std::atomic<int> missing(count);

	for (int i = 0; i < count; i++) {
		auto f = (i % 2 ? a : b).v->*verb;

		threads.emplace_back([&c, &missing, each, f] {
			missing--;
			while (missing)
				sched_yield();
			for (unsigned long n = 0; n < each; n++)
				f(&c);
		});
	}
	for (auto &thread : threads)
		thread.join();
	return c.count == static_cast<unsigned long>(count) * each &&
	       !hf_spinlock_queued_is_locked(&c.queued) && !hf_spinlock_mcs_is_locked(&c.mcs);
}

// Locked through one copy, unlocked through the other, as often as a thread has nodes and more.
bool hand_over(const copy &a, const copy &b)
{
	bool ok = true;

	for (int i = 0; i < 100; i++) {
		std::thread([&] {
			counted c[HF_NODES + 1] = {};

			for (int round = 0; round < 3; round++) {
				for (counted &one : c)
					a.v->mcs_lock(&one);
				for (counted &one : c)
					b.v->mcs_unlock(&one);
			}
			for (counted &one : c)
				ok = ok && !hf_spinlock_mcs_is_locked(&one.mcs);
		}).join();
	}
	return ok;
}

// A thread has used the plug-in, ends when that is gone; then the process forks.
bool unload(const char *path)
{
	for (int round = 0; round < 3; round++) {
		copy plugin = load("own", path);
		std::atomic<int> step(0);
		int status = -1;
		std::thread thread([&] {
			counted c = {};

			plugin.v->mcs(&c);
			plugin.v->queued(&c);
			step = 1;
			while (step == 1)
				sched_yield();
		});

		while (step == 0)
			sched_yield();
		dlclose(plugin.handle);
		step = 2;
		thread.join();
		if (dlopen(path, RTLD_NOW | RTLD_NOLOAD)) {
			printf("# it is still loaded\n");
			return false;
		}
		pid_t child = fork();
		if (child == 0)
			_exit(0);
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
			return false;
	}
	return true;
}

// In a process of its own: what is broken hangs, or dies.
template <class F>
void test(const std::string &name, F f)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		alarm(100);
		_exit(f() ? 0 : 1);
	}
	if (child > 0)
		waitpid(child, &status, 0);
	if (status)
		printf("# status %#x\n", static_cast<unsigned int>(status));
	ktap_result(status == 0, "slots %s", name.c_str());
}

void test_pair(const char *a_name, const char *a_path, const char *b_name, const char *b_path)
{
	auto get = [](const char *name, const char *path) {
		return path ? load(name, path) : copy{ name, &slots_verbs, nullptr };
	};
	std::string pair = std::string(a_name) + " and " + b_name;

	test("queued, " + pair, [&] {
		return work(get(a_name, a_path), get(b_name, b_path), &verbs::queued, 4, 200);
	});
	test("mcs, " + pair,
	     [&] { return work(get(a_name, a_path), get(b_name, b_path), &verbs::mcs, 2, 60); });
	test("locked and unlocked, " + pair,
	     [&] { return hand_over(get(a_name, a_path), get(b_name, b_path)); });
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	ktap_begin(10);
	test_pair("program", nullptr, "static plug-in", argv[2]);
	test_pair("program", nullptr, "shared library", argv[1]);
	test_pair("static plug-in", argv[2], "shared library", argv[1]);
	test("a plug-in is unloaded before its thread ends", [&] { return unload(argv[2]); });
	return ktap_end();
}
