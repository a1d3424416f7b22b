/* SPDX-License-Identifier: MIT */
/* refcount - wherever it lies, amounts that are no constants, processes. Threads: stress/refcount.cpp. */
#include "unit.h"

#include <memory>

#include <sys/mman.h>

#include "holdfast/refcount.h"

namespace
{

/* Static, thread-local, in a class, in an array, on the heap. */
struct object {
	hf_refcount_t refs = HF_REFCOUNT_INIT(1);
};

hf_refcount_t in_the_file = HF_REFCOUNT_INIT(1);
thread_local hf_refcount_t of_the_thread = HF_REFCOUNT_INIT(1);

TEST(Refcount, WhereverItLies)
{
	static hf_refcount_t in_the_function = HF_REFCOUNT_INIT(1);
	hf_refcount_t some[2] = { HF_REFCOUNT_INIT(1), HF_REFCOUNT_INIT(1) };
	auto on_the_heap = std::make_unique<object>();
	unit::reports reports;

	for (hf_refcount_t *r : { &in_the_file, &of_the_thread, &in_the_function, &some[0],
				  &some[1], &on_the_heap->refs }) {
		hf_refcount_inc(r);
		EXPECT_EQ(hf_refcount_read(r), 2);
		EXPECT_FALSE(hf_refcount_dec_and_test(r));
		EXPECT_TRUE(hf_refcount_dec_and_test(r));
		hf_refcount_set(r, 1);
	}
	EXPECT_EQ(reports.total(), 0u);
}

/* An amount that the compiler does not know is not taken for the constant 1. */
TEST(Refcount, AmountsOfAnyKind)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	volatile int32_t one = 1, two = 2;

	hf_refcount_add(one, &r);
	EXPECT_EQ(hf_refcount_read(&r), 2);
	hf_refcount_add(two, &r);
	EXPECT_EQ(hf_refcount_read(&r), 4);
	EXPECT_FALSE(hf_refcount_sub_and_test(two, &r));
	EXPECT_FALSE(hf_refcount_sub_and_test(one, &r));
	EXPECT_TRUE(hf_refcount_sub_and_test(one, &r));
	EXPECT_EQ(hf_refcount_read(&r), 0);
}

/* In memory that two processes share. */
TEST(Refcount, BetweenProcesses)
{
	struct shared {
		hf_refcount_t refs;
		uint32_t last_of[2];
	};
	void *memory = mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(memory, MAP_FAILED);
	auto *shared = static_cast<struct shared *>(memory);
	auto work = [shared](int me) {
		unit::deadline end(30);

		do {
			hf_refcount_inc(&shared->refs);
			if (hf_refcount_dec_and_test(&shared->refs))
				shared->last_of[me] += 1000;
		} while (!end.passed());
		if (hf_refcount_dec_and_test(&shared->refs))
			shared->last_of[me]++;
	};

	hf_refcount_set(&shared->refs, 2);
	pid_t child = fork();
	if (child == 0) {
		work(1);
		_exit(0);
	}
	work(0);
	int status = -1;
	waitpid(child, &status, 0);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(hf_refcount_read(&shared->refs), 0);
	EXPECT_EQ(shared->last_of[0] + shared->last_of[1], 1u);
	munmap(memory, sizeof(struct shared));
}

} // namespace
