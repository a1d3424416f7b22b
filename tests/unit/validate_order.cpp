/* SPDX-License-Identifier: MIT */
/*
 * validate_order - locks taken in both orders: the reported call sites, classes of locks, the
 * limits of the tables. validate.cpp has scripts of single locks.
 */
#include "unit.h"

#include <pthread.h>

#include "holdfast/lockref.h"
#include "holdfast/mutex.h"
#include "holdfast/rwlock.h"
#include "holdfast/spinlock.h"

static_assert(HF_VALIDATE == 1, "compile this with -DHF_VALIDATE=1");

namespace
{

/* A pair of classes or names is reported once in a process: such tests run in a child. */

class last_report : public unit::reports {
public:
	last_report() { hf_validate_set_hold_limit(0); }
	static unsigned int orders() { return hf_report_count(HF_REPORT_LOCK_ORDER); }
};

/* ---- Call sites ----------------------------------------------------------------------------- */

#define PLACE __attribute__((cold, noinline))

template <class Function>
bool is_inside(const void *site, Function *function)
{
#ifdef __OPTIMIZE__
	constexpr uintptr_t largest = 8192;
#else
	constexpr uintptr_t largest = 1 << 17;
#endif

	return uintptr_t(site) - reinterpret_cast<uintptr_t>(function) < largest;
}

PLACE void b_under_a(hf_spinlock_t *a, hf_lockref_t *b)
{
	hf_spinlock_lock(a);
	hf_lockref_lock(b);
	hf_lockref_unlock(b);
	hf_spinlock_unlock(a);
}

PLACE void a_under_b(hf_spinlock_t *a, hf_lockref_t *b)
{
	/* A lockref takes its lock in a slow path: the site must be this call. */
	if (!hf_lockref_put_or_lock(b)) {
		hf_spinlock_lock(a);
		hf_spinlock_unlock(a);
		hf_lockref_unlock(b);
	}
}

PLACE void b_by_put_under_a(hf_spinlock_t *a, hf_lockref_t *b)
{
	hf_spinlock_lock(a);
	if (!hf_lockref_put_or_lock(b))
		hf_lockref_unlock(b);
	hf_spinlock_unlock(a);
}

PLACE void twice(hf_spinlock_t *a)
{
	hf_spinlock_lock(a);
	hf_spinlock_lock(a);
	hf_spinlock_unlock(a);
	hf_spinlock_unlock(a);
}

using OrderPlaces = testing::Test;
using OrderTable = testing::Test;
using OrderClass = testing::Test;
using unit::in_child;

TEST_IN_CHILD(OrderPlaces, BothAreNamed, 0)
{
	hf_lockref_t b;
	hf_spinlock_t a;
	last_report report;

	hf_spinlock_init(&a);
	hf_lockref_init(&b, 1);
	b_under_a(&a, &b);
	a_under_b(&a, &b);
	ASSERT_EQ(report.orders(), 1u);
	EXPECT_EQ(report->object, &a);
	EXPECT_TRUE(is_inside(report->site, a_under_b)) << report->site;
	EXPECT_TRUE(is_inside(report->other_site, b_under_a)) << report->other_site;

	/* After init they are other locks. */
	hf_spinlock_init(&a);
	hf_lockref_init(&b, 1);
	report.reset();
	a_under_b(&a, &b);
	b_by_put_under_a(&a, &b);
	ASSERT_EQ(report.orders(), 1u);
	EXPECT_EQ(report->other, &a);
	EXPECT_TRUE(is_inside(report->site, b_by_put_under_a)) << report->site;
	EXPECT_TRUE(is_inside(report->other_site, a_under_b)) << report->other_site;

	report.reset();
	twice(&a);
	EXPECT_EQ(report->kind, HF_REPORT_LOCK_RECURSION);
	EXPECT_TRUE(is_inside(report->site, twice)) << report->site;
}

TEST_IN_CHILD(OrderPlaces, BothAreInTheLine, 0)
{
	hf_spinlock_t a;
	hf_lockref_t b;
	std::string line;

	hf_report_reset();
	hf_spinlock_init(&a);
	hf_lockref_init(&b, 1);
	testing::internal::CaptureStderr();
	b_under_a(&a, &b);
	a_under_b(&a, &b);
	line = testing::internal::GetCapturedStderr();
	hf_report_reset();
	EXPECT_NE(line.find("lock: order inverted"), std::string::npos) << line;
	EXPECT_NE(line.find(" held; the other way round at 0x"), std::string::npos) << line;
	EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
}

/* ---- The table ------------------------------------------------------------------------------ */

/* Records what locking `first` and then waiting for `second` would. */
void nest_names(const char *first, const char *second)
{
	hf_detail_validate_locked(first);
	(void)hf_detail_validate_lock(second, false);
	(void)hf_detail_validate_unlock(first, true);
}

/*
 * V3: two threads record a new pair at the same time, each in its own order; one of them reports
 * it. (No run can show that the order of the two steps matters, because the cache line moves
 * between the processors in between.)
 */
TEST_IN_CHILD(OrderTable, TheFirstTimeAtTheSameMoment, 0)
{
	enum { PAIRS = 2000 };
	static const char names[2 * PAIRS] = {};
	std::atomic<int> there[PAIRS];
	last_report report;

	for (std::atomic<int> &n : there)
		n = 0;
	unit::run_threads(2, [&](int thread) {
		for (int i = 0; i < PAIRS; i++) {
			const char *mine = &names[2 * i + thread];
			const char *other = &names[2 * i + 1 - thread];

			there[i]++;
			for (unsigned int n = 1; there[i] < 2; n++) {
				if (n % 4096 == 0)
					sched_yield();
			}
			nest_names(mine, other);
		}
	});
	EXPECT_EQ(report.orders(), unsigned(PAIRS));
	EXPECT_EQ(report.total(), unsigned(PAIRS));
}

/*
 * Two locks may share an entry of the table, by their addresses, and then the first one has no
 * class: so did the table's lock of EntriesThatComeAndGo in one of 256 runs. Each child gets other
 * locks, until f() returns true.
 */
struct some_locks {
	hf_mutex_t table, entries[64];
	hf_spinlock_t spinlocks[2];
};

bool with_some_locks(bool (*f)(some_locks *))
{
	static some_locks all[8];

	for (some_locks &some : all) {
		if (in_child([&] { MUST(f(&some)); }) == 0)
			return true;
	}
	return false;
}

/* A cache's entries come and go, each with a lock: one class, so one pair with the table's lock. */
TEST_F(OrderClass, EntriesThatComeAndGo)
{
	EXPECT_TRUE(with_some_locks([](some_locks *some) {
		last_report report;
		uint32_t unwatched = hf_validate_unwatched_pairs();

		hf_mutex_init(&some->table);
		for (int i = 0; i < 4 * HF_VALIDATE_PAIRS; i++) {
			hf_mutex_t *entry = &some->entries[i % 64];

			hf_mutex_init(entry);
			hf_mutex_lock(&some->table);
			hf_mutex_lock(entry);
			hf_mutex_unlock(entry);
			hf_mutex_unlock(&some->table);
		}
		return hf_validate_unwatched_pairs() == unwatched && report.total() == 0;
	}));
}

void nest(hf_mutex_t *first, hf_mutex_t *second)
{
	hf_mutex_lock(first);
	hf_mutex_lock(second);
	hf_mutex_unlock(second);
	hf_mutex_unlock(first);
}

__attribute__((noinline)) void init_entry(hf_mutex_t *entry)
{
	hf_mutex_init(entry);
}

/*
 * One entry's lock is taken under the table's, then the table's under another entry's: the two
 * classes are taken in both orders.
 */
TEST_F(OrderClass, InBothOrders)
{
	EXPECT_TRUE(with_some_locks([](some_locks *some) {
		last_report report;

		hf_mutex_init(&some->table);
		init_entry(&some->entries[0]);
		init_entry(&some->entries[1]);
		nest(&some->table, &some->entries[0]);
		MUST(report.total() == 0);
		nest(&some->entries[1], &some->table);
		return report.orders() == 1 && report->object == &some->table &&
		       report->other == &some->entries[1];
	}));
}

/* For the locks of one class, the order is recorded per pair of addresses. */
TEST_F(OrderClass, TwoOfOne)
{
	last_report report;
	hf_mutex_t entries[3];

	for (hf_mutex_t &entry : entries)
		init_entry(&entry);
	nest(&entries[0], &entries[1]);
	nest(&entries[1], &entries[2]);
	nest(&entries[0], &entries[2]);
	EXPECT_EQ(report.total(), 0u);
	nest(&entries[1], &entries[0]);
	EXPECT_EQ(report.orders(), 1u);
	/* Initialised again it is another lock, of the same class. */
	init_entry(&entries[0]);
	nest(&entries[0], &entries[1]);
	EXPECT_EQ(report.orders(), 1u);
	nest(&entries[1], &entries[0]);
	EXPECT_EQ(report.orders(), 2u);
}

/* ---- Cycles --------------------------------------------------------------------------------- */

using OrderCycle = testing::Test;

/* The report's places are kept, since the array is valid only in the handler. */
std::vector<const void *> kept_places;

TEST_IN_CHILD(OrderCycle, EachPlaceIsNamed, 0)
{
	hf_spinlock_t a;
	hf_lockref_t b, c;

	hf_spinlock_init(&a);
	hf_lockref_init(&b, 1);
	hf_lockref_init(&c, 1);
	kept_places.clear();
	hf_report_reset();
	hf_report_set_details_handler(
		[](const struct hf_report_details *details, void *) {
			kept_places.assign(details->places, details->places + details->place_count);
		},
		nullptr);
	b_under_a(&a, &b);
	hf_lockref_lock(&b);
	hf_lockref_lock(&c);
	hf_lockref_unlock(&c);
	hf_lockref_unlock(&b);
	EXPECT_TRUE(kept_places.empty());
	a_under_b(&a, &c);
	EXPECT_EQ(hf_report_count(HF_REPORT_LOCK_ORDER), 1u);
	hf_report_set_details_handler(nullptr, nullptr);
	hf_report_reset();
	ASSERT_EQ(kept_places.size(), 2u);
	EXPECT_TRUE(is_inside(kept_places[0], b_under_a)) << kept_places[0];
}

TEST_F(OrderCycle, OfAnyLengthOnce)
{
	last_report report;
	hf::mutex three[3], many[100];
	hf_mutex_t *last = many[99].native_handle();

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3; i++)
			nest(three[i].native_handle(), three[(i + 1) % 3].native_handle());
		EXPECT_EQ(report.orders(), 1u);
	}
	report.reset();
	for (int i = 0; i < 99; i++)
		nest(many[i].native_handle(), many[i + 1].native_handle());
	EXPECT_EQ(report.total(), 0u);
	nest(last, many[0].native_handle());
	EXPECT_EQ(report.orders(), 1u);
	EXPECT_EQ(report->object, many[0].native_handle());
	EXPECT_EQ(report->other, last);
	EXPECT_EQ(report->place_count, 16u);
}

