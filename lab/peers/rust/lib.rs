// SPDX-License-Identifier: MIT
//! The mutex, reader-writer lock and condition variable of std and those of parking_lot, with the
//! C ABI that hf_lab_peers.h declares.

use core::mem::{align_of, size_of};
use core::ptr::{read, write};

/// Whether a type fits into the C++ side's 16 bytes.
#[allow(dead_code)] // rustc 1.63 does not see the uses in constants
const fn fits<T>() -> bool {
    size_of::<T>() <= 16 && align_of::<T>() <= 8
}

/// The functions for one library. The two closures are its lock and wait: those of `std` return a
/// `Result`, because a mutex can be poisoned, and its wait takes the guard and returns it.
macro_rules! abi {
    ($lib:path, $locked:expr, $waited:expr, $init:ident, $lock:ident, $unlock:ident,
     $cond_init:ident, $wait:ident, $signal:ident, $broadcast:ident) => {
        const _: () = {
            use $lib::{Condvar, Mutex, MutexGuard};

            assert!(fits::<Mutex<()>>() && fits::<Condvar>() && fits::<MutexGuard<'static, ()>>());

            #[no_mangle]
            unsafe extern "C" fn $init(mutex: *mut Mutex<()>) {
                write(mutex, Mutex::new(()));
            }

            #[no_mangle]
            unsafe extern "C" fn $lock(
                mutex: *const Mutex<()>,
                guard: *mut MutexGuard<'static, ()>,
            ) {
                write(guard, $locked(&*mutex));
            }

            #[no_mangle]
            unsafe extern "C" fn $unlock(guard: *mut MutexGuard<'static, ()>) {
                drop(read(guard));
            }

            #[no_mangle]
            unsafe extern "C" fn $cond_init(cond: *mut Condvar) {
                write(cond, Condvar::new());
            }

            #[no_mangle]
            unsafe extern "C" fn $wait(
                cond: *const Condvar,
                guard: *mut MutexGuard<'static, ()>,
            ) {
                write(guard, $waited(&*cond, read(guard)));
            }

            #[no_mangle]
            unsafe extern "C" fn $signal(cond: *const Condvar) {
                (*cond).notify_one();
            }

            #[no_mangle]
            unsafe extern "C" fn $broadcast(cond: *const Condvar) {
                (*cond).notify_all();
            }
        };
    };
}

abi!(
    std::sync,
    |mutex: &'static Mutex<()>| mutex.lock().unwrap(),
    |cond: &Condvar, guard: MutexGuard<'static, ()>| cond.wait(guard).unwrap(),
    hf_lab_rust_std_init,
    hf_lab_rust_std_lock,
    hf_lab_rust_std_unlock,
    hf_lab_rust_std_cond_init,
    hf_lab_rust_std_cond_wait,
    hf_lab_rust_std_cond_signal,
    hf_lab_rust_std_cond_broadcast
);
abi!(
    parking_lot,
    |mutex: &'static Mutex<()>| mutex.lock(),
    |cond: &Condvar, mut guard: MutexGuard<'static, ()>| {
        cond.wait(&mut guard);
        guard
    },
    hf_lab_parking_lot_init,
    hf_lab_parking_lot_lock,
    hf_lab_parking_lot_unlock,
    hf_lab_parking_lot_cond_init,
    hf_lab_parking_lot_cond_wait,
    hf_lab_parking_lot_cond_signal,
    hf_lab_parking_lot_cond_broadcast
);

/// The same for a reader-writer lock. The closures lock it.
macro_rules! rwlock_abi {
    ($lib:path, $read:expr, $written:expr, $init:ident, $lock_read:ident, $unlock_read:ident,
     $lock_write:ident, $unlock_write:ident) => {
        const _: () = {
            use $lib::{RwLock, RwLockReadGuard, RwLockWriteGuard};
            type ReadGuard = RwLockReadGuard<'static, ()>;
            type WriteGuard = RwLockWriteGuard<'static, ()>;

            assert!(fits::<RwLock<()>>() && fits::<ReadGuard>() && fits::<WriteGuard>());

            #[no_mangle]
            unsafe extern "C" fn $init(lock: *mut RwLock<()>) {
                write(lock, RwLock::new(()));
            }

            #[no_mangle]
            unsafe extern "C" fn $lock_read(lock: *const RwLock<()>, guard: *mut ReadGuard) {
                write(guard, $read(&*lock));
            }

            #[no_mangle]
            unsafe extern "C" fn $unlock_read(guard: *mut ReadGuard) {
                drop(read(guard));
            }

            #[no_mangle]
            unsafe extern "C" fn $lock_write(lock: *const RwLock<()>, guard: *mut WriteGuard) {
                write(guard, $written(&*lock));
            }

            #[no_mangle]
            unsafe extern "C" fn $unlock_write(guard: *mut WriteGuard) {
                drop(read(guard));
            }
        };
    };
}

rwlock_abi!(
    std::sync,
    |lock: &'static RwLock<()>| lock.read().unwrap(),
    |lock: &'static RwLock<()>| lock.write().unwrap(),
    hf_lab_rust_std_rwlock_init,
    hf_lab_rust_std_rwlock_read,
    hf_lab_rust_std_rwlock_read_unlock,
    hf_lab_rust_std_rwlock_write,
    hf_lab_rust_std_rwlock_write_unlock
);
rwlock_abi!(
    parking_lot,
    |lock: &'static RwLock<()>| lock.read(),
    |lock: &'static RwLock<()>| lock.write(),
    hf_lab_parking_lot_rwlock_init,
    hf_lab_parking_lot_rwlock_read,
    hf_lab_parking_lot_rwlock_read_unlock,
    hf_lab_parking_lot_rwlock_write,
    hf_lab_parking_lot_rwlock_write_unlock
);
