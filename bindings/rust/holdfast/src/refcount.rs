// SPDX-License-Identifier: MIT
//! `Refcount`.

use std::fmt;

use holdfast_sys as sys;

/// A reference count of 4 bytes that saturates, for structures that keep one themselves. Where
/// [`std::sync::Arc`] will do, take that.
///
/// Misuse is reported ([`crate::report`]) and makes the count *saturated*: it then never becomes 0,
/// and what it counts leaks. The number of references of one call is 1 to `i32::MAX`; others panic.
///
/// ```
/// use holdfast::Refcount;
///
/// let count = Refcount::new(1);
/// count.inc();
/// assert!(!count.dec_and_test());
/// assert!(count.dec_and_test()); // the last: now free the object
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
    /// With so many references; 0 = dead from the start.
    #[inline]
    pub const fn new(n: u32) -> Refcount {
        assert!(n <= i32::MAX as u32);
        Refcount(sys::hf_refcount_t::new(n as i32))
    }

    /// For an object that is never freed: operations on it change nothing and report nothing.
    #[inline]
    pub const fn immortal() -> Refcount {
        Refcount(sys::hf_refcount_t::new(sys::HF_REFCOUNT_IMMORTAL))
    }

    /// One more, by a thread that has a reference. Ordering: none.
    #[inline]
    pub fn inc(&self) {
        unsafe { sys::hf_refcount_inc(self.0.get()) }
    }

    /// `n` more. Ordering: none.
    #[inline]
    pub fn add(&self, n: u32) {
        unsafe { sys::hf_refcount_add(references(n), self.0.get()) }
    }

    /// One more, unless the object is dead: false. Ordering: acquire on true.
    #[inline]
    #[must_use]
    pub fn inc_not_zero(&self) -> bool {
        unsafe { sys::hf_refcount_inc_not_zero_acquire(self.0.get()) }
    }

    /// One less; true = it was the last. Ordering: release; on true also acquire.
    #[inline]
    #[must_use]
    pub fn dec_and_test(&self) -> bool {
        unsafe { sys::hf_refcount_dec_and_test(self.0.get()) }
    }

    /// `n` less; true = they were the last. Ordering: release; on true also acquire.
    #[inline]
    #[must_use]
    pub fn sub_and_test(&self, n: u32) -> bool {
        unsafe { sys::hf_refcount_sub_and_test(references(n), self.0.get()) }
    }

    /// One less, which is known not to be the last. Ordering: release.
    #[inline]
    pub fn dec(&self) {
        unsafe { sys::hf_refcount_dec(self.0.get()) }
    }

    /// From 1 to 0: true; else nothing is done. Ordering: release and acquire on true.
    #[inline]
    #[must_use]
    pub fn dec_if_one(&self) -> bool {
        unsafe { sys::hf_refcount_dec_if_one(self.0.get()) }
    }

    /// One less, unless it is the last: false. Ordering: release on true.
    #[inline]
    #[must_use]
    pub fn dec_not_one(&self) -> bool {
        unsafe { sys::hf_refcount_dec_not_one(self.0.get()) }
    }

    /// 1 to `i32::MAX`; 0 = dead; negative = saturated or immortal. Ordering: none; may be stale.
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
