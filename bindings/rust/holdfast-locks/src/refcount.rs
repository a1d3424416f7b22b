// SPDX-License-Identifier: MIT
//! `Refcount`.

use std::fmt;

use holdfast_sys as sys;

/// A saturating reference count of 4 bytes, for structures that embed one. If
/// [`std::sync::Arc`] suffices, use that.
///
/// Misuse is reported ([`crate::report`]) and makes the count *saturated*: it then never becomes 0,
/// and the object leaks. A call adds or drops 1 to `i32::MAX` references; with other numbers it
/// panics.
///
/// ```
/// use holdfast_locks::Refcount;
///
/// let count = Refcount::new(1);
/// count.inc();
/// assert!(!count.dec_and_test());
/// assert!(count.dec_and_test()); // the last reference: now free the object
/// assert!(!count.inc_not_zero()); // dead
/// ```
#[repr(transparent)]
pub struct Refcount(sys::hf_refcount_t);

// SAFETY: the functions are atomic operations on the word.
unsafe impl Send for Refcount {}
unsafe impl Sync for Refcount {}

fn references(n: u32) -> i32 {
    match i32::try_from(n) {
        Ok(n) if n > 0 => n,
        _ => panic!("{} references at once", n),
    }
}

impl Refcount {
    /// Makes a count of `n` references; 0 = dead from the start.
    #[inline]
    pub const fn new(n: u32) -> Refcount {
        assert!(n <= i32::MAX as u32);
        Refcount(sys::hf_refcount_t::new(n as i32))
    }

    /// Makes a count for an object that is never freed: operations on it change nothing and are not
    /// reported.
    #[inline]
    pub const fn immortal() -> Refcount {
        Refcount(sys::hf_refcount_t::new(sys::HF_REFCOUNT_IMMORTAL))
    }

    /// Takes a reference; the caller must have one already. Ordering: none.
    #[inline]
    pub fn inc(&self) {
        unsafe { sys::hf_refcount_inc(self.0.get()) }
    }

    /// Takes `n` references; the caller must have one already. Ordering: none.
    #[inline]
    pub fn add(&self, n: u32) {
        unsafe { sys::hf_refcount_add(references(n), self.0.get()) }
    }

    /// Takes a reference, unless the count is 0. Returns whether it did. Ordering: acquire on true.
    #[inline]
    #[must_use]
    pub fn inc_not_zero(&self) -> bool {
        unsafe { sys::hf_refcount_inc_not_zero_acquire(self.0.get()) }
    }

    /// Drops a reference. Returns whether it was the last. Ordering: release; on true also acquire.
    #[inline]
    #[must_use]
    pub fn dec_and_test(&self) -> bool {
        unsafe { sys::hf_refcount_dec_and_test(self.0.get()) }
    }

    /// Drops `n` references. Returns whether they were the last. Ordering: release; on true also
    /// acquire.
    #[inline]
    #[must_use]
    pub fn sub_and_test(&self, n: u32) -> bool {
        unsafe { sys::hf_refcount_sub_and_test(references(n), self.0.get()) }
    }

    /// Drops a reference that the caller knows is not the last. Ordering: release.
    #[inline]
    pub fn dec(&self) {
        unsafe { sys::hf_refcount_dec(self.0.get()) }
    }

    /// Drops the reference if it is the last. Returns whether it did. Ordering: release and acquire
    /// on true.
    #[inline]
    #[must_use]
    pub fn dec_if_one(&self) -> bool {
        unsafe { sys::hf_refcount_dec_if_one(self.0.get()) }
    }

    /// Drops a reference, unless it is the last. Returns whether it did. Ordering: release on true.
    #[inline]
    #[must_use]
    pub fn dec_not_one(&self) -> bool {
        unsafe { sys::hf_refcount_dec_not_one(self.0.get()) }
    }

    /// Returns the count, which may be stale: 0 = dead; negative = saturated or immortal. Ordering:
    /// none.
    #[inline]
    pub fn read(&self) -> i32 {
        unsafe { sys::hf_refcount_read(self.0.get()) }
    }
}

impl fmt::Debug for Refcount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Refcount").field(&self.read()).finish()
    }
}
