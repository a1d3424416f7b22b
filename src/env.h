/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_ENV_H
#define HF_SRC_ENV_H
/* env - what the rest of src/ needs from the world: linux_user.c, or a port's own file. */
#include "holdfast/env.h"

/* Puts a line where a person will see it. Async-signal-safe. */
void hf__env_print(const char *line, size_t len);

/*
 * Writes the object that has this address, and how far from its beginning it is: " (/bin/app+0x12b3)".
 * Nothing if that is not known. Returns the length. Only a world with HF_ENV_HAS_PLACES has it.
 * Async-signal-safe.
 */
size_t hf__env_place(char *to, size_t room, const void *site);

/* Does not return. */
void hf__env_abort(void) __attribute__((noreturn));

/* Nanoseconds since some moment. Async-signal-safe. */
uint64_t hf__env_now(void);

/* Bytes of the largest cache, or of a thread's share of it; 0 = not known. */
uint64_t hf__env_cache_bytes(void);

/* Memory that is there and is not used by others, or NULL; gives it back. */
void *hf__env_memory_get(size_t len);
void hf__env_memory_put(void *memory, size_t len);

/* Has hf__slot_release() called with `base` when this thread ends. Async-signal-safe. */
void hf__env_at_thread_end(uint32_t base);

/* Gives a slot back; it must have no node in use. */
void hf__slot_release(uint32_t base);

/* After a fork, in the child: only the slot of the thread that forked is in use. */
void hf__slot_keep_only(uint32_t base);

#endif
