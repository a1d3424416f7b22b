// SPDX-License-Identifier: MIT OR GPL-2.0
/* refcount - what of <linux/refcount.h> is not inline, and what modules need of Holdfast. */
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

/* lib/holdfast/report.c: the inline functions call them when a count is misused. */
EXPORT_SYMBOL(hf_report);
EXPORT_SYMBOL(hf_report_at);

bool refcount_dec_if_one(refcount_t *r)
{
	return hf_refcount_dec_if_one(refcount_hf(r));
}
EXPORT_SYMBOL(refcount_dec_if_one);

bool refcount_dec_not_one(refcount_t *r)
{
	return hf_refcount_dec_not_one(refcount_hf(r));
}
EXPORT_SYMBOL(refcount_dec_not_one);

/*
 * As in holdfast/refcount_lock.h: the last reference is only dropped under the lock, so that nobody
 * finds the object between the count's 0 and its removal under the lock.
 */
bool refcount_dec_and_mutex_lock(refcount_t *r, struct mutex *lock)
{
	if (refcount_dec_not_one(r))
		return false;
	mutex_lock(lock);
	if (refcount_dec_and_test(r))
		return true;
	mutex_unlock(lock);
	return false;
}
EXPORT_SYMBOL(refcount_dec_and_mutex_lock);

bool refcount_dec_and_lock(refcount_t *r, spinlock_t *lock)
{
	if (refcount_dec_not_one(r))
		return false;
	spin_lock(lock);
	if (refcount_dec_and_test(r))
		return true;
	spin_unlock(lock);
	return false;
}
EXPORT_SYMBOL(refcount_dec_and_lock);

bool refcount_dec_and_lock_irqsave(refcount_t *r, spinlock_t *lock, unsigned long *flags)
{
	if (refcount_dec_not_one(r))
		return false;
	spin_lock_irqsave(lock, *flags);
	if (refcount_dec_and_test(r))
		return true;
	spin_unlock_irqrestore(lock, *flags);
	return false;
}
EXPORT_SYMBOL(refcount_dec_and_lock_irqsave);
