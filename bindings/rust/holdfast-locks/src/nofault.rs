// SPDX-License-Identifier: MIT
//! Copies, clears, loads and stores memory that may be unmapped: a fault becomes an `Err`.
//!
//! For a mapping whose file can be truncated, a page of a guest, or an address from a plug-in or a
//! script. Do not use it to hide bugs. For mapped files there is a safe type,
//! [`MappedFile`](crate::MappedFile).
//!
//! # Safety
//!
//! A fault is harmless: it becomes an `Err` with the exact number of bytes done, all before the fault
//! and none after it. The functions are
//! `unsafe` nevertheless, even those that read, because memory at an address that *is* mapped may
//! belong to anything:
//!
//! * Rust code may hold a `&mut` to it, which promises the compiler that nobody else reads it, by
//!   whatever means.
//! * It may be a device's registers or a `userfaultfd`'s memory, where reading has side effects.
//! * A write to memory that the caller does not own is never safe.
//!
//! The memory need not be mapped, aligned, initialised or of any type, because the library's own
//! instructions access it, not compiled Rust. Other processes may write to it at the same time, and
//! so may other threads, by atomic operations or by this module; a read then gets a mixture of old
//! and new bytes.
//!
//! # The handler
//!
//! [`install`] installs a handler for SIGSEGV and SIGBUS, which passes other faults to the previous
//! handler, so Rust still reports a stack overflow. A thread that uses this module, except
//! [`copy_safe`], must not block these signals. If it has an alternate signal stack, that needs
//! room for `getauxval(AT_MINSIGSTKSZ)` + 1024 bytes, as the stacks of `std` have.

use std::fmt;
use std::io;
use std::os::raw::c_void;

use holdfast_sys as sys;

/// An operation stopped at memory that it could not access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The exact number of bytes done before the fault. No byte after them was touched.
    pub done: usize,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "memory could not be accessed after {} bytes", self.done)
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> io::Error {
        io::Error::new(io::ErrorKind::Other, fault)
    }
}

/// Converts the functions' result, the number of bytes not done.
fn result(len: usize, left: usize) -> Result<(), Fault> {
    if left == 0 {
        Ok(())
    } else {
        Err(Fault { done: len - left })
    }
}

