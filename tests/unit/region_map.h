/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_REGION_MAP_H
#define HF_TESTS_REGION_MAP_H
/* region_map - a file that is mapped and truncated, for the tests of regions. */
#include "unit.h"

#include <algorithm>

#include "holdfast/region.h"

namespace unit
{

inline const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
inline const int RW = PROT_READ | PROT_WRITE;

/* The file's byte at an offset; never 0. */
inline char content(size_t at)
{
	return static_cast<char>(1 + (at * 7 + at / page) % 250);
}

/*
 * A file, whose first 1,024 pages have content, and a mapping of all of it; or another mapping of
 * the same file.
 */
class Map {
public:
	explicit Map(size_t pages, int prot_ = RW, int flags_ = MAP_SHARED)
		: fd(memfd_create("region", MFD_CLOEXEC)), prot(prot_), flags(flags_),
		  size(pages * page)
	{
		cut(size);
		fill(0, std::min(pages, size_t(1024)));
		at = map();
	}
	Map(const Map &of, int prot_, int flags_)
		: fd(dup(of.fd)), prot(prot_), flags(flags_), size(of.size), at(map())
	{
	}
	~Map()
	{
		munmap(at, size);
		close(fd);
	}
	Map &operator=(const Map &) = delete;

	const int fd, prot, flags;
	const size_t size;
	char *at;

	/* fill() writes a range of pages of the file again; cut() truncates the file. */
	void fill(size_t from, size_t to) const
	{
		std::vector<char> bytes(page);

		for (size_t p = from; p < to; p++) {
			for (size_t i = 0; i < page; i++)
				bytes[i] = content(p * page + i);
			if (pwrite(fd, bytes.data(), page, static_cast<off_t>(p * page)) !=
			    static_cast<ssize_t>(page))
				abort();
		}
	}
	void cut(size_t bytes) const
	{
		if (ftruncate(fd, static_cast<off_t>(bytes)))
			abort();
	}
	char file_has(size_t offset) const
	{
		char byte = 0;

		if (pread(fd, &byte, 1, static_cast<off_t>(offset)) != 1)
			abort();
		return byte;
	}

	/* Begins a region over the whole mapping, or over @len bytes from @from. */
	int begin(hf_region_t *r, size_t from = 0, size_t len = SIZE_MAX) const
	{
		return hf_region_begin(r, at + from, std::min(len, size - from));
	}
	int begin_process(hf_region_t *r, size_t from = 0, size_t len = SIZE_MAX) const
	{
		return hf_region_begin_process(r, at + from, std::min(len, size - from));
	}
	int begin_file(hf_region_t *r, size_t from = 0, size_t len = SIZE_MAX) const
	{
		return hf_region_begin_file(r, at + from, std::min(len, size - from), prot, flags,
					    fd, from);
	}
	/* Maps the file again, as the program may do itself. */
	bool map_again() const { return mmap(at, size, prot, flags | MAP_FIXED, fd, 0) == at; }

private:
	char *map() const { return static_cast<char *>(mmap(nullptr, size, prot, flags, fd, 0)); }
};

inline void touch(const volatile char *p)
{
	(void)*p;
}

__attribute__((noinline)) inline void write_to(volatile char *p, char value)
{
	*p = value;
}

class RegionTest : public ::testing::Test {
protected:
	void SetUp() override { ASSERT_EQ(hf_nofault_install(), 0); }
};

} // namespace unit

#endif
