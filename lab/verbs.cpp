/* SPDX-License-Identifier: MIT */
/*
 * The table `verbs`: fill, move, compare, find, length and more of memory that may fault, beside
 * the C library's functions and the compiler's atomics, for memory that can't.
 *
 * Each operation uses the same buffers; misaligned: the destination by 1, the source by 3. A
 * comparison meets no difference and a search no hit, so both read the whole buffer. A move is by
 * 13 bytes, up or down.
 */
#include "bench.hpp"

#include <cstring>
#include <vector>

#include "holdfast/nofault.h"

#include "variants/nofault/implementations.h"

namespace lab
{
namespace
{

constexpr size_t MOST = 65536;
constexpr size_t BY = 13; /* distance of a move */

/* Called through volatile pointers, so that the compiler can't replace the calls. */
void *(*volatile libc_memset)(void *, int, size_t) = memset;
void *(*volatile libc_memcpy)(void *, const void *, size_t) = memcpy;
void *(*volatile libc_memmove)(void *, const void *, size_t) = memmove;
int (*volatile libc_memcmp)(const void *, const void *, size_t) = memcmp;
const void *(*volatile libc_memchr)(const void *, int, size_t) = memchr;
size_t (*volatile libc_strnlen)(const char *, size_t) = strnlen;

enum class Kind { Fill, MoveUp, MoveDown, Compare, Find, Length, Words, Lists, Exchange, FetchAdd };
enum class Way { Plain, Aligned, Inline, Function };

#if defined(__SSE2__)
typedef long long pair_t __attribute__((vector_size(16), may_alias));
#else
typedef uint64_t pair_t __attribute__((may_alias));
#endif

/* The fair peer of `words`: it copies aligned units too, of 16 bytes where those are one access. */
__attribute__((noinline)) void copy_aligned(char *to, const char *from, size_t size)
{
	auto *dst = reinterpret_cast<pair_t *>(to);
	auto *src = reinterpret_cast<const pair_t *>(from);
	size_t i = 0;

	for (; i + 4 <= size / sizeof(pair_t); i += 4) {
		pair_t a = src[i], b = src[i + 1], c = src[i + 2], d = src[i + 3];

		__asm__("" ::: "memory"); /* else the compiler calls memcpy() */
		dst[i] = a, dst[i + 1] = b, dst[i + 2] = c, dst[i + 3] = d;
	}
	for (size_t at = i * sizeof(pair_t); at < size; at += 8)
		*reinterpret_cast<volatile uint64_t *>(to + at) =
			*reinterpret_cast<const volatile uint64_t *>(from + at);
}

/* The size of each range of a list. */
constexpr size_t RANGE = 64;

struct Operation {
	size_t size = 0, offset = 0;
	const hf_variant_memory *ours = nullptr;
	uint64_t wrong = 0;
};

alignas(4096) char to_area[MOST + 4096], from_area[MOST + 4096];

template <Kind What, Way How>
bool once(const Operation &o, char *to, char *from)
{
	size_t at = 0;

	if (What == Kind::Fill) {
		if (How == Way::Plain)
			return libc_memset(to, 0x42, o.size) != to;
		return (How == Way::Inline ? hf_fill_nofault(to, 0x42, o.size)
					   : o.ours->fill(to, 0x42, o.size)) != 0;
	}
	if (What == Kind::MoveUp || What == Kind::MoveDown) {
		char *dst = What == Kind::MoveUp ? to : to + BY;
		const char *src = What == Kind::MoveUp ? to + BY : to;

		if (How == Way::Plain)
			return libc_memmove(dst, src, o.size) != dst;
		return (How == Way::Inline ? hf_move_nofault(dst, src, o.size)
					   : o.ours->move(dst, src, o.size)) != 0;
	}
	if (What == Kind::Compare) {
		if (How == Way::Plain)
			return libc_memcmp(to, from, o.size) != 0;
		if (How == Way::Inline)
			return hf_compare_nofault(to, from, o.size, &at) != 0 || at != o.size;
		return o.ours->compare(to, from, o.size).result != 0;
	}
	if (What == Kind::Find) {
		if (How == Way::Plain)
			return libc_memchr(to, 0x43, o.size) != nullptr;
		if (How == Way::Inline)
			return hf_find_nofault(to, 0x43, o.size, &at) != -HF_ENOENT || at != o.size;
		return o.ours->find(to, 0x43, o.size).result != -HF_ENOENT;
	}
	if (What == Kind::Length) {
		if (How == Way::Plain)
			return libc_strnlen(to, o.size) != o.size;
		if (How == Way::Inline)
			return hf_length_nofault(to, o.size, &at) != -HF_ENOENT || at != o.size;
		return o.ours->find(to, 0, o.size).result != -HF_ENOENT;
	}
	if (What == Kind::Words) {
		if (How == Way::Plain)
			return libc_memcpy(to, from, o.size) != to;
		if (How == Way::Aligned)
			return copy_aligned(to, from, o.size), false;
		return hf_copy_nofault_words(to, from, o.size / 8) != 0;
	}
	if (What == Kind::Lists) {
		hf_iovec a[16], b = { from, o.size };
		size_t count = o.size / RANGE;

		for (size_t i = 0; i < count; i++)
			a[i] = { to + 2 * RANGE * i, RANGE };
		__asm__ volatile("" : : "r"(a) : "memory"); /* both ways read the list */
		if (How == Way::Inline)
			return hf_copy_iovec_nofault(a, count, &b, 1, nullptr) != 0;
		for (size_t i = 0; i < count; i++)
			libc_memcpy(a[i].base, from + i * RANGE, a[i].len);
		return false;
	}
	uint64_t *word = reinterpret_cast<uint64_t *>(to), found;

	if (What == Kind::Exchange) {
		if (How == Way::Inline)
			return hf_exchange64_nofault(word, 1, &found) != 0;
		__atomic_exchange_n(word, 1, __ATOMIC_SEQ_CST);
		return false;
	}
	if (How == Way::Inline)
		return hf_fetch_add64_nofault(word, 1, &found) != 0;
	__atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
	return false;
}

template <Kind What, Way How>
uint64_t operations(void *state, int, const int *stop)
{
	Operation &shared = *static_cast<Operation *>(state);
	Operation o = shared;
	uint64_t done = 0;
	const int batch = o.size < 16384 ? 64 : 1;

	do { /* at least once, however short the window */
		for (int i = 0; i < batch; i++) {
			o.wrong += once<What, How>(o, to_area + o.offset, from_area + 3 * o.offset);
			__asm__ volatile("" ::: "memory");
		}
		done += static_cast<uint64_t>(batch);
	} while (!__atomic_load_n(stop, __ATOMIC_RELAXED));
	shared.wrong = o.wrong;
	return done;
}

/* True if the memory is as one or more operations leave it. */
bool is_right(Kind what, const Operation &o)
{
	const char *to = to_area + o.offset, *from = from_area + 3 * o.offset;

	if (o.wrong)
		return false;
	if (what == Kind::Words)
		return memcmp(to, from, o.size) == 0;
	if (what == Kind::Lists) {
		for (size_t i = 0; i < 2 * o.size; i++) {
			if (to[i] != (i / RANGE % 2 ? 0x42 : 0x41))
				return false;
		}
		return true;
	}
	if (what == Kind::Exchange)
		return to[0] == 1;
	if (what == Kind::FetchAdd)
		return true;
	/* All bytes are 0x42, before and after. */
	return to[0] == 0x42 && memcmp(to, to + 1, o.size + BY) == 0;
}

std::vector<Sample> run_operation(Kind what, loop_t loop, Operation o, int ms)
{
	memset(to_area, 0x42, sizeof(to_area));
	memset(from_area, what == Kind::Words || what == Kind::Lists ? 0x41 : 0x42,
	       sizeof(from_area));
	Window window = run_window(1, ms, loop, { &o });

	return { sample_of(window, is_right(what, o)) };
}

template <Kind What>
void add_cells(std::vector<Cell> *cells, const char *operation, const std::string &name,
	       size_t size, size_t offset, bool by_name)
{
	size_t count;
	const hf_variant_memory *ours = hf_variant_memories(&count);
	Operation o;
	auto add = [&](const char *variant, const char *kind, loop_t loop) {
		Operation mine = o;

		cells->push_back({ { Row("verbs", variant, kind, std::string(operation) + name) },
				   [=](int ms) { return run_operation(What, loop, mine, ms); },
				   1,
				   15 });
	};

	o.size = size;
	o.offset = offset;
	add("plain", "peer", operations<What, Way::Plain>);
	if (What == Kind::Words)
		add("aligned", "peer", operations<What, Way::Aligned>);
	add("default", "default", operations<What, Way::Inline>);
	for (size_t i = 0; by_name && i < count; i++) {
		if (!ours[i].is_legal())
			continue;
		o.ours = &ours[i];
		add(ours[i].name, "ours", operations<What, Way::Function>);
	}
}

} // namespace

std::vector<Cell> verbs_cells(const Settings &)
{
	static const size_t sizes[] = { 3, 8, 15, 31, 64, 100, 256, 1000, 4096, 65536 };
	std::vector<Cell> cells;

	for (size_t offset : { 0, 1 }) {
		for (size_t size : sizes) {
			std::string name =
				" " + std::to_string(size) + " B" + (offset ? " misaligned" : "");

			add_cells<Kind::Fill>(&cells, "fill", name, size, offset, true);
			if (size > BY) {
				add_cells<Kind::MoveUp>(&cells, "move up", name, size, offset,
							true);
				add_cells<Kind::MoveDown>(&cells, "move down", name, size, offset,
							  true);
			}
			add_cells<Kind::Compare>(&cells, "compare", name, size, offset, true);
			add_cells<Kind::Find>(&cells, "find", name, size, offset, true);
			add_cells<Kind::Length>(&cells, "length", name, size, offset, true);
		}
	}
	for (size_t size : { 8, 64, 512, 4096, 65536 })
		add_cells<Kind::Words>(&cells, "words", " " + std::to_string(size) + " B", size, 0,
				       false);
	for (size_t size : { 4 * RANGE, 16 * RANGE })
		add_cells<Kind::Lists>(&cells, "lists",
				       " of " + std::to_string(size / RANGE) + " ranges", size, 0,
				       false);
	add_cells<Kind::Exchange>(&cells, "exchange", " 8 B", 8, 0, false);
	add_cells<Kind::FetchAdd>(&cells, "fetch_add", " 8 B", 8, 0, false);
	return cells;
}

} // namespace lab
