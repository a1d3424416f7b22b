/* SPDX-License-Identifier: MIT */
/*
 * readdir - the table `readdir`: the time to list a directory, in nanoseconds per name.
 *
 * The names are hard links to one file, so that a million of them costs little but the directory.
 * Each pass counts them. A buffer of 256 KiB is filled by one call: a system call for the kernel's
 * tmpfs, a library call for ours.
 */
#include "bench.hpp"

#include <filesystem>
#include <memory>
#include <string>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel_tmpfs.hpp"
#include "tmpfs.h"

namespace lab
{
namespace
{

constexpr size_t BUFFER = size_t(256) << 10;

struct Listing {
	uint64_t (*pass)(Listing *); /* lists the directory once; returns the number of names */
	struct hf_tmpfs_table *table;
	int fd;
	uint64_t names; /* that a pass must return, including "." and ".." */
	char *buffer;
	bool failed;
};

std::string name_of(const std::string &dir, uint64_t n)
{
	return dir + "/name-" + std::to_string(n);
}

uint64_t pass_ours(Listing *listing)
{
	auto *entries = reinterpret_cast<struct hf_tmpfs_dirent *>(listing->buffer);
	const int room = static_cast<int>(BUFFER / sizeof(*entries));
	uint64_t names = 0;
	int count;

	if (hf_tmpfs_lseek(listing->table, listing->fd, 0, SEEK_SET) != 0)
		return 0;
	while ((count = hf_tmpfs_readdir(listing->table, listing->fd, entries, room)) > 0)
		names += static_cast<uint64_t>(count);
	return names;
}

uint64_t pass_kernel(Listing *listing)
{
	uint64_t names = 0;
	long got;

	if (lseek(listing->fd, 0, SEEK_SET) != 0)
		return 0;
	while ((got = syscall(SYS_getdents64, listing->fd, listing->buffer, BUFFER)) > 0) {
		for (long at = 0; at < got; names++)
			at += reinterpret_cast<struct dirent64 *>(listing->buffer + at)->d_reclen;
	}
	return names;
}

uint64_t list_all(void *state, int, const int *stop)
{
	Listing *listing = static_cast<Listing *>(state);
	uint64_t n = 0, names;

	do { /* at least once, however short the run */
		names = listing->pass(listing);
		listing->failed |= names != listing->names;
		n += names;
	} while (!__atomic_load_n(stop, __ATOMIC_RELAXED));
	return n;
}

/* Ours, or the kernel's in a directory of /dev/shm. */
std::vector<Sample> run_readdir(bool ours, uint64_t names, int window_ms)
{
	std::unique_ptr<char[]> buffer(new char[BUFFER]);
	struct hf_tmpfs_table *table = nullptr;
	struct hf_tmpfs_node *root = nullptr, *inode = nullptr;
	struct hf_tmpfs *fs = nullptr;
	char top[] = "/dev/shm/hf-lab-XXXXXX";
	Sample sample;
	bool ok = ours ? hf_tmpfs_new(&fs, nullptr) == 0 : mkdtemp(top) != nullptr;

	if (!ok || (ours && hf_tmpfs_table_new(&table, fs, 0)))
		return { sample };
	if (ours)
		root = hf_tmpfs_root(fs);
	const std::string begin = ours ? "" : top, dir = begin + "/d", file = begin + "/file";
	ok &= (ours ? hf_tmpfs_mkdir(root, "/d", 0755, nullptr) : ::mkdir(dir.c_str(), 0755)) == 0;
	ok &= (ours ? hf_tmpfs_mknod(root, "/file", S_IFREG | 0644, 0, &inode)
		    : ::mknod(file.c_str(), S_IFREG | 0644, 0)) == 0;
	for (uint64_t n = 0; n < names && ok; n++) {
		const std::string name = name_of(dir, n);

		ok &= (ours ? hf_tmpfs_link(inode, root, name.c_str())
			    : ::link(file.c_str(), name.c_str())) == 0;
	}
	Listing listing = { ours ? pass_ours : pass_kernel,
			    table,
			    ours ? hf_tmpfs_open(table, root, "/d", O_RDONLY, 0, nullptr)
				 : ::open(dir.c_str(), O_RDONLY | O_DIRECTORY),
			    names + 2,
			    buffer.get(),
			    !ok };
	if (ok) {
		Window window = run_window(1, window_ms, list_all, { &listing });

		sample = sample_of(window, !listing.failed);
	}
	if (ours) {
		hf_tmpfs_table_free(table);
		hf_tmpfs_nodes_put(fs);
		sample.checked &= hf_tmpfs_free(fs) == 0;
	} else {
		::close(listing.fd);
		std::error_code error;
		std::filesystem::remove_all(top, error);
	}
	return { sample };
}

} // namespace

std::vector<Cell> readdir_cells(const Settings &settings)
{
	std::vector<int> counts = { 1000, 10000, 100000 };
	std::vector<Cell> cells;

	if (settings.names)
		counts = { settings.names };
	for (int count : counts) {
		const uint64_t names = static_cast<uint64_t>(count);
		const std::string name = names_name(count);
		Cell cell;

		cell.rows = { Row("readdir", "default", "default", name) };
		cell.window_ms = 20;
		cell.setup_ms = count * 0.002;
		cell.rounds = 9;
		cell.run = [names](int ms) { return run_readdir(true, names, ms); };
		cells.push_back(cell);
		if (!have_kernel_tmpfs(names))
			continue;
		cell.rows = { Row("readdir", "kernel tmpfs, system calls", "peer", name) };
		cell.run = [names](int ms) { return run_readdir(false, names, ms); };
		cells.push_back(cell);
	}
	return cells;
}

} // namespace lab
