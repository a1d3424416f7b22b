/* SPDX-License-Identifier: MIT */
/*
 * Calls the functions of README's first example, to which this file is appended. Exit status: 0, or the
 * line of the failed check.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			return __LINE__;                                                           \
	} while (0)

int main(void)
{
	struct buffer *b = (struct buffer *)calloc(1, sizeof(*b));
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *room = (char *)malloc(2 * page);
	char name[] = "/tmp/holdfast-readme-XXXXXX";
	int file = mkstemp(name);

	CHECK(b && room && file >= 0 && !unlink(name) && !hf_nofault_install());
	CHECK(!ftruncate(file, (off_t)(2 * page)));
	hf_refcount_set(&b->refs, 1);
	hf_mutex_init(&b->lock);
	b->bytes = (const char *)mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, file, 0);
	CHECK(b->bytes != MAP_FAILED);
	CHECK(buffer_get(b) == b && hf_refcount_read(&b->refs) == 2);
	CHECK(buffer_read(b, room, 2 * page) == 2 * page);
	CHECK(!ftruncate(file, (off_t)page)); /* "which another process may truncate" */
	CHECK(buffer_read(b, room, 2 * page) == page);
	buffer_put(b);
	CHECK(hf_refcount_read(&b->refs) == 1);
	buffer_put(b);
	free(room);
	return 0;
}
