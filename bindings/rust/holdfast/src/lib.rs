// SPDX-License-Identifier: MIT
//! Holdfast for Rust: locks of 4 bytes, reference counts that can't be overflowed into a use after
//! free, and memory that may fault.
//!
//! | | |
//! | --- | --- |
//! | [`Mutex`], [`Condvar`] | the default lock: 4 bytes, spins, then parks; all of [`lock_api`] |
//! | [`Spinlock`] | for some hundred instructions, by threads that have a processor each |
//! | [`Refcount`], [`Lockref`] | the counts themselves, for structures that keep one |
//! | [`MappedFile`] | a mapped file that others may truncate: an `Err`, no SIGBUS |
//! | [`nofault`] | copy, clear, load, store where memory may not be there (`unsafe`) |
//! | [`report`] | what happens when a count is misused |
//!
//! An operation is a call of Holdfast's C library, `libholdfast-extern`: the system's, found by
//! pkg-config, or else compiled from the C sources that come with `holdfast-sys` (feature
//! `bundled`). The C headers state each operation's memory ordering, and so does each function
//! here. Linux only.
//!
//! Checked how. The C side: in the library's own repository, under model checkers, sanitizers and
//! emulators. This side: tests under threads. Miri can't call a function of C, so it can't run this
//! crate's tests.
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

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
