/* SPDX-License-Identifier: MIT */
/* program - tests a package in C++: an object has two owners and is freed once. */
#include <cstdio>
#include <cstring>
#include <mutex>

#include <holdfast/intrusive_ptr.h>
#include <holdfast/mutex.h>
#include <holdfast/version.h>

static int freed;

struct page : hf::refcounted<page> {
	~page() { freed++; }
};

int main(int argc, char **argv)
{
	hf::mutex lock;

	if (std::strcmp(hf_version(), HF_VERSION) != 0 || argc != 2 ||
	    std::strcmp(argv[1], HF_VERSION) != 0)
		return 1;
	{
		std::lock_guard<hf::mutex> hold(lock);
		hf::intrusive_ptr<page> one = hf::make_intrusive<page>(), two = one;

		one.reset();
		if (freed != 0 || !two)
			return 1;
	}
	std::printf("holdfast %s\n", hf_version());
	return freed == 1 ? 0 : 1;
}
