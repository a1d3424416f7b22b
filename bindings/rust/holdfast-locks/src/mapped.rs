// SPDX-License-Identifier: MIT
//! `MappedFile`: a file in memory that another process may truncate.

use std::fmt;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::os::unix::io::AsRawFd;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use holdfast_sys as sys;

use crate::nofault;

/// A part of a file is missing, because the file was truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The offset of the first missing byte, exactly. All bytes before it were there.
    pub offset: usize,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the file was truncated: it ends before offset {}", self.offset)
    }
}

impl std::error::Error for Lost {}

impl From<Lost> for io::Error {
    fn from(lost: Lost) -> io::Error {
        io::Error::new(io::ErrorKind::UnexpectedEof, lost)
    }
}

/// A file that is mapped for reading and that others may truncate. Reads then return an `Err` with
/// the exact offset; there is no SIGBUS.
///
/// [`read_at`](MappedFile::read_at) copies a part. [`with`](MappedFile::with) runs code over the
/// mapping, and returns its result only if the whole file was still there at the end.
///
/// ```
/// use holdfast_locks::MappedFile;
///
/// # let path = std::env::temp_dir().join(format!("holdfast-doc-{}", std::process::id()));
/// std::fs::write(&path, b"what is in the file")?;
/// let file = MappedFile::open(&path)?;
/// let sum = file.with(|view| view.bytes().iter().map(|byte| u32::from(byte.get())).sum::<u32>());
/// assert_eq!(sum, Ok(b"what is in the file".iter().map(|&byte| u32::from(byte)).sum()));
///
/// std::fs::write(&path, b"what")?; // truncated
/// let lost = file.with(|view| view.bytes().len()).unwrap_err();
/// assert_eq!(lost.offset, 4);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Safety: other processes may write to the file at any time, but a `&[u8]` promises the compiler
/// that its bytes do not change. So no safe function lends one: `with` lends [`FileByte`]s, each of
/// which is read as an atomic, and copies. For code that needs a `&[u8]` (a hash function, a
/// parser) there is [`with_slice`](MappedFile::with_slice), which is `unsafe`: its caller promises
/// that nobody writes.
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    base: *mut u8, // null: an empty file
    len: usize,
    /// After a loss the file could not be mapped again, so the mapping reads as zeros.
    broken: AtomicBool,
}