void nest_under(hf_mutex_t *gate, hf_mutex_t *first, hf_mutex_t *second)
{
	hf_mutex_lock(gate);
	nest(first, second);
	hf_mutex_unlock(gate);
}

/* A lock that is always held around two pairs of a cycle lets one thread in; then it does not. */
TEST_F(OrderCycle, Gate)
{
	last_report report;
	hf::mutex locks[6];
	hf_mutex_t *gate = locks[0].native_handle(), *other_gate = locks[1].native_handle();
	hf_mutex_t *a = locks[2].native_handle(), *b = locks[3].native_handle(),
		   *c = locks[4].native_handle();

	nest_under(gate, a, b);
	nest(b, c);
	nest_under(gate, c, a);
	EXPECT_EQ(report.total(), 0u);
	nest_under(other_gate, c, a);
	EXPECT_EQ(report.orders(), 1u);
	EXPECT_EQ(report->object, a);
	EXPECT_EQ(report->other, c);
	nest(a, b);
	nest(c, a);
	EXPECT_EQ(report.orders(), 1u);
}

/* A reader lets others in. */
TEST_F(OrderCycle, NoGateOfReaders)
{
	last_report report;
	hf::mutex a, b;
	hf_rwlock_t gate = HF_RWLOCK_INIT;

	for (bool is_turned : { false, true }) {
		hf_rwlock_read_lock(&gate);
		nest((is_turned ? b : a).native_handle(), (is_turned ? a : b).native_handle());
		hf_rwlock_read_unlock(&gate);
	}
	EXPECT_EQ(report.orders(), 1u);
}

