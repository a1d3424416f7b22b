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

/// A part of a file that was not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The first offset in the file that was not there, to the byte. Everything before was.
    pub offset: usize,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the file was truncated: nothing at offset {}", self.offset)
    }
}

impl std::error::Error for Lost {}

impl From<Lost> for io::Error {
    fn from(lost: Lost) -> io::Error {
        io::Error::new(io::ErrorKind::UnexpectedEof, lost)
    }
}

/// A file that is mapped for reading, and may be truncated by others: that is an `Err`, with the
/// exact offset, and no SIGBUS.
///
/// [`read_at`](MappedFile::read_at) copies a part. [`with`](MappedFile::with) runs code over the
/// mapping; its result is only believed if the whole file was still there at the end.
///
/// ```
/// use holdfast::MappedFile;
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
/// What is safe here, and why. The file is others' too: they may write to it at any time. A `&[u8]`
/// promises to the compiler that its bytes stay as they are, so no safe function lends one: `with`
/// lends [`FileByte`]s, which are read one by one as atomic words are, and copies. Code that needs
/// a `&[u8]` (a hash function, a parser) is for [`with_slice`](MappedFile::with_slice), which is
/// `unsafe`: there the caller states that nobody writes.
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    base: *mut u8, // null: an empty file
    len: usize,
    /// The file could not be mapped again after a loss: zeros stand for it.
    broken: AtomicBool,
}

// SAFETY: nothing of it changes but an atomic flag; the mapping is of the process.
unsafe impl Send for MappedFile {}
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Opens a file for reading, and maps all of it.
    ///
    /// # Errors
    ///
    /// Those of opening and of [`from_file`](MappedFile::from_file).
    pub fn open(path: impl AsRef<Path>) -> io::Result<MappedFile> {
        MappedFile::from_file(File::open(path)?)
    }

    /// Maps all of a file that is open for reading, as long as it is now. Installs the handler of
    /// [`nofault`].
    ///
    /// # Errors
    ///
    /// No regular file; too long for memory; those of `mmap()` and of [`nofault::install`].
    pub fn from_file(file: File) -> io::Result<MappedFile> {
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no regular file"));
        }
        let len = usize::try_from(about.len())
            .map_err(|_| io::Error::new(io::ErrorKind::OutOfMemory, "too long to be mapped"))?;
        nofault::install()?;
        let mut base = ptr::null_mut();
        if len != 0 {
            // SAFETY: a new mapping, wherever there is room.
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

    /// Bytes of the mapping: the file's length when it was mapped.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Was the file empty?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies a part of the file. One call, one look at the file's length: for many parts one
    /// [`with`](MappedFile::with) costs less.
    ///
    /// # Errors
    ///
    /// A part of it is not there, or behind the end of the mapping: what is in `dst` is not the
    /// file's.
    pub fn read_at(&self, offset: usize, dst: &mut [u8]) -> Result<(), Lost> {
        if self.len.saturating_sub(offset) < dst.len() || offset > self.len {
            return Err(Lost { offset: self.len });
        }
        self.region(offset, dst.len(), |view| view.read_at(0, dst))?
            .map_err(|lost| Lost { offset: offset + lost.offset })
    }

    /// Runs code over the mapping. A page that is lost meanwhile reads as zeros, and then, or if
    /// the file is shorter than the mapping at the end, the result is dropped.
    ///
    /// The view stays in the closure, and in this thread:
    ///
    /// ```compile_fail
    /// # let file = holdfast::MappedFile::open("/etc/passwd").unwrap();
    /// let bytes = file.with(|view| view.bytes()).unwrap();
    /// ```
    ///
    /// ```compile_fail,E0277
    /// # let file = holdfast::MappedFile::open("/etc/passwd").unwrap();
    /// file.with(|view| {
    ///     std::thread::scope(|scope| {
    ///         scope.spawn(|| view.bytes()[0].get());
    ///     });
    /// });
    /// ```
    ///
    /// # Errors
    ///
    /// The first offset that was not there.
    pub fn with<R>(&self, f: impl for<'a> FnOnce(View<'a>) -> R) -> Result<R, Lost> {
        self.region(0, self.len, f)
    }

    /// The same for code that needs a slice.
    ///
    /// # Errors
    ///
    /// The first offset that was not there: the file was truncated, and `f` may have read zeros.
    ///
    /// # Safety
    ///
    /// Nobody writes to the file while `f` runs, in this process or another, but to truncate it; no
    /// other thread gets the slice. And `f` must bear that bytes become zeros from one read to the
    /// next: so no code that checks a part and then relies on the check without bounds of its own,
    /// as `str::from_utf8_unchecked` or an index without a check. A hash function, `memchr`, and
    /// parsers in safe Rust do.
    pub unsafe fn with_slice<R>(&self, f: impl for<'a> FnOnce(&'a [u8]) -> R) -> Result<R, Lost> {
        self.region(0, self.len, |view| {
            let bytes = view.bytes;
            // SAFETY: the caller's promise; readable, for faults in the region are recovered.
            f(std::slice::from_raw_parts(bytes.as_ptr() as *const u8, bytes.len()))
        })
    }

    /// A region of this thread over a part of the mapping that is in it, while `f` runs.
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
        // SAFETY: in the mapping.
        let start = unsafe { self.base.add(offset) };
        let raw = sys::hf_region_t::new();
        let mut open = Region { raw: &raw, open: true };
        // SAFETY: as the mapping was made. It is ended before `raw` is gone, also by a panic; the
        // file and the mapping are borrowed for longer.
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
        assert_eq!(error, 0, "a range of the mapping");
        // SAFETY: mapped, and what is lost of it reads as zeros until the region ends, which the
        // view's lifetime does not exceed. Others write to it: each byte is read as an atomic.
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
            // SAFETY: our mapping; no region of it is open, for that would borrow self.
            unsafe { libc::munmap(self.base as *mut c_void, self.len) };
        }
    }
}