// SAFETY: only the atomic flag changes; all threads of the process share the mapping.
unsafe impl Send for MappedFile {}
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Opens a file for reading, and maps all of it.
    ///
    /// # Errors
    ///
    /// Those of [`File::open`] and of [`from_file`](MappedFile::from_file).
    pub fn open(path: impl AsRef<Path>) -> io::Result<MappedFile> {
        MappedFile::from_file(File::open(path)?)
    }

    /// Maps all of a file that is open for reading, with its present length. Installs the signal
    /// handler of [`nofault`].
    ///
    /// # Errors
    ///
    /// The file is not regular, or too long to be mapped; those of `mmap()` and of
    /// [`nofault::install`].
    pub fn from_file(file: File) -> io::Result<MappedFile> {
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let len = usize::try_from(about.len())
            .map_err(|_| io::Error::new(io::ErrorKind::OutOfMemory, "too long to be mapped"))?;
        nofault::install()?;
        let mut base = ptr::null_mut();
        if len != 0 {
            // SAFETY: the kernel chooses the address of the new mapping.
            base = unsafe {
                libc::mmap(
                    ptr::null_mut(),
                    len,
                    libc::PROT_READ,
                    libc::MAP_SHARED,
                    file.as_raw_fd(),
                    0,
                )
            };
            if base == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(MappedFile { file, base: base as *mut u8, len, broken: AtomicBool::new(false) })
    }

    /// Returns the mapping's length in bytes, which is that of the file when it was mapped.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the file was empty when it was mapped.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies a part of the file. Each call queries the file's length; for many parts one
    /// [`with`](MappedFile::with) is cheaper.
    ///
    /// # Errors
    ///
    /// The part reaches beyond the end of the file or of the mapping; `dst` then has undefined
    /// content.
    pub fn read_at(&self, offset: usize, dst: &mut [u8]) -> Result<(), Lost> {
        if self.len.saturating_sub(offset) < dst.len() || offset > self.len {
            return Err(Lost { offset: self.len });
        }
        self.region(offset, dst.len(), |view| view.read_at(0, dst))?
            .map_err(|lost| Lost { offset: offset + lost.offset })
    }

    /// Runs code over the mapping. A page that is lost meanwhile reads as zeros. If one was lost,
    /// or if the file is shorter than the mapping at the end, the result is dropped.
    ///
    /// The view can leave neither the closure nor this thread:
    ///
    /// ```compile_fail
    /// # let file = holdfast_locks::MappedFile::open("/etc/passwd").unwrap();
    /// let bytes = file.with(|view| view.bytes()).unwrap();
    /// ```
    ///
    /// ```compile_fail,E0277
    /// # let file = holdfast_locks::MappedFile::open("/etc/passwd").unwrap();
    /// file.with(|view| {
    ///     std::thread::scope(|scope| {
    ///         scope.spawn(|| view.bytes()[0].get());
    ///     });
    /// });
    /// ```
    ///
    /// # Errors
    ///
    /// The file was truncated.
    pub fn with<R>(&self, f: impl for<'a> FnOnce(View<'a>) -> R) -> Result<R, Lost> {
        self.region(0, self.len, f)
    }

    /// As [`with`](MappedFile::with), for code that needs a slice.
    ///
    /// # Errors
    ///
    /// The file was truncated, and `f` may have read zeros.
    ///
    /// # Safety
    ///
    /// While `f` runs, nobody in this process or another writes to the file, except to truncate it,
    /// and no other thread gets the slice. `f` must tolerate that bytes become zeros between two
    /// reads: it must not check a part and later rely on the check, as `str::from_utf8_unchecked`
    /// and unchecked indexing do. Hash functions, `memchr` and parsers in safe Rust are fine.
    pub unsafe fn with_slice<R>(&self, f: impl for<'a> FnOnce(&'a [u8]) -> R) -> Result<R, Lost> {
        self.region(0, self.len, |view| {
            let bytes = view.bytes;
            // SAFETY: nobody writes, as the caller promises; faults in the region are recovered.
            f(std::slice::from_raw_parts(bytes.as_ptr() as *const u8, bytes.len()))
        })
    }

    /// Runs `f` in a region of this thread over the part, which must be in the mapping.
    fn region<R>(
        &self,
        offset: usize,
        len: usize,
        f: impl for<'a> FnOnce(View<'a>) -> R,
    ) -> Result<R, Lost> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(Lost { offset });
        }
        if len == 0 {
            return Ok(f(View { bytes: &[] }));
        }
        // SAFETY: the part is in the mapping.
        let start = unsafe { self.base.add(offset) };
        let raw = sys::hf_region_t::new();
        // SAFETY: the arguments are those with which the mapping was made. `open` ends the region
        // before `raw` is dropped, also after a panic; file and mapping are borrowed for longer.
        let error = unsafe {
            sys::hf_region_begin_file(
                raw.get(),
                start as *const c_void,
                len,
                libc::PROT_READ,
                libc::MAP_SHARED,
                self.file.as_raw_fd(),
                offset as u64,
            )
        };
        assert_eq!(error, 0, "hf_region_begin_file() refused a part of the mapping");
        let open = Region(&raw);
        // SAFETY: the part is mapped; lost pages read as zeros until the region ends, and the view
        // does not live longer. Others may write: each byte is read as an atomic.
        let bytes = unsafe { std::slice::from_raw_parts(start as *const FileByte, len) };
        let result = f(View { bytes });
        let fault = open.end();
        if fault.error != 0 {
            self.broken.store(true, Ordering::Relaxed);
        }
        if fault.bad < len {
            return Err(Lost { offset: offset + fault.bad });
        }
        Ok(result)
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        if !self.base.is_null() {
            // SAFETY: this object owns the mapping; an open region would borrow self.
            unsafe { libc::munmap(self.base as *mut c_void, self.len) };
        }
    }
}

impl AsRef<File> for MappedFile {
    fn as_ref(&self) -> &File {
        &self.file
    }
}

/// An open region of this thread, which ends once, also after a panic.
struct Region<'a>(&'a sys::hf_region_t);

impl Region<'_> {
    fn end(self) -> sys::hf_region_fault {
        let mut fault = sys::hf_region_fault::default();
        // SAFETY: this thread began the region, and drop() is not called.
        unsafe { sys::hf_region_end(self.0.get(), &mut fault) };
        std::mem::forget(self);
        fault
    }
}

impl Drop for Region<'_> {
    fn drop(&mut self) {
        // SAFETY: this thread began the region.
        unsafe { sys::hf_region_end(self.0.get(), ptr::null_mut()) };
    }
}

/// One byte of a mapped file, which others may change at any time.
#[repr(transparent)]
pub struct FileByte {
    byte: AtomicU8,
    in_thread: PhantomData<*mut ()>,
}

impl FileByte {
    /// Reads the byte. Ordering: none.
    #[inline]
    pub fn get(&self) -> u8 {
        self.byte.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for FileByte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// A mapping, for as long as [`MappedFile::with`] runs.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    bytes: &'a [FileByte],
}

impl<'a> View<'a> {
    /// Returns all bytes of the mapping.
    #[inline]
    pub fn bytes(&self) -> &'a [FileByte] {
        self.bytes
    }

    /// Returns the length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether the mapping is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Copies a part, with the fast copy of [`nofault`].
    ///
    /// # Errors
    ///
    /// The part is not in the mapping, or pages of it were lost; the offset is that of the first
    /// byte not copied. Truncation within a page is detected only by [`MappedFile::with`].
    pub fn read_at(&self, offset: usize, dst: &mut [u8]) -> Result<(), Lost> {
        let from = match self.bytes.get(offset..).and_then(|bytes| bytes.get(..dst.len())) {
            Some(from) => from.as_ptr() as *const u8,
            None => return Err(Lost { offset: self.bytes.len() }),
        };
        // SAFETY: Rust has no `&mut` to the mapping, so it may be read, and `dst` is not in it.
        unsafe { nofault::copy(dst, from) }.map_err(|fault| Lost { offset: offset + fault.done })
    }
}
