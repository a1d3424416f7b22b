// SPDX-License-Identifier: MIT
//! `Condvar`.

use std::time::{Duration, Instant};

use holdfast_sys as sys;

use crate::mutex::{nanoseconds, MutexGuard};

/// Tells whether a wait timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// True if the wait timed out; it then consumed no notification.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// A condition variable of 4 bytes, for [`Mutex`](crate::Mutex).
///
/// Always wait in a loop that tests the condition, or use [`wait_while`](Condvar::wait_while):
/// there are spurious wakeups. `notify_all` does not wake a hundred threads for one lock: it moves
/// all but the first to the queue of the mutex.
///
/// ```
/// use holdfast_locks::{Condvar, Mutex};
///
/// let ready = Mutex::new(false);
/// let changed = Condvar::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         *ready.lock() = true;
///         changed.notify_one();
///     });
///     let mut guard = ready.lock();
///     changed.wait_while(&mut guard, |ready| !*ready);
///     assert!(*guard);
/// });
/// ```
#[repr(transparent)]
#[derive(Debug)]
pub struct Condvar(sys::hf_cond_t);

// SAFETY: the functions are atomic operations on the word. Each waiter is moved to the queue of its
// own mutex, so threads may wait with different mutexes.
unsafe impl Send for Condvar {}
unsafe impl Sync for Condvar {}

impl Condvar {
    /// Makes a condition variable without waiters.
    #[inline]
    pub const fn new() -> Condvar {
        Condvar(sys::hf_cond_t::INIT)
    }

    /// Releases the mutex, parks until notified, and takes the mutex again. Ordering: release, then
    /// acquire.
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        // SAFETY: the guard holds the mutex, and the call returns with the mutex held.
        unsafe {
            let mutex = MutexGuard::mutex(guard).raw().get();
            sys::hf_cond_wait(self.0.get(), mutex)
        }
    }

    /// Waits as long as the condition is true.
    pub fn wait_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(&mut *guard) {
            self.wait(guard);
        }
    }

    /// As [`wait`](Condvar::wait), with a timeout.
    pub fn wait_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        // SAFETY: as in wait().
        unsafe {
            let mutex = MutexGuard::mutex(guard).raw().get();
            let timeout = nanoseconds(timeout);
            WaitTimeoutResult(!sys::hf_cond_wait_timeout(self.0.get(), mutex, timeout))
        }
    }

    /// As [`wait`](Condvar::wait), with a deadline.
    pub fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Instant,
    ) -> WaitTimeoutResult {
        self.wait_for(guard, deadline.saturating_duration_since(Instant::now()))
    }

    /// As [`wait_while`](Condvar::wait_while), with a timeout. If it times out, the condition is
    /// still true.
    pub fn wait_while_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        let start = Instant::now();
        while condition(&mut *guard) {
            let left = match timeout.checked_sub(start.elapsed()) {
                Some(left) if !left.is_zero() => left,
                _ => return WaitTimeoutResult(true),
            };
            self.wait_for(guard, left);
        }
        WaitTimeoutResult(false)
    }

    /// Wakes one waiter, if there is one. Ordering: none; the mutex orders the data.
    #[inline]
    pub fn notify_one(&self) {
        unsafe { sys::hf_cond_signal(self.0.get()) }
    }

    /// Wakes all waiters, which then acquire the mutex one after the other. Ordering: none.
    #[inline]
    pub fn notify_all(&self) {
        unsafe { sys::hf_cond_broadcast(self.0.get()) }
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}
