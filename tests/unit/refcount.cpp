/* SPDX-License-Identifier: MIT */
/* refcount - from C++: several implementations beside each other, threads, processes. */
#include "unit.h"

#include <memory>

#include <sys/mman.h>

#include "holdfast/refcount.h"

namespace
{

/* The verbs of each implementation, for tests that are the same for all. */
#define VERBS(name, prefix)                                                                        \
	struct name {                                                                              \
		static void inc(hf_refcount_t *r) { prefix##inc(r); }                              \
		static void add(int32_t i, hf_refcount_t *r) { prefix##add(i, r); }                \
		static void dec(hf_refcount_t *r) { prefix##dec(r); }                              \
		static bool inc_not_zero(hf_refcount_t *r) { return prefix##inc_not_zero(r); }     \
		static bool dec_and_test(hf_refcount_t *r) { return prefix##dec_and_test(r); }     \
		static bool dec_not_one(hf_refcount_t *r) { return prefix##dec_not_one(r); }       \
		static bool dec_if_one(hf_refcount_t *r) { return prefix##dec_if_one(r); }         \
		static bool sub_and_test(int32_t i, hf_refcount_t *r)                              \
		{                                                                                  \
			return prefix##sub_and_test(i, r);                                         \
		}                                                                                  \
	}
VERBS(unchecked, hf_refcount_unchecked_);
VERBS(cmpxchg, hf_refcount_cmpxchg_);
VERBS(saturating, hf_refcount_saturating_);
VERBS(assembler, hf_refcount_asm_);
VERBS(by_default, hf_refcount_);
#undef VERBS

template <class Verbs>
class Refcount : public testing::Test {
};

using All = testing::Types<unchecked, cmpxchg, saturating, assembler, by_default>;
TYPED_TEST_SUITE(Refcount, All, unit::type_names);

/* Static, thread-local, in a class, in an array, on the heap. */
struct object {
	hf_refcount_t refs = HF_REFCOUNT_INIT(1);
	int value = 0;
};

hf_refcount_t in_the_file = HF_REFCOUNT_INIT(1);
thread_local hf_refcount_t of_the_thread = HF_REFCOUNT_INIT(1);

TYPED_TEST(Refcount, WhereverItLies)
{
	static hf_refcount_t in_the_function = HF_REFCOUNT_INIT(1);
	hf_refcount_t some[2] = { HF_REFCOUNT_INIT(1), HF_REFCOUNT_INIT(1) };
	auto on_the_heap = std::make_unique<object>();
	unit::reports reports;

	for (hf_refcount_t *r : { &in_the_file, &of_the_thread, &in_the_function, &some[0],
				  &some[1], &on_the_heap->refs }) {
		TypeParam::inc(r);
		EXPECT_EQ(hf_refcount_read(r), 2);
		EXPECT_FALSE(TypeParam::dec_and_test(r));
		EXPECT_TRUE(TypeParam::dec_and_test(r));
		hf_refcount_set(r, 1);
	}
	EXPECT_EQ(reports.total(), 0u);
}

/* Of all who drop one of so many references, one is told that it was the last. */
TYPED_TEST(Refcount, OneIsTheLast)
{
	const int threads = 4, objects = 20000;
	std::vector<object> all(objects);
	std::atomic<int> last(0);
	unit::reports reports;

	for (auto &object : all)
		hf_refcount_set(&object.refs, threads);
	unit::run_threads(threads, [&](int me) {
		for (int i = 0; i < objects; i++) {
			object &object = all[size_t(i)];

			if (i % 3 == me % 3) {
				TypeParam::inc(&object.refs);
				TypeParam::dec(&object.refs);
			}
			if (TypeParam::dec_and_test(&object.refs)) {
				object.value++;
				last++;
			}
		}
	});
	EXPECT_EQ(last, objects);
	for (auto &object : all) {
		EXPECT_EQ(hf_refcount_read(&object.refs), 0);
		EXPECT_EQ(object.value, 1);
	}
	EXPECT_EQ(reports.total(), 0u);
}

/* The same, said in two steps: not the last, or else the last by name. */
TYPED_TEST(Refcount, OneIsTheLastInTwoSteps)
{
	const int threads = 4, objects = 20000;
	std::vector<object> all(objects);
	std::atomic<int> last(0);
	unit::reports reports;

	for (auto &object : all)
		hf_refcount_set(&object.refs, threads);
	unit::run_threads(threads, [&](int) {
		for (auto &object : all) {
			while (!TypeParam::dec_not_one(&object.refs)) {
				if (TypeParam::dec_if_one(&object.refs)) {
					object.value++;
					last++;
					break;
				}
			}
		}
	});
	EXPECT_EQ(last, objects);
	for (auto &object : all)
		EXPECT_EQ(object.value, 1);
	EXPECT_EQ(reports.total(), 0u);
}

/* After death nobody gets a reference, however many try. */
TYPED_TEST(Refcount, NobodyRevivesIt)
{
	object object;
	std::atomic<uint64_t> gets(0), deaths(0);
	unit::reports reports;

	unit::run_threads(4, [&](int me) {
		unit::deadline end(50);

		if (me == 0) { /* has the reference that the object was made with */
			unit::sleep_ms(25);
			deaths += TypeParam::dec_and_test(&object.refs);
			return;
		}
		do {
			if (TypeParam::inc_not_zero(&object.refs)) {
				gets++;
				deaths += TypeParam::dec_and_test(&object.refs);
			}
		} while (!end.passed());
	});
	EXPECT_EQ(deaths, 1u);
	EXPECT_GT(gets, 0u);
	EXPECT_EQ(hf_refcount_read(&object.refs), 0);
	EXPECT_FALSE(TypeParam::inc_not_zero(&object.refs));
	EXPECT_EQ(reports.total(), 0u);
}

/* Each implementation on an object of its own, and all of them on one. */
TEST(RefcountMixed, BesideEachOther)
{
	hf_refcount_t plain = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX);
	hf_refcount_t swap = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX);
	hf_refcount_t add = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX);
	hf_refcount_t flag = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX);
	unit::reports reports;

	unchecked::inc(&plain);
	EXPECT_EQ(reports.total(), 0u);
	cmpxchg::inc(&swap);
	EXPECT_TRUE(reports.one(HF_REPORT_ADD_OVF, &swap));
	saturating::inc(&add);
	EXPECT_TRUE(reports.one(HF_REPORT_ADD_OVF, &add));
	assembler::inc(&flag);
	EXPECT_TRUE(reports.one(HF_REPORT_ADD_OVF, &flag));
	EXPECT_EQ(hf_refcount_read(&plain), INT32_MIN);
	EXPECT_EQ(hf_refcount_read(&swap), HF_REFCOUNT_SATURATED);
	EXPECT_EQ(hf_refcount_read(&add), HF_REFCOUNT_SATURATED);
	EXPECT_EQ(hf_refcount_read(&flag), HF_REFCOUNT_SATURATED);
}

TEST(RefcountMixed, OnOneObject)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	std::atomic<int> last(0);
	unit::reports reports;

	hf_refcount_set(&r, 5);
	unit::run_threads(5, [&](int me) {
		for (int i = 0; i < 1000; i++) {
			switch ((me + i) % 5) {
			case 0:
				unchecked::inc(&r);
				saturating::dec(&r);
				break;
			case 1:
				cmpxchg::add(2, &r);
				assembler::dec(&r);
				last += cmpxchg::dec_and_test(&r);
				break;
			case 2:
				assembler::inc(&r);
				last += unchecked::dec_and_test(&r);
				break;
			case 3:
				last += !saturating::inc_not_zero(&r);
				last += cmpxchg::sub_and_test(1, &r);
				break;
			case 4:
				by_default::add(3, &r);
				last += saturating::sub_and_test(3, &r);
				break;
			}
		}
	});
	EXPECT_EQ(last, 0);
	EXPECT_EQ(hf_refcount_read(&r), 5);
	EXPECT_TRUE(assembler::sub_and_test(5, &r));
	EXPECT_EQ(reports.total(), 0u);
}

/* An amount that the compiler does not know is not taken for the constant 1. */
TEST(RefcountMixed, AmountsOfAnyKind)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	volatile int32_t one = 1, two = 2;

	assembler::add(one, &r);
	EXPECT_EQ(hf_refcount_read(&r), 2);
	assembler::add(two, &r);
	EXPECT_EQ(hf_refcount_read(&r), 4);
	EXPECT_FALSE(assembler::sub_and_test(two, &r));
	EXPECT_FALSE(assembler::sub_and_test(one, &r));
	EXPECT_TRUE(assembler::sub_and_test(one, &r));
	EXPECT_EQ(hf_refcount_read(&r), 0);
}

/* In memory that two processes share. */
TYPED_TEST(Refcount, BetweenProcesses)
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
			TypeParam::inc(&shared->refs);
			if (TypeParam::dec_and_test(&shared->refs))
				shared->last_of[me] += 1000;
		} while (!end.passed());
		if (TypeParam::dec_and_test(&shared->refs))
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
