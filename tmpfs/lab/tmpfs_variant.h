/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_TMPFS_VARIANT_H
#define HF_LAB_TMPFS_VARIANT_H
/* tmpfs_variant - the calls of tmpfs, which is built once for each choice of implementations. */
#include "tmpfs.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lab_tmpfs {
	const char *name;
	int (*make)(struct hf_tmpfs **fs, const struct hf_tmpfs_options *options);
	int (*free)(struct hf_tmpfs *fs);
	int (*check)(struct hf_tmpfs *fs, void (*tell)(void *, const char *), void *data);
	int (*table_new)(struct hf_tmpfs_table **table, struct hf_tmpfs *fs, unsigned int limit);
	void (*table_free)(struct hf_tmpfs_table *table);
	struct hf_tmpfs_node *(*root)(struct hf_tmpfs *fs);
	int (*mkdir)(struct hf_tmpfs_node *dir, const char *path, mode_t mode,
		     struct hf_tmpfs_node **node);
	int (*open)(struct hf_tmpfs_table *table, struct hf_tmpfs_node *dir, const char *path,
		    int flags, mode_t mode, struct hf_tmpfs_node **node);
	int (*close)(struct hf_tmpfs_table *table, int fd);
	ssize_t (*read)(struct hf_tmpfs_table *table, int fd, void *to, size_t size);
	ssize_t (*pread)(struct hf_tmpfs_table *table, int fd, void *to, size_t size, off_t at);
	ssize_t (*write)(struct hf_tmpfs_table *table, int fd, const void *from, size_t size);
	int (*ftruncate)(struct hf_tmpfs_table *table, int fd, off_t size);
};

#define UNIT(name) extern const struct lab_tmpfs lab_tmpfs_##name;
#include "tmpfs_list.h"
#undef UNIT

#ifdef __cplusplus
}
#endif

#endif
