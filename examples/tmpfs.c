/* SPDX-License-Identifier: MIT */
/* A file system in memory: unlinked files stay open, bad buffers fail, counts are checked. */
#define _GNU_SOURCE /* SEEK_DATA */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <tmpfs.h>

#include "must.h"

int main(void)
{
	struct hf_tmpfs_options limits = { .size = 1 << 20 };
	struct hf_tmpfs *fs;
	struct hf_tmpfs_node *root;
	struct hf_tmpfs_table *table;
	char text[32] = "";
	char *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ssize_t got;
	int fd;

	must(hf_tmpfs_new(&fs, &limits) == 0);
	must(hf_tmpfs_table_new(&table, fs, 0) == 0);

	root = hf_tmpfs_root(fs);
	must(hf_tmpfs_mkdir(root, "/logs", 0755, NULL) == 0);
	fd = hf_tmpfs_open(table, root, "/logs/today", O_RDWR | O_CREAT, 0644, NULL);
	must(hf_tmpfs_write(table, fd, "held fast", 9) == 9);
	must(hf_tmpfs_unlink(root, "/logs/today") == 0);

	got = hf_tmpfs_pread(table, fd, text, sizeof(text), 0);
	printf("unlinked, but still open: \"%s\", %zd bytes\n", text, got);
	must(got == 9 && strcmp(text, "held fast") == 0);

	got = hf_tmpfs_pread(table, fd, gone, 4096, 0);
	printf("read into inaccessible memory: error %zd\n", -got);
	must(got == -EFAULT);

	must(hf_tmpfs_pwrite(table, fd, "x", 1, (off_t)1 << 40) == 1);
	printf("data after a hole of one TiB: at %lld\n",
	       (long long)hf_tmpfs_lseek(table, fd, 4096, SEEK_DATA));

	printf("wrong counts: %d\n", hf_tmpfs_check(fs, NULL, NULL));
	must(hf_tmpfs_check(fs, NULL, NULL) == 0);
	hf_tmpfs_table_free(table);
	must(hf_tmpfs_free(fs) == 0);
	return 0;
}
