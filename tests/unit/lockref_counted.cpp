/* SPDX-License-Identifier: MIT */
/* lockref_counted - a lockref's lock for guards, references by intrusive_ptr, and the last put. */
#include "unit.h"

#include <mutex>

#include "holdfast/lockref_counted.h"

namespace
{

TEST(LockrefClass, IsLockable)
{
	unit::reports reports;
	hf::lockref l(2);

	static_assert(sizeof(hf::lockref) == 8, "one word");
	EXPECT_EQ(l.read(), 2);
	{
		hf::guard<hf::lockref> hold(l);

		EXPECT_FALSE(l.try_lock());
		l.set_count(5);
	}
	ASSERT_TRUE(l.try_lock());
	{
		hf::guard<hf::lockref> hold(l, hf::adopt);

		EXPECT_FALSE(l.try_lock());
	}
	std::unique_lock<hf::lockref> hold(l, std::try_to_lock);
	EXPECT_TRUE(hold.owns_lock());
	EXPECT_EQ(l.read(), 5);
	l.mark_dead();
	hold.unlock();
	EXPECT_TRUE(l.is_dead());
	l.mark_dead(); /* without the lock */
	EXPECT_TRUE(reports.one(HF_REPORT_LOCKREF_UNLOCKED, l.native_handle()));
}

/* The last put leaves a count of 0, or a dead object if `forget` is set. */
struct entry : hf::lockref_counted<entry> {
	explicit entry(int32_t count = 1) : lockref_counted(count) {}
	void last_put() noexcept
	{
		last_puts++;
		count_then = read();
		locked_then = !try_lock();
		if (forget)
			mark_dead();
		else
			set_count(0);
		unlock();
	}
	bool forget = false;
	int last_puts = 0;
	int32_t count_then = 0;
	bool locked_then = false;
};
using entry_ptr = hf::intrusive_ptr<entry>;
static_assert(!std::is_copy_constructible_v<hf::lockref> && !std::is_copy_constructible_v<entry>,
	      "");

TEST(LockrefCounted, TheLastPutHoldsTheLock)
{
	unit::reports reports;
	entry e;
	entry_ptr first(&e, hf::adopt), second = first;

	EXPECT_EQ(e.read(), 2);
	first.reset();
	EXPECT_EQ(e.last_puts, 0);
	second = nullptr;
	EXPECT_EQ(e.last_puts, 1);
	EXPECT_EQ(e.count_then, 1);
	EXPECT_TRUE(e.locked_then);
	EXPECT_EQ(e.read(), 0);

	EXPECT_FALSE(entry_ptr(&e, hf::retain_not_zero)); /* the count is 0 */
	EXPECT_EQ(e.last_puts, 1);
	entry_ptr again(&e, hf::retain_not_dead);
	ASSERT_TRUE(again);
	EXPECT_TRUE(entry_ptr(&e, hf::retain_not_zero));
	EXPECT_EQ(e.last_puts, 1);
	e.forget = true;
	again.reset();
	EXPECT_EQ(e.last_puts, 2);
	EXPECT_TRUE(e.is_dead());
	EXPECT_FALSE(entry_ptr(&e, hf::retain_not_dead));
	EXPECT_FALSE(hf::intrusive_ptr<const entry>(&e, hf::retain_not_zero));
	EXPECT_EQ(reports.total(), 0u);
}

/* Without its own last_put(): the last put leaves a count of 0 and a free lock. */
struct plain : hf::lockref_counted<plain> {};

TEST(LockrefCounted, RestsByDefault)
{
	plain object;

	hf::intrusive_ptr<const plain>(&object, hf::adopt).reset();
	EXPECT_EQ(object.read(), 0);
	ASSERT_TRUE(object.try_lock());
	object.unlock();
}

/* An object that its last put deletes. */
struct owned : hf::lockref_counted<owned> {
	explicit owned(int *gone) : gone(gone) {}
	~owned() { ++*gone; }
	void last_put() noexcept
	{
		mark_dead();
		unlock();
		delete this;
	}
	int *gone;
};

TEST(LockrefCounted, OrItIsDeleted)
{
	int gone = 0;
	auto object = hf::make_intrusive<owned>(&gone);
	auto copy = object;

	object.reset();
	EXPECT_EQ(gone, 0);
	copy.reset();
	EXPECT_EQ(gone, 1);
}

} // namespace