/// Installs the signal handler. Call it once, early; another call reinstalls the handler if a
/// signal has been reset to its default or is ignored. Without the handler a fault ends the
/// process, as it would without this library.
///
/// # Errors
///
/// Those of `sigaction()`; nothing is changed then.
pub fn install() -> io::Result<()> {
    match unsafe { sys::hf_nofault_install() } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// Returns whether this library's handler is still the first for SIGSEGV and SIGBUS.
pub fn is_owned() -> bool {
    unsafe { sys::hf_nofault_owned() }
}

/// Copies from memory that may fault; after a fault the rest of `dst` is unchanged. Ordering: none.
///
/// ```
/// use holdfast_locks::nofault;
///
/// nofault::install().unwrap();
/// let mut to = [0; 4];
/// // SAFETY: the address 16 is never mapped.
/// let fault = unsafe { nofault::copy(&mut to, 16 as *const u8) }.unwrap_err();
/// assert_eq!(fault.done, 0);
/// ```
///
/// # Safety
///
/// The caller may read the mapped part of `src..src + dst.len()`: nobody has a `&mut` to it, and
/// reading has no side effects. It does not overlap `dst`.
pub unsafe fn copy(dst: &mut [u8], src: *const u8) -> Result<(), Fault> {
    let len = dst.len();
    result(len, sys::hf_copy_nofault(dst.as_mut_ptr() as *mut c_void, src as *const c_void, len))
}

/// Copies to memory that may fault. Ordering: none.
///
/// # Safety
///
/// The caller may write any bytes to the mapped part of `dst..dst + src.len()`. It does not overlap
/// `src`.
pub unsafe fn copy_to(dst: *mut u8, src: &[u8]) -> Result<(), Fault> {
    let len = src.len();
    result(len, sys::hf_copy_nofault(dst as *mut c_void, src.as_ptr() as *const c_void, len))
}

/// Copies between two places which may both fault. Ordering: none.
///
/// To find out which side faulted, [`load`] a byte of each.
///
/// # Safety
///
/// That of [`copy`] for the source and of [`copy_to`] for the destination.
pub unsafe fn copy_between(dst: *mut u8, src: *const u8, len: usize) -> Result<(), Fault> {
    result(len, sys::hf_copy_nofault(dst as *mut c_void, src as *const c_void, len))
}

/// As [`copy`], but works without [`install`], in handlers of SIGSEGV and SIGBUS, and where these
/// signals are blocked: it uses system calls where necessary. Async-signal-safe.
///
/// # Safety
///
/// As [`copy`].
pub unsafe fn copy_safe(dst: &mut [u8], src: *const u8) -> Result<(), Fault> {
    let len = dst.len();
    result(len, sys::hf_copy_safe(dst.as_mut_ptr() as *mut c_void, src as *const c_void, len))
}

/// Zeroes memory that may fault. Ordering: none.
///
/// # Safety
///
/// The caller may write zeros to the mapped part of `dst..dst + len`.
pub unsafe fn clear(dst: *mut u8, len: usize) -> Result<(), Fault> {
    result(len, sys::hf_clear_nofault(dst as *mut c_void, len))
}

/// Fills memory that may fault with a byte. Ordering: none.
///
/// # Safety
///
/// As [`clear`], but for `byte` instead of zeros.
pub unsafe fn fill(dst: *mut u8, byte: u8, len: usize) -> Result<(), Fault> {
    result(len, sys::hf_fill_nofault(dst as *mut c_void, byte, len))
}

/// The types that [`load`] and [`store`] accept: integers of 8 to 64 bits.
pub trait Word: Copy + sealed::Word {}

mod sealed {
    use std::os::raw::{c_int, c_void};

    pub trait Word: Default {
        unsafe fn load(value: *mut Self, p: *mut c_void) -> c_int;
        unsafe fn store(p: *mut c_void, value: Self) -> c_int;
    }
}

macro_rules! words {
    ($($signed:ident $unsigned:ident $load:ident $store:ident;)*) => {$(
        words!(@one $signed $unsigned $load $store);
        words!(@one $unsigned $unsigned $load $store);
    )*};
    (@one $word:ident $unsigned:ident $load:ident $store:ident) => {
        impl sealed::Word for $word {
            #[inline]
            unsafe fn load(value: *mut $word, p: *mut c_void) -> i32 {
                sys::$load(value as *mut $unsigned, p)
            }

            #[inline]
            unsafe fn store(p: *mut c_void, value: $word) -> i32 {
                sys::$store(p, value as $unsigned)
            }
        }

        impl Word for $word {}
    };
}

words! {
    i8 u8 hf_load8_nofault hf_store8_nofault;
    i16 u16 hf_load16_nofault hf_store16_nofault;
    i32 u32 hf_load32_nofault hf_store32_nofault;
    i64 u64 hf_load64_nofault hf_store64_nofault;
}

/// Reads a word at any alignment; if it is aligned, by one access. Ordering: none.
///
/// # Safety
///
/// As [`copy`].
#[inline]
pub unsafe fn load<T: Word>(src: *const T) -> Result<T, Fault> {
    let mut value = T::default();
    match T::load(&mut value, src as *mut c_void) {
        0 => Ok(value),
        _ => Err(Fault { done: 0 }),
    }
}

/// Writes a word at any alignment; if it is aligned, by one access. Ordering: none.
///
/// A word that crosses a page boundary may be written in part.
///
/// # Safety
///
/// As [`copy_to`].
#[inline]
pub unsafe fn store<T: Word>(dst: *mut T, value: T) -> Result<(), Fault> {
    match T::store(dst as *mut c_void, value) {
        0 => Ok(()),
        _ => Err(Fault { done: 0 }),
    }
}