/* Two locks of one class are two gates. */
TEST_F(OrderCycle, GatesOfOneClass)
{
	EXPECT_TRUE(with_some_locks([](some_locks *some) {
		last_report report;
		hf::mutex a, b;

		init_entry(&some->entries[0]);
		init_entry(&some->entries[1]);
		nest_under(&some->entries[0], a.native_handle(), b.native_handle());
		nest_under(&some->entries[0], b.native_handle(), a.native_handle());
		MUST(report.total() == 0);
		nest_under(&some->entries[1], b.native_handle(), a.native_handle());
		return report.orders() == 1;
	}));
}

/*
 * The table of classes has one entry for many locks. A lock that has lost its entry still has an
 * order with the others of its class, by their addresses.
 */
TEST_IN_CHILD(OrderClass, EntriesAreShared, 0)
{
	static const char node[] = "a node", other_class[] = "another";
	static hf_mutex_t others[8 * HF_VALIDATE_CLASSED];
	last_report report;
	hf_mutex_t nodes[3] = { HF_MUTEX_INIT, HF_MUTEX_INIT, HF_MUTEX_INIT };

	hf_validate_set_class(&nodes[1], node);
	for (hf_mutex_t &other : others)
		hf_validate_set_class(&other, other_class);
	hf_validate_set_class(&nodes[0], node);
	hf_validate_set_class(&nodes[2], node);
	nest(&nodes[0], &nodes[1]);
	nest(&nodes[1], &nodes[2]);
	EXPECT_EQ(report.total(), 0u);
	nest(&nodes[1], &nodes[0]);
	EXPECT_EQ(report.orders(), 1u);
}

