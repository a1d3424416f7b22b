/* SPDX-License-Identifier: MIT */
/*
 * openclose - the tables `openclose` and `sparse`: the primitives at work in tmpfs.
 *
 * openclose: open, read 64 bytes, close. Each thread has its own descriptor table, as a process
 * does; the case names say whether they also have their own files, or even file systems: then they
 * share nothing, and two threads show what two processors of this machine are worth. After each run
 * hf_tmpfs_check() checks every count. The kernel's tmpfs, which needs system calls, is there for
 * comparison.
 *
 * sparse: reads a file of 64 GiB without data, repeatedly from its beginning. The buffer is filled
 * with ones before the run and must contain zeros after it.
 */
#include "bench.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "holdfast/lockref.h"
#include "holdfast/nofault.h"

#include "variants/nofault/implementations.h"
#include "holdfast/refcount.h"
#include "holdfast/spinlock.h"
#include "kernel_tmpfs.hpp"
#include "tmpfs_variant.h"

namespace lab
{
namespace
{

const struct lab_tmpfs *const variants[] = {
#define UNIT(name) &lab_tmpfs_##name,
#include "tmpfs_list.h"
#undef UNIT
};

const struct lab_tmpfs *const by_default = variants[0];
const char *const KERNEL = "kernel tmpfs, system calls";
/* The default's implementations, by the names that they have as variants. */
const char *const DEFAULT = "refcount=saturating, lockref=bounded";

enum class Case { HOT, EACH, DEEP, ALONE };
const struct {
	Case is;
	const char *name;
} cases[] = { { Case::HOT, "hot file" },
	      { Case::EACH, "file each" },
	      { Case::DEEP, "4 deep" },
	      { Case::ALONE, "file system each" } }; /* only of the default */

std::string path_of(Case is, int thread)
{
	switch (is) {
	case Case::EACH:
	case Case::ALONE:
		return "/file" + std::to_string(thread);
	case Case::DEEP:
		return "/one/two/three/four/file";
	default:
		return "/file";
	}
}

/* ---- openclose ----------------------------------------------------------------------------- */

/* The kernel's tmpfs: `fs` is the name of a directory, with which all paths begin. */
const struct lab_tmpfs kernel = {
	KERNEL,
	[](struct hf_tmpfs **fs, const struct hf_tmpfs_options *) {
		char *top = strdup("/dev/shm/hf-lab-XXXXXX");

		*fs = reinterpret_cast<struct hf_tmpfs *>(top);
		return mkdtemp(top) ? 0 : -1;
	},
	[](struct hf_tmpfs *fs) {
		std::unique_ptr<char, void (*)(void *)> top(reinterpret_cast<char *>(fs),
							    std::free);
		std::error_code error;

		std::filesystem::remove_all(top.get(), error);
		return error.value();
	},
	[](struct hf_tmpfs *, void (*)(void *, const char *), void *) { return 0; },
	[](struct hf_tmpfs_table **, struct hf_tmpfs *, unsigned int) { return 0; },
	[](struct hf_tmpfs_table *) {},
	[](struct hf_tmpfs *) -> struct hf_tmpfs_node *{ return nullptr;
}
,
	[](struct hf_tmpfs_node *, const char *path, mode_t mode, struct hf_tmpfs_node **) {
		return ::mkdir(path, mode);
	},
	[](struct hf_tmpfs_table *, struct hf_tmpfs_node *, const char *path, int flags,
	   mode_t mode, struct hf_tmpfs_node **) { return ::open(path, flags, mode); },
	[](struct hf_tmpfs_table *, int fd) { return ::close(fd); },
	[](struct hf_tmpfs_table *, int fd, void *to, size_t size) { return ::read(fd, to, size); },
	nullptr,
	[](struct hf_tmpfs_table *, int fd, const void *from, size_t size) {
		return ::write(fd, from, size);
	},
	nullptr,
};

struct Tree {
	const struct lab_tmpfs *on = nullptr;
	std::vector<struct hf_tmpfs *> fs; /* one, or one for each thread */
	std::vector<struct hf_tmpfs_table *> tables;
	std::vector<std::string> paths;
	bool failed = false;
};

uint64_t open_read_close(void *state, int thread, const int *stop)
{
	Tree *tree = static_cast<Tree *>(state);
	const struct lab_tmpfs *on = tree->on;
	struct hf_tmpfs_table *table = tree->tables[static_cast<size_t>(thread)];
	const char *path = tree->paths[static_cast<size_t>(thread)].c_str();
	char buffer[64];
	uint64_t n = 0;
	bool ok = true;

	do { /* at least once, however short the run */
		int fd = on->open(table, nullptr, path, O_RDONLY, 0, nullptr);

		ok &= on->read(table, fd, buffer, sizeof(buffer)) == sizeof(buffer);
		ok &= buffer[0] == 'x' && buffer[63] == 'x';
		ok &= on->close(table, fd) == 0;
		n++;
	} while (!__atomic_load_n(stop, __ATOMIC_RELAXED));
	if (!ok)
		__atomic_store_n(&tree->failed, true, __ATOMIC_RELAXED);
	return n;
}

std::vector<Sample> run_openclose(const struct lab_tmpfs *on, Case is, int threads, int window_ms)
{
	const size_t n = static_cast<size_t>(threads);
	std::string data(4096, 'x');
	bool ok = true;
	Tree tree;

	tree.on = on;
	tree.fs.resize(is == Case::ALONE ? n : 1);
	tree.tables.resize(n);
	for (struct hf_tmpfs *&fs : tree.fs) {
		if (on->make(&fs, nullptr))
			return { Sample() };
		std::string top = on == &kernel ? reinterpret_cast<char *>(fs) : "";

		for (const char *dir :
		     { "/one", "/one/two", "/one/two/three", "/one/two/three/four" })
			ok &= on->mkdir(on->root(fs), (top + dir).c_str(), 0755, nullptr) == 0;
	}
	for (size_t i = 0; i < n; i++) {
		struct hf_tmpfs *fs = tree.fs[i % tree.fs.size()];
		std::string top = on == &kernel ? reinterpret_cast<char *>(fs) : "";

		ok &= on->table_new(&tree.tables[i], fs, 0) == 0;
		tree.paths.push_back(top + path_of(is, static_cast<int>(i)));
		int fd = on->open(tree.tables[i], nullptr, tree.paths.back().c_str(),
				  O_WRONLY | O_CREAT, 0644, nullptr);
		ok &= on->write(tree.tables[i], fd, data.data(), data.size()) == 4096;
		ok &= on->close(tree.tables[i], fd) == 0;
	}
	Window window = run_window(threads, window_ms, open_read_close, { &tree });

	for (struct hf_tmpfs *fs : tree.fs)
		ok &= on->check(fs, nullptr, nullptr) == 0;
	for (struct hf_tmpfs_table *table : tree.tables)
		on->table_free(table);
	for (struct hf_tmpfs *fs : tree.fs)
		ok &= on->free(fs) == 0;
	return { sample_of(window, ok && !tree.failed) };
}

/* ---- sparse -------------------------------------------------------------------------------- */

constexpr uint64_t SPARSE = uint64_t(64) << 30;

struct Reader {
	const struct lab_tmpfs *on;
	struct hf_tmpfs_table *table;
	int fd;
	char *buffer;
	size_t size;
	bool failed;
};

uint64_t read_sparse(void *state, int, const int *stop)
{
	Reader *reader = static_cast<Reader *>(state);
	uint64_t at = 0, n = 0;
	bool ok = true;

	do { /* at least once, however short the run */
		ok &= reader->on->pread(reader->table, reader->fd, reader->buffer, reader->size,
					static_cast<off_t>(at)) ==
		      static_cast<ssize_t>(reader->size);
		at = (at + reader->size) % SPARSE;
		n++;
	} while (!__atomic_load_n(stop, __ATOMIC_RELAXED));
	reader->failed = !ok;
	return n;
}

/* `implementation`: the one of clear; "" = copy a page of zeros. */
std::vector<Sample> run_sparse(const std::string &implementation, size_t size, int window_ms)
{
	std::unique_ptr<char, void (*)(void *)> buffer(
		static_cast<char *>(std::aligned_alloc(4096, size)), std::free);
	Reader reader = { implementation.empty() ? &lab_tmpfs_copy_holes : by_default,
			  nullptr,
			  -1,
			  buffer.get(),
			  size,
			  false };
	struct hf_tmpfs *fs;
	Sample sample;
	bool ok = true;

	if (!implementation.empty())
		ok &= hf_variant_clear_choose(implementation.c_str()) == 0;
	std::memset(buffer.get(), 0xff, size);
	ok &= reader.on->make(&fs, nullptr) == 0 && reader.on->table_new(&reader.table, fs, 0) == 0;
	if (!ok)
		return { Sample() };
	reader.fd =
		reader.on->open(reader.table, nullptr, "/sparse", O_RDWR | O_CREAT, 0644, nullptr);
	ok &= reader.on->ftruncate(reader.table, reader.fd, SPARSE) == 0;
	sample = sample_of(run_window(1, window_ms, read_sparse, { &reader }), true);
	ok &= !reader.failed && buffer.get()[0] == 0 &&
	      std::memcmp(buffer.get(), buffer.get() + 1, size - 1) == 0;
	ok &= reader.on->check(fs, nullptr, nullptr) == 0;
	reader.on->table_free(reader.table);
	ok &= reader.on->free(fs) == 0;
	if (!implementation.empty())
		hf_variant_clear_choose(nullptr);
	sample.checked = ok;
	sample.more["gb_per_s"] = static_cast<double>(size) / sample.ns_per_op;
	sample.more["s_per_tb"] = 1e12 / static_cast<double>(size) * sample.ns_per_op / 1e9;
	return { sample };
}

} // namespace

std::vector<Cell> openclose_cells(const Settings &settings)
{
	std::vector<int> counts = thread_counts(settings);
	std::vector<const struct lab_tmpfs *> all(std::begin(variants), std::end(variants));
	std::vector<Cell> cells;

	if (have_kernel_tmpfs())
		all.push_back(&kernel);
	if (settings.threads.empty())
		counts.push_back(4 * cpus());
	for (int threads : counts) {
		for (const auto &one : cases) {
			Case is = one.is;
			Cell cell;

			cell.window_ms = 20;
			cell.rounds = threads > cpus() ? 5 : 9;
			for (const struct lab_tmpfs *on : all) {
				if (on == &lab_tmpfs_copy_holes ||
				    (is == Case::ALONE && on != by_default))
					continue;
				cell.rows = { Row("openclose", on->name,
						  on == by_default ? "default"
						  : on == &kernel  ? "peer"
								   : "ours",
						  one.name, threads) };
				if (on == by_default)
					cell.rows.front().labels["is"] = DEFAULT;
				cell.run = [on, is, threads](int ms) {
					return run_openclose(on, is, threads, ms);
				};
				cells.push_back(cell);
			}
		}
	}
	return cells;
}

std::vector<Cell> sparse_cells(const Settings &)
{
	std::vector<std::string> implementations = { "", "default" };
	std::vector<Cell> cells;
	size_t count;
	const struct hf_variant_clear *list = hf_variant_clears(&count);

	for (size_t i = 0; i < count; i++) {
		if (list[i].is_legal())
			implementations.push_back(list[i].name);
	}
	for (size_t size : { size_t(16) << 10, size_t(1) << 20 }) {
		for (const std::string &implementation : implementations) {
			Cell cell;

			cell.rows = { Row("sparse",
					  implementation.empty() ? "copy a zero page"
								 : "clear: " + implementation,
					  implementation == "default" ? "default" : "ours",
					  size < size_t(1) << 20 ? "16 KiB buffer"
								 : "1 MiB buffer") };
			cell.window_ms = 20;
			cell.rounds = 15;
			cell.run = [implementation, size](int ms) {
				return run_sparse(implementation, size, ms);
			};
			cells.push_back(cell);
		}
	}
	return cells;
}

} // namespace lab
