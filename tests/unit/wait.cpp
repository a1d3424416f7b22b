/* SPDX-License-Identifier: MIT */
/* wait - a time means the same, however long a spin hint takes. */
#include "unit.h"

#include "holdfast/wait.h"

namespace
{

/* The rate is this program's: put back what was measured. */
class WaitTime : public testing::Test {
	uint32_t measured_ = hf__spin_rate;

protected:
	void TearDown() override { hf__spin_rate = measured_; }
};

TEST_F(WaitTime, TheSameOnFastAndSlowHints)
{
	for (uint32_t hint_ns : { 1u, 2u, 10u, 26u, 45u }) {
		hf__spin_rate = 65536 / hint_ns;
		for (uint32_t ns : { 100u, 400u, 1600u, 12800u, 3000000u }) {
			uint64_t spent = uint64_t(hf_env_spin_hints(ns)) * hint_ns;

			/* One hint more, and what the rate is rounded by. */
			EXPECT_GE(spent + ns / 32, ns) << hint_ns;
			EXPECT_LE(spent, ns + ns / 32 + hint_ns) << hint_ns;
		}
	}
}

TEST_F(WaitTime, AtLeastOneHint)
{
	for (uint32_t rate : { 256u, 65536u, 4u * 65536 }) {
		hf__spin_rate = rate;
		EXPECT_GE(hf_env_spin_hints(0), 1u);
		EXPECT_GE(hf_env_spin_hints(1), 1u);
	}
}

/* Measured before main(), within what a processor can be: 1/4 ns to 256 ns a hint. */
TEST_F(WaitTime, WasMeasured)
{
	EXPECT_GE(hf__spin_rate, 256u);
	EXPECT_LE(hf__spin_rate, 4u * 65536);
}

/* A backoff doubles up to its limit. */
TEST_F(WaitTime, BackoffDoubles)
{
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t before;

	EXPECT_EQ(wait.ns, uint32_t(HF_ARCH_BACKOFF_MIN_NS));
	for (int i = 0; i < 32; i++) {
		before = wait.ns;
		hf_wait_once(&wait, HF_WAIT_BACKOFF);
		EXPECT_EQ(wait.ns, before < HF_ARCH_BACKOFF_MAX_NS ? 2 * before : before);
	}
	EXPECT_GE(wait.ns, uint32_t(HF_ARCH_BACKOFF_MAX_NS));
	EXPECT_LT(wait.ns, 2 * uint32_t(HF_ARCH_BACKOFF_MAX_NS));
}

} // namespace
