// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * qspinlock - the kernel's queued spinlock, when it is contended, by Holdfast's queued spinlock.
 *
 * Both are one word: 0 is free without waiters, and the low byte is 1 while the lock is held. So
 * the kernel's inline functions stay as they are: a lock swaps 0 for 1 (T1), an unlock stores 0 to
 * the low byte (T8). The other bytes are used by this function alone, and are Holdfast's.
 * The nodes are those of port/kernel/seam.c, for each CPU and each of its four contexts.
 */
#include <linux/export.h>
#include <linux/linkage.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <trace/events/lock.h>

#include <holdfast/internal/spinlock_queued.h>

#ifdef CONFIG_PARAVIRT_SPINLOCKS
#error "a paravirtual kernel patches its own slow path in: CONFIG_PARAVIRT_SPINLOCKS"
#endif
static_assert(sizeof(struct qspinlock) == sizeof(hf_atomic32_t));
static_assert(_Q_LOCKED_VAL == HF_DETAIL_QUEUED_LOCKED);
static_assert(_Q_LOCKED_MASK == HF_DETAIL_QUEUED_LOCKED_MASK);
static_assert(!IS_ENABLED(CONFIG_CPU_BIG_ENDIAN));

void __lockfunc queued_spin_lock_slowpath(struct qspinlock *lock, u32 val)
{
	if (virt_spin_lock(lock))
		return;
	trace_contention_begin(lock, LCB_F_SPIN);
	hf_detail_spinlock_queued_slow((hf_atomic32_t *)&lock->val, HF_ARCH_WAIT_QUEUE);
	trace_contention_end(lock, 0);
}
EXPORT_SYMBOL(queued_spin_lock_slowpath);
