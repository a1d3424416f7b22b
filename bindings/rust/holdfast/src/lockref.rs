// SPDX-License-Identifier: MIT
//! `Lockref`.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use holdfast_sys as sys;

/// A lock and a count of references in one 64-bit word, and what the lock protects.
///
/// For objects that are looked up without the lock, taken out of a structure under it, and whose
/// last put must decide under the lock whether the object dies. While the lock is free the count
/// changes by one compare-and-swap. Waiters park. Where a count is enough,
/// [`Refcount`](crate::Refcount).
///
/// ```
/// use holdfast::Lockref;
///
/// let object = Lockref::new(1, "data");
/// object.get();
/// assert!(object.put_or_lock().is_none()); // not the last
/// let mut last = object.put_or_lock().expect("the last, and the lock is held");
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

// SAFETY: the word is changed by atomic operations; the value is behind the lock, as in a mutex.
unsafe impl<T: ?Sized + Send> Send for Lockref<T> {}
unsafe impl<T: ?Sized + Send> Sync for Lockref<T> {}

impl<T> Lockref<T> {
    /// A free lock and the first references: 0 to `i32::MAX`.
    #[inline]
    pub const fn new(count: u32, value: T) -> Lockref<T> {
        assert!(count <= i32::MAX as u32);
        Lockref { word: Word(sys::hf_lockref_t::new(count as i32)), value: UnsafeCell::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Lockref<T> {
    #[inline]
    fn raw(&self) -> *mut sys::hf_lockref_t {
        self.word.0.get()
    }

    /// The lock is held by this thread.
    #[inline]
    fn guard(&self) -> LockrefGuard<'_, T> {
        LockrefGuard { of: self, in_thread: PhantomData }
    }

    /// One more, by a thread that has a reference. Past `i32::MAX` it is pinned there, and
    /// reported. Ordering: none.
    #[inline]
    pub fn get(&self) {
        unsafe { sys::hf_lockref_get(self.raw()) }
    }

    /// One more, unless there is none: false. Ordering: none, but a control dependency on true.
    #[inline]
    #[must_use]
    pub fn get_not_zero(&self) -> bool {
        unsafe { sys::hf_lockref_get_not_zero(self.raw()) }
    }

    /// One more, unless the object is dead: false. 0 is not dead. Ordering: as `get_not_zero`.
    #[inline]
    #[must_use]
    pub fn get_not_dead(&self) -> bool {
        unsafe { sys::hf_lockref_get_not_dead(self.raw()) }
    }

    /// One less, if that can be done without the lock: the count now. None: nothing done. Ordering:
    /// release.
    #[inline]
    #[must_use]
    pub fn put_return(&self) -> Option<u32> {
        u32::try_from(unsafe { sys::hf_lockref_put_return(self.raw()) }).ok()
    }

    /// One less, unless it is the last: then nothing was dropped, and the lock is held. Ordering:
    /// release if None, acquire if Some.
    #[inline]
    #[must_use]
    pub fn put_or_lock(&self) -> Option<LockrefGuard<'_, T>> {
        if unsafe { sys::hf_lockref_put_or_lock(self.raw()) } {
            return None;
        }
        Some(self.guard())
    }

    /// Takes the lock; the count then changes only through the guard. Ordering: acquire.
    #[inline]
    pub fn lock(&self) -> LockrefGuard<'_, T> {
        unsafe { sys::hf_lockref_lock(self.raw()) };
        self.guard()
    }

    /// Takes the lock if it is free. Ordering: acquire if Some.
    #[inline]
    #[must_use]
    pub fn try_lock(&self) -> Option<LockrefGuard<'_, T>> {
        if !unsafe { sys::hf_lockref_trylock(self.raw()) } {
            return None;
        }
        Some(self.guard())
    }

    /// The count; negative = dead. Ordering: none; may be stale.
    #[inline]
    pub fn count(&self) -> i32 {
        unsafe { sys::hf_lockref_read(self.raw()) }
    }

    /// Has it been marked dead? Ordering: none.
    #[inline]
    pub fn is_dead(&self) -> bool {
        self.count() < 0
    }

    /// The value, without locking: `&mut self` excludes other users.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized> fmt::Debug for Lockref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lockref").field("count", &self.count()).finish_non_exhaustive()
    }
}

/// Holds the lock of a [`Lockref`]; derefs to what it protects. It stays in its thread:
///
/// ```compile_fail,E0277
/// let object = holdfast::Lockref::new(1, 5);
/// let guard = object.lock();
/// std::thread::scope(|scope| {
///     scope.spawn(move || drop(guard));
/// });
/// ```
#[must_use = "it unlocks at once"]
pub struct LockrefGuard<'a, T: ?Sized> {
    of: &'a Lockref<T>,
    in_thread: PhantomData<*mut ()>,
}

// SAFETY: by reference it gives what `&T` gives.
unsafe impl<T: ?Sized + Sync> Sync for LockrefGuard<'_, T> {}

impl<T: ?Sized> LockrefGuard<'_, T> {
    /// From now on `get_not_dead` fails. Ordering: none; the lock is held.
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

    /// The count; negative = dead.
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
