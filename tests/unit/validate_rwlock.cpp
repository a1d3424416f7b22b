/* SPDX-License-Identifier: MIT */
/* validate_rwlock - each misuse of a reader-writer lock is reported, and what is none is not. */
#include "unit.h"

#include "holdfast/rwlock.h"
#include "holdfast/validate.h"

namespace
{

class ValidateRwlock : public testing::Test {
protected:
	~ValidateRwlock() override
	{
		EXPECT_EQ(reports_.total(), 0u);
		EXPECT_TRUE(hf_rwlock_write_trylock(&lock_));
		hf_rwlock_write_unlock(&lock_);
		hf_validate_forget(&lock_.word);
	}
	hf_rwlock_t lock_ = HF_RWLOCK_INIT;
	unit::reports reports_;
};

TEST_F(ValidateRwlock, GoodUse)
{
	hf_rwlock_read_lock(&lock_);
	hf_rwlock_read_lock(&lock_); /* again: no misuse */
	EXPECT_TRUE(hf_rwlock_read_trylock(&lock_));
	EXPECT_TRUE(hf_validate_is_held(&lock_.word));
	for (int i = 0; i < 3; i++)
		hf_rwlock_read_unlock(&lock_);
	EXPECT_FALSE(hf_validate_is_held(&lock_.word));
	hf_rwlock_write_lock(&lock_);
	hf_rwlock_downgrade(&lock_);
	hf_rwlock_read_unlock(&lock_);
}

TEST_F(ValidateRwlock, Recursion)
{
	hf_rwlock_write_lock(&lock_);
	hf_rwlock_write_lock(&lock_);
	EXPECT_TRUE(reports_.one(HF_REPORT_LOCK_RECURSION, &lock_));
	hf_rwlock_write_unlock(&lock_);
	hf_rwlock_read_lock(&lock_);
	EXPECT_TRUE(reports_.one(HF_REPORT_LOCK_RECURSION, &lock_));
	hf_rwlock_read_unlock(&lock_);
	EXPECT_TRUE(hf_rwlock_is_write_locked(&lock_));
	hf_rwlock_write_unlock(&lock_);
}

TEST_F(ValidateRwlock, Upgrade)
{
	hf_rwlock_read_lock(&lock_);
	EXPECT_FALSE(hf_rwlock_write_lock_timeout(&lock_, 1000));
	EXPECT_TRUE(reports_.one(HF_REPORT_LOCK_UPGRADE, &lock_));
	hf_rwlock_read_unlock(&lock_);
}

TEST_F(ValidateRwlock, WrongKind)
{
	hf_rwlock_read_lock(&lock_);
	hf_rwlock_write_unlock(&lock_);
	EXPECT_TRUE(reports_.one(HF_REPORT_LOCK_WRONG_KIND, &lock_));
	hf_rwlock_read_unlock(&lock_);
	hf_rwlock_write_lock(&lock_);
	hf_rwlock_read_unlock(&lock_);
	EXPECT_TRUE(reports_.one(HF_REPORT_LOCK_WRONG_KIND, &lock_));
	hf_rwlock_write_unlock(&lock_);
}

TEST_F(ValidateRwlock, NotHeld)
{
	hf_rwlock_read_unlock(&lock_);
	EXPECT_TRUE(reports_.one(HF_REPORT_LOCK_WRONG_OWNER, &lock_));
	hf_rwlock_write_unlock(&lock_);
	EXPECT_TRUE(reports_.one(HF_REPORT_LOCK_UNLOCKED, &lock_));
	hf_rwlock_read_lock(&lock_);
	std::thread([&] { hf_rwlock_read_unlock(&lock_); }).join();
	EXPECT_TRUE(reports_.one(HF_REPORT_LOCK_WRONG_OWNER, &lock_));
	hf_rwlock_read_unlock(&lock_);
}

/* The lock stays locked, so it is not the fixture's. */
TEST_F(ValidateRwlock, ThreadEndsInside)
{
	static hf_rwlock_t left = HF_RWLOCK_INIT;

	std::thread([] { hf_rwlock_read_lock(&left); }).join();
	EXPECT_TRUE(reports_.one(HF_REPORT_LOCK_HELD_AT_EXIT, &left));
	EXPECT_FALSE(hf_rwlock_write_trylock(&left));
}

TEST_F(ValidateRwlock, Order)
{
	hf_rwlock_t other = HF_RWLOCK_INIT;

	hf_rwlock_read_lock(&lock_);
	hf_rwlock_read_lock(&other);
	hf_rwlock_read_unlock(&other);
	hf_rwlock_read_unlock(&lock_);
	hf_rwlock_read_lock(&other);
	hf_rwlock_write_lock(&lock_);
	EXPECT_TRUE(reports_.one(HF_REPORT_LOCK_ORDER, &lock_));
	hf_rwlock_write_unlock(&lock_);
	hf_rwlock_read_unlock(&other);
	hf_validate_forget(&other.word);
}

} // namespace
