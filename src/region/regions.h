/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_REGION_REGIONS_H
#define HF_SRC_REGION_REGIONS_H
/*
 * regions - what the files of this folder share.
 *
 *   region_list.h   the lists of open regions
 *   region.c        begin and end; threads that end, fork
 *   lost.c          a fault: lost pages are replaced, and the first write there is noted
 *   zeros.c         the zeros that replace them
 *   file.c          is a mapping that of the region's file? The file is mapped again
 *   call.c          hf_region_call()
 */
#include "../env/maps.h"
#include "../nofault/handler.h"
#include "region_list.h"

#pragma GCC visibility push(hidden)

extern struct hf_detail_regions hf_detail_open_regions;

/* This thread's list. */
extern __thread struct hf_detail_region_thread hf_detail_my_regions
	__attribute__((tls_model("initial-exec")));

static inline uintptr_t hf_detail_page_down(uintptr_t address)
{
	return address & ~((uintptr_t)hf_detail_open_regions.page - 1);
}

static inline uintptr_t hf_detail_page_up(uintptr_t address)
{
	return hf_detail_page_down(address + (uintptr_t)hf_detail_open_regions.page - 1);
}

/* The end of the region's last page. */
static inline uintptr_t hf_detail_region_end_page(const hf_region_t *r)
{
	return hf_detail_page_up(r->base + r->len);
}

/* region.c: checks the arguments and initialises a region. Returns 0 or -errno. */
int hf_detail_region_prepare(hf_region_t *r, const void *base, size_t len);

/* region.c: opens a region of this thread. */
void hf_detail_region_open(hf_region_t *r);

/* lost.c: serves a fault of this thread (src/nofault/handler.h). */
bool hf_detail_region_handle(int signal, const siginfo_t *info, void *context,
			     struct hf_detail_detour *detour);

/* lost.c: notes what was lost before a region began, after it was added to its list. */
void hf_detail_region_inherit(hf_region_t *r);

/* lost.c: the end of a region without a file: its zeros become writable if the mapping was. */
int hf_detail_region_leave_zeros(hf_region_t *r, uint64_t lost);

/*
 * file.c: the file of a region that knows it. Device and inode are looked up when the region
 * begins, by fstat(). On a few file systems (btrfs, overlayfs) mappings show others; then a mapping
 * is made and looked at. Both may wait for a file's server: so neither is done between
 * hf_grace_enter() and _leave().
 */

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

/* Maps the file again from a lost page to the region's end. Returns 0 or -errno. */
int hf_detail_region_map_again(hf_region_t *r, uint64_t lost);

/* Bytes of the region that lie within the file now; also finds a loss that caused no fault. */
size_t hf_detail_region_file_has(const hf_region_t *r);

/* call.c: the detour that ends the regions that hf_region_call()'s function has begun, and it. */
__attribute__((noreturn)) void hf_detail_region_leave_call(void *region);

#pragma GCC visibility pop

#endif
