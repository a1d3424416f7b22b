// SPDX-License-Identifier: MIT
//! Compares sizes, alignments, initialisers and constants with those of the linked library.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::mem::{align_of, size_of};

use holdfast_sys::*;

/// The names and values of the library's constants.
fn library() -> BTreeMap<String, i64> {
    (0..)
        .map(|index| unsafe { hf_extern_constant_name(index) })
        .take_while(|name| !name.is_null())
        .map(|name| unsafe {
            (CStr::from_ptr(name).to_str().unwrap().to_owned(), hf_extern_constant(name))
        })
        .collect()
}

#[test]
fn unknown_name() {
    let name = CString::new("HF_NO_SUCH").unwrap();
    assert_eq!(unsafe { hf_extern_constant(name.as_ptr()) }, i64::MIN);
}

#[test]
fn constants() {
    let known = library();
    for (name, value) in CONSTANTS {
        assert_eq!(known.get(*name), Some(value), "{}", name);
    }
    // All others of the library are here, except those that depend on its version and on how it was built.
    let only_there = [
        "HF_VERSION_MAJOR",
        "HF_VERSION_MINOR",
        "HF_VERSION_NUMBER",
        "HF_VERSION_PATCH",
        "HF_LOCKREF_RETRIES",
        "HF_VALIDATE_HELD",
        "HF_VALIDATE_PAIRS",
        "HF_VALIDATE_CLASSED",
        "HF_REPORT_KINDS",
    ];
    for name in known.keys().filter(|name| name.starts_with("HF_")) {
        let here = CONSTANTS.iter().any(|(constant, _)| constant == name);
        assert!(here != only_there.contains(&name.as_str()), "{}", name);
    }
}

#[test]
fn types() {
    let mut known = library();
    macro_rules! check {
        ($($name:literal $kind:ty;)*) => {$(
            assert_eq!(known.remove(concat!("sizeof ", $name)), Some(size_of::<$kind>() as i64), $name);
            assert_eq!(known.remove(concat!("alignof ", $name)), Some(align_of::<$kind>() as i64), $name);
        )*};
    }
    check! {
        "hf_mutex_t" hf_mutex_t;
        "hf_mutex_shared_t" hf_mutex_shared_t;
        "hf_rwlock_t" hf_rwlock_t;
        "hf_mutex_recursive_t" hf_mutex_recursive_t;
        "hf_cond_t" hf_cond_t;
        "hf_cond_shared_t" hf_cond_shared_t;
        "hf_spinlock_t" hf_spinlock_t;
        "hf_spinlock_ticket_t" hf_spinlock_ticket_t;
        "hf_refcount_t" hf_refcount_t;
        "hf_rcuref_t" hf_rcuref_t;
        "hf_lockref_t" hf_lockref_t;
        "hf_lockref_waitfree_t" hf_lockref_waitfree_t;
        "hf_region_t" hf_region_t;
        "struct hf_region_fault" hf_region_fault;
        "struct hf_nofault_fault" hf_nofault_fault;
        "struct hf_iovec" hf_iovec;
        "struct hf_iovec_stop" hf_iovec_stop;
        "struct hf_report_details" hf_report_details;
    }
    let left: Vec<_> = known.keys().filter(|name| name.contains("of ")).collect();
    assert!(left.is_empty(), "not in Rust: {:?}", left);
}

/// The C functions and the `const` initialisers here make the same bytes.
#[test]
fn initialisers() {
    fn bytes<T>(of: &T) -> Vec<u8> {
        let start = of as *const T as *const u8;
        (0..size_of::<T>()).map(|at| unsafe { start.add(at).read_volatile() }).collect()
    }
    macro_rules! check {
        ($($old:expr, $made:expr, $init:ident($($argument:expr),*);)*) => {$(
            let (object, made) = ($old, $made);
            unsafe { $init(object.get(), $($argument),*) };
            assert_eq!(bytes(&object), bytes(&made), stringify!($init));
        )*};
    }
    check! {
        hf_mutex_t::from_words([7]), hf_mutex_t::INIT, hf_mutex_init();
        hf_mutex_shared_t::from_words([7]), hf_mutex_shared_t::INIT, hf_mutex_shared_init();
        hf_rwlock_t::from_words([7]), hf_rwlock_t::INIT, hf_rwlock_init();
        hf_mutex_recursive_t::from_words([7, 7]), hf_mutex_recursive_t::INIT, hf_mutex_recursive_init();
        hf_cond_t::from_words([7]), hf_cond_t::INIT, hf_cond_init();
        hf_cond_shared_t::from_words([7]), hf_cond_shared_t::INIT, hf_cond_shared_init();
        hf_spinlock_ticket_t::from_words([7; 2]), hf_spinlock_ticket_t::INIT, hf_spinlock_ticket_init();
        hf_spinlock_t::from_words([7]), hf_spinlock_t::INIT, hf_spinlock_init();
        hf_refcount_t::new(7), hf_refcount_t::new(1), hf_refcount_set(1);
        hf_rcuref_t::new(7), hf_rcuref_t::new(3), hf_rcuref_init(3);
        hf_rcuref_t::new(7), hf_rcuref_t::new(0), hf_rcuref_init(0);
        hf_lockref_t::new(7), hf_lockref_t::new(2), hf_lockref_init(2);
        hf_lockref_waitfree_t::new(7), hf_lockref_waitfree_t::new(2), hf_lockref_waitfree_init(2);
    }
}
