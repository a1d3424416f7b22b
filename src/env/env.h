/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_ENV_H
#define HF_SRC_ENV_H
/* env - what the rest of src/ needs from the environment: linux_user*.c, or a port's own file. */
#include "holdfast/internal/atomic.h"
#include "holdfast/internal/env.h"

/* Debuggers read memory: share/gdb/holdfast.py has these numbers. Not with atomics of another size. */
#define HF_DETAIL_DEBUGGERS_KNOW(layout)                                                           \
	HF_STATIC_ASSERT(sizeof(hf_atomic32_t) != 4 || (layout), "share/gdb/holdfast.py")

/* Puts a line where a person will see it. Async-signal-safe. */
void hf_detail_env_print(const char *line, size_t len);

/*
 * Writes the object that has this address, and how far from its beginning it is: " (/bin/app+0x12b3)".
 * Nothing if that is not known. Returns the length. Only an environment with HF_ENV_HAS_PLACES has it.
 * Async-signal-safe.
 */
size_t hf_detail_env_place(char *to, size_t room, const void *site);

/*
 * Has the system asked, since the last call, for each kind of misuse to be shown once more? Called
 * for each report. Only an environment with HF_ENV_HAS_REARM has it. Async-signal-safe.
 */
bool hf_detail_env_is_rearmed(void);

/* Does not return. (Without the attribute: objtool, which looks at one file, would miss a way on.) */
void hf_detail_env_abort(void);

/* Linux user space: reports on an environment variable; `what` ends the line. */
void hf_detail_env_warn(const char *variable, const char *value, const char *what);

/* Linux user space: once, hides the processor's features that HOLDFAST_CPU_WITHOUT names. */
void hf_detail_env_hide_features(void);

/* Nanoseconds since some moment. Async-signal-safe. */
uint64_t hf_detail_env_now(void);

/* Bytes of the largest cache, or of a thread's share of it; 0 = not known. */
uint64_t hf_detail_env_cache_bytes(void);

/* Memory that is there and is not used by others, or NULL; gives it back. */
void *hf_detail_env_memory_get(size_t len);
void hf_detail_env_memory_put(void *memory, size_t len);

#endif
