/* SPDX-License-Identifier: MIT */
/*
 * cpp - the qualified name in a mangled name of C++, or of Rust's older form, without arguments:
 * "_ZN4node6Worker3RunEv" is node::Worker::Run. What it does not understand stays as it is:
 * operators other than a call, abbreviations such as Ss, and rare types.
 *
 * Like symbol.c, it allocates nothing and takes no lock. The name may be anything that ends with 0.
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

static const char *skip_group(const char *at, bool is_value, int depth);

/* "vE_", behind "Ul": a function without a name. */
static const char *skip_lambda(const char *at, int depth)
{
	at = depth < DEEP ? skip_group(at, false, depth + 1) : NULL;
	return at ? skip_number(at) : NULL;
}

/*
 * The types and values up to the E that ends them. Returns what follows, or NULL. Of a value
 * (@is_value, "b1E" after its L) the digits behind the type are no identifier's length.
 */
static const char *skip_group(const char *at, bool is_value, int depth)
{
	const char *start;
	size_t len;

	for (bool is_first = true; at && *at != 'E'; is_first = false) {
		if (is_digit(*at) && is_value && !is_first)
			at++;
		else if (is_digit(*at))
			at = identifier(at, &start, &len);
		else if (at[0] == 'U' && at[1] == 'l')
			at = skip_lambda(at + 2, depth);
		else if (strchr("INXJFLZ", *at) && *at)
			at = depth < DEEP ? skip_group(at + 1, *at == 'L', depth + 1) : NULL;
		else if (*at == '_' && is_value && is_first && at[1] == 'Z')
			at += 2;
		else if (*at == 'S')
			at = is_lower(at[1]) ? at + 2 : skip_number(at + 1);
		else if (*at == 'T' || *at == 'A')
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

static const char *source_name(struct text *text, const char *at)
{
	static const char nameless[] = "_GLOBAL__N_1";

	at = identifier(at, &text->last, &text->last_len);
	if (!at)
		return NULL;
	if (text->last_len == sizeof(nameless) - 1 &&
	    memcmp(text->last, nameless, text->last_len) == 0)
		put_part(text, "(anonymous)", 11);
	else if (text->last_len != 17 || *text->last != 'h' || *at != 'E') /* Rust's hash */
		put_part(text, text->last, text->last_len);
	return at;
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
	if (*at == 'I')
		return skip_group(at + 1, false, 0);
	if (*at == 'B') /* an ABI tag */
		return identifier(at + 1, &start, &len);
	if (at[0] == 'S' && at[1] == 't') {
		put_part(text, "std", 3);
		return at + 2;
	}
	if (at[0] == 'U' && at[1] == 'l') {
		put_part(text, "{lambda}", 8);
		return skip_lambda(at + 2, 0);
	}
	if (at[0] == 'c' && at[1] == 'l') {
		put_part(text, "operator()", 10);
		return at + 2;
	}
	if ((*at != 'C' && *at != 'D') || !is_digit(at[1]) || !text->last_len)
		return NULL;
	put_part(text, "~", *at == 'D');
	put(text, text->last, text->last_len);
	return at + 2;
}

/* Returns what follows the name, or NULL. */
static const char *name(struct text *text, const char *at, int depth)
{
	bool is_in_std = at[0] == 'S' && at[1] == 't';

	if (*at == 'Z') { /* a function, "E", and something inside of it */
		at = depth < DEEP ? name(text, at + 1, depth + 1) : NULL;
		at = at ? skip_group(at, false, 0) : NULL;
		return at ? name(text, at, depth + 1) : NULL;
	}
	if (*at != 'N') {
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