/*
 * Locks with the same class name are of one class, whatever their kind and wherever they were
 * initialised; a NULL name and hf_validate_forget() remove the class.
 */
TEST_F(OrderClass, ByName)
{
	EXPECT_TRUE(with_some_locks([](some_locks *some) {
		static const char class_name[] = "an entry of the cache";
		last_report report;

		for (int round = 0; round < 3; round++) {
			for (hf_spinlock_t &entry : some->spinlocks) {
				hf_validate_set_class(&entry, round == 1 ? NULL : class_name);
				if (round == 2)
					hf_validate_forget(&entry);
			}
			hf_validate_forget(&some->table.word);
			hf_mutex_lock(&some->table);
			hf_spinlock_lock(&some->spinlocks[0]);
			hf_spinlock_unlock(&some->spinlocks[0]);
			hf_mutex_unlock(&some->table);
			hf_spinlock_lock(&some->spinlocks[1]);
			hf_mutex_lock(&some->table);
			hf_mutex_unlock(&some->table);
			hf_spinlock_unlock(&some->spinlocks[1]);
			MUST(report.orders() == (round ? 0u : 1u));
			report.reset();
		}
		return true;
	}));
}

/*
 * Locks share the entries of a table: a thread still holds its lock after another thread's lock has
 * replaced the entry.
 */
