/* SPDX-License-Identifier: MIT */
/*
 * errno - no function of the library changes errno, even if its system calls fail, and no
 * constructor does. A new exported function needs a row here.
 */
#include "unit.h"

#include <cerrno>
#include <fstream>

#include "holdfast/cond.h"
#include "holdfast/holdfast.h"

#include "filter.h"
#include "kinds.h"

namespace
{

const int at_main = errno; /* a constructor of this program: those of the library ran before */

const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
const uint64_t BRIEF = 1000000;

char *bad()
{
	static void *memory = mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return static_cast<char *>(memory);
}

char *good()
{
	static void *memory =
		mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return static_cast<char *>(memory);
}

/* Another thread holds the lock: one wait for it times out, and one acquires it. */
template <class K>
void contend()
{
	static K both;
	std::atomic<int> step{ 0 };
	std::thread holder([&] {
		both.lock();
		step = 1;
		unit::wait_until([&] { return step == 2; });
		unit::sleep_ms(5); /* it parks, most often */
		both.unlock();
	});

	unit::wait_until([&] { return step == 1; });
	errno = 77;
	EXPECT_FALSE(both.lock_timeout(BRIEF));
	EXPECT_EQ(errno, 77);
	step = 2;
	both.lock();
	EXPECT_EQ(errno, 77);
	both.unlock();
	EXPECT_EQ(errno, 77);
	holder.join();
}

/* A wait that is signalled, and one that times out. */
template <class K>
void wait_at()
{
	static K both;
	std::atomic<int> step{ 0 };
	std::thread waiter([&] {
		both.lock();
		errno = 77;
		step = 1;
		while (step != 2)
			both.wait(&both.c);
		EXPECT_EQ(errno, 77);
		both.unlock();
	});

	unit::wait_until([&] { return step == 1; });
	both.lock(); /* it waits now */
	step = 2;
	errno = 77;
	for (int i = 0; i < 2; i++) { /* the second time none waits */
		both.signal(&both.c);
		both.broadcast(&both.c);
	}
	(void)both.wait_timeout(&both.c, BRIEF);
	EXPECT_EQ(errno, 77);
	both.unlock();
	waiter.join();
}

/* A writer that waits for a reader, then a reader and a writer that wait for a writer. */
void read_and_write()
{
	static hf_rwlock_t lock;
	std::atomic<int> step{ 0 };
	std::thread other([&] {
		hf_rwlock_read_lock(&lock);
		step = 1;
		unit::wait_until([&] { return step == 2; });
		errno = 77;
		hf_rwlock_read_unlock(&lock);
		hf_rwlock_write_lock(&lock);
		EXPECT_EQ(errno, 77);
		step = 3;
		unit::wait_until([&] { return step == 4; });
		errno = 77;
		hf_rwlock_downgrade(&lock);
		hf_rwlock_read_unlock(&lock);
		EXPECT_EQ(errno, 77);
	});

	unit::wait_until([&] { return step == 1; });
	errno = 77;
	EXPECT_FALSE(hf_rwlock_write_lock_timeout(&lock, BRIEF));
	EXPECT_EQ(errno, 77);
	step = 2;
	unit::wait_until([&] { return step == 3; });
	errno = 77;
	EXPECT_FALSE(hf_rwlock_read_lock_timeout(&lock, BRIEF));
	step = 4;
	hf_rwlock_read_lock(&lock);
	hf_rwlock_read_unlock(&lock);
	hf_rwlock_write_lock(&lock);
	hf_rwlock_write_unlock(&lock);
	EXPECT_EQ(errno, 77);
	other.join();
}

int begin_of_file(hf_region_t *region, const void *base, size_t len)
{
	return hf_region_begin_file(region, base, len, PROT_READ, MAP_SHARED, -1, 0);
}

template <int (*begin)(hf_region_t *, const void *, size_t)>
void in_region()
{
	hf_region_t region;

	(void)!begin(&region, good(), page);
	(void)!hf_region_end(&region, nullptr);
}

struct row {
	std::set<std::string> functions; /* as src/libholdfast.symbols names them */
	void (*call)();
};

const row rows[] = {
	{ { "hf_clear_chosen", "hf_copy_chosen" },
	  [] { (void)hf_clear_chosen(), (void)hf_copy_chosen(); } },
	{ { "hf_copy_iovec_nofault" },
	  [] {
		  hf_iovec from = { bad(), 9 }, to = { good(), 9 };
		  (void)!hf_copy_iovec_nofault(&to, 1, &from, 1, nullptr);
	  } },
	{ { "hf_copy_nofault_words" }, [] { (void)!hf_copy_nofault_words(good(), bad(), 2); } },
	{ { "hf_copy_safe" }, [] { (void)!hf_copy_safe(good(), bad(), 9); } },
	{ { "hf_strncpy_nofault" }, [] { (void)!hf_strncpy_nofault(good(), bad(), 9); } },
	{ { "hf_detail_jump_load", "hf_detail_jump_store", "hf_detail_jump_cmpxchg" },
	  [] {
		  uint32_t value = 0;
		  (void)!hf_load32_nofault(&value, reinterpret_cast<uint32_t *>(bad()));
		  (void)!hf_store32_nofault(reinterpret_cast<uint32_t *>(bad()), 1);
		  (void)!hf_clear_nofault(bad(), 9);
		  (void)!hf_copy_nofault(good(), bad(), 9);
	  } },
	{ { "hf_nofault_check", "hf_nofault_handle", "hf_nofault_install", "hf_nofault_last",
	    "hf_nofault_owned", "hf_nofault_remove" },
	  [] {
		  (void)hf_nofault_check(nullptr), (void)hf_nofault_last();
		  (void)hf_nofault_remove(), (void)hf_nofault_install(), (void)hf_nofault_owned();
		  (void)hf_nofault_handle(0, nullptr, nullptr);
	  } },
	{ { "hf_region_begin", "hf_region_end" }, in_region<hf_region_begin> },
	{ { "hf_region_begin_file" }, in_region<begin_of_file> },
	{ { "hf_region_begin_process" }, in_region<hf_region_begin_process> },
	{ { "hf_region_call" },
	  [] {
		  (void)!hf_region_call(
			  good(), page, [](void *) {}, nullptr, nullptr);
	  } },
	{ { "hf_detail_mutex_lock_slow", "hf_detail_mutex_unlock_slow" }, contend<unit::own> },
	{ { "hf_detail_mutex_shared_lock_slow", "hf_detail_mutex_shared_wake" },
	  contend<unit::shared> },
	{ { "hf_detail_rwlock_read_lock_slow", "hf_detail_rwlock_read_unlock_slow",
	    "hf_detail_rwlock_write_lock", "hf_detail_rwlock_wake_writer",
	    "hf_detail_rwlock_wake_all", "hf_detail_rwlock_downgrade" },
	  read_and_write },
	{ { "hf_detail_cond_wait", "hf_detail_cond_wake" }, wait_at<unit::own> },
	{ { "hf_detail_cond_shared_wait", "hf_detail_cond_shared_wake" }, wait_at<unit::shared> },
	{ { "hf_detail_profile_add" }, /* with HOLDFAST_PROFILE=1 */
	  [] {
		  hf_detail_profile_end(hf_detail_profile_begin(), HF_DETAIL_PROFILE_MUTEX, good(),
					nullptr);
	  } },
	{ { "hf_detail_sites_register", "hf_detail_sites_unregister" },
	  [] {
		  hf_detail_sites_register(good(), good());
		  hf_detail_sites_unregister(good(), good());
	  } },
	{ { "hf_detail_validate_init", "hf_detail_validate_lock", "hf_detail_validate_locked",
	    "hf_detail_validate_unlock" },
	  [] {
		  hf_detail_validate_init(good());
		  (void)hf_detail_validate_lock(good(), false);
		  hf_detail_validate_locked(good());
		  (void)hf_detail_validate_lock(good(), true); /* reported: so are the next two */
		  (void)hf_detail_validate_unlock(good(), true);
		  (void)hf_detail_validate_unlock(good(), true);
		  (void)hf_detail_validate_unlock(good(), true);
		  (void)hf_detail_validate_unlock(good(), false);
	  } },
	{ { "hf_detail_validate_lock_shared", "hf_detail_validate_locked_shared",
	    "hf_detail_validate_unlock_shared" },
	  [] {
		  (void)hf_detail_validate_lock_shared(good());
		  hf_detail_validate_locked_shared(good());
		  (void)hf_detail_validate_unlock_shared(good());
		  (void)hf_detail_validate_unlock_shared(good()); /* reported */
	  } },
	{ { "hf_validate_forget", "hf_validate_is_held", "hf_validate_set_class",
	    "hf_validate_set_hold_limit", "hf_validate_set_order", "hf_validate_unwatched_pairs" },
	  [] {
		  (void)hf_validate_is_held(good()), hf_validate_set_class(good(), "a");
		  hf_validate_forget(good()), hf_validate_set_hold_limit(0);
		  (void)hf_validate_set_order(true), (void)hf_validate_unwatched_pairs();
	  } },
	{ { "hf_report", "hf_report_at", "hf_report_count", "hf_report_reset", "hf_report_text",
	    "hf_report_set_details_handler", "hf_report_set_handler", "hf_report_set_mode" },
	  [] {
		  hf_report_set_handler(nullptr, nullptr);
		  hf_report_set_details_handler(nullptr, nullptr);
		  (void)hf_report_set_mode(HF_REPORT_MODE_WARN), hf_report_reset();
		  hf_report(HF_REPORT_ADD_OVF, good());
		  hf_report_at(HF_REPORT_ADD_UAF, good(), nullptr);
		  (void)hf_report_count(HF_REPORT_ADD_OVF), (void)hf_report_text(HF_REPORT_ADD_OVF);
	  } },
	{ { "hf_wait_address", "hf_wait_address_shared", "hf_wake_address_all",
	    "hf_wake_address_one", "hf_wake_address_shared_all", "hf_wake_address_shared_one" },
	  [] {
		  EXPECT_FALSE(hf_wait_address(good(), 0, BRIEF));
		  EXPECT_FALSE(hf_wait_address_shared(good(), 0, BRIEF));
		  hf_wake_address_all(good()), hf_wake_address_one(good());
		  hf_wake_address_shared_all(bad()), hf_wake_address_shared_one(bad());
	  } },
	{ { "hf_env_deadline", "hf_env_thread", "hf_env_yield", "hf_version" },
	  [] {
		  (void)hf_env_deadline(1), (void)hf_env_thread(), hf_env_yield();
		  (void)hf_version();
	  } },
};

void call_all()
{
	ASSERT_EQ(hf_nofault_install(), 0);
	for (const row &row : rows) {
		errno = 77;
		row.call();
		EXPECT_EQ(errno, 77) << *row.functions.begin();
	}
}

TEST(Errno, IsZeroAtMain)
{
	EXPECT_EQ(at_main, 0);
}

TEST(Errno, OfEachFunction)
{
	EXPECT_EQ(unit::in_child(call_all), 0);
}

TEST(Errno, InASandbox)
{
	if (unit::emulated || unit::tsan)
		GTEST_SKIP() << "an emulator's or a sanitizer's runtime needs these system calls";
	EXPECT_EQ(unit::in_child([] {
			  close(STDERR_FILENO); /* reports can't be written either */
			  /* The library goes on without these system calls. */
			  unit::refuse({ SYS_membarrier, SYS_sched_yield, SYS_rt_sigprocmask,
					 SYS_getcpu, SYS_sched_getscheduler, SYS_madvise },
				       EPERM);
			  call_all();
		  }),
		  0);
}

/* Has each exported function a row? */
TEST(Errno, HasAllFunctions)
{
	std::ifstream file(HF_SYMBOLS);
	std::set<std::string> covered;
	std::string line;
	int count = 0;

	for (const row &row : rows)
		covered.insert(row.functions.begin(), row.functions.end());
	while (std::getline(file, line)) {
		std::string name = line.substr(
			line.find("hf_") == std::string::npos ? line.size() : line.find("hf_"));

		name.resize(std::min(name.find_first_of(" "), name.size()));
		name.resize(std::min(name.find("_layout"), name.size()));
		if (line.rfind("function", 0) != 0)
			continue;
		EXPECT_TRUE(covered.count(name)) << name;
		count++;
	}
	EXPECT_GT(count, 40);
}

} // namespace
