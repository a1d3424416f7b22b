// SPDX-License-Identifier: MIT
// atomic - the parts of a word lie where atomic.h draws them, in either byte order.
#include <gtest/gtest.h>

#include "holdfast/internal/atomic.h"

namespace
{

TEST(Atomic, PartsAreRead)
{
	hf_atomic32_t word = HF_ATOMIC_INIT(0x44332211u);

	EXPECT_EQ(hf_atomic32_load_low8_relaxed(&word), 0x11);
	EXPECT_EQ(hf_atomic32_load_mid8_relaxed(&word), 0x22);
	EXPECT_EQ(hf_atomic32_load_high16_relaxed(&word), 0x4433);
}

TEST(Atomic, PartsAreStored)
{
	hf_atomic32_t word = HF_ATOMIC_INIT(0x44332211u);

	hf_atomic32_store_low8_release(&word, 0xaa);
	EXPECT_EQ(hf_atomic32_load_relaxed(&word), 0x443322aau);
	hf_atomic32_store_mid8_relaxed(&word, 0xbb);
	EXPECT_EQ(hf_atomic32_load_relaxed(&word), 0x4433bbaau);
}

TEST(Atomic, HalvesOf64Bits)
{
	hf_atomic64_t word = HF_ATOMIC_INIT(0x8877665544332211u);

	EXPECT_EQ(hf_atomic64_load_high32_relaxed(&word), 0x88776655u);
	EXPECT_EQ(hf_atomic32_load_relaxed(hf_atomic64_low32(&word)), 0x44332211u);
	hf_atomic64_store_high32_relaxed(&word, 0xddccbbaau);
	EXPECT_EQ(hf_atomic64_load_relaxed(&word), 0xddccbbaa44332211u);
	hf_atomic32_store_relaxed(hf_atomic64_low32(&word), 5);
	EXPECT_EQ(hf_atomic64_load_relaxed(&word), 0xddccbbaa00000005u);
}

} // namespace
