// SPDX-License-Identifier: MIT
/*
 * allocation - every allocation fails once: ENOMEM, nothing changed, nothing lost.
 *
 * A scenario that uses all calls is run again and again; in the n-th run the n-th allocation fails.
 * The call that meets it says so, all counts are right at that moment, and done again it works, so
 * that each run ends in the same tree.
 */
#include "world.h"

#include <functional>

namespace
{

class TmpfsAllocation : public testing::Test {
protected:
	/* Fails the n-th one from now on. */
	struct memory {
		uint64_t next = 0, failing = 0, live = 0;
	};

	static void *allocate(void *data, size_t size)
	{
		auto *self = static_cast<memory *>(data);

		if (++self->next == self->failing)
			return nullptr;
		__atomic_fetch_add(&self->live, 1, __ATOMIC_RELAXED);
		return aligned_alloc(64, (size + 63) / 64 * 64);
	}

	static void release(void *data, void *pointer)
	{
		__atomic_fetch_sub(&static_cast<memory *>(data)->live, 1, __ATOMIC_RELAXED);
		free(pointer);
	}

	/* Calls until it works, once more at most; returns the result. */
	template <class F>
	long must(F call)
	{
		long result = call();

		if (result == -ENOMEM) {
			failures_++;
			if (fs_) {
				EXPECT_EQ(hf_tmpfs_check(fs_, nullptr, nullptr), 0);
			}
			result = call();
		}
		EXPECT_GE(result, 0);
		return result;
	}

	/* A write that was short is gone on with. */
	void write(int fd, const std::string &data, off_t at)
	{
		size_t done = 0;

		while (done < data.size()) {
			done += static_cast<size_t>(must([&] {
				return hf_tmpfs_pwrite(t_, fd, data.data() + done,
						       data.size() - done,
						       at + static_cast<off_t>(done));
			}));
		}
	}

	static int drop(void *, struct hf_tmpfs_buffer *buffer)
	{
		hf_tmpfs_buffer_free(buffer);
		return 0;
	}

	/* A directory of its own, and what stays of it. */
	void by_node()
	{
		struct hf_tmpfs_node *root = hf_tmpfs_node_root(fs_), *dir, *file, *link;

		must([&] { return hf_tmpfs_node_mkdir(root, "n", 0755, &dir); });
		must([&] { return hf_tmpfs_node_create(t_, dir, "file", O_RDWR, 0644, &file); });
		must([&] { return hf_tmpfs_node_symlink("to", dir, "link", &link); });
		must([&] { return hf_tmpfs_node_link(link, dir, "hard"); });
		must([&] { return hf_tmpfs_node_rename(dir, "file", root, "moved", 0); });
		must([&] {
			return hf_tmpfs_node_rename(dir, "hard", root, "moved", HF_TMPFS_EXCHANGE);
		});
		must([&] { return hf_tmpfs_node_unlink(dir, "hard"); });
		must([&] { return hf_tmpfs_node_truncate(file, 10000); });
		write(static_cast<int>(must([&] { return hf_tmpfs_node_open(t_, file, O_RDWR); })),
		      "nameless", 5000);
		hf_tmpfs_node_put(dir, 1);
		hf_tmpfs_node_put(root, 1); /* the others stay to the end */
	}

	/* What the tree came to. */
	std::string scenario(const struct hf_tmpfs_options &options)
	{
		struct hf_tmpfs_dirent entries[30];
		std::string found;
		int fd, count;

		fs_ = nullptr;
		must([&] { return hf_tmpfs_new(&fs_, &options); });
		must([&] { return hf_tmpfs_table_new(&t_, fs_, 100); });
		must([&] { return hf_tmpfs_mkdir(fs_, "/a", 0755); });
		must([&] { return hf_tmpfs_mkdir(fs_, "/b", 0755); });
		must([&] { return hf_tmpfs_symlink(fs_, "/a", "/s"); });
		fd = static_cast<int>(
			must([&] { return hf_tmpfs_open(t_, "/s/f", O_RDWR | O_CREAT, 0644); }));
		write(fd, std::string(10000, 'x'), 0);
		write(fd, "far", int64_t(1) << 40);
		must([&] { return hf_tmpfs_fallocate(t_, fd, 0, 100000, 50000); });
		must([&] { return hf_tmpfs_fallocate(t_, fd, 3, 5000, 100000); });
		/* Some pieces may have been handed over before. */
		must([&] { return hf_tmpfs_splice(t_, fd, 20000, 0, drop, nullptr); });
		must([&] { return hf_tmpfs_link(fs_, "/a/f", "/b/g"); });
		must([&] { return hf_tmpfs_rename(fs_, "/b/g", "/b/h", 0); });
		must([&] { return hf_tmpfs_rename(fs_, "/b", "/a/b", 0); });
		must([&] { return hf_tmpfs_rename(fs_, "/a/b", "/s", HF_TMPFS_EXCHANGE); });
		must([&] { return hf_tmpfs_truncate(fs_, "/s/h", 5000); });
		must([&] { return hf_tmpfs_mknod(fs_, "/a/fifo", S_IFIFO | 0600, 0); });
		must([&] { return hf_tmpfs_rename(fs_, "/a/fifo", "/pipe", HF_TMPFS_WHITEOUT); });
		must([&] { return hf_tmpfs_setxattr(fs_, "/s/..", true, "user.a", "1", 1, 0); });
		must([&] { return hf_tmpfs_setxattr(fs_, "/", true, "user.a", "22", 2, 0); });
		fd = static_cast<int>(
			must([&] { return hf_tmpfs_open(t_, "/a", O_RDWR | O_TMPFILE, 0600); }));
		write(fd, "nameless", 0);
		must([&] { return hf_tmpfs_flink(t_, fd, "/a/named"); });
		by_node();
		for (int i = 0; i < 40; i++) /* more files than one slab has */
			must([&] { return hf_tmpfs_open(t_, "/a", O_RDONLY, 0); });
		must([&] { return hf_tmpfs_unlink(fs_, "/a/b"); });
		for (const char *path : { "/", "/a", "/s", "/n" }) {
			fd = static_cast<int>(must([&] { return hf_tmpfs_open(t_, path, 0, 0); }));
			count = hf_tmpfs_readdir(t_, fd, entries, 30);
			for (int i = 0; i < count; i++)
				found += std::string(entries[i].name) + " ";
		}
		EXPECT_EQ(hf_tmpfs_check(fs_, nullptr, nullptr), 0);
		hf_tmpfs_table_free(t_);
		hf_tmpfs_nodes_put(fs_);
		EXPECT_EQ(hf_tmpfs_free(fs_), 0);
		fs_ = nullptr;
		return found;
	}

