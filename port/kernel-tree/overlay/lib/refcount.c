// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* refcount - the functions of <linux/refcount.h> that are not inline, and exports for modules. */
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

/* The inline functions call these (lib/holdfast/src/report/report.c) if a count is misused. */
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
 * As in holdfast/refcount_lock.h, the last reference is dropped only under the lock, so that no
 * other thread finds the object between the drop to 0 and the object's removal.
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
