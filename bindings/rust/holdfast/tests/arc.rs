// SPDX-License-Identifier: MIT
//! Arc and Weak, by several threads: a value is dropped once, and no one sees it afterwards.

use std::collections::HashMap;
use std::mem::size_of;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use holdfast::{Arc, Weak};

/// Counts its drops, and is not itself afterwards.
struct Value<'a> {
    drops: &'a AtomicUsize,
    alive: u32,
}

const ALIVE: u32 = 0xa11fe;

impl<'a> Value<'a> {
    fn new(drops: &'a AtomicUsize) -> Value<'a> {
        Value { drops, alive: ALIVE }
    }
}

impl Drop for Value<'_> {
    fn drop(&mut self) {
        assert_eq!(self.alive, ALIVE);
        self.alive = 0;
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn one_drop() {
    let drops = AtomicUsize::new(0);
    let arc = Arc::new(Value::new(&drops));
    thread::scope(|scope| {
        for _ in 0..4 {
            let arc = arc.clone();
            scope.spawn(move || {
                for _ in 0..10_000 {
                    let copy = Arc::clone(&arc);
                    assert_eq!(copy.alive, ALIVE);
                }
            });
        }
    });
    assert_eq!((drops.load(Ordering::Relaxed), Arc::strong_count(&arc)), (0, 1));
    drop(arc);
    assert_eq!(drops.into_inner(), 1);
}

#[test]
fn upgrade_or_gone() {
    for _ in 0..300 {
        let drops = AtomicUsize::new(0);
        let arc = Arc::new(Value::new(&drops));
        thread::scope(|scope| {
            for _ in 0..2 {
                let weak = Arc::downgrade(&arc);
                scope.spawn(move || {
                    while let Some(strong) = weak.upgrade() {
                        assert_eq!(strong.alive, ALIVE);
                        let again = weak.clone();
                        assert!(again.ptr_eq(&weak));
                    }
                    assert_eq!(weak.strong_count(), 0);
                    assert!(weak.upgrade().is_none());
                });
            }
            drop(arc);
        });
        assert_eq!(drops.into_inner(), 1);
    }
}

/// A thread that asks whether it is the only one, beside threads that clone and downgrade.
#[test]
fn unique_or_not() {
    for _ in 0..100 {
        let mut arc = Arc::new(0u64);
        thread::scope(|scope| {
            let other = arc.clone();
            scope.spawn(move || {
                for _ in 0..50 {
                    let weak = Arc::downgrade(&other);
                    let copy = weak.upgrade().expect("`other` keeps it alive");
                    assert_eq!(*copy, 0);
                }
            });
            // SAFETY of the test: if it is the only one nobody reads while it writes.
            loop {
                if let Some(value) = Arc::get_mut(&mut arc) {
                    *value += 1;
                    break;
                }
                thread::yield_now();
            }
        });
        assert_eq!((*arc, Arc::strong_count(&arc), Arc::weak_count(&arc)), (1, 1, 0));
    }
}

#[test]
fn into_inner_gives_it_to_one() {
    for _ in 0..300 {
        let drops = AtomicUsize::new(0);
        let arc = Arc::new(Value::new(&drops));
        let winners = thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let arc = arc.clone();
                    scope.spawn(move || Arc::into_inner(arc).is_some())
                })
                .collect();
            let mine = Arc::into_inner(arc).is_some();
            threads
                .into_iter()
                .filter(|_| true)
                .map(|thread| thread.join().unwrap())
                .fold(usize::from(mine), |sum, won| sum + usize::from(won))
        });
        assert_eq!((winners, drops.into_inner()), (1, 1));
    }
}

#[test]
fn try_unwrap() {
    let arc = Arc::new(String::from("text"));
    let other = arc.clone();
    let arc = Arc::try_unwrap(arc).unwrap_err();
    drop(other);
    let weak = Arc::downgrade(&arc);
    assert_eq!(Arc::try_unwrap(arc).unwrap(), "text");
    assert!(weak.upgrade().is_none());
}