TEST(Takers, EntriesAreShared)
{
	static hf_mutex_t others[1 << 15];
	last_report report;
	hf_mutex_t mine = HF_MUTEX_INIT;

	hf_mutex_lock(&mine);
	std::thread([] {
		for (hf_mutex_t &other : others) {
			hf_mutex_lock(&other);
			hf_mutex_unlock(&other);
		}
	}).join();
	hf_mutex_unlock(&mine);
	EXPECT_EQ(report.total(), 0u);
	EXPECT_FALSE(hf_mutex_is_locked(&mine));
}

/*
 * A thread that exits with a lock held is reported, with the place where it took the lock; a thread
 * that released it is not.
 */
TEST(HeldAtExit, IsReported)
{
	last_report report;
	hf_mutex_t locks[2] = { HF_MUTEX_INIT, HF_MUTEX_INIT };

	std::thread([&] { nest(&locks[0], &locks[1]); }).join();
	EXPECT_EQ(report.total(), 0u);
	std::thread([&] { hf_mutex_lock(&locks[1]); }).join();
	EXPECT_EQ(report->kind, HF_REPORT_LOCK_HELD_AT_EXIT);
	EXPECT_EQ(report->object, &locks[1]);
	EXPECT_NE(report->site, nullptr);
	EXPECT_EQ(report.total(), 1u);
	EXPECT_TRUE(hf_mutex_is_locked(&locks[1]));
}

/* The destructor of another key may still release it. */
TEST(HeldAtExit, ReleasedByADestructor)
{
	static pthread_key_t key;
	last_report report;
	hf_mutex_t lock = HF_MUTEX_INIT;

	ASSERT_EQ(pthread_key_create(
			  &key, [](void *p) { hf_mutex_unlock(static_cast<hf_mutex_t *>(p)); }),
		  0);
	std::thread([&] {
		hf_mutex_lock(&lock);
		pthread_setspecific(key, &lock);
	}).join();
	EXPECT_EQ(report.total(), 0u);
	EXPECT_FALSE(hf_mutex_is_locked(&lock));
	pthread_key_delete(key);
}

TEST_IN_CHILD(OrderTable, Full, 0)
{
	static const char names[8 * HF_VALIDATE_PAIRS] = {}, known[2] = {}, gate = 0;
	std::string said;
	int pair = 0;

	hf_validate_set_hold_limit(0);
	hf_detail_validate_locked(&gate);
	nest_names(&known[0], &known[1]);
	nest_names(&known[1], &known[0]);
	(void)hf_detail_validate_unlock(&gate, true);
	for (; pair < HF_VALIDATE_PAIRS / 4; pair++)
		nest_names(&names[2 * pair], &names[2 * pair + 1]);
	MUST(hf_validate_unwatched_pairs() == 0);
	testing::internal::CaptureStderr();
	for (; pair < 3 * HF_VALIDATE_PAIRS; pair++)
		nest_names(&names[2 * pair], &names[2 * pair + 1]);
	said = testing::internal::GetCapturedStderr();
	MUST(hf_validate_unwatched_pairs() >= 2 * HF_VALIDATE_PAIRS);
	MUST(said.find("too many pairs") != std::string::npos);
	MUST(said.find('\n') == said.size() - 1);
	/* Pairs in the table are still watched, here without their gate; others are ignored. */
	nest_names(&known[1], &known[0]);
	MUST(hf_report_count(HF_REPORT_LOCK_ORDER) == 1);
	nest_names(&names[2 * pair - 1], &names[2 * pair - 2]);
	MUST(last_report::total() == 1);
}

} // namespace
