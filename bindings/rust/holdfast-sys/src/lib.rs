// SPDX-License-Identifier: MIT
#![doc = include_str!("../README.md")]
#![no_std]
#![allow(non_camel_case_types)]
#![deny(missing_docs)]
#![cfg(target_os = "linux")]

extern crate std;

use core::cell::UnsafeCell;
use core::ffi::c_void;
use std::os::raw::{c_char, c_int, c_long, c_uint};

/// Defines a C type that consists of a few words, which several threads change.
macro_rules! word {
    ($(#[$about:meta])* $name:ident, $word:ty, $array:expr) => {
        $(#[$about])*
        #[repr(transparent)]
        #[derive(Debug)]
        pub struct $name {
            words: UnsafeCell<[$word; $array]>,
        }

        impl $name {
            /// Makes an object with these words, as the initialiser of the C header does.
            #[inline]
            pub const fn from_words(words: [$word; $array]) -> Self {
                Self { words: UnsafeCell::new(words) }
            }

            /// Returns the address, for the functions.
            #[inline]
            pub const fn get(&self) -> *mut Self {
                self.words.get() as *mut Self
            }
        }
    };
}

/// Defines types whose initial state is all zeros.
macro_rules! zeroed {
    ($($name:ident, $word:ty, $array:expr, $about:literal;)*) => {$(
        word! {
            #[doc = $about]
            $name, $word, $array
        }

        impl $name {
            /// Unlocked, without waiters.
            #[allow(clippy::declare_interior_mutable_const)]
            pub const INIT: Self = Self::from_words([0; $array]);
        }
    )*};
}

zeroed! {
    hf_mutex_t, u32, 1, "A mutex of one process: `holdfast/mutex.h`.";
    hf_mutex_shared_t, u32, 1, "A mutex between processes: `holdfast/mutex.h`.";
    hf_rwlock_t, u32, 1, "A reader-writer lock: `holdfast/rwlock.h`.";
    hf_mutex_recursive_t, u64, 2, "A recursive mutex of one process: `holdfast/mutex_recursive.h`.";
    hf_cond_t, u32, 1, "A condition variable of one process: `holdfast/cond.h`.";
    hf_cond_shared_t, u32, 1, "A condition variable between processes: `holdfast/cond.h`.";
    hf_spinlock_t, u32, 1, "A spinlock: `holdfast/spinlock.h`.";
    hf_spinlock_ticket_t, u32, 2, "A FIFO spinlock: `holdfast/spinlock_ticket.h`.";
}

/// Declares C functions by header, and a test that links each of them.
macro_rules! functions {
    ($($header:literal {
        $(fn $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*
    })*) => {
        extern "C" {$($(
            #[doc = concat!("Documented in `", $header, "`.")]
            pub fn $name($($argument: $kind),*) $(-> $result)?;
        )*)*}

        #[test]
        fn each_is_linked() {
            let all = [$($($name as *const (),)*)*];
            assert!(all.iter().all(|function| !function.is_null()));
        }
    };
}

#[rustfmt::skip]
mod functions;
pub use functions::*;

/// Defines types that are made from a number.
macro_rules! counted {
    ($($name:ident, $word:ty, $number:ident: $kind:ty => $value:expr, $about:literal;)*) => {$(
        word! {
            #[doc = $about]
            $name, $word, 1
        }

        impl $name {
            /// As the initialiser of the C header.
            #[inline]
            pub const fn new($number: $kind) -> Self {
                Self::from_words([$value])
            }
        }
    )*};
}

counted! {
    hf_refcount_t, i32, n: i32 => n, "A saturating reference count: `holdfast/refcount.h`.";
    hf_rcuref_t, u32, n: u32 => if n == 0 { 0xe000_0000 } else { n - 1 },
        "A reference count for RCU-style lookup: `holdfast/rcuref.h`.";
    hf_lockref_t, u64, count: i32 => (count as u32 as u64) << 32,
        "A lock and a reference count in 64 bits: `holdfast/lockref.h`.";
    hf_lockref_waitfree_t, u64, count: i32 => (count as u32 as u64) << 32,
        "A lock and a reference count, whose get and put are one add: `holdfast/lockref_waitfree.h`.";
}

word! {
    /// A region of a mapping that may lose pages: `holdfast/region.h`. It must not be moved between
    /// begin and end.
    hf_region_t, u64, 13
}

impl hf_region_t {
    /// Makes a region that has not begun.
    #[inline]
    pub const fn new() -> Self {
        Self::from_words([0; 13])
    }
}

impl Default for hf_region_t {
    fn default() -> Self {
        Self::new()
    }
}

/// The loss that a region found: `holdfast/region.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hf_region_fault {
    /// The offset of the first lost byte, as `hf_region_end` returns it.
    pub bad: usize,
    /// The offset of the first write into the lost part.
    pub written: usize,
    /// 0, or a negative errno.
    pub error: c_int,
}

/// A recovered fault: `holdfast/nofault_handler.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hf_nofault_fault {
    /// SIGSEGV or SIGBUS; 0 = no fault yet.
    pub signal: c_int,
    /// `si_code`.
    pub code: c_int,
    /// The first byte that failed.
    pub address: *const c_void,
}

/// One range of memory: `holdfast/nofault_memory.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hf_iovec {
    /// Its first byte.
    pub base: *mut c_void,
    /// Its length in bytes.
    pub len: usize,
}

