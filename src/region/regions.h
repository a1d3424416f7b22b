/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_REGION_REGIONS_H
#define HF_SRC_REGION_REGIONS_H
/*
 * regions - what the files of this folder share.
 *
 *   region_list.h   the lists of open regions; which of their pages may be zeros
 *   region.c        begin and end; threads that end, fork
 *   lost.c          a fault: lost pages are replaced, and the first write there is noted
 *   zeros.c         the zeros that replace them
 *   file.c          is a mapping that of the region's file? The file is mapped again
 *   call.c          hf_region_call(), and mapping.c what is mapped at an address
 */
#include "../nofault/handler.h"
#include "mapping.h"
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

/* lost.c: the end of a region without a file: its zeros become writable if the mapping was. */
int hf_detail_region_leave_zeros(hf_region_t *r, uint64_t lost);

/* call.c: the detour that ends the regions that hf_region_call()'s function has begun, and it. */
__attribute__((noreturn)) void hf_detail_region_leave_call(void *region);

#pragma GCC visibility pop

#endif
