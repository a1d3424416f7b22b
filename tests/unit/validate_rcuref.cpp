/* SPDX-License-Identifier: MIT */
/* validate_rcuref - an unprotected put is reported. With HF_VALIDATE. */
static thread_local bool is_reading;
#define HF_RCUREF_PROTECTED() is_reading

#include "unit.h"

#include "holdfast/rcuref.h"

namespace
{

TEST(ValidateRcuref, PutOutsideOfAReadSideSection)
{
	unit::reports reports;
	hf_rcuref_t r = HF_RCUREF_INIT(3);

	is_reading = true;
	EXPECT_FALSE(hf_rcuref_put(&r));
	EXPECT_EQ(hf_report_count(HF_REPORT_RCUREF_UNPROTECTED), 0u);
	is_reading = false;
	EXPECT_FALSE(hf_rcuref_put(&r)); /* reported, and done */
	EXPECT_EQ(hf_report_count(HF_REPORT_RCUREF_UNPROTECTED), 1u);
	EXPECT_EQ(hf_rcuref_read(&r), 1u);
}

} // namespace
