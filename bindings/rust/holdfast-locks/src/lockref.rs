// SPDX-License-Identifier: MIT
//! `Lockref`.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use holdfast_sys as sys;

/// A lock and a reference count in one 64-bit word, with the value that the lock protects.
///
/// For objects that are looked up without the lock and removed from a structure under it, so that
/// the last put decides under the lock whether the object dies. While the lock is free, one
/// compare-and-swap changes the count. Waiters park. If a count is enough, use
/// [`Refcount`](crate::Refcount).
///
/// ```
/// use holdfast_locks::Lockref;
///
/// let object = Lockref::new(1, "data");
/// object.get();
/// assert!(object.put_or_lock().is_none()); // not the last reference
/// let mut last = object.put_or_lock().expect("the last reference, and the lock is held");
/// *last = "taken out";
/// last.mark_dead();
/// drop(last);
/// assert!(!object.get_not_dead());
/// ```
#[derive(Default)]
pub struct Lockref<T: ?Sized = ()> {
    word: Word,
    value: UnsafeCell<T>,
}

#[repr(transparent)]
struct Word(sys::hf_lockref_t);

impl Default for Word {
    fn default() -> Word {
        Word(sys::hf_lockref_t::new(0))
    }
}

// SAFETY: the word is changed by atomic operations; the lock protects the value, as in a mutex.
unsafe impl<T: ?Sized + Send> Send for Lockref<T> {}
unsafe impl<T: ?Sized + Send> Sync for Lockref<T> {}

impl<T> Lockref<T> {
    /// Makes an unlocked lock with 0 to `i32::MAX` references.
    #[inline]
    pub const fn new(count: u32, value: T) -> Lockref<T> {
        assert!(count <= i32::MAX as u32);
        Lockref { word: Word(sys::hf_lockref_t::new(count as i32)), value: UnsafeCell::new(value) }
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Lockref<T> {
    #[inline]
    fn raw(&self) -> *mut sys::hf_lockref_t {
        self.word.0.get()
    }

    /// Makes a guard. This thread must hold the lock.
    #[inline]
    fn guard(&self) -> LockrefGuard<'_, T> {
        LockrefGuard { of: self, in_thread: PhantomData }
    }

    /// Takes a reference; the caller must have one already. An overflow is reported, and the count
    /// stays at `i32::MAX`. Ordering: none.
    #[inline]
    pub fn get(&self) {
        unsafe { sys::hf_lockref_get(self.raw()) }
    }

    /// Takes a reference, unless the count is 0 or the object is dead. Returns whether it did.
    /// Ordering: a control dependency on true.
    #[inline]
    #[must_use]
    pub fn get_not_zero(&self) -> bool {
        unsafe { sys::hf_lockref_get_not_zero(self.raw()) }
    }

    /// Takes a reference, unless the object is dead; a count of 0 is not dead. Returns whether it
    /// did. Ordering: as `get_not_zero`.
    #[inline]
    #[must_use]
    pub fn get_not_dead(&self) -> bool {
        unsafe { sys::hf_lockref_get_not_dead(self.raw()) }
    }

    /// Drops a reference if that needs no lock, and returns the new count. None: the lock was held
    /// or the count below 1, and nothing was changed. Ordering: release.
    #[inline]
    #[must_use]
    pub fn put_return(&self) -> Option<u32> {
        u32::try_from(unsafe { sys::hf_lockref_put_return(self.raw()) }).ok()
    }

    /// Drops a reference and returns None, unless it is the last one: then keeps it, takes the lock
    /// and returns the guard. Ordering: release if None, acquire if Some.
    #[inline]
    #[must_use]
    pub fn put_or_lock(&self) -> Option<LockrefGuard<'_, T>> {
        if unsafe { sys::hf_lockref_put_or_lock(self.raw()) } {
            return None;
        }
        Some(self.guard())
    }

    /// Acquires the lock; while it is held only the guard changes the count. Ordering: acquire.
    #[inline]
    pub fn lock(&self) -> LockrefGuard<'_, T> {
        unsafe { sys::hf_lockref_lock(self.raw()) };
        self.guard()
    }

    /// Acquires the lock if it is free. Ordering: acquire if Some.
    #[inline]
    #[must_use]
    pub fn try_lock(&self) -> Option<LockrefGuard<'_, T>> {
        if !unsafe { sys::hf_lockref_trylock(self.raw()) } {
            return None;
        }
        Some(self.guard())
    }

    /// Returns the count, which may be stale; negative = dead. Ordering: none.
    #[inline]
    pub fn count(&self) -> i32 {
        unsafe { sys::hf_lockref_read(self.raw()) }
    }

    /// Returns whether the object has been marked dead. Ordering: none.
    #[inline]
    pub fn is_dead(&self) -> bool {
        self.count() < 0
    }

    /// Returns the value without locking: `&mut self` excludes other users.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized> fmt::Debug for Lockref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lockref").field("count", &self.count()).finish_non_exhaustive()
    }
}

/// Holds the lock of a [`Lockref`], and dereferences to its value. It is not `Send`:
///
/// ```compile_fail,E0277
/// let object = holdfast_locks::Lockref::new(1, 5);
/// let guard = object.lock();
/// std::thread::scope(|scope| {
///     scope.spawn(move || drop(guard));
/// });
/// ```
#[must_use = "an unused guard unlocks at once"]
pub struct LockrefGuard<'a, T: ?Sized> {
    of: &'a Lockref<T>,
    in_thread: PhantomData<*mut ()>,
}

// SAFETY: `&LockrefGuard` gives access to no more than `&T`.
unsafe impl<T: ?Sized + Sync> Sync for LockrefGuard<'_, T> {}

impl<T: ?Sized> LockrefGuard<'_, T> {
    /// Marks the object dead: `get_not_dead` fails from now on. Ordering: none; the lock is held.
    #[inline]
    pub fn mark_dead(&mut self) {
        unsafe { sys::hf_lockref_mark_dead(self.of.raw()) }
    }

    /// Sets the count: 0 to `i32::MAX`. Ordering: none; the lock is held.
    #[inline]
    pub fn set_count(&mut self, count: u32) {
        let count = i32::try_from(count).expect("at most i32::MAX references");
        unsafe { sys::hf_lockref_set_count(self.of.raw(), count) }
    }

    /// Returns the count; negative = dead. Ordering: none.
    #[inline]
    pub fn count(&self) -> i32 {
        self.of.count()
    }
}

impl<T: ?Sized> Deref for LockrefGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.of.value.get() }
    }
}

impl<T: ?Sized> DerefMut for LockrefGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and this is the only guard.
        unsafe { &mut *self.of.value.get() }
    }
}

impl<T: ?Sized> Drop for LockrefGuard<'_, T> {
    /// Unlocks. Ordering: release.
    #[inline]
    fn drop(&mut self) {
        unsafe { sys::hf_lockref_unlock(self.of.raw()) }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for LockrefGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}
