/* SPDX-License-Identifier: MIT */
/*
 * One tmpfs for each choice of implementations: all of its sources as one unit, in which nothing is
 * seen from outside. The choice comes by -DHF_REFCOUNT_DEFAULT=... and so on; LAB_TMPFS_SYMBOL and
 * LAB_TMPFS_NAME name it.
 */
#define HF_TMPFS_API static __attribute__((unused))
#define HF__TMPFS static __attribute__((unused))

#include "../tmpfs/internal.h"

#include "../tmpfs/check.c"
#include "../tmpfs/data.c"
#include "../tmpfs/dentry.c"
#include "../tmpfs/fs.c"
#include "../tmpfs/inode.c"
#include "../tmpfs/memory.c"
#include "../tmpfs/name.c"
#include "../tmpfs/node.c"
#include "../tmpfs/pages.c"
#include "../tmpfs/table.c"
#include "../tmpfs/walk.c"
#include "../tmpfs/xattr.c"

#include "tmpfs_variant.h"

const struct lab_tmpfs LAB_TMPFS_SYMBOL = {
	.name = LAB_TMPFS_NAME,
	.make = hf_tmpfs_new,
	.free = hf_tmpfs_free,
	.check = hf_tmpfs_check,
	.table_new = hf_tmpfs_table_new,
	.table_free = hf_tmpfs_table_free,
	.mkdir = hf_tmpfs_mkdir,
	.open = hf_tmpfs_open,
	.close = hf_tmpfs_close,
	.read = hf_tmpfs_read,
	.pread = hf_tmpfs_pread,
	.write = hf_tmpfs_write,
	.ftruncate = hf_tmpfs_ftruncate,
};
