/* SPDX-License-Identifier: MIT */
/*
 * tmpfs_variant - one build of tmpfs for each choice of implementations: all sources in one unit
 * with static functions. in_place.h replaces one of Holdfast's primitives by a variant. LAB_SYMBOL
 * and LAB_NAME name it. tmpfs_sources.h is generated from the list in tmpfs/CMakeLists.txt.
 */
#define HF_TMPFS_API static __attribute__((unused))
#define TMPFS_PRIVATE static __attribute__((unused))

#include "tmpfs_sources.h"

#include "tmpfs_variant.h"

const struct lab_tmpfs LAB_SYMBOL = {
	.name = LAB_NAME,
	.make = hf_tmpfs_new,
	.free = hf_tmpfs_free,
	.check = hf_tmpfs_check,
	.table_new = hf_tmpfs_table_new,
	.table_free = hf_tmpfs_table_free,
	.root = hf_tmpfs_root,
	.mkdir = hf_tmpfs_mkdir,
	.open = hf_tmpfs_open,
	.close = hf_tmpfs_close,
	.read = hf_tmpfs_read,
	.pread = hf_tmpfs_pread,
	.write = hf_tmpfs_write,
	.ftruncate = hf_tmpfs_ftruncate,
};
