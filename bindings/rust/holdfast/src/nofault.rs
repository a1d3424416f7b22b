// SPDX-License-Identifier: MIT
//! Memory that may not be there: copy, clear, load and store, and a fault is an `Err`.
//!
//! For a mapping whose file can be truncated, a page of a guest, an address from a plug-in or a
//! script. Not to hide a bug. For a mapped file [`MappedFile`](crate::MappedFile) is the safe way.
//!
//! # What is safe, and what is not
//!
//! A fault can't do harm here: it is an `Err`, and says to the byte how far the operation came. All
//! the same these functions are `unsafe`, the reading ones too, because an address that *is* mapped
//! may belong to anything:
//!
//! * Rust code may hold a `&mut` to it. A read by others breaks what that promises to the compiler,
//!   however the read is made.
//! * It may be a device's registers, or memory of a `userfaultfd`: there, reading does something.
//! * A write to memory that is not the caller's is never safe.
//!
//! What the caller need not care about, because the accesses are made by the library's own
//! instructions and not by Rust's: that the memory is mapped, aligned, initialised, or of any type;
//! and that other processes, or others in this one who use atomic operations or this module, write
//! to it at the same time. What was read then is a mixture of old and new bytes.
//!
//! # The handler
//!
//! [`install`] takes over SIGSEGV and SIGBUS. It passes on what is not its own: Rust's message for
//! a stack overflow still comes. Both signals must not be blocked where this module is used, but
//! for [`copy_safe`]; and a thread's alternate signal stack, if it has one, needs room for
//! `getauxval(AT_MINSIGSTKSZ)` + 1024 bytes, as those that `std` makes have.

use std::fmt;
use std::io;
use std::os::raw::c_void;

use holdfast_sys as sys;

/// An operation that met memory that it could not access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Bytes that were done before: exactly. None at or after it was touched.
    pub done: usize,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "memory that could not be accessed, after {} bytes", self.done)
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> io::Error {
        io::Error::new(io::ErrorKind::Other, fault)
    }
}

/// What the functions return: bytes not done.
fn result(len: usize, left: usize) -> Result<(), Fault> {
    if left == 0 {
        Ok(())
    } else {
        Err(Fault { done: len - left })
    }
}

/// Recover faults from now on. Call it once, early: a second call does nothing where the signals
/// are still ours. Without it a fault ends the process, as it would without this library.
///
/// # Errors
///
/// Of `sigaction()`; nothing is changed then.
pub fn install() -> io::Result<()> {
    match unsafe { sys::hf_nofault_install() } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// Do SIGSEGV and SIGBUS still come to our handler first?
pub fn is_owned() -> bool {
    unsafe { sys::hf_nofault_owned() }
}

/// Copies from memory that may fault. Ordering: none.
///
/// ```
/// use holdfast::nofault;
///
/// nofault::install().unwrap();
/// let mut to = [0; 4];
/// // SAFETY: nothing is mapped there.
/// let fault = unsafe { nofault::copy(&mut to, 16 as *const u8) }.unwrap_err();
/// assert_eq!(fault.done, 0);
/// ```
///
/// # Errors
///
/// The bytes before the fault are in `dst`, the rest of `dst` is as it was.
///
/// # Safety
///
/// What of `src..src + dst.len()` is mapped may be read by the caller at this moment: no `&mut` of
/// others is to it, and reading it does nothing else. It does not overlap `dst`.
pub unsafe fn copy(dst: &mut [u8], src: *const u8) -> Result<(), Fault> {
    let len = dst.len();
    result(len, sys::hf_copy_nofault(dst.as_mut_ptr() as *mut c_void, src as *const c_void, len))
}

/// Copies to memory that may fault. Ordering: none.
///
/// # Errors
///
/// The bytes before the fault are written, nothing at or after it.
///
/// # Safety
///
/// What of `dst..dst + src.len()` is mapped may be written by the caller at this moment, with any
/// bytes. It does not overlap `src`.
pub unsafe fn copy_to(dst: *mut u8, src: &[u8]) -> Result<(), Fault> {
    let len = src.len();
    result(len, sys::hf_copy_nofault(dst as *mut c_void, src.as_ptr() as *const c_void, len))
}

/// Copies between two places that both may fault. Ordering: none.
///
/// # Errors
///
/// As [`copy_to`]. A `load` of either side tells which one faulted.
///
/// # Safety
///
/// That of [`copy`] for the source and of [`copy_to`] for the destination.
pub unsafe fn copy_between(dst: *mut u8, src: *const u8, len: usize) -> Result<(), Fault> {
    result(len, sys::hf_copy_nofault(dst as *mut c_void, src as *const c_void, len))
}

/// As [`copy`], also in a signal handler of SIGSEGV or SIGBUS, or where these are blocked, and
/// without [`install`]: it asks the system where it must. Async-signal-safe.
///
/// # Errors
///
/// As [`copy`].
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
/// # Errors
///
/// The bytes before the fault are 0, nothing at or after it is written.
///
/// # Safety
///
/// What of `dst..dst + len` is mapped may be written by the caller at this moment, with zeros.
pub unsafe fn clear(dst: *mut u8, len: usize) -> Result<(), Fault> {
    result(len, sys::hf_clear_nofault(dst as *mut c_void, len))
}

/// Fills memory that may fault. As [`clear`].
///
/// # Errors
///
/// As [`clear`].
///
/// # Safety
///
/// As [`clear`], with that byte.
pub unsafe fn fill(dst: *mut u8, byte: u8, len: usize) -> Result<(), Fault> {
    result(len, sys::hf_fill_nofault(dst as *mut c_void, byte, len))
}

/// The integers of 8 to 64 bits: what [`load`] and [`store`] take.
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

/// Reads one word, of any alignment; by one access where it is aligned. Ordering: none.
///
/// # Errors
///
/// It can't be read.
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

/// Writes one word, of any alignment; by one access where it is aligned. Ordering: none.
///
/// # Errors
///
/// It can't be written. A word that lies on two pages may be written in part.
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
