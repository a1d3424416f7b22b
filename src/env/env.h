/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_ENV_H
#define HF_SRC_ENV_H
/* env - what src/ needs from the environment; implemented by linux_user*.c, or by a port. */
#include "holdfast/internal/atomic.h"
#include "holdfast/internal/env.h"

/* Asserts a layout on which packaging/share/gdb/holdfast.py relies. Models' atomics are larger. */
#define HF_DETAIL_DEBUGGERS_KNOW(layout)                                                           \
	HF_STATIC_ASSERT(sizeof(hf_atomic32_t) != 4 || (layout), "share/gdb/holdfast.py")

HF_BEGIN_DECLS

/* Prints a line where a person will see it. Async-signal-safe. */
void hf_detail_env_print(const char *line, size_t len);

/*
 * HF_ENV_HAS_PLACES: writes which object an address is in, and where: " (/bin/app+0x12b3)", or
 * nothing. Returns the length. Async-signal-safe.
 */
size_t hf_detail_env_place(char *to, size_t room, const void *site);

/* HF_ENV_HAS_REARM: was it asked since the last call to show each kind of misuse once more? */
bool hf_detail_env_is_rearmed(void);

/* Does not return. (Not declared so: objtool, which checks each file alone, would complain.) */
void hf_detail_env_abort(void);

/* Linux user space, here and below: warns of an environment variable; @what ends the line. */
void hf_detail_env_warn(const char *variable, const char *value, const char *what);

/* An environment variable; NULL if it is not set, or in a setuid program. */
const char *hf_detail_env_variable(const char *name);

/* Hides the features that HOLDFAST_CPU_WITHOUT names, at the first call. */
void hf_detail_env_hide_features(void);

/* This process, times 2 to the power of 32, and this thread. */
uint64_t hf_detail_env_thread(void);

/* Has this thread of this process ended? */
bool hf_detail_env_thread_is_gone(uint64_t thread);

/* Anonymous memory; NULL = there is none. Async-signal-safe; keeps errno. */
void *hf_detail_env_map(size_t bytes);

/* Monotonic time, in nanoseconds. Async-signal-safe. */
uint64_t hf_detail_env_now(void);

/*
 * A wait's pause number @n, from 0: the first ones yield the processor; later ones sleep for 50 us,
 * since a yield lets no thread of lower real-time priority run. Async-signal-safe; keeps errno.
 */
void hf_detail_env_pause(uint32_t n);

/* Bytes of the largest cache, or of a thread's share of it; 0 = not known. */
uint64_t hf_detail_env_cache_bytes(void);

HF_END_DECLS

#endif
