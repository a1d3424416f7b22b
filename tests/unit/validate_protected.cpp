/* SPDX-License-Identifier: MIT */
/*
 * validate_protected - an unprotected put is reported; a lockref's lock half is watched. With
 * HF_VALIDATE.
 */
static thread_local bool is_reading;
#define HF_LOCKREF_PROTECTED() is_reading
#define HF_RCUREF_PROTECTED() is_reading

#include "unit.h"

#include "holdfast/lockref_waitfree.h"
#include "holdfast/rcuref.h"

namespace
{

TEST(ValidateLockref, PutOutsideOfAReadSideSection)
{
	unit::reports reports;
	hf_lockref_waitfree_t l = HF_LOCKREF_WAITFREE_INIT(5);

	is_reading = true;
	EXPECT_EQ(hf_lockref_waitfree_put_return(&l), 4);
	EXPECT_TRUE(hf_lockref_waitfree_put_or_lock(&l));
	EXPECT_EQ(reports.total(), 0u);
	is_reading = false;
	EXPECT_EQ(hf_lockref_waitfree_put_return(&l), 2); /* reported, and done */
	EXPECT_TRUE(hf_lockref_waitfree_put_or_lock(&l));
	EXPECT_EQ(hf_report_count(HF_REPORT_LOCKREF_UNPROTECTED), 2u);
	EXPECT_EQ(hf_lockref_waitfree_read(&l), 1);
}

TEST(ValidateRcuref, PutOutsideOfAReadSideSection)
{
	unit::reports reports;
	hf_rcuref_t r = HF_RCUREF_INIT(3);

	is_reading = true;
	EXPECT_FALSE(hf_rcuref_put(&r));
	EXPECT_EQ(reports.total(), 0u);
	is_reading = false;
	EXPECT_FALSE(hf_rcuref_put(&r)); /* reported, and done */
	EXPECT_EQ(hf_report_count(HF_REPORT_RCUREF_UNPROTECTED), 1u);
	EXPECT_EQ(hf_rcuref_read(&r), 1u);
}

TEST(ValidateLockref, UnlockByAnother)
{
	unit::reports reports;
	hf_lockref_waitfree_t l = HF_LOCKREF_WAITFREE_INIT(1);

	hf_validate_set_hold_limit(0); /* a busy or emulated machine may start the thread late */
	hf_lockref_waitfree_lock(&l);
	std::thread([&] { hf_lockref_waitfree_unlock(&l); }).join();
	EXPECT_EQ(hf_report_count(HF_REPORT_LOCK_WRONG_OWNER), 1u);
	EXPECT_FALSE(hf_lockref_waitfree_trylock(&l));
	hf_lockref_waitfree_unlock(&l);
	EXPECT_EQ(reports.total(), 1u);
}

} // namespace
