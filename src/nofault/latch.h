/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_NOFAULT_LATCH_H
#define HF_SRC_NOFAULT_LATCH_H
/*
 * latch - two copies of the same data, of which one can always be read.
 *
 * For the handler's table of sites (sites.c), whose readers are signal handlers: they can't wait,
 * and may never return (a thread that is cancelled or leaves the handler by a jump). A reader
 * writes nothing. The data consists of atomics, is never freed, and must be safe to read in any mix
 * of versions: the result is used only if hf_latch_retry() returns false.
 *
 *      version n        readers: copy n % 2        writer: copy (n + 1) % 2, then version = n + 1
 *
 * Invariants
 *   L1  A reader that finds the version unchanged after its reads has read one copy as it was
 *       published. If it read a word that a later writer stored for version n + 2: that writer's
 *       fence precedes the store of the word, and the store of n + 1 precedes the fence; so the
 *       reader's load after its own fence returns n + 1 or more.
 *   L2  A reader retries only if a writer has published since: a writer that is stopped blocks no
 *       reader.
 *
 * Source  the latch of a sequence count; docs/design/0009-nofault.md
 */
#include "holdfast/internal/atomic.h"

/* The lowest bit selects the copy that is read. Zero-initialised. */
struct hf_latch {
	hf_atomic32_t version;
};

/* Begin to read: returns the version, whose lowest bit is the copy. Acquire. */
HF_INLINE uint32_t hf_latch_begin(const struct hf_latch *latch)
{
	return hf_atomic32_load_acquire(&latch->version);
}

/* Was that copy changed since? Then discard what was read. */
HF_INLINE bool hf_latch_retry(const struct hf_latch *latch, uint32_t version)
{
	hf_atomic32_fence_acquire(&latch->version); /* L1 */
	return hf_atomic32_load_relaxed(&latch->version) != version;
}

/* Begin to write, one writer at a time: returns the next version. */
HF_INLINE uint32_t hf_latch_write_begin(const struct hf_latch *latch)
{
	uint32_t version = hf_atomic32_load_relaxed(&latch->version);

	hf_atomic_fence_seq_cst(); /* L1 */
	return version + 1;
}

/* From now on that copy is read. Release. */
HF_INLINE void hf_latch_publish(struct hf_latch *latch, uint32_t version)
{
	hf_atomic32_store_release(&latch->version, version);
}

#endif
