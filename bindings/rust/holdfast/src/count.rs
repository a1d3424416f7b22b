// SPDX-License-Identifier: MIT
//! The count that `arc.rs` is written over: a thin cover of `hf_refcount_t`. A model checker
//! replaces this file by one of its own (`bindings/rust/model`).

use core::sync::atomic::{fence, Ordering};

use holdfast_sys as sys;

/// Spins a little, where another thread is about to be done.
pub(crate) use core::hint::spin_loop;

/// A saturating count of references.
#[repr(transparent)]
pub(crate) struct Count(sys::hf_refcount_t);

// SAFETY: the verbs are atomic operations.
unsafe impl Send for Count {}
unsafe impl Sync for Count {}

impl Count {
    #[inline]
    pub(crate) fn new(n: i32) -> Count {
        Count(sys::hf_refcount_t::new(n))
    }

    /// One more, by a thread that has a reference. Ordering: none.
    #[inline]
    pub(crate) fn inc(&self) {
        unsafe { sys::hf_refcount_inc(self.0.get()) }
    }

    /// One more, unless there is none. Ordering: acquire on true.
    #[inline]
    pub(crate) fn inc_not_zero_acquire(&self) -> bool {
        unsafe { sys::hf_refcount_inc_not_zero_acquire(self.0.get()) }
    }

    /// One less; true = it was the last. Ordering: release; on true also acquire.
    #[inline]
    pub(crate) fn dec_and_test(&self) -> bool {
        unsafe { sys::hf_refcount_dec_and_test(self.0.get()) }
    }

    /// From 1 to 0, or nothing. Ordering: release and acquire on true.
    #[inline]
    pub(crate) fn dec_if_one(&self) -> bool {
        unsafe { sys::hf_refcount_dec_if_one(self.0.get()) }
    }

    /// Ordering: release.
    #[inline]
    pub(crate) fn set_release(&self, n: i32) {
        unsafe { sys::hf_refcount_set_release(self.0.get(), n) }
    }

    /// Negative = saturated. Ordering: none.
    #[inline]
    pub(crate) fn read(&self) -> i32 {
        unsafe { sys::hf_refcount_read(self.0.get()) }
    }

    /// Ordering: acquire.
    #[inline]
    pub(crate) fn read_acquire(&self) -> i32 {
        let count = self.read();
        // After a relaxed load, in the library, of what was released.
        fence(Ordering::Acquire);
        count
    }
}
