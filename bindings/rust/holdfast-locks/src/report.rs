// SPDX-License-Identifier: MIT
//! How the misuse of a count is reported. By default it is not fatal.
//!
//! The first misuse of each kind prints a line to standard error; later ones are only counted.
//! `HOLDFAST_REPORT` in the environment, or [`set_mode`], changes that.
//!
//! ```
//! use holdfast_locks::report::{self, Kind};
//! use holdfast_locks::Refcount;
//!
//! let mode = report::set_mode(report::Mode::Count);
//! let dead = Refcount::new(0);
//! dead.inc(); // a use after free
//! assert_eq!(report::count(Kind::AddUseAfterFree), 1);
//! report::set_mode(mode);
//! ```

use std::ffi::CStr;

use holdfast_sys as sys;

/// A kind of misuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum Kind {
    /// `inc_not_zero` overflowed: the count is saturated, the object leaks.
    AddNotZeroOverflow = sys::HF_REPORT_ADD_NOT_ZERO_OVF,
    /// `inc` or `add` overflowed: the count is saturated, the object leaks.
    AddOverflow = sys::HF_REPORT_ADD_OVF,
    /// `inc` or `add` on 0: a use after free.
    AddUseAfterFree = sys::HF_REPORT_ADD_UAF,
    /// `dec_and_test` or `sub_and_test` went below 0: a use after free.
    SubUseAfterFree = sys::HF_REPORT_SUB_UAF,
    /// `dec` reached 0: the object leaks.
    DecLeak = sys::HF_REPORT_DEC_LEAK,
    /// `get` of a lockref overflowed: its count is pinned, the object leaks.
    LockrefOverflow = sys::HF_REPORT_LOCKREF_OVF,
    /// `get` of a lockref whose object is dead.
    LockrefDead = sys::HF_REPORT_LOCKREF_DEAD,
    /// An operation on a saturated count, whose object leaks already.
    Saturated = sys::HF_REPORT_SATURATED,
}

impl Kind {
    /// Returns the text that the warning has.
    pub fn text(self) -> &'static str {
        // SAFETY: a constant string, never null.
        unsafe { CStr::from_ptr(sys::hf_report_text(self as u32)) }.to_str().unwrap_or("")
    }
}

/// How misuse is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// Count, and print a line to standard error for the first of each kind. The default.
    Warn = sys::HF_REPORT_MODE_WARN,
    /// Print a line and call `abort()`.
    Abort = sys::HF_REPORT_MODE_ABORT,
    /// Only count.
    Count = sys::HF_REPORT_MODE_COUNT,
    /// Do nothing.
    Quiet = sys::HF_REPORT_MODE_QUIET,
}

/// Sets the mode and returns the previous one. Ordering: none.
pub fn set_mode(mode: Mode) -> Mode {
    match unsafe { sys::hf_report_set_mode(mode as u32) } {
        sys::HF_REPORT_MODE_ABORT => Mode::Abort,
        sys::HF_REPORT_MODE_COUNT => Mode::Count,
        sys::HF_REPORT_MODE_QUIET => Mode::Quiet,
        _ => Mode::Warn,
    }
}

/// Returns how often misuse of this kind has been counted. Ordering: none.
pub fn count(kind: Kind) -> u32 {
    unsafe { sys::hf_report_count(kind as u32) }
}

/// Resets all counters to 0, so that each kind may print a warning again.
pub fn reset() {
    unsafe { sys::hf_report_reset() }
}
