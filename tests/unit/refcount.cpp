/* SPDX-License-Identifier: MIT */
/* refcount - from C++: several implementations beside each other, threads, processes. */
#include "rosters.h"

#include <memory>

#include <sys/mman.h>

#include "holdfast/refcount.h"

namespace
{

/* The verbs of each implementation, for tests that are the same for all. */
#define VERBS(name, prefix, finds_misuse)                                                          \
	struct verbs_##name {                                                                      \
		static constexpr bool checked = finds_misuse;                                      \
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
	};
#define VERBS_OF(name, checked) VERBS(name, hf_refcount_##name##_, checked)
HF_REFCOUNT_ROSTER(VERBS_OF)
VERBS(by_default, hf_refcount_, 1)
#undef VERBS_OF
#undef VERBS

template <class Verbs>
class Refcount : public testing::Test {
};

#define ROW(name, checked) , verbs_##name
using All = unit::types<void HF_REFCOUNT_ROSTER(ROW), verbs_by_default>;
#undef ROW
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

/* Of all the threads that drop a reference exactly one gets true: it dropped the last. */
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

/* The same in two steps: dec_not_one, and where that fails dec_if_one. */
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

/* Once dead, no thread gets a reference, however many try. */
TYPED_TEST(Refcount, NobodyRevivesIt)
{
	object object;
	std::atomic<uint64_t> gets(0), deaths(0);
	unit::reports reports;

	unit::run_threads(4, [&](int me) {
		unit::deadline end(50);

		if (me == 0) { /* has the reference that the object was made with */
			unit::wait_until([&gets] { return gets > 0; });
			unit::sleep_ms(10);
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

/* An amount that the compiler does not know is not taken for the constant 1. */
TYPED_TEST(Refcount, AmountsOfAnyKind)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	volatile int32_t one = 1, two = 2;

	TypeParam::add(one, &r);
	EXPECT_EQ(hf_refcount_read(&r), 2);
	TypeParam::add(two, &r);
	EXPECT_EQ(hf_refcount_read(&r), 4);
	EXPECT_FALSE(TypeParam::sub_and_test(two, &r));
	EXPECT_FALSE(TypeParam::sub_and_test(one, &r));
	EXPECT_TRUE(TypeParam::sub_and_test(one, &r));
	EXPECT_EQ(hf_refcount_read(&r), 0);
}

/* The same verbs as functions, so that a test can take any two implementations. */
struct operations {
	const char *name;
	bool checked;
	void (*inc)(hf_refcount_t *r);
	void (*add)(int32_t i, hf_refcount_t *r);
	void (*dec)(hf_refcount_t *r);
	bool (*inc_not_zero)(hf_refcount_t *r);
	bool (*dec_and_test)(hf_refcount_t *r);
	bool (*sub_and_test)(int32_t i, hf_refcount_t *r);
};

template <class V>
constexpr operations operations_of(const char *name)
{
	return { name,   V::checked,      V::inc,          V::add,
		 V::dec, V::inc_not_zero, V::dec_and_test, V::sub_and_test };
}

#define ROW(name, checked) operations_of<verbs_##name>(#name),
const operations mixed[] = { HF_REFCOUNT_ROSTER(ROW) operations_of<verbs_by_default>("default") };
#undef ROW

/* Each implementation on an object of its own, and all of them on one. */
TEST(RefcountMixed, BesideEachOther)
{
	std::vector<hf_refcount_t> counts(std::size(mixed));
	unit::reports reports;

	for (size_t i = 0; i < counts.size(); i++) {
		hf_refcount_t *r = &counts[i];

		hf_refcount_set(r, HF_REFCOUNT_MAX);
		mixed[i].inc(r);
		if (mixed[i].checked) {
			EXPECT_TRUE(reports.one(HF_REPORT_ADD_OVF, r)) << mixed[i].name;
		} else {
			EXPECT_EQ(reports.total(), 0u) << mixed[i].name;
		}
	}
	for (size_t i = 0; i < counts.size(); i++) {
		EXPECT_EQ(hf_refcount_read(&counts[i]),
			  mixed[i].checked ? HF_REFCOUNT_SATURATED : INT32_MIN)
			<< mixed[i].name;
	}
}

/* A reference that one implementation took another drops: each with each. */
TEST(RefcountMixed, OnOneObject)
{
	const size_t many = std::size(mixed);
	hf_refcount_t r = HF_REFCOUNT_INIT(5);
	std::atomic<int> last(0);
	unit::reports reports;

	unit::run_threads(5, [&](int me) {
		for (size_t i = 0; i < 1000; i++) {
			const operations &a = mixed[(i + size_t(me)) % many];
			const operations &b = mixed[(i / many) % many];

			switch ((i / (many * many) + size_t(me)) % 4) {
			case 0:
				a.inc(&r);
				b.dec(&r);
				break;
			case 1:
				a.add(2, &r);
				b.dec(&r);
				last += a.dec_and_test(&r);
				break;
			case 2:
				last += !a.inc_not_zero(&r);
				last += b.sub_and_test(1, &r);
				break;
			case 3:
				a.add(3, &r);
				last += b.sub_and_test(3, &r);
				break;
			}
		}
	});
	EXPECT_EQ(last, 0);
	EXPECT_EQ(hf_refcount_read(&r), 5);
	EXPECT_TRUE(hf_refcount_sub_and_test(5, &r));
	EXPECT_EQ(reports.total(), 0u);
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
