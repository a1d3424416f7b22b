// SPDX-License-Identifier: MIT
//! Holdfast for Rust: locks of 4 bytes, reference counts whose overflow can't cause a use after
//! free, and access to memory that may fault.
//!
//! | | |
//! | --- | --- |
//! | [`Mutex`], [`Condvar`] | the default lock: 4 bytes, spins, then parks; all of [`lock_api`] |
//! | [`Spinlock`] | for sections of some hundred instructions, if each thread has a processor |
//! | [`Refcount`], [`Lockref`] | reference counts for structures that embed one |
//! | [`MappedFile`] | a mapped file that others may truncate: an `Err` instead of SIGBUS |
//! | [`nofault`] | copy, clear, load and store memory that may be unmapped (`unsafe`) |
//! | [`report`] | how the misuse of a count is reported |
//!
//! Each operation calls Holdfast's C library, `libholdfast-extern`, which pkg-config finds, or
//! which is compiled from the C sources that come with `holdfast-sys` (feature `bundled`). Each
//! function states its memory ordering, as the C headers do. Linux only.
//!
//! The library's repository checks the C code with model checkers, sanitizers and emulators, and
//! this crate with multithreaded tests. Miri can't call C functions, so it can't run these tests.
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

/// Runs the examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
