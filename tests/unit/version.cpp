// SPDX-License-Identifier: MIT
#include "holdfast/version.h"

#include <gtest/gtest.h>
#include <string>

TEST(Version, LibraryAndHeadersAreOfOneBuild)
{
	EXPECT_STREQ(hf_version(), HF_VERSION);
}

TEST(Version, IsItsThreeParts)
{
	EXPECT_EQ(HF_VERSION, std::to_string(HF_VERSION_MAJOR) + "." +
				      std::to_string(HF_VERSION_MINOR) + "." +
				      std::to_string(HF_VERSION_PATCH));
	EXPECT_EQ(HF_VERSION_NUMBER / 10000, HF_VERSION_MAJOR);
	EXPECT_EQ(HF_VERSION_NUMBER / 100 % 100, HF_VERSION_MINOR);
	EXPECT_EQ(HF_VERSION_NUMBER % 100, HF_VERSION_PATCH);
}