/// Where a copy between lists of ranges stopped: `holdfast/nofault_memory.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct hf_iovec_stop {
    /// Bytes copied.
    pub done: usize,
    /// Index of the destination range.
    pub dst: usize,
    /// Offset in that range.
    pub dst_offset: usize,
    /// Index of the source range.
    pub src: usize,
    /// Offset in that range.
    pub src_offset: usize,
}

/// A kind of misuse: the constants `HF_REPORT_...`.
pub type hf_report_kind = c_uint;
/// What `hf_nofault_check` finds; the constants are `HF_NOFAULT_...`.
pub type hf_nofault_obstacle = c_uint;
/// How misuse is reported: the constants `HF_REPORT_MODE_...`.
pub type hf_report_mode = c_uint;

/// Called instead of printing a line on standard error; must be async-signal-safe.
pub type hf_report_handler_t =
    Option<unsafe extern "C" fn(kind: hf_report_kind, object: *const c_void, data: *mut c_void)>;

/// The details of a report: `holdfast/report.h`. A later version may add fields at the end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hf_report_details {
    /// The kind of misuse.
    pub kind: hf_report_kind,
    /// The misused object.
    pub object: *const c_void,
    /// The call site: an address in the call that misused it; null = unknown.
    pub site: *const c_void,
    /// For `HF_REPORT_LOCK_ORDER` the lock that is held, else null.
    pub other: *const c_void,
    /// For `HF_REPORT_LOCK_ORDER` where the two locks were taken in the other order.
    pub other_site: *const c_void,
    /// For `HF_REPORT_LOCK_ORDER` the places that lead back from the object to the other lock, in order.
    pub places: *const *const c_void,
    /// How many they are.
    pub place_count: u32,
}

/// As [`hf_report_handler_t`], with all details.
pub type hf_report_details_handler_t =
    Option<unsafe extern "C" fn(details: *const hf_report_details, data: *mut c_void)>;

/// Defines constants of the C headers, and a list of them, which a test compares with the library.
macro_rules! constants {
    ($($name:ident: $kind:ty = $value:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the C headers.")]
            pub const $name: $kind = $value;
        )*
        #[doc(hidden)]
        pub const CONSTANTS: &[(&str, i64)] = &[$((stringify!($name), $name as i64),)*];
    };
}

constants! {
    HF_REFCOUNT_MAX: i32 = i32::MAX;
    HF_REFCOUNT_SATURATED: i32 = i32::MIN / 2;
    HF_REFCOUNT_IMMORTAL: i32 = i32::MIN / 4 * 3;
    HF_RCUREF_MAX: u32 = 0x8000_0000;
    HF_LOCKREF_DEAD: i32 = -128;
    HF_LOCKREF_MAX: i32 = i32::MAX;
    HF_EFAULT: c_int = 14;
    HF_EINVAL: c_int = 22;
    HF_ENOENT: c_int = 2;
    HF_NOFAULT_READY: hf_nofault_obstacle = 0;
    HF_NOFAULT_FILTERED: hf_nofault_obstacle = 1;
    HF_NOFAULT_NOT_INSTALLED: hf_nofault_obstacle = 2;
    HF_NOFAULT_OTHER_HANDLER: hf_nofault_obstacle = 3;
    HF_NOFAULT_BLOCKED: hf_nofault_obstacle = 4;
    HF_NOFAULT_SMALL_STACK: hf_nofault_obstacle = 5;
    HF_ENV_FOREVER: u64 = u64::MAX;
    HF_REPORT_ADD_NOT_ZERO_OVF: hf_report_kind = 0;
    HF_REPORT_ADD_OVF: hf_report_kind = 1;
    HF_REPORT_ADD_UAF: hf_report_kind = 2;
    HF_REPORT_SUB_UAF: hf_report_kind = 3;
    HF_REPORT_DEC_LEAK: hf_report_kind = 4;
    HF_REPORT_LOCKREF_OVF: hf_report_kind = 5;
    HF_REPORT_LOCKREF_DEAD: hf_report_kind = 6;
    HF_REPORT_LOCKREF_UNLOCKED: hf_report_kind = 7;
    HF_REPORT_LOCKREF_PUT: hf_report_kind = 8;
    HF_REPORT_LOCKREF_UNPROTECTED: hf_report_kind = 9;
    HF_REPORT_RCUREF_OVF: hf_report_kind = 10;
    HF_REPORT_RCUREF_DEAD: hf_report_kind = 11;
    HF_REPORT_RCUREF_UNPROTECTED: hf_report_kind = 12;
    HF_REPORT_LOCK_RECURSION: hf_report_kind = 13;
    HF_REPORT_LOCK_WRONG_OWNER: hf_report_kind = 14;
    HF_REPORT_LOCK_UNLOCKED: hf_report_kind = 15;
    HF_REPORT_LOCK_HELD_LONG: hf_report_kind = 16;
    HF_REPORT_LOCK_ORDER: hf_report_kind = 17;
    HF_REPORT_SATURATED: hf_report_kind = 18;
    HF_REPORT_LOCK_HELD_AT_EXIT: hf_report_kind = 19;
    HF_REPORT_REGION_OPEN_AT_EXIT: hf_report_kind = 20;
    HF_REPORT_LOCK_UPGRADE: hf_report_kind = 21;
    HF_REPORT_LOCK_WRONG_KIND: hf_report_kind = 22;
    HF_REPORT_LOCK_DEPTH_OVF: hf_report_kind = 23;
    HF_REPORT_MODE_WARN: hf_report_mode = 0;
    HF_REPORT_MODE_ABORT: hf_report_mode = 1;
    HF_REPORT_MODE_COUNT: hf_report_mode = 2;
    HF_REPORT_MODE_QUIET: hf_report_mode = 3;
}
