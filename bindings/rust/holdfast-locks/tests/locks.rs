// SPDX-License-Identifier: MIT
//! Tests that each function calls the right one of the C library, whose own tests are in C.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::thread;
use std::time::{Duration, Instant};

use holdfast_locks::{
    const_mutex, const_spinlock, Condvar, Lockref, Mutex, MutexGuard, RawMutex, RawSpinlock,
    Refcount, Spinlock,
};

/// A timeout that expires only if a wakeup is lost.
const MINUTES: Duration = Duration::from_secs(300);

/// Increments two counters, which differ or miss increments if the lock does not exclude.
fn count<L: lock_api::RawMutex + Sync>(threads: u64, rounds: u64) {
    let pair = lock_api::Mutex::<L, _>::new((0u64, 0u64));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for round in 0..rounds {
                    let mut held = pair.lock();
                    assert!(pair.is_locked());
                    assert_eq!(held.0, held.1);
                    held.0 += 1;
                    if round % 64 == 0 {
                        thread::yield_now(); // without exclusion another thread sees them differ
                    }
                    held.1 = held.0;
                }
            });
        }
    });
    assert_eq!(pair.into_inner(), (threads * rounds, threads * rounds));
}

#[test]
fn mutex_excludes() {
    count::<RawMutex>(6, 20_000);
}

#[test]
fn spinlock_excludes() {
    count::<RawSpinlock>(2, 5_000);
}

#[test]
fn statics() {
    static MUTEX: Mutex<u64> = const_mutex(1);
    static SPINLOCK: Spinlock<u64> = const_spinlock(2);
    *MUTEX.lock() += 1;
    assert_eq!((*MUTEX.lock(), *SPINLOCK.lock()), (2, 2));
}

#[test]
fn try_lock_and_time_out() {
    let mutex = Mutex::new(1);
    let held = mutex.lock();
    assert!(mutex.is_locked());
    assert!(mutex.try_lock().is_none());
    let start = Instant::now();
    assert!(mutex.try_lock_for(Duration::from_millis(5)).is_none());
    assert!(start.elapsed() >= Duration::from_millis(5));
    assert!(mutex.try_lock_until(Instant::now()).is_none());
    thread::scope(|scope| {
        let waiter = scope.spawn(|| mutex.try_lock_for(MINUTES).map(|value| *value));
        thread::sleep(Duration::from_millis(5));
        drop(held);
        assert_eq!(waiter.join().unwrap(), Some(1));
    });
    assert!(mutex.try_lock_for(Duration::MAX).is_some());
    assert!(!mutex.is_locked());
}

#[test]
fn a_panic_unlocks() {
    let mutex = Mutex::new(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _held = mutex.lock();
        panic!("as meant");
    }));
    assert!(panicked.is_err());
    assert_eq!(*mutex.try_lock().expect("free"), 1);
}

#[test]
fn mapped_guard_holds() {
    let mutex = Mutex::new((1, 2));
    let mut second = MutexGuard::map(mutex.lock(), |pair| &mut pair.1);
    *second = 5;
    assert!(mutex.try_lock().is_none());
    drop(second);
    assert_eq!(mutex.into_inner(), (1, 5));
}

#[test]
fn condvar_hands_over() {
    const ROUNDS: u32 = 2_000;
    let turn = Mutex::new(0u32);
    let changed = Condvar::new();
    thread::scope(|scope| {
        for me in 0..3u32 {
            let (turn, changed) = (&turn, &changed);
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let mut turn = turn.lock();
                    changed.wait_while(&mut turn, |turn| *turn % 3 != me);
                    *turn += 1;
                    changed.notify_all();
                }
            });
        }
    });
    assert_eq!(turn.into_inner(), 3 * ROUNDS);
}

#[test]
fn condvar_times_out() {
    let mutex = Mutex::new(false);
    let never = Condvar::default();
    let mut guard = mutex.lock();
    let start = Instant::now();
    // There may be spurious wakeups, but not for ever.
    while !never.wait_for(&mut guard, Duration::from_millis(2)).timed_out() {
        assert!(start.elapsed() < MINUTES);
    }
    assert!(start.elapsed() >= Duration::from_millis(2));
    assert!(never.wait_while_for(&mut guard, |no| !*no, Duration::from_millis(2)).timed_out());
    assert!(!never.wait_while_for(&mut guard, |no| *no, Duration::ZERO).timed_out());
    while !never.wait_until(&mut guard, Instant::now()).timed_out() {
        assert!(start.elapsed() < MINUTES);
    }
    assert!(mutex.try_lock().is_none(), "a wait returned without the mutex");
}

#[test]
fn refcount_functions() {
    let count = Refcount::new(1);
    count.add(4);
    count.dec();
    assert!(count.inc_not_zero());
    assert_eq!(count.read(), 5);
    assert!(count.dec_not_one());
    assert!(!count.dec_if_one());
    assert!(!count.sub_and_test(3));
    assert!(!count.dec_not_one());
    assert!(count.dec_if_one());
    assert!(!count.inc_not_zero());
    let always = Refcount::immortal();
    assert!(!always.dec_and_test());
    assert!(always.inc_not_zero() && always.read() < 0);
    assert!(catch_unwind(|| Refcount::new(1).add(0)).is_err());
    assert!(catch_unwind(|| Refcount::new(1).add(u32::MAX)).is_err());
}

#[test]
fn lockref_functions() {
    let object = Lockref::new(0, vec![1]);
    assert!(!object.get_not_zero());
    assert!(object.get_not_dead());
    assert_eq!(object.count(), 1);
    object.get();
    assert_eq!(object.put_return(), Some(1));
    let mut held = object.lock();
    held.push(2);
    assert!(object.try_lock().is_none());
    assert_eq!(object.put_return(), None);
    held.set_count(7);
    assert_eq!((held.count(), held.len()), (7, 2));
    drop(held);
    assert!(object.put_or_lock().is_none());
    held = (0..).find_map(|_| object.put_or_lock()).expect("the last put");
    held.mark_dead();
    drop(held);
    assert!(object.is_dead() && !object.get_not_dead());
    let mut object = object;
    object.get_mut().push(3);
    assert_eq!(object.into_inner(), [1, 2, 3]);
}
