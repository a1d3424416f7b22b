// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * user_memory - clears and copies user memory with a hole, by each implementation, and compares the
 * result byte by byte.
 *
 *      page               hole
 *      |     [start ......|....... start + size)
 *      |      `- good ---'|          good bytes must be done, and size - good returned
 */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "nofault.h"
#include "test.h"

#define ROOM 1024 /* the tests use so many bytes at the end of the good page */
#define BEFORE 0xa5
#define MOST 300

enum hole { UNMAPPED, NO_ACCESS, READ_ONLY, HOLES };

static const char *const hole_names[] = { "unmapped", "no access", "read-only" };

static char *hole; /* a user address */
static u8 *expected, *found, *source;

/* Maps two pages and makes the second one a hole. */
static bool map(enum hole kind)
{
	unsigned long at = vm_mmap(NULL, 0, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
				   MAP_ANONYMOUS | MAP_PRIVATE, 0);
	unsigned long second = at + PAGE_SIZE;

	if (IS_ERR_VALUE(at))
		return false;
	hole = (char *)second;
	if (kind == UNMAPPED)
		return vm_munmap(second, PAGE_SIZE) == 0;
	return vm_mmap(NULL, second, PAGE_SIZE, kind == READ_ONLY ? PROT_READ : PROT_NONE,
		       MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, 0) == second;
}

static void unmap(void)
{
	(void)vm_munmap((unsigned long)hole - PAGE_SIZE, 2 * PAGE_SIZE);
}

static void fill(int byte)
{
	memset(expected, byte, ROOM);
	if (copy_to_user((void __user *)(hole - ROOM), expected, ROOM))
		memset(expected, ~byte, ROOM); /* makes same() fail */
}

static bool same(void)
{
	return !copy_from_user(found, (const void __user *)(hole - ROOM), ROOM) &&
	       !memcmp(found, expected, ROOM);
}

enum way { CLEAR, COPY_TO, COPY_FROM };

static size_t call(enum way way, const struct kernel_implementation *with, char *at, size_t size)
{
	if (way == CLEAR)
		return with->clear(at, size);
	return way == COPY_TO ? with->copy_to(at, source, size) : with->copy_from(found, at, size);
}

/*
 * Runs one operation with `good` bytes before the hole. Returns its result, or SIZE_MAX if the
 * bytes are wrong.
 */
static size_t one(enum way way, const struct kernel_implementation *with, size_t size, size_t good)
{
	char *at = hole - good;
	size_t done = min(size, good), left;

	if (way == COPY_FROM) {
		for (size_t i = 0; i < ROOM; i++)
			expected[i] = (u8)(i * 7 + 1);
		if (copy_to_user((void __user *)(hole - ROOM), expected, ROOM))
			return SIZE_MAX;
		memset(found, BEFORE, ROOM);
		left = call(way, with, at, size);
		for (size_t i = 0; i < MOST + 8; i++) {
			if (found[i] != (i < done ? expected[ROOM - good + i] : BEFORE))
				return SIZE_MAX;
		}
		return left;
	}
	fill(BEFORE);
	left = call(way, with, at, size);
	if (way == CLEAR)
		memset(expected + ROOM - good, 0, done);
	else
		memcpy(expected + ROOM - good, source, done);
	return same() ? left : SIZE_MAX;
}

/*
 * Tries every size, with the hole at every place near both ends, at some between, and nowhere.
 * Returns how many results are exact, or 0 after a failed case.
 */
static unsigned long sweep(const char *name, enum way way, enum hole kind,
			   const struct kernel_implementation *with, unsigned int step)
{
	unsigned long exact = 0;

	for (size_t size = 0; size <= MOST; size += size < 140 ? step : 23) {
		for (size_t good = 0; good <= size + 3; good++) {
			size_t left;

			if (good > 35 && good + 35 < size && good % 16 > 1)
				continue;
			left = one(way, with, size, good);
			if (left != size - min(size, good)) {
				test_case(false, name, "%s: size %zu with %zu good: %zu left",
					  hole_names[kind], size, good, left);
				return 0;
			}
			exact++;
		}
		cond_resched();
	}
	return exact;
}

static void judge(enum way way, enum hole kind, const struct kernel_implementation *with)
{
	static const char *const ways[] = { "clear", "copy_to", "copy_from" };
	char name[64];
	unsigned long exact;

	snprintf(name, sizeof(name), "user_memory.%s.%s", ways[way], with->name);
	/* The kind of hole matters little: try every size with one kind, some with the others. */
	exact = sweep(name, way, kind, with, kind == UNMAPPED ? 1 : 7);
	if (exact)
		test_case(exact > 500, name, "%s: %lu exact", hole_names[kind], exact);
}

/* Operations on the kernel's own addresses, or on non-canonical ones, fail without any access. */
static void kernel_addresses(void)
{
	static u8 own[64];
	u8 *beyond = (u8 *)(1ul << 63 | 1ul << 48 | 64);
	u32 half = 6;
	bool ok;

	memset(own, 1, sizeof(own));
	ok = hf_clear_nofault(own, 64) == 64 && own[0] == 1;
	ok = ok && hf_copy_to_nofault(own, source, 64) == 64 && own[0] == 1;
	ok = ok && hf_copy_from_nofault(found, own, 64) == 64;
	ok = ok && hf_copy_nofault(hole - 64, own, 64) == 64;
	ok = ok && hf_clear_nofault(beyond, 64) == 64;
	ok = ok && hf_load32_nofault(&half, own) == -HF_EFAULT && half == 6;
	ok = ok && hf_store32_nofault(own, 6) == -HF_EFAULT && own[0] == 1;
	ok = ok && hf_copy_nofault(hole - 64, hole - 128, 64) == 0;
	ok = ok && hf_copy_nofault(hole - 64, hole - 128, 65) == 1;
	test_case(ok, "user_memory.kernel_addresses", "the kernel's own memory is refused");
}

void user_memory_test(void)
{
	expected = kmalloc(2 * ROOM, GFP_KERNEL);
	found = kmalloc(2 * ROOM, GFP_KERNEL);
	source = kmalloc(2 * ROOM, GFP_KERNEL);
	if (!expected || !found || !source) {
		test_case(false, "user_memory.allocation", "no memory");
		goto out;
	}
	for (size_t i = 0; i < ROOM; i++)
		source[i] = (u8)(i * 13 + 5);
	for (enum hole kind = UNMAPPED; kind < HOLES; kind++) {
		if (!map(kind)) {
			test_case(false, "user_memory.map", "%s", hole_names[kind]);
			break;
		}
		for (unsigned int i = 0; i < kernel_implementation_count; i++) {
			const struct kernel_implementation *with = &kernel_implementations[i];

			judge(CLEAR, kind, with);
			judge(COPY_TO, kind, with);
			if (kind != READ_ONLY)
				judge(COPY_FROM, kind, with);
		}
		if (kind == UNMAPPED) {
			kernel_addresses();
		}
		unmap();
	}
out:
	kfree(expected);
	kfree(found);
	kfree(source);
}
