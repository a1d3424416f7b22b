// SPDX-License-Identifier: MIT
// fill, move, lists and words: going on after a fault, hostile lengths, words that are not torn, choosing.
// (The sweeps have every size and every place of a fault; the battery has exchange and add.)
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "holdfast/nofault.h"

#include "../../lab/variants/nofault/implementations.h"
namespace
{

const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));

static_assert(sizeof(hf_iovec) == sizeof(iovec) &&
		      offsetof(hf_iovec, base) == offsetof(iovec, iov_base) &&
		      offsetof(hf_iovec, len) == offsetof(iovec, iov_len),
	      "a pointer to one may be cast to the other");

// Three pages, of which the middle one can be taken away and given back.
struct Pages {
	Pages()
	{
		start = static_cast<char *>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		middle = start + page;
		behind = middle + page;
	}
	~Pages() { munmap(start, 3 * page); }
	void take() { EXPECT_EQ(mprotect(middle, page, PROT_NONE), 0); }
	void give() { EXPECT_EQ(mprotect(middle, page, PROT_READ | PROT_WRITE), 0); }
	char *start, *middle, *behind;
};

class NoFaultMemory : public testing::Test {
protected:
	void SetUp() override { ASSERT_EQ(hf_nofault_install(), 0); }
	void TearDown() override { hf_variant_memory_choose(nullptr); }
};

TEST_F(NoFaultMemory, AMoveThatMetAFaultGoesOn)
{
	for (bool down : { false, true }) {
		for (size_t size : { size_t(40), size_t(300), page + 500 }) {
			Pages p;
			char *src = down ? p.behind + 200 - size : p.middle - 100;
			char *dst = down ? src + 7 : src - 7;
			std::vector<char> wanted(size);
			size_t left;

			for (size_t i = 0; i < size; i++)
				wanted[i] = src[i] = static_cast<char>(i * 7 + i / 256);
			EXPECT_EQ(hf_move_is_down(dst, src, size), down);
			p.take();
			left = hf_move_nofault(dst, src, size);
			EXPECT_EQ(left == 0, size == 40) << size;
			p.give();
			EXPECT_EQ(
				down ? hf_move_nofault(dst, src, left)
				     : hf_move_nofault(dst + size - left, src + size - left, left),
				0u);
			EXPECT_EQ(memcmp(dst, wanted.data(), size), 0) << down << " " << size;
		}
	}
}

TEST_F(NoFaultMemory, MovesThatDoNotOverlapAreCopies)
{
	char text[] = "abcdefgh....";

	EXPECT_FALSE(hf_move_is_down(text + 4, text, 4));
	EXPECT_FALSE(hf_move_is_down(text, text, 4));
	EXPECT_TRUE(hf_move_is_down(text + 3, text, 4));
	EXPECT_EQ(hf_move_nofault(text + 4, text, 4), 0u);
	EXPECT_STREQ(text, "abcdabcd....");
	EXPECT_EQ(hf_move_nofault(text, text, sizeof(text)), 0u);
	EXPECT_STREQ(text, "abcdabcd....");
	EXPECT_EQ(hf_move_nofault(nullptr, nullptr, 0), 0u);
}

