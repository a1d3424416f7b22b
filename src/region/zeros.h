/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_REGION_ZEROS_H
#define HF_SRC_REGION_ZEROS_H
/*
 * zeros - pages of zeros in place of lost ones.
 *
 * They are a private mapping of /dev/zero, which the kernel treats as anonymous memory but shows as
 * a file with an offset: ZEROS_MARK plus the address. It stays so when the mapping is cut in two or
 * its protection changes. So zeros can be told from memory of others.
 *
 * They lack this mark where /dev/zero cannot be opened, or is shown as anonymous memory (gVisor).
 * There, memory that is anonymous, private and can only be read is taken for zeros. The mark may
 * have a tag, by which hf-run knows what the zeros replace; those of regions have 0.
 *
 * All functions are async-signal-safe, and may change errno.
 */
#include <sys/types.h>

#include "holdfast/internal/atomic.h"
#include "../env/maps.h"

#pragma GCC visibility push(hidden)

/* Have zeros the mark? LACKS: once /dev/zero could not be mapped, or the kernel did not show it. */
enum hf_detail_zeros_mark {
	HF_DETAIL_MARK_UNKNOWN = 0,
	HF_DETAIL_MARK_SHOWN,
	HF_DETAIL_MARK_LACKS
};

extern hf_atomic32_t hf_detail_zeros_mark;

/* Is it zeros of ours? Where they lack the mark: to which nobody has written; or somebody may. */
bool hf_detail_is_zeros(const struct hf_detail_mapping *m);
bool hf_detail_may_be_zeros(const struct hf_detail_mapping *m);

enum { HF_DETAIL_ZEROS_TAGS = 1 << 12, HF_DETAIL_ZEROS_UNMARKED = -1 };

/*
 * Replaces pages by zeros with a tag; or unmarked, by anonymous memory, of which neighbours merge.
 * Returns false, with errno, if the kernel refuses; EINVAL: pages are huge.
 */
bool hf_detail_map_zeros(uintptr_t from, uintptr_t to, int prot, int tag);

/* The tag of zeros; 0 if they lack the mark. */
uint32_t hf_detail_zeros_tag(const struct hf_detail_mapping *zeros);

/* Makes zeros writable that one mapping has, as far as it reaches in [from, to). */
bool hf_detail_open_zeros(const struct hf_detail_mapping *m, uintptr_t from, uintptr_t to);

/* mmap(), as this library needs it: see zeros.c. */
void *hf_detail_map(void *at, size_t len, int prot, int flags, int fd, uint64_t offset);

#pragma GCC visibility pop

#endif
