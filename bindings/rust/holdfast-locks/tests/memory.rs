// SPDX-License-Identifier: MIT
//! Tests nofault and MappedFile: reported offsets are exact, and other handlers get their faults.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use holdfast_locks::nofault::{self, Fault};
use holdfast_locks::{Lost, MappedFile};

fn page() -> usize {
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// A page filled with ones, followed by an inaccessible page.
struct Pages(*mut u8);

impl Pages {
    fn new() -> Pages {
        nofault::install().unwrap();
        unsafe {
            let both = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let base = libc::mmap(ptr::null_mut(), 2 * page(), both, flags, -1, 0);
            assert_ne!(base, libc::MAP_FAILED);
            assert_eq!(
                libc::mprotect(base.cast::<u8>().add(page()).cast(), page(), libc::PROT_NONE),
                0
            );
            ptr::write_bytes(base.cast::<u8>(), 1, page());
            Pages(base.cast())
        }
    }

    /// The address that many bytes before the end of the first page.
    fn before_end(&self, bytes: usize) -> *mut u8 {
        unsafe { self.0.add(page() - bytes) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        unsafe { libc::munmap(self.0.cast(), 2 * page()) };
    }
}

#[test]
fn faults_are_exact() {
    let pages = Pages::new();
    for there in 0..70usize {
        let at = pages.before_end(there);
        let left = |done: usize, len: usize| if done < len { Err(Fault { done }) } else { Ok(()) };
        for len in [0, 1, 8, 33, there, there + 1, there + 40] {
            let done = there.min(len);
            let mut to = vec![9u8; len];
            unsafe {
                assert_eq!(nofault::copy(&mut to, at), left(done, len));
                assert!(
                    to[..done].iter().all(|&byte| byte == 1) && to[done..].iter().all(|&b| b == 9)
                );
                assert_eq!(nofault::copy_safe(&mut to, at), left(done, len));
                assert_eq!(nofault::copy_to(at, &vec![2; len]), left(done, len));
                assert_eq!(nofault::clear(at, len), left(done, len));
                assert_eq!(nofault::copy_between(to.as_mut_ptr(), at, len), left(done, len));
                assert!(to[..done].iter().all(|&byte| byte == 0));
                assert_eq!(nofault::fill(at, 1, len), left(done, len));
            }
        }
    }
}

#[test]
fn words() {
    let pages = Pages::new();
    macro_rules! check {
        ($($word:ident)*) => {$(
            let size = std::mem::size_of::<$word>();
            let last = pages.before_end(size).cast::<$word>();
            let gone = unsafe { last.add(1) };
            unsafe {
                assert_eq!(nofault::store(last, $word::MAX - 7), Ok(()));
                assert_eq!(nofault::load(last), Ok($word::MAX - 7));
                assert_eq!(nofault::load(gone), Err(Fault { done: 0 }));
                assert_eq!(nofault::store(gone, 1), Err(Fault { done: 0 }));
            }
        )*};
    }
    check!(u8 u16 u32 u64 i8 i16 i32 i64);
    assert!(nofault::is_owned());
}

#[test]
fn safe_with_signals_blocked() {
    let pages = Pages::new();
    let at = pages.before_end(10) as usize;
    thread::spawn(move || unsafe {
        let mut set = std::mem::zeroed();
        libc::sigfillset(&mut set);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, ptr::null_mut());
        let fault = nofault::copy_safe(&mut [0; 20], at as *const u8).unwrap_err();
        assert_eq!(fault.done, 10);
    })
    .join()
    .unwrap();
}

/// A null pointer dereference still ends the process, and Rust still reports a stack overflow.
#[test]
fn other_faults_are_as_before() {
    if let Ok(how) = env::var("HOLDFAST_TEST_DIE") {
        nofault::install().unwrap();
        match how.as_str() {
            "bug" => unsafe {
                ptr::null::<u8>().wrapping_add(16).read_volatile();
            },
            _ => {
                #[allow(unconditional_recursion)]
                fn deep(depth: u64) -> u64 {
                    let room = [depth; 100];
                    deep(depth + 1) + unsafe { (&room[99] as *const u64).read_volatile() }
                }
                deep(0);
            }
        }
        unreachable!();
    }
    let run = |how: &str| {
        Command::new(env::current_exe().unwrap())
            .args(["--exact", "other_faults_are_as_before", "--nocapture"])
            .env("HOLDFAST_TEST_DIE", how)
            .output()
            .unwrap()
    };
    use std::os::unix::process::ExitStatusExt;
    let bug = run("bug");
    assert_eq!(bug.status.signal(), Some(libc::SIGSEGV), "{:?}", bug);
    let full = run("stack");
    assert_eq!(full.status.signal(), Some(libc::SIGABRT), "{:?}", full);
    assert!(
        String::from_utf8_lossy(&full.stderr).contains("has overflowed its stack"),
        "{:?}",
        full
    );
}

/// A file that is removed at the end of the test.
struct Temporary(PathBuf);

impl Temporary {
    fn new(content: &[u8]) -> Temporary {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("holdfast-test-{}-{}", std::process::id(), number);
        let path = env::temp_dir().join(name);
        fs::write(&path, content).unwrap();
        Temporary(path)
    }

    fn truncate(&self, len: usize) {
        OpenOptions::new().write(true).open(&self.0).unwrap().set_len(len as u64).unwrap();
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn lost(file: &MappedFile) -> Option<usize> {
    let sum = |view: holdfast_locks::View<'_>| {
        view.bytes().iter().map(|b| u64::from(b.get())).sum::<u64>()
    };
    file.with(sum).err().map(|lost| lost.offset)
}

#[test]
fn reads_what_is_there() {
    let content: Vec<u8> = (0..10_000u32).map(|at| (at % 251) as u8).collect();
    let temporary = Temporary::new(&content);
    let file = MappedFile::open(&temporary.0).unwrap();
    assert_eq!((file.len(), file.is_empty()), (content.len(), false));
    let copied = file.with(|view| view.bytes().iter().map(|byte| byte.get()).collect::<Vec<u8>>());
    assert_eq!(copied.as_ref(), Ok(&content));
    let same = unsafe { file.with_slice(|bytes| bytes == &content[..]) };
    assert_eq!(same, Ok(true));
    let mut part = [0; 300];
    file.read_at(4_000, &mut part).unwrap();
    assert_eq!(part[..], content[4_000..4_300]);
    file.with(|view| view.read_at(9_700, &mut part)).unwrap().unwrap();
    assert_eq!(part[..], content[9_700..]);
    assert_eq!(file.read_at(9_701, &mut part).unwrap_err().offset, content.len());
    assert_eq!(file.read_at(usize::MAX, &mut part).unwrap_err().offset, content.len());
    assert_eq!(file.read_at(content.len(), &mut []), Ok(()));
    let view_error = file.with(|view| view.read_at(usize::MAX, &mut part)).unwrap();
    assert_eq!(view_error.unwrap_err().offset, content.len());
}

#[test]
fn truncated_before() {
    let whole = 5 * page();
    for len in [0, 1, page() - 1, page(), page() + 17, 3 * page(), whole - 1] {
        let temporary = Temporary::new(&vec![7; whole]);
        let file = MappedFile::open(&temporary.0).unwrap();
        assert_eq!(lost(&file), None);
        temporary.truncate(len);
        for _ in 0..2 {
            assert_eq!(lost(&file), Some(len));
            let all =
                unsafe { file.with_slice(|bytes| bytes.iter().filter(|&&byte| byte == 7).count()) };
            assert_eq!(all.unwrap_err().offset, len);
        }
        // A read up to the new end works; a read of one byte more fails and reports the end.
        let mut part = vec![0; len];
        file.read_at(0, &mut part).unwrap();
        assert!(part.iter().all(|&byte| byte == 7));
        part.push(0);
        assert_eq!(file.read_at(0, &mut part).unwrap_err().offset, len);
        assert_eq!(file.read_at(len, &mut [0]).unwrap_err().offset, len);
        // When the file has its old length again, all of it can be read.
        fs::write(&temporary.0, vec![8; whole]).unwrap();
        assert_eq!(file.with(|view| view.bytes()[whole - 1].get()), Ok(8));
    }
}

#[test]
fn truncated_meanwhile() {
    let temporary = Temporary::new(&vec![7; 4 * page()]);
    let file = MappedFile::open(&temporary.0).unwrap();
    let mut seen = (0, 0);
    let result = file.with(|view| {
        let bytes = view.bytes();
        seen.0 = bytes[3 * page()].get();
        temporary.truncate(page() + 5);
        seen.1 = bytes[3 * page()].get();
    });
    assert_eq!((seen, result.unwrap_err().offset), ((7, 0), page() + 5));
    let error = io::Error::from(file.read_at(0, &mut vec![0; 2 * page()]).unwrap_err());
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn a_panic_ends_the_region() {
    let temporary = Temporary::new(&vec![7; 2 * page()]);
    let file = MappedFile::open(&temporary.0).unwrap();
    temporary.truncate(page());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _ = file.with(|view| {
            view.bytes()[page()].get();
            panic!("as meant");
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(lost(&file), Some(page()));
}

#[test]
fn empty_and_irregular() {
    let temporary = Temporary::new(&[]);
    let file = MappedFile::open(&temporary.0).unwrap();
    assert!(file.is_empty());
    assert_eq!(file.with(|view| view.is_empty()), Ok(true));
    assert_eq!(file.read_at(0, &mut [0]).unwrap_err().offset, 0);
    let error = MappedFile::open("/dev/null").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(MappedFile::open("/no/such/file").is_err());
    assert!(MappedFile::from_file(File::create(&temporary.0).unwrap()).is_ok()); // empty: not mapped
    let _: fn(&MappedFile) -> Result<(), Lost> = |file| file.read_at(0, &mut []);
}
