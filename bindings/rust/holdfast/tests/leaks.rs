// SPDX-License-Identifier: MIT
//! The memory of an Arc is freed, once, with the layout that it was allocated with.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use holdfast::{Arc, Weak};

/// A size that nothing else here has, and what Arc makes of it: two counts in front, aligned to 4 or 64.
const SIZE: usize = 4321;
const WITH_COUNTS: usize = 4332;
const WITH_COUNTS_WIDE: usize = 4416;

static LIVE: AtomicIsize = AtomicIsize::new(0);
static LIVE_WIDE: AtomicIsize = AtomicIsize::new(0);

struct Counting;

fn count(layout: Layout, by: isize) {
    match (layout.size(), layout.align()) {
        (WITH_COUNTS, 4) => LIVE.fetch_add(by, Ordering::Relaxed),
        (WITH_COUNTS_WIDE, 64) => LIVE_WIDE.fetch_add(by, Ordering::Relaxed),
        _ => 0,
    };
}

// SAFETY: the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout, 1);
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout, -1);
        System.dealloc(pointer, layout)
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Clone)]
struct Value([u8; SIZE]);

#[repr(align(64))]
struct Wide([u8; SIZE]);

fn live() -> (isize, isize) {
    (LIVE.load(Ordering::Relaxed), LIVE_WIDE.load(Ordering::Relaxed))
}

#[test]
fn all_is_freed_when_the_last_reference_goes() {
    let arc = Arc::new(Value([1; SIZE]));
    let wide = Arc::new(Wide([2; SIZE]));
    assert_eq!(live(), (1, 1));
    drop((arc.clone(), wide.clone()));
    assert_eq!(live(), (1, 1));

    // A Weak keeps the memory, and nothing else.
    let weak: Weak<Wide> = Arc::downgrade(&wide);
    assert_eq!(wide.0[0], 2);
    drop(wide);
    assert_eq!(live(), (1, 1));
    drop((weak.clone(), weak));
    assert_eq!(live(), (1, 0));

    // What becomes of it otherwise.
    let mut arc = arc;
    let weak = Arc::downgrade(&arc);
    Arc::make_mut(&mut arc).0[0] = 3;
    assert_eq!(live(), (2, 0), "it has moved, and the Weak keeps the old memory");
    drop(weak);
    assert_eq!(live(), (1, 0));
    let other = arc.clone();
    Arc::make_mut(&mut arc).0[0] = 4;
    assert_eq!(live(), (2, 0));
    assert_eq!((Arc::into_inner(other).unwrap().0[0], live()), (3, (1, 0)));
    let value = Arc::try_unwrap(arc).unwrap_or_else(|_| unreachable!());
    assert_eq!((value.0[0], live()), (4, (0, 0)));

    // Of any type.
    let boxed: Box<dyn Fn() -> u8> = Box::new(move || value.0[0]);
    let call: Arc<dyn Fn() -> u8> = Arc::from(boxed);
    assert_eq!((call(), live()), (4, (1, 0)));
    drop(call);
    let slice: Arc<[u8]> = vec![5; SIZE].into();
    let weak = Arc::downgrade(&slice);
    drop(slice);
    assert_eq!(live(), (1, 0));
    drop(weak);
    assert_eq!(live(), (0, 0));
}
