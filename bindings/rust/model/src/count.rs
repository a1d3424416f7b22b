// SPDX-License-Identifier: MIT
//! What holdfast/src/count.rs is a cover of, for loom: the verbs of refcount.h on one atomic word, with
//! the orderings that its table states. Saturation is not modelled: no run has 2^31 references.

use loom::sync::atomic::{fence, AtomicI32, Ordering};

pub(crate) fn spin_loop() {
    loom::thread::yield_now();
}

pub(crate) struct Count(AtomicI32);

impl Count {
    pub(crate) fn new(n: i32) -> Count {
        Count(AtomicI32::new(n))
    }

    pub(crate) fn inc(&self) {
        assert!(self.0.fetch_add(1, Ordering::Relaxed) > 0, "inc on 0");
    }

    pub(crate) fn inc_not_zero_acquire(&self) -> bool {
        let more = |count| if count == 0 { None } else { Some(count + 1) };
        self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).is_ok()
    }

    pub(crate) fn dec_and_test(&self) -> bool {
        let old = self.0.fetch_sub(1, Ordering::Release);
        assert!(old > 0, "dec below 0");
        if old == 1 {
            fence(Ordering::Acquire);
        }
        old == 1
    }

    pub(crate) fn dec_if_one(&self) -> bool {
        self.0.compare_exchange(1, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn set_release(&self, n: i32) {
        self.0.store(n, Ordering::Release)
    }

    pub(crate) fn read(&self) -> i32 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn read_acquire(&self) -> i32 {
        let count = self.read();
        fence(Ordering::Acquire);
        count
    }
}
