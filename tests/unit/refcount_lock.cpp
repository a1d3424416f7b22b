/* SPDX-License-Identifier: MIT */
/* refcount_lock - drops the last reference under a pthread mutex; the model waits for the lock. */
#include "unit.h"

#include "holdfast/refcount_lock.h"

namespace
{

/* The battery has the same for spinlocks. */
TEST(RefcountMutex, EachCount)
{
	const struct {
		int32_t before, after;
		bool last;
	} rows[] = {
		{ 3, 2, false },
		{ 1, 0, true },
		{ 0, HF_REFCOUNT_SATURATED, false },
		{ HF_REFCOUNT_SATURATED, HF_REFCOUNT_SATURATED, false },
	};

	for (const auto &row : rows) {
		hf_refcount_t r = HF_REFCOUNT_INIT(0);
		pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
		unit::reports reports;

		SCOPED_TRACE(row.before);
		hf_refcount_set(&r, row.before);
		EXPECT_EQ(hf_refcount_dec_and_mutex_lock(&r, &mutex), row.last);
		EXPECT_EQ(hf_refcount_read(&r), row.after);
		EXPECT_EQ(pthread_mutex_trylock(&mutex) == 0, !row.last);
		if (row.before >= 0) {
			EXPECT_EQ(reports.total(), row.before == 0);
			EXPECT_EQ(hf_report_count(HF_REPORT_SUB_UAF), row.before == 0);
		}
		pthread_mutex_unlock(&mutex);
	}
}

/* While other references exist, the mutex is not accessed: this thread holds it. */
TEST(RefcountMutex, NotTheLastWhileLocked)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&mutex);
	EXPECT_FALSE(hf_refcount_dec_and_mutex_lock(&r, &mutex));
	EXPECT_EQ(hf_refcount_read(&r), 1);
	pthread_mutex_unlock(&mutex);
}

/* If the mutex cannot be locked, the reference is kept. */
TEST(RefcountMutex, ReferenceIsKeptIfLockingFails)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

	ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
	EXPECT_FALSE(hf_refcount_dec_and_mutex_lock(&r, &mutex));
	EXPECT_EQ(hf_refcount_read(&r), 1);
	EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
	ASSERT_TRUE(hf_refcount_dec_and_mutex_lock(&r, &mutex));
	EXPECT_EQ(hf_refcount_read(&r), 0);
	EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

} // namespace
