// SPDX-License-Identifier: MIT
//! holdfast's `Arc`, the file that ships, over a count that loom sees.
//!
//! In a value stands a cell of loom's: it finds a read that is not ordered before the drop, a write
//! beside a read, and a use after the drop. run.py
//! makes mutants, copies with one flaw, which must be found.
#![allow(dead_code)]

#[path = "../../holdfast/src/arc.rs"]
mod arc;
mod count;

#[cfg(test)]
mod model {
    use loom::cell::UnsafeCell;
    use loom::model;
    use loom::thread;

    use crate::arc::Arc;

    struct Value(UnsafeCell<u32>);

    // SAFETY: not true: loom is to find what would make it wrong.
    unsafe impl Send for Value {}
    unsafe impl Sync for Value {}

    impl Value {
        fn arc() -> Arc<Value> {
            Arc::new(Value(UnsafeCell::new(5)))
        }

        fn read(&self) -> u32 {
            // SAFETY: loom looks.
            self.0.with(|value| unsafe { *value })
        }
    }

    impl Drop for Value {
        fn drop(&mut self) {
            // SAFETY: loom looks.
            self.0.with_mut(|value| unsafe {
                assert_ne!(*value, 0, "dropped twice");
                *value = 0;
            });
        }
    }

    #[test]
    fn clone_and_drop() {
        model(|| {
            let arc = Value::arc();
            let other = arc.clone();
            let thread = thread::spawn(move || {
                let more = other.clone();
                drop(other);
                assert_eq!(more.read(), 5);
            });
            assert_eq!(arc.read(), 5);
            drop(arc);
            thread.join().unwrap();
        });
    }

    #[test]
    fn upgrade() {
        model(|| {
            let arc = Value::arc();
            let weak = Arc::downgrade(&arc);
            let thread = thread::spawn(move || {
                if let Some(arc) = weak.upgrade() {
                    assert_eq!(arc.read(), 5);
                }
            });
            drop(arc);
            thread.join().unwrap();
        });
    }

    /// The one that is unique writes; the other has read, downgraded and dropped before, or not.
    #[test]
    fn get_mut() {
        model(|| {
            let mut arc = Value::arc();
            let other = arc.clone();
            let thread = thread::spawn(move || {
                let weak = Arc::downgrade(&other);
                assert_eq!(other.read(), 5);
                drop(other);
                if let Some(arc) = weak.upgrade() {
                    arc.read();
                }
            });
            if let Some(value) = Arc::get_mut(&mut arc) {
                // SAFETY: loom looks.
                value.0.with_mut(|value| unsafe { *value = 6 });
            }
            thread.join().unwrap();
            assert!(Arc::get_mut(&mut arc).is_some());
        });
    }

    /// The other has read and dropped, and made no Weak.
    #[test]
    fn get_mut_after_drop() {
        model(|| {
            let mut arc = Value::arc();
            let other = arc.clone();
            let thread = thread::spawn(move || {
                other.read();
                drop(other);
            });
            if let Some(value) = Arc::get_mut(&mut arc) {
                // SAFETY: loom looks.
                value.0.with_mut(|value| unsafe { *value = 6 });
            }
            thread.join().unwrap();
        });
    }

    #[test]
    fn get_mut_after_upgrade() {
        model(|| {
            let mut arc = Value::arc();
            let weak = Arc::downgrade(&arc);
            let thread = thread::spawn(move || {
                if let Some(arc) = weak.upgrade() {
                    arc.read();
                }
            });
            if let Some(value) = Arc::get_mut(&mut arc) {
                // SAFETY: loom looks.
                value.0.with_mut(|value| unsafe { *value = 6 });
            }
            thread.join().unwrap();
        });
    }

    #[test]
    fn unwrap_by_one() {
        model(|| {
            let arc = Value::arc();
            let other = arc.clone();
            let thread = thread::spawn(move || Arc::into_inner(other).map(|value| value.read()));
            let mine = Arc::into_inner(arc).map(|value| value.read());
            let theirs = thread.join().unwrap();
            assert_eq!((mine.is_some(), mine.or(theirs)), (theirs.is_none(), Some(5)));
        });
    }

    #[test]
    fn try_unwrap() {
        model(|| {
            let arc = Value::arc();
            let other = arc.clone();
            let thread = thread::spawn(move || {
                other.read();
                drop(other);
            });
            match Arc::try_unwrap(arc) {
                Ok(value) => assert_eq!(value.read(), 5),
                Err(arc) => assert_eq!(arc.read(), 5),
            }
            thread.join().unwrap();
        });
    }
}