// A length that goes past the last address, as a negative number does. The system's half of the address
// space lies before that: what goes upwards stops at the end of the page, downwards nothing is done.
TEST_F(NoFaultMemory, ALengthThatWrapsAroundTouchesNothingElse)
{
	Pages p;
	char *src = p.middle - 100, byte = 0;
	std::string before;
	hf_iovec to = { &byte, 1 };
	std::vector<size_t> sizes;
	size_t at;

	p.take();
	for (size_t i = 0; i < page; i++)
		p.start[i] = static_cast<char>(1 + i % 250);
	before.assign(p.start, page);
	for (size_t k = 0; k < 70; k++) {
		sizes.push_back(SIZE_MAX - k);
		sizes.push_back(SIZE_MAX - reinterpret_cast<uintptr_t>(src) - 64 + 2 * k);
	}
	for (size_t size : sizes) {
		for (ptrdiff_t distance : { -64, -8, -1, 1, 8, 64 }) {
			char *dst = src + distance;
			bool down = distance > 0;
			size_t done = down ? 0 : 100;

			bool wraps = size > -reinterpret_cast<uintptr_t>(dst);
			if (down && !wraps)
				continue; // its last byte is one of the system's
			ASSERT_EQ(hf_move_is_down(dst, src, size), down);
			ASSERT_EQ(size - hf_move_nofault(dst, src, size), done) << distance;
			ASSERT_EQ(std::string(dst, done), before.substr(page - 100, done));
			ASSERT_EQ(std::string(p.start, dst), before.substr(0, dst - p.start));
			memcpy(p.start, before.data(), page);
		}
		ASSERT_EQ(size - hf_copy_nofault(src - 500, src, size), 100u);
		ASSERT_EQ(std::string(src - 500, 100), before.substr(page - 100));
		memcpy(p.start, before.data(), page);
#if !(defined(__aarch64__) && defined(HF_EMULATED)) /* qemu-user's fault of DC ZVA is elsewhere */
		ASSERT_EQ(size - hf_clear_nofault(src, size), 100u);
#endif
		ASSERT_EQ(size - hf_fill_nofault(src, 9, size), 100u);
		ASSERT_EQ(std::string(p.start, src), before.substr(0, page - 100));
		memcpy(p.start, before.data(), page);
		ASSERT_EQ(hf_find_nofault(src, 0, size, &at), -HF_EFAULT);
		ASSERT_EQ(at, 100u);
		ASSERT_EQ(hf_compare_nofault(src, src, size, &at), -HF_EFAULT);
		ASSERT_EQ(at, 100u);
		ASSERT_EQ(hf_length_nofault(src, size, &at), -HF_EFAULT);
		ASSERT_EQ(hf_strncpy_nofault(p.start, src, size), -HF_EFAULT);
		ASSERT_EQ(std::string(p.start, 100), before.substr(page - 100));
		memcpy(p.start, before.data(), page);
		ASSERT_EQ(size - hf_copy_nofault_words(p.middle - 104, p.middle - 96, size), 12u);
		memcpy(p.start, before.data(), page);
		// A list whose bytes can't be counted: as readv().
		hf_iovec from = { src, size },
			 twice[2] = { { src, size / 2 + 1 }, { src, size / 2 + 1 } };
		hf_iovec_stop stop = { 7, 7, 7, 7, 7 };
		ASSERT_EQ(hf_copy_iovec_nofault(&to, 1, &from, 1, &stop), -HF_EINVAL);
		ASSERT_EQ(stop.done + stop.dst + stop.src + byte, 0u);
		ASSERT_EQ(hf_copy_iovec_nofault(&from, 1, &to, 1, nullptr), -HF_EINVAL);
		ASSERT_EQ(hf_copy_iovec_nofault(&to, 1, twice, 2, nullptr), -HF_EINVAL);
	}
	EXPECT_EQ(std::string(p.start, page), before);
}

TEST_F(NoFaultMemory, WordsAreNotTorn)
{
	alignas(64) static std::array<std::atomic<uint64_t>, 64> shared;
	std::array<uint64_t, 64> copy{};
	std::atomic<bool> stop{ false };
	uint64_t torn = 0;
	std::thread writer([&] {
		for (uint64_t i = 0; !stop; i++) {
			for (auto &word : shared)
				word.store(i % 2 ? ~uint64_t(0) : 0, std::memory_order_relaxed);
		}
	});

	for (int i = 0; i < 2000; i++) {
		ASSERT_EQ(hf_copy_nofault_words(copy.data(), &shared, copy.size()), 0u);
		for (uint64_t word : copy)
			torn += word != 0 && word != ~uint64_t(0);
	}
	stop = true;
	writer.join();
	EXPECT_EQ(torn, 0u);
}

TEST_F(NoFaultMemory, ExchangeAndAddLoseNothing)
{
	uint64_t sum = 0;
	std::vector<std::thread> threads;

	for (int t = 0; t < 4; t++) {
		threads.emplace_back([&] {
			uint64_t found;

			for (int i = 0; i < 20000; i++)
				EXPECT_EQ(hf_fetch_add64_nofault(&sum, 3, &found), 0);
		});
	}
	for (auto &thread : threads)
		thread.join();
	EXPECT_EQ(sum, 4u * 20000 * 3);
}

TEST_F(NoFaultMemory, EachImplementationCanBeChosen)
{
	size_t count;
	const hf_variant_memory *m = hf_variant_memories(&count);

	EXPECT_STREQ(hf_variant_memory_chosen(), "default");
	for (size_t i = 0; i < count; i++) {
		char bytes[100] = {};

		if (!m[i].is_legal()) {
			EXPECT_EQ(hf_variant_memory_choose(m[i].name), -ENOTSUP);
			continue;
		}
		ASSERT_EQ(hf_variant_memory_choose(m[i].name), 0);
		EXPECT_STREQ(hf_variant_memory_chosen(), m[i].name);
		EXPECT_EQ(hf_fill_nofault(bytes, 3, sizeof(bytes)), 0u);
		EXPECT_EQ(bytes[99], 3);
	}
	EXPECT_EQ(hf_variant_memory_choose("no such"), -EINVAL);
	EXPECT_EQ(hf_variant_memory_choose("default"), 0);
	EXPECT_STREQ(hf_variant_memory_chosen(), "default");
}

TEST_F(NoFaultMemory, Spans)
{
	std::vector<uint16_t> numbers(50, 7);
	std::array<uint64_t, 4> four{ 1, 2, 3, 4 };
	std::vector<uint64_t> three(3);

	EXPECT_EQ(hf::fill_nofault(numbers, 0xff), 0u);
	EXPECT_EQ(numbers, std::vector<uint16_t>(50, 0xffff));
	EXPECT_EQ(hf::copy_nofault_words(three, four), 1u);
	EXPECT_EQ(three, (std::vector<uint64_t>{ 1, 2, 3 }));
}

} // namespace
