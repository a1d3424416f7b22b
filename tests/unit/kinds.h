/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_KINDS_H
#define HF_TESTS_KINDS_H
/* kinds - the private and the process-shared mutex and condition variable by one set of names. */
#include "holdfast/cond.h"

namespace unit
{

struct own {
	using cond = hf_cond_t;
	hf_mutex_t m = HF_MUTEX_INIT;
	hf_cond_t c = HF_COND_INIT;

	void lock() { hf_mutex_lock(&m); }
	bool lock_timeout(uint64_t ns) { return hf_mutex_lock_timeout(&m, ns); }
	bool try_lock() { return hf_mutex_trylock(&m); }
	void unlock() { hf_mutex_unlock(&m); }
	bool is_locked() const { return hf_mutex_is_locked(&m); }
	void wait(cond *at) { hf_cond_wait(at, &m); }
	bool wait_timeout(cond *at, uint64_t ns) { return hf_cond_wait_timeout(at, &m, ns); }
	bool wait_until(cond *at, uint64_t end) { return hf_cond_wait_until(at, &m, end); }
	static void signal(cond *at) { hf_cond_signal(at); }
	void broadcast(cond *at) { hf_cond_broadcast(at); }
	static bool nobody(const cond *at) { return hf_atomic32_load_relaxed(&at->waiters) == 0; }
};

struct shared {
	using cond = hf_cond_shared_t;
	hf_mutex_shared_t m = HF_MUTEX_SHARED_INIT;
	hf_cond_shared_t c = HF_COND_SHARED_INIT;

	void lock() { hf_mutex_shared_lock(&m); }
	bool lock_timeout(uint64_t ns) { return hf_mutex_shared_lock_timeout(&m, ns); }
	bool try_lock() { return hf_mutex_shared_trylock(&m); }
	void unlock() { hf_mutex_shared_unlock(&m); }
	bool is_locked() const { return hf_mutex_shared_is_locked(&m); }
	void wait(cond *at) { hf_cond_shared_wait(at, &m); }
	bool wait_timeout(cond *at, uint64_t ns) { return hf_cond_shared_wait_timeout(at, &m, ns); }
	bool wait_until(cond *at, uint64_t end) { return hf_cond_shared_wait_until(at, &m, end); }
	static void signal(cond *at) { hf_cond_shared_signal(at); }
	void broadcast(cond *at) { hf_cond_shared_broadcast(at, &m); }
	static bool nobody(const cond *) { return true; } /* waiters are not counted */
};

} // namespace unit

#endif
