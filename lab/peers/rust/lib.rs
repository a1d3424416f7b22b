// SPDX-License-Identifier: MIT
//! The mutex, condition variable and reader-writer lock of std and those of parking_lot, with the
//! C ABI that hf_lab_peers.h declares.

use core::mem::{align_of, size_of};
use core::ptr::{read, write};

/// Whether a type fits into the C++ side's 16 bytes.
#[allow(dead_code)] // rustc 1.63 does not see the uses in constants
const fn fits<T>() -> bool {
    size_of::<T>() <= 16 && align_of::<T>() <= 8
}

/// The functions for one library, and what differs: how a condition variable waits, and what
/// follows a lock. In `std` that is `.unwrap()`, because a lock can be poisoned.
macro_rules! abi {
    ($lib:path, $name:literal, $waited:expr, $($unwrap:tt)*) => {
        const _: () = {
            use $lib::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
            type Guard = MutexGuard<'static, ()>;
            type ReadGuard = RwLockReadGuard<'static, ()>;
            type WriteGuard = RwLockWriteGuard<'static, ()>;

            assert!(fits::<Mutex<()>>() && fits::<Condvar>() && fits::<Guard>());
            assert!(fits::<RwLock<()>>() && fits::<ReadGuard>() && fits::<WriteGuard>());

            #[export_name = concat!("hf_lab_", $name, "_init")]
            unsafe extern "C" fn init(mutex: *mut Mutex<()>) {
                write(mutex, Mutex::new(()));
            }

            #[export_name = concat!("hf_lab_", $name, "_lock")]
            unsafe extern "C" fn lock(mutex: *const Mutex<()>, guard: *mut Guard) {
                write(guard, (*mutex).lock()$($unwrap)*);
            }

            #[export_name = concat!("hf_lab_", $name, "_unlock")]
            unsafe extern "C" fn unlock(guard: *mut Guard) {
                drop(read(guard));
            }

            #[export_name = concat!("hf_lab_", $name, "_cond_init")]
            unsafe extern "C" fn cond_init(cond: *mut Condvar) {
                write(cond, Condvar::new());
            }

            #[export_name = concat!("hf_lab_", $name, "_cond_wait")]
            unsafe extern "C" fn cond_wait(cond: *const Condvar, guard: *mut Guard) {
                write(guard, $waited(&*cond, read(guard)));
            }

            #[export_name = concat!("hf_lab_", $name, "_cond_signal")]
            unsafe extern "C" fn cond_signal(cond: *const Condvar) {
                (*cond).notify_one();
            }

            #[export_name = concat!("hf_lab_", $name, "_cond_broadcast")]
            unsafe extern "C" fn cond_broadcast(cond: *const Condvar) {
                (*cond).notify_all();
            }

            #[export_name = concat!("hf_lab_", $name, "_rwlock_init")]
            unsafe extern "C" fn rwlock_init(lock: *mut RwLock<()>) {
                write(lock, RwLock::new(()));
            }

            #[export_name = concat!("hf_lab_", $name, "_rwlock_read")]
            unsafe extern "C" fn rwlock_read(lock: *const RwLock<()>, guard: *mut ReadGuard) {
                write(guard, (*lock).read()$($unwrap)*);
            }

            #[export_name = concat!("hf_lab_", $name, "_rwlock_read_unlock")]
            unsafe extern "C" fn rwlock_read_unlock(guard: *mut ReadGuard) {
                drop(read(guard));
            }

            #[export_name = concat!("hf_lab_", $name, "_rwlock_write")]
            unsafe extern "C" fn rwlock_write(lock: *const RwLock<()>, guard: *mut WriteGuard) {
                write(guard, (*lock).write()$($unwrap)*);
            }

            #[export_name = concat!("hf_lab_", $name, "_rwlock_write_unlock")]
            unsafe extern "C" fn rwlock_write_unlock(guard: *mut WriteGuard) {
                drop(read(guard));
            }
        };
    };
}

abi!(std::sync, "rust_std", |cond: &Condvar, guard: Guard| cond.wait(guard).unwrap(), .unwrap());
abi!(parking_lot, "parking_lot", |cond: &Condvar, mut guard: Guard| {
    cond.wait(&mut guard);
    guard
},);
