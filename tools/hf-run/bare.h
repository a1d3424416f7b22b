/* SPDX-License-Identifier: MIT */
#ifndef HF_RUN_BARE_H
#define HF_RUN_BARE_H
/*
 * bare - what hf-run has in place of a C library: its own start, system calls and strings. glibc's
 * start would take most of the command's time, since it asks the processor for its features.
 *
 * State
 *   Strings are made in one piece of static memory, and stay.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/* ---- start, and system calls: of x86-64 and AArch64 ----------------------------------------- */

/* The stack has the number of arguments, they, NULL, the environment, NULL. */
__attribute__((noreturn, used)) void bare_start(char **stack);

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n"
	"\tcall bare_start\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tmov x30, #0\n\tmov x0, sp\n\tb bare_start\n");
#endif

/* Returns the result, or minus the error. */
static long bare_call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long fourth __asm__("r10") = d, fifth __asm__("r8") = e, sixth __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "+a"(number)
			 : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return number;
#elif defined(__aarch64__)
	register long first __asm__("x0") = a, second __asm__("x1") = b, third __asm__("x2") = c,
			    fourth __asm__("x3") = d, fifth __asm__("x4") = e,
			    sixth __asm__("x5") = f, which __asm__("x8") = number;

	__asm__ volatile("svc 0"
			 : "+r"(first)
			 : "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth), "r"(which)
			 : "memory");
	return first;
#endif
}

#define BARE_CALL(name, a, b, c) bare_call(SYS_##name, (long)(a), (long)(b), (long)(c), 0, 0, 0)

static __attribute__((noreturn)) void bare_exit(int status)
{
	for (;;)
		(void)BARE_CALL(exit_group, status, 0, 0);
}

static bool may_access(const char *path, int how)
{
	return BARE_CALL(faccessat, AT_FDCWD, path, how) == 0;
}

/* ---- strings -------------------------------------------------------------------------------- */

/* Compilers call these two. The barrier keeps them from calling them here. */
void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		((char *)to)[i] = ((const char *)from)[i];
		__asm__ volatile("" ::: "memory");
	}
	return to;
}

void *memset(void *to, int byte, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		((char *)to)[i] = (char)byte;
		__asm__ volatile("" ::: "memory");
	}
	return to;
}

/* How many bytes come before the first one of @ends, or the end. */
static size_t span(const char *text, const char *ends)
{
	for (size_t i = 0;; i++) {
		const char *end = ends;

		while (*end && *end != text[i])
			end++;
		if (*end || !text[i])
			return i;
	}
}

static size_t length(const char *text)
{
	return span(text, "");
}

/* What follows @start in the text; NULL = the text does not begin so. */
static const char *after(const char *text, const char *start)
{
	while (*start && *text == *start) {
		text++;
		start++;
	}
	return *start ? NULL : text;
}

static bool is_same(const char *one, const char *other)
{
	const char *rest = after(one, other);

	return rest && !*rest;
}

/* The last place of this byte; NULL = none. */
static char *last(char *text, char byte)
{
	for (size_t i = length(text); i > 0; i--) {
		if (text[i - 1] == byte)
			return text + i - 1;
	}
	return NULL;
}

/* Do these bytes occur in memory? */
static bool has(const void *memory, size_t size, const char *bytes, size_t len)
{
	for (size_t at = 0; len <= size && at <= size - len; at++) {
		size_t i = 0;

		while (i < len && ((const char *)memory)[at + i] == bytes[i])
			i++;
		if (i == len)
			return true;
	}
	return false;
}

static void put(int file, const char *text)
{
	(void)BARE_CALL(write, file, text, length(text));
}

static __attribute__((noreturn)) void fail_with(int status, const char *text)
{
	put(2, "hf-run: ");
	put(2, text);
	put(2, "\n");
	bare_exit(status);
}

/* Strings as one. */
#define JOIN(...) join(__VA_ARGS__, NULL)
#define FAIL(status, ...) fail_with(status, JOIN(__VA_ARGS__))

static char *join(const char *first, ...)
{
	static char room[1 << 18];
	static size_t used;
	char *text = room + used;
	va_list more;

	va_start(more, first);
	for (const char *part = first; part; part = va_arg(more, const char *)) {
		size_t len = length(part);

		if (len >= sizeof(room) - used)
			fail_with(125, "the environment is too long");
		(void)memcpy(room + used, part, len);
		used += len;
	}
	va_end(more);
	room[used++] = '\0';
	return text;
}

static const char *decimal(long number)
{
	char digits[24];
	char *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	return JOIN(at);
}

/* @error: of bare_call() */
static const char *words_of(long error)
{
	static const struct {
		int error;
		const char *words;
	} known[] = { { ENOENT, "No such file or directory" },
		      { EACCES, "Permission denied" },
		      { EPERM, "Operation not permitted" },
		      { EISDIR, "Is a directory" },
		      { ENOTDIR, "Not a directory" } };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].error == -error)
			return known[i].words;
	}
	return JOIN("error ", decimal(-error));
}

#endif
