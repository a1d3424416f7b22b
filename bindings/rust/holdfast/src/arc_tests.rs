// SPDX-License-Identifier: MIT
//! What of Arc can't be tested from outside: counts that two billion clones would have made.

use std::cell::Cell;
use std::mem::{align_of_val, size_of};

use crate::arc::Counts;
use crate::report::{self, Kind};
use crate::Arc;

/// Where two billion clones would have brought it.
fn near_the_end() -> Arc<i32> {
    let arc = Arc::new(5);
    arc.counts().strong.set_release(i32::MAX);
    arc
}

#[test]
fn saturates_and_leaks() {
    let arc = near_the_end();
    assert_eq!(Arc::strong_count(&arc), i32::MAX as usize);
    let before = report::count(Kind::AddOverflow);
    let other = arc.clone();
    // Other tests run at the same time.
    assert!(report::count(Kind::AddOverflow) > before);
    assert_eq!(Arc::strong_count(&arc), usize::MAX);
    let weak = Arc::downgrade(&arc);
    drop(arc);
    drop(other);
    assert_eq!(*weak.upgrade().expect("it never dies"), 5);
}

#[test]
fn saturated_is_not_unique() {
    let mut arc = near_the_end();
    drop(arc.clone());
    assert!(Arc::get_mut(&mut arc).is_none());
    let arc = Arc::try_unwrap(arc).unwrap_err();
    assert!(Arc::into_inner(arc).is_none());
}

#[test]
fn weak_saturates_and_leaks_memory_only() {
    struct Flag<'a>(&'a Cell<bool>);
    impl Drop for Flag<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let dropped = Cell::new(false);
    let arc = Arc::new(Flag(&dropped));
    arc.counts().weak.set_release(i32::MAX);
    let weak = Arc::downgrade(&arc);
    assert_eq!(Arc::weak_count(&arc), usize::MAX);
    drop(arc);
    assert!(dropped.get());
    assert!(weak.upgrade().is_none());
}

#[test]
fn layouts() {
    #[repr(align(64))]
    struct Wide(u8);
    fn check<T: ?Sized>(arc: Arc<T>) {
        let at = Arc::as_ptr(&arc) as *const u8 as usize;
        assert_eq!(at % align_of_val(&*arc), 0);
        assert_eq!(arc.counts() as *const Counts as usize + 8, at);
        assert_eq!(size_of::<Counts>(), 8);
        drop(arc);
    }
    check(Arc::new(Wide(1)));
    check(Arc::new(()));
    check(Arc::new(1u8));
    check(Arc::new([1u128; 3]));
    check::<dyn Fn() -> u8>(Arc::from_box(Box::new(|| 1)));
    check::<[Wide]>(vec![Wide(1), Wide(2)].into());
    assert_eq!(Arc::new(Wide(7)).0, 7);
}
