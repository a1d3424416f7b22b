/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_PEERS_H
#define HF_LAB_PEERS_H
/*
 * hf_lab_peers - the mutex and condition variable of Rust's std and those of parking_lot, for C++.
 *
 * A Rust program inlines the fast paths of lock and unlock; here each is a call, as with
 * pthread_mutex. As in Rust, the guard is a local variable of the locking function: lock() and
 * wait() write it, unlock() consumes it.
 */

/* Large enough for both libraries; lib.rs asserts it. */
struct hf_lab_rust_object {
	alignas(8) char bytes[16];
};
struct hf_lab_rust_guard {
	alignas(8) char bytes[16];
};

#define HF_LAB_RUST_ABI(name)                                                                      \
	extern "C" {                                                                               \
	void hf_lab_##name##_init(hf_lab_rust_object *mutex);                                      \
	void hf_lab_##name##_lock(hf_lab_rust_object *mutex, hf_lab_rust_guard *guard);            \
	void hf_lab_##name##_unlock(hf_lab_rust_guard *guard);                                     \
	void hf_lab_##name##_cond_init(hf_lab_rust_object *cond);                                  \
	void hf_lab_##name##_cond_wait(hf_lab_rust_object *cond, hf_lab_rust_guard *guard);        \
	void hf_lab_##name##_cond_signal(hf_lab_rust_object *cond);                                \
	void hf_lab_##name##_cond_broadcast(hf_lab_rust_object *cond);                             \
	void hf_lab_##name##_rwlock_init(hf_lab_rust_object *lock);                                \
	void hf_lab_##name##_rwlock_read(hf_lab_rust_object *lock, hf_lab_rust_guard *guard);      \
	void hf_lab_##name##_rwlock_read_unlock(hf_lab_rust_guard *guard);                         \
	void hf_lab_##name##_rwlock_write(hf_lab_rust_object *lock, hf_lab_rust_guard *guard);     \
	void hf_lab_##name##_rwlock_write_unlock(hf_lab_rust_guard *guard);                        \
	}

HF_LAB_RUST_ABI(rust_std)
HF_LAB_RUST_ABI(parking_lot)

#endif
