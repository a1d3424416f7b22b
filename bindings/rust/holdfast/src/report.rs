// SPDX-License-Identifier: MIT
//! What happens when a count is misused: it is reported, never hidden, and by default not fatal.
//!
//! Each kind is reported once, by a line on standard error, and then counted. `HOLDFAST_REPORT` in
//! the environment, or [`set_mode`], chooses otherwise.
//!
//! ```
//! use holdfast::report::{self, Kind};
//! use holdfast::Refcount;
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
    /// `inc_not_zero`, `upgrade` past the top: saturated, leaks.
    AddNotZeroOverflow = sys::HF_REPORT_ADD_NOT_ZERO_OVF,
    /// `inc`, `add`, `clone` past the top: saturated, leaks.
    AddOverflow = sys::HF_REPORT_ADD_OVF,
    /// `inc`, `add` on 0: a use after free.
    AddUseAfterFree = sys::HF_REPORT_ADD_UAF,
    /// `dec_and_test`, `sub_and_test` below 0: a use after free.
    SubUseAfterFree = sys::HF_REPORT_SUB_UAF,
    /// `dec` that reached 0: leaks.
    DecLeak = sys::HF_REPORT_DEC_LEAK,
    /// A lockref's `get` past the top: pinned, leaks.
    LockrefOverflow = sys::HF_REPORT_LOCKREF_OVF,
    /// A lockref's `get` on a dead object.
    LockrefDead = sys::HF_REPORT_LOCKREF_DEAD,
    /// Any operation on a saturated count: it leaks already.
    Saturated = sys::HF_REPORT_SATURATED,
}

impl Kind {
    /// What it means, in the words of the warning.
    pub fn text(self) -> &'static str {
        // SAFETY: a constant string, never null.
        unsafe { CStr::from_ptr(sys::hf_report_text(self as u32)) }.to_str().unwrap_or("")
    }
}

/// What a report does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// The first of each kind: one line on standard error. The default.
    Warn = sys::HF_REPORT_MODE_WARN,
    /// A line for each, and then `abort()`.
    Abort = sys::HF_REPORT_MODE_ABORT,
    /// The counters only.
    Count = sys::HF_REPORT_MODE_COUNT,
    /// Nothing at all.
    Quiet = sys::HF_REPORT_MODE_QUIET,
}

/// Sets the mode, and returns the one before. Ordering: none.
pub fn set_mode(mode: Mode) -> Mode {
    match unsafe { sys::hf_report_set_mode(mode as u32) } {
        sys::HF_REPORT_MODE_ABORT => Mode::Abort,
        sys::HF_REPORT_MODE_COUNT => Mode::Count,
        sys::HF_REPORT_MODE_QUIET => Mode::Quiet,
        _ => Mode::Warn,
    }
}

/// How often has this kind been reported? Ordering: none.
pub fn count(kind: Kind) -> u32 {
    unsafe { sys::hf_report_count(kind as u32) }
}

/// All counters to 0, and each kind may warn again.
pub fn reset() {
    unsafe { sys::hf_report_reset() }
}