impl AsRef<File> for MappedFile {
    fn as_ref(&self) -> &File {
        &self.file
    }
}

/// Ends a region once.
struct Region<'a> {
    raw: &'a sys::hf_region_t,
    open: bool,
}

impl Region<'_> {
    fn end(&mut self) -> sys::hf_region_fault {
        let mut fault = sys::hf_region_fault::default();
        if self.open {
            self.open = false;
            // SAFETY: begun by this thread.
            unsafe { sys::hf_region_end(self.raw.get(), &mut fault) };
        }
        fault
    }
}

impl Drop for Region<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// One byte of a mapped file, which others may change at any time.
#[repr(transparent)]
pub struct FileByte {
    byte: AtomicU8,
    in_thread: PhantomData<*mut ()>,
}

impl FileByte {
    /// What it is now. Ordering: none.
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
    /// All of it.
    #[inline]
    pub fn bytes(&self) -> &'a [FileByte] {
        self.bytes
    }

    /// Bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Is there none?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Copies a part, by the fast copy of [`nofault`].
    ///
    /// # Errors
    ///
    /// The part is not in the mapping, or was lost: the offset of the first byte that was not
    /// copied. That the file became shorter within a page only [`MappedFile::with`] itself finds
    /// out.
    pub fn read_at(&self, offset: usize, dst: &mut [u8]) -> Result<(), Lost> {
        let from = match self.bytes.get(offset..).and_then(|bytes| bytes.get(..dst.len())) {
            Some(from) => from.as_ptr() as *const u8,
            None => return Err(Lost { offset: self.bytes.len() }),
        };
        // SAFETY: our mapping, of which Rust has no reference that forbids reading; `dst` is not in
        // it, for nobody has a `&mut` to that.
        unsafe { nofault::copy(dst, from) }.map_err(|fault| Lost { offset: offset + fault.done })
    }
}
