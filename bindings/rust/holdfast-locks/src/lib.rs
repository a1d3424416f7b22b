// SPDX-License-Identifier: MIT
#![doc = include_str!("../README.md")]
#![deny(missing_docs)]
#![cfg(target_os = "linux")]

mod condvar;
mod lockref;
mod mapped;
mod mutex;
pub mod nofault;
mod refcount;
pub mod report;

pub use lock_api;

pub use crate::condvar::{Condvar, WaitTimeoutResult};
pub use crate::lockref::{Lockref, LockrefGuard};
pub use crate::mapped::{FileByte, Lost, MappedFile, View};
pub use crate::mutex::{
    const_mutex, const_spinlock, MappedMutexGuard, Mutex, MutexGuard, RawMutex, RawSpinlock,
    Spinlock, SpinlockGuard,
};
pub use crate::refcount::Refcount;
