// SPDX-License-Identifier: MIT
// Made by bindings/rust/generate.py from the C headers. Not to be edited.

use super::*;

functions! {
    "holdfast/cond.h" {
        fn hf_cond_broadcast(cond: *mut hf_cond_t);
        fn hf_cond_init(cond: *mut hf_cond_t);
        fn hf_cond_shared_broadcast(cond: *mut hf_cond_shared_t, mutex: *mut hf_mutex_shared_t);
        fn hf_cond_shared_init(cond: *mut hf_cond_shared_t);
        fn hf_cond_shared_signal(cond: *mut hf_cond_shared_t);
        fn hf_cond_shared_wait(cond: *mut hf_cond_shared_t, mutex: *mut hf_mutex_shared_t);
        fn hf_cond_shared_wait_timeout(cond: *mut hf_cond_shared_t, mutex: *mut hf_mutex_shared_t, timeout: u64) -> bool;
        fn hf_cond_shared_wait_until(cond: *mut hf_cond_shared_t, mutex: *mut hf_mutex_shared_t, deadline: u64) -> bool;
        fn hf_cond_signal(cond: *mut hf_cond_t);
        fn hf_cond_wait(cond: *mut hf_cond_t, mutex: *mut hf_mutex_t);
        fn hf_cond_wait_timeout(cond: *mut hf_cond_t, mutex: *mut hf_mutex_t, timeout: u64) -> bool;
        fn hf_cond_wait_until(cond: *mut hf_cond_t, mutex: *mut hf_mutex_t, deadline: u64) -> bool;
    }
    "holdfast/extern.h" {
        fn hf_extern_constant(arg0: *const c_char) -> i64;
        fn hf_extern_constant_name(arg0: usize) -> *const c_char;
    }
    "holdfast/lockref.h" {
        fn hf_lockref_get(l: *mut hf_lockref_t);
        fn hf_lockref_get_not_dead(l: *mut hf_lockref_t) -> bool;
        fn hf_lockref_get_not_zero(l: *mut hf_lockref_t) -> bool;
        fn hf_lockref_init(l: *mut hf_lockref_t, count: i32);
        fn hf_lockref_is_dead(l: *const hf_lockref_t) -> bool;
        fn hf_lockref_lock(l: *mut hf_lockref_t);
        fn hf_lockref_mark_dead(l: *mut hf_lockref_t);
        fn hf_lockref_put_not_zero(l: *mut hf_lockref_t) -> bool;
        fn hf_lockref_put_or_lock(l: *mut hf_lockref_t) -> bool;
        fn hf_lockref_put_return(l: *mut hf_lockref_t) -> i32;
        fn hf_lockref_read(l: *const hf_lockref_t) -> i32;
        fn hf_lockref_set_count(l: *mut hf_lockref_t, count: i32);
        fn hf_lockref_trylock(l: *mut hf_lockref_t) -> bool;
        fn hf_lockref_unlock(l: *mut hf_lockref_t);
    }
    "holdfast/lockref_waitfree.h" {
        fn hf_lockref_waitfree_get(l: *mut hf_lockref_waitfree_t);
        fn hf_lockref_waitfree_get_not_dead(l: *mut hf_lockref_waitfree_t) -> bool;
        fn hf_lockref_waitfree_get_not_dead_acquire(l: *mut hf_lockref_waitfree_t) -> bool;
        fn hf_lockref_waitfree_init(l: *mut hf_lockref_waitfree_t, count: i32);
        fn hf_lockref_waitfree_is_dead(l: *const hf_lockref_waitfree_t) -> bool;
        fn hf_lockref_waitfree_lock(l: *mut hf_lockref_waitfree_t);
        fn hf_lockref_waitfree_mark_dead(l: *mut hf_lockref_waitfree_t, count: i32) -> bool;
        fn hf_lockref_waitfree_put_or_lock(l: *mut hf_lockref_waitfree_t) -> bool;
        fn hf_lockref_waitfree_put_return(l: *mut hf_lockref_waitfree_t) -> i32;
        fn hf_lockref_waitfree_read(l: *const hf_lockref_waitfree_t) -> i32;
        fn hf_lockref_waitfree_revive(l: *mut hf_lockref_waitfree_t, count: i32) -> bool;
        fn hf_lockref_waitfree_trylock(l: *mut hf_lockref_waitfree_t) -> bool;
        fn hf_lockref_waitfree_unlock(l: *mut hf_lockref_waitfree_t);
    }
    "holdfast/mutex.h" {
        fn hf_mutex_init(mutex: *mut hf_mutex_t);
        fn hf_mutex_is_locked(mutex: *const hf_mutex_t) -> bool;
        fn hf_mutex_lock(mutex: *mut hf_mutex_t);
        fn hf_mutex_lock_timeout(mutex: *mut hf_mutex_t, timeout: u64) -> bool;
        fn hf_mutex_shared_init(mutex: *mut hf_mutex_shared_t);
        fn hf_mutex_shared_is_locked(mutex: *const hf_mutex_shared_t) -> bool;
        fn hf_mutex_shared_lock(mutex: *mut hf_mutex_shared_t);
        fn hf_mutex_shared_lock_timeout(mutex: *mut hf_mutex_shared_t, timeout: u64) -> bool;
        fn hf_mutex_shared_trylock(mutex: *mut hf_mutex_shared_t) -> bool;
        fn hf_mutex_shared_unlock(mutex: *mut hf_mutex_shared_t);
        fn hf_mutex_trylock(mutex: *mut hf_mutex_t) -> bool;
        fn hf_mutex_unlock(mutex: *mut hf_mutex_t);
    }
    "holdfast/mutex_recursive.h" {
        fn hf_mutex_recursive_init(mutex: *mut hf_mutex_recursive_t);
        fn hf_mutex_recursive_is_mine(mutex: *const hf_mutex_recursive_t) -> bool;
        fn hf_mutex_recursive_lock(mutex: *mut hf_mutex_recursive_t);
        fn hf_mutex_recursive_lock_timeout(mutex: *mut hf_mutex_recursive_t, timeout: u64) -> bool;
        fn hf_mutex_recursive_trylock(mutex: *mut hf_mutex_recursive_t) -> bool;
        fn hf_mutex_recursive_unlock(mutex: *mut hf_mutex_recursive_t);
        fn hf_mutex_recursive_wait_until(mutex: *mut hf_mutex_recursive_t, cond: *mut hf_cond_t, deadline: u64) -> bool;
    }
    "holdfast/nofault_copy.h" {
        fn hf_clear_chosen() -> *const c_char;
        fn hf_clear_nofault(dst: *mut c_void, len: usize) -> usize;
        fn hf_copy_chosen() -> *const c_char;
        fn hf_copy_from_nofault(dst: *mut c_void, src: *const c_void, len: usize) -> usize;
        fn hf_copy_nofault(dst: *mut c_void, src: *const c_void, len: usize) -> usize;
        fn hf_copy_to_nofault(dst: *mut c_void, src: *const c_void, len: usize) -> usize;
        fn hf_strncpy_nofault(arg0: *mut c_char, arg1: *const c_char, arg2: usize) -> c_long;
    }
    "holdfast/nofault_handler.h" {
        fn hf_nofault_check(arg0: *const *const c_char) -> hf_nofault_obstacle;
        fn hf_nofault_handle(arg0: c_int, arg1: *const c_void, arg2: *mut c_void) -> bool;
        fn hf_nofault_install() -> c_int;
        fn hf_nofault_last() -> hf_nofault_fault;
        fn hf_nofault_owned() -> bool;
        fn hf_nofault_remove() -> c_int;
    }
    "holdfast/nofault_memory.h" {
        fn hf_compare_nofault(a: *const c_void, b: *const c_void, len: usize, equal: *mut usize) -> c_int;
        fn hf_copy_iovec_nofault(arg0: *const hf_iovec, arg1: usize, arg2: *const hf_iovec, arg3: usize, arg4: *mut hf_iovec_stop) -> c_long;
        fn hf_copy_nofault_words(arg0: *mut c_void, arg1: *const c_void, arg2: usize) -> usize;
        fn hf_fill_nofault(dst: *mut c_void, value: u8, len: usize) -> usize;
        fn hf_find_nofault(p: *const c_void, byte: u8, len: usize, at: *mut usize) -> c_int;
        fn hf_length_nofault(string: *const c_char, most: usize, length: *mut usize) -> c_int;
        fn hf_move_is_down(dst: *const c_void, src: *const c_void, len: usize) -> bool;
        fn hf_move_nofault(dst: *mut c_void, src: *const c_void, len: usize) -> usize;
    }
    "holdfast/nofault_word.h" {
        fn hf_cmpxchg32_nofault(p: *mut c_void, expected: u32, desired: u32, found: *mut u32) -> c_int;
        fn hf_cmpxchg64_nofault(p: *mut c_void, expected: u64, desired: u64, found: *mut u64) -> c_int;
        fn hf_exchange32_nofault(p: *mut c_void, value: u32, found: *mut u32) -> c_int;
        fn hf_exchange64_nofault(p: *mut c_void, value: u64, found: *mut u64) -> c_int;
        fn hf_fetch_add32_nofault(p: *mut c_void, value: u32, found: *mut u32) -> c_int;
        fn hf_fetch_add64_nofault(p: *mut c_void, value: u64, found: *mut u64) -> c_int;
        fn hf_load16_nofault(value: *mut u16, p: *const c_void) -> c_int;
        fn hf_load32_nofault(value: *mut u32, p: *const c_void) -> c_int;
        fn hf_load64_nofault(value: *mut u64, p: *const c_void) -> c_int;
        fn hf_load8_nofault(value: *mut u8, p: *const c_void) -> c_int;
        fn hf_store16_nofault(p: *mut c_void, value: u16) -> c_int;
        fn hf_store32_nofault(p: *mut c_void, value: u32) -> c_int;
        fn hf_store64_nofault(p: *mut c_void, value: u64) -> c_int;
        fn hf_store8_nofault(p: *mut c_void, value: u8) -> c_int;
    }
    "holdfast/rcuref.h" {
        fn hf_rcuref_get(r: *mut hf_rcuref_t) -> bool;
        fn hf_rcuref_get_acquire(r: *mut hf_rcuref_t) -> bool;
        fn hf_rcuref_headroom(r: *const hf_rcuref_t) -> u32;
        fn hf_rcuref_init(r: *mut hf_rcuref_t, n: u32);
        fn hf_rcuref_init_release(r: *mut hf_rcuref_t, n: u32);
        fn hf_rcuref_put(r: *mut hf_rcuref_t) -> bool;
        fn hf_rcuref_read(r: *const hf_rcuref_t) -> u32;
    }
    "holdfast/refcount.h" {
        fn hf_refcount_add(i: i32, r: *mut hf_refcount_t);
        fn hf_refcount_add_not_zero(i: i32, r: *mut hf_refcount_t) -> bool;
        fn hf_refcount_add_not_zero_acquire(i: i32, r: *mut hf_refcount_t) -> bool;
        fn hf_refcount_add_not_zero_acquire_old(i: i32, r: *mut hf_refcount_t, old: *mut i32) -> bool;
        fn hf_refcount_add_not_zero_old(i: i32, r: *mut hf_refcount_t, old: *mut i32) -> bool;
        fn hf_refcount_add_old(i: i32, r: *mut hf_refcount_t, old: *mut i32);
        fn hf_refcount_dec(r: *mut hf_refcount_t);
        fn hf_refcount_dec_and_test(r: *mut hf_refcount_t) -> bool;
        fn hf_refcount_dec_and_test_old(r: *mut hf_refcount_t, old: *mut i32) -> bool;
        fn hf_refcount_dec_if_one(r: *mut hf_refcount_t) -> bool;
        fn hf_refcount_dec_not_one(r: *mut hf_refcount_t) -> bool;
        fn hf_refcount_dec_old(r: *mut hf_refcount_t, old: *mut i32);
        fn hf_refcount_inc(r: *mut hf_refcount_t);
        fn hf_refcount_inc_not_zero(r: *mut hf_refcount_t) -> bool;
        fn hf_refcount_inc_not_zero_acquire(r: *mut hf_refcount_t) -> bool;
        fn hf_refcount_inc_not_zero_acquire_old(r: *mut hf_refcount_t, old: *mut i32) -> bool;
        fn hf_refcount_inc_not_zero_old(r: *mut hf_refcount_t, old: *mut i32) -> bool;
        fn hf_refcount_inc_old(r: *mut hf_refcount_t, old: *mut i32);
        fn hf_refcount_is_one_acquire(r: *const hf_refcount_t) -> bool;
        fn hf_refcount_read(r: *const hf_refcount_t) -> i32;
        fn hf_refcount_set(r: *mut hf_refcount_t, n: i32);
        fn hf_refcount_set_release(r: *mut hf_refcount_t, n: i32);
        fn hf_refcount_sub_and_test(i: i32, r: *mut hf_refcount_t) -> bool;
        fn hf_refcount_sub_and_test_old(i: i32, r: *mut hf_refcount_t, old: *mut i32) -> bool;
    }
    "holdfast/refcount_lock.h" {
        fn hf_refcount_dec_and_lock(r: *mut hf_refcount_t, lock: *mut hf_spinlock_t) -> bool;
        fn hf_refcount_dec_and_mutex_lock(r: *mut hf_refcount_t, mutex: *mut c_void) -> bool;
    }
    "holdfast/region.h" {
        fn hf_region_begin(arg0: *mut hf_region_t, arg1: *const c_void, arg2: usize) -> c_int;
        fn hf_region_begin_file(arg0: *mut hf_region_t, arg1: *const c_void, arg2: usize, arg3: c_int, arg4: c_int, arg5: c_int, arg6: u64) -> c_int;
        fn hf_region_begin_process(arg0: *mut hf_region_t, arg1: *const c_void, arg2: usize) -> c_int;
        fn hf_region_call(arg0: *const c_void, arg1: usize, arg2: Option<unsafe extern "C" fn(*mut c_void)>, arg3: *mut c_void, arg4: *mut hf_region_fault) -> c_int;
        fn hf_region_end(arg0: *mut hf_region_t, arg1: *mut hf_region_fault) -> usize;
    }
    "holdfast/report.h" {
        fn hf_report(arg0: hf_report_kind, arg1: *const c_void);
        fn hf_report_at(arg0: hf_report_kind, arg1: *const c_void, arg2: *const c_void);
        fn hf_report_count(arg0: hf_report_kind) -> u32;
        fn hf_report_reset();
        fn hf_report_set_details_handler(arg0: hf_report_details_handler_t, arg1: *mut c_void);
        fn hf_report_set_handler(arg0: hf_report_handler_t, arg1: *mut c_void);
        fn hf_report_set_mode(arg0: hf_report_mode) -> hf_report_mode;
        fn hf_report_text(arg0: hf_report_kind) -> *const c_char;
    }
    "holdfast/rwlock.h" {
        fn hf_rwlock_downgrade(lock: *mut hf_rwlock_t);
        fn hf_rwlock_init(lock: *mut hf_rwlock_t);
        fn hf_rwlock_is_write_locked(lock: *const hf_rwlock_t) -> bool;
        fn hf_rwlock_read_lock(lock: *mut hf_rwlock_t);
        fn hf_rwlock_read_lock_timeout(lock: *mut hf_rwlock_t, timeout: u64) -> bool;
        fn hf_rwlock_read_trylock(lock: *mut hf_rwlock_t) -> bool;
        fn hf_rwlock_read_unlock(lock: *mut hf_rwlock_t);
        fn hf_rwlock_write_lock(lock: *mut hf_rwlock_t);
        fn hf_rwlock_write_lock_timeout(lock: *mut hf_rwlock_t, timeout: u64) -> bool;
        fn hf_rwlock_write_trylock(lock: *mut hf_rwlock_t) -> bool;
        fn hf_rwlock_write_unlock(lock: *mut hf_rwlock_t);
    }
    "holdfast/safe.h" {
        fn hf_copy_safe(arg0: *mut c_void, arg1: *const c_void, arg2: usize) -> usize;
        fn hf_load16_safe(value: *mut u16, p: *const c_void) -> c_int;
        fn hf_load32_safe(value: *mut u32, p: *const c_void) -> c_int;
        fn hf_load64_safe(value: *mut u64, p: *const c_void) -> c_int;
        fn hf_load8_safe(value: *mut u8, p: *const c_void) -> c_int;
    }
    "holdfast/spinlock.h" {
        fn hf_spinlock_init(lock: *mut hf_spinlock_t);
        fn hf_spinlock_is_locked(lock: *const hf_spinlock_t) -> bool;
        fn hf_spinlock_lock(lock: *mut hf_spinlock_t);
        fn hf_spinlock_lock_full(lock: *mut hf_spinlock_t);
        fn hf_spinlock_trylock(lock: *mut hf_spinlock_t) -> bool;
        fn hf_spinlock_unlock(lock: *mut hf_spinlock_t);
        fn hf_spinlock_unlock_full(lock: *mut hf_spinlock_t);
        fn hf_spinlock_unlock_in_child(lock: *mut hf_spinlock_t);
    }
    "holdfast/spinlock_ticket.h" {
        fn hf_spinlock_ticket_init(lock: *mut hf_spinlock_ticket_t);
        fn hf_spinlock_ticket_is_locked(lock: *const hf_spinlock_ticket_t) -> bool;
        fn hf_spinlock_ticket_lock(lock: *mut hf_spinlock_ticket_t);
        fn hf_spinlock_ticket_trylock(lock: *mut hf_spinlock_ticket_t) -> bool;
        fn hf_spinlock_ticket_unlock(lock: *mut hf_spinlock_ticket_t);
    }
    "holdfast/validate.h" {
        fn hf_validate_forget(arg0: *const c_void);
        fn hf_validate_is_held(arg0: *const c_void) -> bool;
        fn hf_validate_set_class(arg0: *const c_void, arg1: *const c_char);
        fn hf_validate_set_hold_limit(arg0: u64);
        fn hf_validate_set_order(arg0: bool) -> bool;
        fn hf_validate_unwatched_pairs() -> u32;
    }
    "holdfast/version.h" {
        fn hf_version() -> *const c_char;
    }
    "holdfast/wait_address.h" {
        fn hf_wake_address_all(arg0: *const c_void);
        fn hf_wake_address_one(arg0: *const c_void);
        fn hf_wake_address_shared_all(arg0: *const c_void);
        fn hf_wake_address_shared_one(arg0: *const c_void);
    }
}
