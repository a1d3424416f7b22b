/* SPDX-License-Identifier: MIT */
/* lockref - operations while another thread holds the lock. Many threads: stress/references.cpp. */
#include "unit.h"

#include "holdfast/lockref.h"

namespace
{

class Lockref : public testing::Test {
protected:
	/* Runs f in a thread while the lock is held; changes the count to `left`. Did f wait? */
	template <class F>
	static bool waits(hf_lockref_t *l, int32_t left, F f)
	{
		std::atomic<bool> there(false), back(false);
		std::thread thread;
		bool waited;

		hf_lockref_lock(l);
		thread = std::thread([&] {
			there = true;
			f();
			back = true;
		});
		unit::wait_until([&] { return there.load(); });
		unit::sleep_ms(10);
		waited = !back;
		if (left == HF_LOCKREF_DEAD)
			hf_lockref_mark_dead(l);
		else
			hf_lockref_set_count(l, left);
		hf_lockref_unlock(l);
		thread.join();
		return waited;
	}
};

/* Each waits, and then works on the count that the holder has left. */
TEST_F(Lockref, WaitsForTheLock)
{
	auto get = [](hf_lockref_t *l) {
		hf_lockref_get(l);
		return true;
	};
	const struct {
		bool (*operation)(hf_lockref_t *);
		int32_t left;
		bool result;
		int32_t after;
	} rows[] = {
		{ get, 5, true, 6 },
		{ hf_lockref_get_not_zero, 5, true, 6 },
		{ hf_lockref_get_not_zero, HF_LOCKREF_DEAD, false, HF_LOCKREF_DEAD },
		{ hf_lockref_get_not_dead, 5, true, 6 },
		{ hf_lockref_get_not_dead, HF_LOCKREF_DEAD, false, HF_LOCKREF_DEAD },
		{ hf_lockref_put_or_lock, 5, true, 4 },
		{ hf_lockref_put_not_zero, 5, true, 4 },
	};

	for (const auto &row : rows) {
		hf_lockref_t l = HF_LOCKREF_INIT(1);
		bool result = !row.result;

		SCOPED_TRACE(&row - rows);
		EXPECT_TRUE(waits(&l, row.left, [&] { result = row.operation(&l); }));
		EXPECT_EQ(result, row.result);
		EXPECT_EQ(hf_lockref_read(&l), row.after);
		EXPECT_TRUE(hf_lockref_trylock(&l));
		hf_lockref_unlock(&l);
	}
}

} // namespace
