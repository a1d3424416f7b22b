/* SPDX-License-Identifier: MIT */
#ifndef BATTERY_LINE_H
#define BATTERY_LINE_H
/* line - a line of text, made of words and numbers without a C library. A full one is cut off. */
struct line {
	char text[160];
	unsigned int length;
};

static inline void put_text(struct line *line, const char *text)
{
	while (*text && line->length < sizeof(line->text) - 1)
		line->text[line->length++] = *text++;
	line->text[line->length] = '\0';
}

static inline void put_number(struct line *line, long number)
{
	unsigned long rest = number < 0 ? 0ul - (unsigned long)number : (unsigned long)number;
	char digits[24];
	unsigned int at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (number < 0)
		digits[--at] = '-';
	put_text(line, &digits[at]);
}

#endif
