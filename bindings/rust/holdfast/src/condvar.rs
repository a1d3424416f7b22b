// SPDX-License-Identifier: MIT
//! `Condvar`.

use std::time::{Duration, Instant};

use holdfast_sys as sys;

use crate::mutex::{nanoseconds, MutexGuard};

/// Did the time of a wait run out?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// True: it did, and no signal was used up.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// A condition variable of 4 bytes, for [`Mutex`](crate::Mutex).
///
/// Always wait in a loop over the condition itself, or by [`wait_while`](Condvar::wait_while): a
/// wait may return for no reason. A notification moves a waiter from the queue of the condition
/// variable to that of its mutex, so that a broadcast does not wake a hundred threads for one lock.
///
/// ```
/// use holdfast::{Condvar, Mutex};
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

// SAFETY: the functions are atomic operations on the word. Each waiter is moved to the mutex that it
// waits with, so threads that wait with different ones do no harm.
unsafe impl Send for Condvar {}
unsafe impl Sync for Condvar {}

impl Condvar {
    /// A condition variable without waiters.
    #[inline]
    pub const fn new() -> Condvar {
        Condvar(sys::hf_cond_t::INIT)
    }

    /// Releases the mutex, parks until notified, and takes the mutex again. Ordering: release, then
    /// acquire.
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        // SAFETY: the guard holds the mutex, and does so again afterwards.
        unsafe {
            let mutex = MutexGuard::mutex(guard).raw().get();
            sys::hf_cond_wait(self.0.get(), mutex)
        }
    }

    /// The same until the condition is false.
    pub fn wait_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(&mut *guard) {
            self.wait(guard);
        }
    }

    /// [`wait`](Condvar::wait), for a time only.
    pub fn wait_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        // SAFETY: as above.
        unsafe {
            let mutex = MutexGuard::mutex(guard).raw().get();
            let timeout = nanoseconds(timeout);
            WaitTimeoutResult(!sys::hf_cond_wait_timeout(self.0.get(), mutex, timeout))
        }
    }

    /// [`wait`](Condvar::wait), until that moment at most.
    pub fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Instant,
    ) -> WaitTimeoutResult {
        self.wait_for(guard, deadline.saturating_duration_since(Instant::now()))
    }

    /// [`wait_while`](Condvar::wait_while), for a time only. Timed out: the condition is still
    /// true.
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

    /// Wakes one thread that waits, if there is one. Ordering: none; the mutex publishes.
    #[inline]
    pub fn notify_one(&self) {
        unsafe { sys::hf_cond_signal(self.0.get()) }
    }

    /// Wakes all threads that wait; one after the other gets the mutex.
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
