// SPDX-License-Identifier: MIT
//! `Mutex` and `Spinlock`: the raw locks of the C library for `lock_api`.

use std::time::{Duration, Instant};

use holdfast_sys as sys;

/// Converts to nanoseconds, at most `u64::MAX` (584 years).
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Defines a lock for `lock_api` by the functions of the C library.
macro_rules! raw_lock {
    ($(#[$about:meta])* $name:ident, $raw:ident, $lock:ident, $trylock:ident, $unlock:ident, $is_locked:ident) => {
        $(#[$about])*
        #[repr(transparent)]
        #[derive(Debug)]
        pub struct $name(sys::$raw);

        // SAFETY: the functions are atomic operations on the word.
        unsafe impl Send for $name {}
        unsafe impl Sync for $name {}

        // SAFETY: there is one holder, because lock swaps 0 for it; lock acquires, unlock releases.
        // Guards are not `Send`, because the locking thread must unlock. A free lock may be moved:
        // only waiters know its address. If a guard is forgotten, the lock stays locked.
        unsafe impl lock_api::RawMutex for $name {
            #[allow(clippy::declare_interior_mutable_const)]
            const INIT: $name = $name(sys::$raw::INIT);

            type GuardMarker = lock_api::GuardNoSend;

            #[inline]
            fn lock(&self) {
                unsafe { sys::$lock(self.0.get()) }
            }

            #[inline]
            fn try_lock(&self) -> bool {
                unsafe { sys::$trylock(self.0.get()) }
            }

            #[inline]
            unsafe fn unlock(&self) {
                sys::$unlock(self.0.get())
            }

            #[inline]
            fn is_locked(&self) -> bool {
                unsafe { sys::$is_locked(self.0.get()) }
            }
        }
    };
}

raw_lock! {
    /// A mutex of 4 bytes, for [`lock_api`]. Spins for some 10 µs, then parks. Any running thread
    /// can acquire a free lock; threads that keep doing so let a waiter have it every 300 µs.
    RawMutex, hf_mutex_t, hf_mutex_lock, hf_mutex_trylock, hf_mutex_unlock, hf_mutex_is_locked
}

raw_lock! {
    /// A spinlock of 4 bytes, for [`lock_api`]. It is not fair: waiters compete, in no order.
    RawSpinlock, hf_spinlock_t, hf_spinlock_lock, hf_spinlock_trylock, hf_spinlock_unlock, hf_spinlock_is_locked
}

impl RawMutex {
    #[inline]
    pub(crate) fn get(&self) -> *mut sys::hf_mutex_t {
        self.0.get()
    }
}

// SAFETY: as for RawMutex.
unsafe impl lock_api::RawMutexTimed for RawMutex {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, timeout: Duration) -> bool {
        unsafe { sys::hf_mutex_lock_timeout(self.get(), nanoseconds(timeout)) }
    }

    fn try_lock_until(&self, timeout: Instant) -> bool {
        self.try_lock_for(timeout.saturating_duration_since(Instant::now()))
    }
}

/// A mutex of 4 bytes whose waiters park. The default lock.
///
/// All of [`lock_api::Mutex`]: guards, [`try_lock_for`](lock_api::Mutex::try_lock_for), mapped
/// guards, `const` construction. There is no poisoning: a panic unlocks.
///
/// ```
/// use holdfast_locks::{const_mutex, Mutex};
/// use std::time::Duration;
///
/// static TOTAL: Mutex<u64> = const_mutex(0);
///
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| *TOTAL.lock() += 1);
///     }
/// });
/// assert_eq!(*TOTAL.lock(), 4);
/// let held = TOTAL.lock();
/// assert!(TOTAL.try_lock_for(Duration::from_millis(1)).is_none());
/// ```
///
/// A guard is not `Send`:
///
/// ```compile_fail,E0277
/// let mutex = holdfast_locks::Mutex::new(1);
/// let guard = mutex.lock();
/// std::thread::scope(|scope| {
///     scope.spawn(move || drop(guard));
/// });
/// ```
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;

/// Makes an unlocked mutex, for a `static`.
pub const fn const_mutex<T>(value: T) -> Mutex<T> {
    Mutex::const_new(<RawMutex as lock_api::RawMutex>::INIT, value)
}

/// The guard that [`Mutex::lock`](lock_api::Mutex::lock) returns.
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;

/// A guard of a part of the value: [`MutexGuard::map`](lock_api::MutexGuard::map).
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex, T>;

/// A spinlock for sections of ten to some hundred instructions, if each thread has a processor.
///
/// With more runnable threads than processors its waiters waste their time slices: use a
/// [`Mutex`], which costs no more without contention.
///
/// ```
/// use holdfast_locks::Spinlock;
///
/// let lock = Spinlock::new(1);
/// *lock.lock() += 1;
/// assert_eq!(lock.into_inner(), 2);
/// ```
pub type Spinlock<T> = lock_api::Mutex<RawSpinlock, T>;

/// Makes an unlocked spinlock, for a `static`.
pub const fn const_spinlock<T>(value: T) -> Spinlock<T> {
    Spinlock::const_new(<RawSpinlock as lock_api::RawMutex>::INIT, value)
}

/// The guard that [`Spinlock::lock`](lock_api::Mutex::lock) returns.
pub type SpinlockGuard<'a, T> = lock_api::MutexGuard<'a, RawSpinlock, T>;