	struct hf_tmpfs *fs_ = nullptr;
	struct hf_tmpfs_table *t_ = nullptr;
	uint64_t failures_ = 0;
};

TEST_F(TmpfsAllocation, EachOneFailsOnce)
{
	struct hf_tmpfs_options options = {};
	memory memory;
	std::string right;
	uint64_t all;

	options.allocate = allocate;
	options.release = release;
	options.data = &memory;
	right = scenario(options);
	all = memory.next;
	EXPECT_EQ(memory.live, 0u);
	EXPECT_EQ(failures_, 0u);
	ASSERT_GT(all, 40u);
	for (uint64_t n = 1; n <= all; n++) {
		memory = {};
		memory.failing = n;
		failures_ = 0;
		EXPECT_EQ(scenario(options), right) << "allocation " << n;
		EXPECT_EQ(memory.live, 0u) << "allocation " << n;
		/* A short write or splice tells it by its count. */
		EXPECT_LE(failures_, 1u) << "allocation " << n;
		if (HasFailure())
			break;
	}
}

TEST_F(TmpfsAllocation, WithoutMemoryEveryCallSaysSo)
{
	struct hf_tmpfs_options options = {};
	struct hf_tmpfs_table *other;
	memory memory;
	int fd;

	options.allocate = allocate;
	options.release = release;
	options.data = &memory;
	ASSERT_EQ(hf_tmpfs_new(&fs_, &options), 0);
	ASSERT_EQ(hf_tmpfs_table_new(&t_, fs_, 100), 0);
	ASSERT_EQ(hf_tmpfs_mkdir(fs_, "/a", 0755), 0);
	fd = hf_tmpfs_open(t_, "/f", O_RDWR | O_CREAT, 0644);
	ASSERT_EQ(hf_tmpfs_ftruncate(t_, fd, 4096), 0);
	auto fails = [&](const char *what, std::function<long()> call) {
		memory.failing = memory.next + 1;
		EXPECT_EQ(call(), -ENOMEM) << what;
		EXPECT_EQ(hf_tmpfs_check(fs_, nullptr, nullptr), 0) << what;
	};
	fails("table", [&] { return hf_tmpfs_table_new(&other, fs_, 0); });
	struct hf_tmpfs_node *root = hf_tmpfs_node_root(fs_), *none = nullptr;
	struct hf_tmpfs_node *made = nullptr;
	ASSERT_EQ(hf_tmpfs_node_lookup(root, "f", &made), 0);
	fails("node_mkdir", [&] { return hf_tmpfs_node_mkdir(root, "x", 0, &none); });
	fails("node_symlink", [&] { return hf_tmpfs_node_symlink("x", root, "x", &none); });
	fails("node_create", [&] { return hf_tmpfs_node_create(t_, root, "x", 0, 0, &none); });
	fails("node_link", [&] { return hf_tmpfs_node_link(made, root, "x"); });
	fails("node_rename", [&] { return hf_tmpfs_node_rename(root, "f", root, "x", 0); });
	EXPECT_EQ(none, nullptr);
	hf_tmpfs_nodes_put(fs_);
	fails("mkdir", [&] { return hf_tmpfs_mkdir(fs_, "/x", 0); });
	fails("symlink", [&] { return hf_tmpfs_symlink(fs_, "x", "/x"); });
	fails("link", [&] { return hf_tmpfs_link(fs_, "/f", "/x"); });
	fails("rename", [&] { return hf_tmpfs_rename(fs_, "/f", "/x", 0); });
	fails("exchange", [&] { return hf_tmpfs_rename(fs_, "/f", "/a", HF_TMPFS_EXCHANGE); });
	fails("mknod", [&] { return hf_tmpfs_mknod(fs_, "/x", S_IFIFO, 0); });
	fails("whiteout", [&] { return hf_tmpfs_rename(fs_, "/f", "/x", HF_TMPFS_WHITEOUT); });
	fails("xattr", [&] { return hf_tmpfs_setxattr(fs_, "/f", true, "user.a", "1", 1, 0); });
	fails("tmpfile", [&] { return hf_tmpfs_open(t_, "/a", O_RDWR | O_TMPFILE, 0); });
	fails("create", [&] { return hf_tmpfs_open(t_, "/x", O_CREAT, 0); });
	fails("write", [&] { return hf_tmpfs_write(t_, fd, "x", 1); });
	fails("fallocate", [&] { return hf_tmpfs_fallocate(t_, fd, 0, 0, 5000); });
	fails("splice", [&] { return hf_tmpfs_splice(t_, fd, 1, 0, drop, nullptr); });
	hf_tmpfs_table_free(t_);
	EXPECT_EQ(hf_tmpfs_free(fs_), 0);
	fs_ = nullptr;
	EXPECT_EQ(memory.live, 0u);
}

} // namespace
