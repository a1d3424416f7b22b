/* SPDX-License-Identifier: MIT */
/* wait - a spin time does not depend on how long a spin hint takes. */
#include "unit.h"

#include <sched.h>

#include "holdfast/internal/wait.h"

namespace
{

/* The rate and the processor count are global: restores them. */
class WaitTime : public testing::Test {
	uint32_t measured_ = hf_detail_spin_rate, counted_ = hf_detail_processors;

protected:
	void TearDown() override
	{
		hf_detail_spin_rate = measured_;
		hf_detail_processors = counted_;
	}
};

TEST_F(WaitTime, TheSameOnFastAndSlowHints)
{
	for (uint32_t hint_ns : { 1u, 2u, 10u, 26u, 45u }) {
		hf_detail_spin_rate = 65536 / hint_ns;
		for (uint32_t ns : { 100u, 400u, 1600u, 12800u, 3000000u }) {
			uint64_t spent = uint64_t(hf_env_spin_hints(ns)) * hint_ns;

			/* At most one hint more; the rate is rounded. */
			EXPECT_GE(spent + ns / 32, ns) << hint_ns;
			EXPECT_LE(spent, ns + ns / 32 + hint_ns) << hint_ns;
		}
	}
}

TEST_F(WaitTime, AtLeastOneHint)
{
	for (uint32_t rate : { 256u, 65536u, 4u * 65536 }) {
		hf_detail_spin_rate = rate;
		EXPECT_GE(hf_env_spin_hints(0), 1u);
		EXPECT_GE(hf_env_spin_hints(1), 1u);
	}
}

/* Measured before main(), within what a processor can be: 1/4 ns to 256 ns a hint. */
TEST_F(WaitTime, WasMeasured)
{
	EXPECT_GE(hf_detail_spin_rate, 256u);
	EXPECT_LE(hf_detail_spin_rate, 4u * 65536);
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

/* Counted before main(): the processors that this process may run on. */
TEST_F(WaitTime, ProcessorsWereCounted)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		GTEST_SKIP() << "more processors than libc's set has";
	EXPECT_EQ(hf_env_processors(), uint32_t(CPU_COUNT(&set)));
}

/* On many processors the first retries come at once; then a backoff that stays short. */
TEST_F(WaitTime, RetriesOnManyProcessors)
{
	hf_wait_t wait = HF_WAIT_INIT;

	hf_detail_processors = HF_WAIT_FEW_PROCESSORS + 1;
	hf_detail_spin_rate = 256; /* hints that a test can afford */
	for (uint32_t i = 1; i <= HF_WAIT_LATE_AFTER; i++) {
		hf_wait_retry(&wait, HF_WAIT_LATE);
		EXPECT_EQ(wait.late, i);
		EXPECT_EQ(wait.ns, uint32_t(HF_WAIT_LATE_MIN_NS));
	}
	for (uint32_t next : { 800u, 1600u, 3200u, 3200u }) {
		hf_wait_retry(&wait, HF_WAIT_LATE);
		EXPECT_EQ(wait.ns, next);
	}
}

} // namespace
