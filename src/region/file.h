/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_REGION_FILE_H
#define HF_SRC_REGION_FILE_H
/*
 * file - the file of a region that knows it: which mappings are the file's, and mapping it again.
 *
 * Device and inode are looked up when the region begins, by fstat(). On a few file systems (btrfs,
 * overlayfs) mappings show others; then a mapping is made and looked at. Both may wait for a file's
 * server: so neither is done between hf_grace_enter() and _leave().
 */
#include "regions.h"

#pragma GCC visibility push(hidden)

/* At begin, with fd set. Returns 0; -EBADF: the descriptor is not open. */
int hf_detail_region_know_file(hf_region_t *r);

/*
 * Has this mapping, at @address, what the region's file has there? Asks nobody. Returns 0; -EEXIST:
 * something else; -EAGAIN: something else, unless mappings of the file show another device or inode
 * than are known.
 */
int hf_detail_region_compare_file(const hf_region_t *r, uintptr_t address,
				  const struct hf_detail_mapping *m);

/* Looks up what mappings of the file show. Called by the region's thread, not inside. */
int hf_detail_region_look_up_file(hf_region_t *r);

/* R5: maps the file again from a lost page to the region's end. Returns 0 or -errno. */
int hf_detail_region_map_again(hf_region_t *r, uint64_t lost);

/* Bytes of the region that lie within the file now; also finds a loss that caused no fault. */
size_t hf_detail_region_file_has(const hf_region_t *r);

#pragma GCC visibility pop

#endif