#[test]
fn get_mut() {
    let mut arc = Arc::new(1);
    *Arc::get_mut(&mut arc).unwrap() = 2;
    let weak = Arc::downgrade(&arc);
    assert!(Arc::get_mut(&mut arc).is_none(), "a Weak");
    assert_eq!((Arc::strong_count(&arc), Arc::weak_count(&arc)), (1, 1));
    drop(weak);
    let other = arc.clone();
    assert!(Arc::get_mut(&mut arc).is_none(), "an Arc");
    assert!(Arc::ptr_eq(&arc, &other));
    drop(other);
    assert_eq!(Arc::get_mut(&mut arc), Some(&mut 2));
}

#[test]
fn make_mut() {
    let mut arc = Arc::new(vec![1]);
    let at = Arc::as_ptr(&arc);
    Arc::make_mut(&mut arc).push(2);
    assert_eq!(Arc::as_ptr(&arc), at, "it was the only one");
    let other = arc.clone();
    Arc::make_mut(&mut arc).push(3);
    assert_eq!((&*arc, &*other), (&vec![1, 2, 3], &vec![1, 2]));
    let weak = Arc::downgrade(&arc);
    Arc::make_mut(&mut arc).push(4);
    assert!(weak.upgrade().is_none(), "it has moved");
    assert_eq!(*arc, [1, 2, 3, 4]);
}

#[test]
fn unsized_values() {
    let drops = AtomicUsize::new(0);
    let slice: Arc<[Value]> = (0..3).map(|_| Value::new(&drops)).collect();
    let weak = Arc::downgrade(&slice);
    assert_eq!(weak.upgrade().unwrap().len(), 3);
    drop(slice);
    assert!(weak.upgrade().is_none());
    drop(weak);
    assert_eq!(drops.load(Ordering::Relaxed), 3);

    trait Speak: Send + Sync {
        fn speak(&self) -> String;
    }
    impl Speak for Value<'_> {
        fn speak(&self) -> String {
            format!("{:x}", self.alive)
        }
    }
    let boxed: Box<dyn Speak> = Box::new(Value::new(&drops));
    let arc: Arc<dyn Speak> = Arc::from(boxed);
    assert_eq!(arc.clone().speak(), "a11fe");
    drop(arc);
    assert_eq!(drops.load(Ordering::Relaxed), 4);

    // By hand: the address is the value's, whatever the type of the pointer.
    let one = Arc::new(Value::new(&drops));
    let wide: Arc<dyn Speak> = unsafe { Arc::from_raw(Arc::into_raw(one) as *const dyn Speak) };
    assert_eq!(wide.speak(), "a11fe");
    drop(wide);
    assert_eq!(drops.load(Ordering::Relaxed), 5);

    let empty: Arc<[u64]> = Vec::new().into();
    let none: Arc<[String]> = Arc::from_box(Vec::new().into_boxed_slice());
    assert_eq!((empty.len(), none.len()), (0, 0));
    let text: Arc<str> = String::from("grüße").into();
    assert_eq!(text.to_string(), "grüße");
}

#[test]
fn traits() {
    let arc = Arc::new(String::from("key"));
    let mut map = HashMap::new();
    map.insert(arc.clone(), 1);
    assert_eq!(map.get(&String::from("key")), Some(&1)); // Borrow and Hash agree
    assert_eq!(format!("{} {:?}", arc, arc), "key \"key\"");
    assert_eq!(format!("{:p}", arc), format!("{:p}", Arc::as_ptr(&arc)));
    assert!(Arc::new(1) < Arc::new(2) && Arc::new(0) == Arc::<i32>::default());
    assert_eq!(size_of::<Option<Arc<u8>>>(), size_of::<usize>());
    let pinned = Arc::pin(5);
    assert_eq!(*pinned, 5);
}

#[test]
fn weak_of_none() {
    let none: Weak<String> = Weak::new();
    assert!(none.upgrade().is_none() && none.clone().ptr_eq(&Weak::default()));
    assert_eq!(none.strong_count(), 0);
}

#[test]
fn a_drop_that_panics_frees() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("as meant");
        }
    }
    let arc = Arc::new(Bomb);
    let weak = Arc::downgrade(&arc);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(arc))).is_err());
    assert!(weak.upgrade().is_none());
}
