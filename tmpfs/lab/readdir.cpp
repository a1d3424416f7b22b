/* SPDX-License-Identifier: MIT */
/*
 * readdir - the table `readdir`: the time to list a directory, in nanoseconds per name.
 *
 * The names are hard links to one file, so that a million of them costs little but the directory.
 * Each pass counts them. A buffer of 256 KiB is filled by one call: a system call for the kernel's
 * tmpfs, a library call for ours.
 */
#include "bench.hpp"

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

template <uint64_t pass(Listing *)>
uint64_t list_all(void *state, int, const int *stop)
{
	Listing *listing = static_cast<Listing *>(state);
	uint64_t n = 0, names;

	do { /* at least once, however short the run */
		names = pass(listing);
		listing->failed |= names != listing->names;
		n += names;
	} while (!__atomic_load_n(stop, __ATOMIC_RELAXED));
	return n;
}

template <uint64_t pass(Listing *)>
Sample measure_listing(Listing *listing, int window_ms)
{
	Window window = run_window(1, window_ms, list_all<pass>, { listing });

	return sample_of(window, !listing->failed);
}

std::vector<Sample> run_ours(uint64_t names, int window_ms)
{
	std::unique_ptr<char[]> buffer(new char[BUFFER]);
	struct hf_tmpfs_table *table;
	struct hf_tmpfs *fs;
	Sample sample;
	bool ok = hf_tmpfs_new(&fs, nullptr) == 0;

	if (!ok || hf_tmpfs_table_new(&table, fs, 0))
		return { sample };
	ok &= hf_tmpfs_mkdir(fs, "/d", 0755) == 0;
	ok &= hf_tmpfs_mknod(fs, "/file", S_IFREG | 0644, 0) == 0;
	for (uint64_t n = 0; n < names && ok; n++)
		ok &= hf_tmpfs_link(fs, "/file", name_of("/d", n).c_str()) == 0;
	Listing listing = { table, hf_tmpfs_open(table, "/d", O_RDONLY | O_DIRECTORY, 0), names + 2,
			    buffer.get(), !ok };
	if (ok)
		sample = measure_listing<pass_ours>(&listing, window_ms);
	hf_tmpfs_table_free(table);
	sample.checked &= hf_tmpfs_free(fs) == 0;
	return { sample };
}

std::vector<Sample> run_kernel(uint64_t names, int window_ms)
{
	std::unique_ptr<char[]> buffer(new char[BUFFER]);
	char top[] = "/dev/shm/hf-lab-XXXXXX";
	Sample sample;
	uint64_t made = 0;

	if (!mkdtemp(top))
		return { sample };
	const std::string dir = top + std::string("/d"), file = top + std::string("/file");
	bool ok = ::mkdir(dir.c_str(), 0755) == 0 && ::mknod(file.c_str(), S_IFREG | 0644, 0) == 0;
	for (; made < names && ok; made++)
		ok &= ::link(file.c_str(), name_of(dir, made).c_str()) == 0;
	Listing listing = { nullptr, ::open(dir.c_str(), O_RDONLY | O_DIRECTORY), names + 2,
			    buffer.get(), !ok };
	if (ok)
		sample = measure_listing<pass_kernel>(&listing, window_ms);
	::close(listing.fd);
	while (made > 0)
		::unlink(name_of(dir, --made).c_str());
	::unlink(file.c_str());
	::rmdir(dir.c_str());
	::rmdir(top);
	return { sample };
}

} // namespace

std::vector<Cell> readdir_cells(const Settings &)
{
	const struct {
		uint64_t names;
		const char *name;
	} cases[] = { { 1000, "1 k names" },
		      { 10000, "10 k names" },
		      { 100000, "100 k names" },
		      { 1000000, "1 M names" } };
	std::vector<Cell> cells;

	for (const auto &one : cases) {
		uint64_t names = one.names;
		Cell cell;

		cell.rows = { Row("readdir", "default", "default", one.name) };
		cell.window_ms = 20;
		cell.rounds = names < 1000000 ? 9 : 3;
		cell.run = [names](int ms) { return run_ours(names, ms); };
		cells.push_back(cell);
		if (!have_kernel_tmpfs(names))
			continue;
		cell.rows = { Row("readdir", "kernel tmpfs, system calls", "peer", one.name) };
		cell.run = [names](int ms) { return run_kernel(names, ms); };
		cells.push_back(cell);
	}
	return cells;
}

} // namespace lab
