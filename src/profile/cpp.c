/* SPDX-License-Identifier: MIT */
/*
 * cpp - the qualified name in a mangled name of C++, or of Rust's older form: a stack of mangled
 * names does not fit on a screen. "_ZN4node6Worker3RunEv" is node::Worker::Run; arguments and
 * those of templates are left out. What it does not understand stays as it is.
 *
 * Like symbol.c, it allocates nothing and takes no lock. The name comes from a file, so it may be
 * anything that ends with a zero.
 */
#include <string.h>

#include "symbol.h"

enum { DEEP = 8 };

struct text {
	char *to;
	size_t room, len;
	const char *last; /* the last identifier, for constructors */
	size_t last_len;
	bool is_inner; /* something was written, so the next part needs a "::" */
};

static void put(struct text *text, const char *from, size_t len)
{
	for (size_t i = 0; i < len && text->len + 1 < text->room; i++)
		text->to[text->len++] = from[i];
	text->to[text->len] = '\0';
}

static void put_part(struct text *text, const char *from, size_t len)
{
	if (text->is_inner)
		put(text, "::", 2);
	text->is_inner = true;
	put(text, from, len);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static const char *skip_digits(const char *at)
{
	while (is_digit(*at))
		at++;
	return at;
}

/* "3Run": sets the identifier. Returns its end, or NULL. */
static const char *identifier(const char *at, const char **start, size_t *len)
{
	size_t n = 0;

	for (; is_digit(*at); at++) {
		n = n * 10 + (size_t)(*at - '0');
		if (n > 4096)
			return NULL;
	}
	if (!n || strnlen(at, n) < n)
		return NULL;
	*start = at;
	*len = n;
	return at + n;
}

/* "_", or a number and "_" */
static const char *skip_number(const char *at)
{
	while (is_digit(*at) || (*at >= 'A' && *at <= 'Z'))
		at++;
	return *at == '_' ? at + 1 : NULL;
}

static const char *skip_group(const char *at, int depth);

/* A template's argument that is a value, "b1E", after its L. */
static const char *skip_literal(const char *at, int depth)
{
	const char *start;
	size_t len;

	if (at[0] == '_' && at[1] == 'Z')
		return skip_group(at + 2, depth);
	if (is_digit(*at))
		at = identifier(at, &start, &len);
	else if (*at == 'N')
		at = skip_group(at + 1, depth);
	else if (is_lower(*at))
		at++;
	else
		return NULL;
	if (at && *at == 'n')
		at++;
	at = at ? skip_digits(at) : NULL;
	return at && *at == 'E' ? at + 1 : NULL;
}

/* The types and values up to the E that ends them. Returns what follows, or NULL. */
static const char *skip_group(const char *at, int depth)
{
	const char *start;
	size_t len;

	while (at && *at != 'E') {
		if (is_digit(*at))
			at = identifier(at, &start, &len);
		else if (strchr("INXJF", *at) && *at)
			at = depth < DEEP ? skip_group(at + 1, depth + 1) : NULL;
		else if (*at == 'L')
			at = depth < DEEP ? skip_literal(at + 1, depth + 1) : NULL;
		else if (*at == 'S')
			at = is_lower(at[1]) ? at + 2 : skip_number(at + 1);
		else if (*at == 'T')
			at = skip_number(at + 1);
		else if (*at == 'A')
			at = skip_number(at + 1);
		else if (*at == 'D' && is_lower(at[1]) && at[1] != 'v' && at[1] != 't')
			at += 2;
		else if (is_lower(*at) || (strchr("KVROPCGM", *at) && *at))
			at++;
		else
			at = NULL;
	}
	return at ? at + 1 : NULL;
}

static const char *name(struct text *text, const char *at, int depth);

/* "Z", a function, "E": something inside of it follows. */
static const char *inner(struct text *text, const char *at, int depth)
{
	if (depth == DEEP)
		return NULL;
	at = name(text, at, depth + 1);
	at = at ? skip_group(at, 0) : NULL;
	return at ? name(text, at, depth + 1) : NULL;
}

/* "UlvE_": a function without a name. */
static const char *lambda(struct text *text, const char *at)
{
	at = skip_group(at, 0);
	put_part(text, "{lambda}", 8);
	return at ? skip_number(at) : NULL;
}

static const char *source_name(struct text *text, const char *at)
{
	static const char nameless[] = "_GLOBAL__N_1";

	at = identifier(at, &text->last, &text->last_len);
	if (!at)
		return NULL;
	if (text->last_len == sizeof(nameless) - 1 &&
	    memcmp(text->last, nameless, text->last_len) == 0)
		put_part(text, "(anonymous)", 11);
	else if (text->last_len == 17 && *text->last == 'h' && *at == 'E')
		; /* Rust's hash */
	else
		put_part(text, text->last, text->last_len);
	return at;
}

static const char *operator_name(struct text *text, const char *at)
{
	static const char *const all[] = { "cl()", "ix[]", "aS=",  "eq==", "ne!=",   "lt<",
					   "ls<<", "rs>>", "pt->", "de*",  "nw new", "dl delete" };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (at[0] == all[i][0] && at[1] == all[i][1]) {
			put_part(text, "operator", 8);
			put(text, all[i] + 2, strlen(all[i] + 2));
			return at + 2;
		}
	}
	return NULL;
}

/* The namespace std, or one of its types, by one letter. (Others refer to what came before.) */
static const char *standard_name(struct text *text, const char *at)
{
	static const char *const names[] = { "t",        "aallocator", "sstring",  "bbasic_string",
					     "iistream", "oostream",   "diostream" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (*at != *names[i])
			continue;
		put_part(text, "std", 3);
		text->last = names[i] + 1;
		text->last_len = strlen(text->last);
		if (text->last_len)
			put_part(text, text->last, text->last_len);
		return at + 1;
	}
	return NULL;
}

/* One part of a name. */
static const char *component(struct text *text, const char *at)
{
	const char *start;
	size_t len;

	if (*at == 'L' && is_digit(at[1])) /* static */
		at++;
	if (is_digit(*at))
		return source_name(text, at);
	switch (*at) {
	case 'I':
		return skip_group(at + 1, 0);
	case 'B': /* an ABI tag */
		return identifier(at + 1, &start, &len);
	case 'S':
		return standard_name(text, at + 1);
	case 'C':
	case 'D':
		if (!text->last_len || !is_digit(at[1]))
			return NULL;
		if (*at == 'D')
			put_part(text, "~", 1);
		text->is_inner &= *at == 'C';
		put_part(text, text->last, text->last_len);
		return at + 2;
	case 'U':
		return at[1] == 'l' ? lambda(text, at + 2) : NULL;
	default:
		return is_lower(*at) ? operator_name(text, at) : NULL;
	}
}

/* Returns what follows the name, or NULL. */
static const char *name(struct text *text, const char *at, int depth)
{
	if (*at == 'Z')
		return inner(text, at + 1, depth);
	if (*at != 'N') {
		bool is_in_std = at[0] == 'S' && at[1] == 't';

		at = component(text, at);
		return at && is_in_std ? component(text, at) : at;
	}
	for (at++; *at && strchr("rVKRO", *at); at++)
		;
	while (at && *at != 'E')
		at = component(text, at);
	return at ? at + 1 : NULL;
}

size_t hf_detail_cpp_name(char *to, size_t room, const char *mangled)
{
	struct text text = { .to = to, .room = room };

	if (strncmp(mangled, "_Z", 2) != 0 || !name(&text, mangled + 2, 0) || text.len + 1 >= room)
		return 0;
	return text.len;
}
