#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Find comments that a formatter has broken.

    comments.py FILE...

Torn: a line of one or two words inside a paragraph or a row of a table, left over when text that was too long is wrapped
without the lines below it. Glued: a comment behind the brace that ends what is above it, or one of several lines joined into
one, which leaves their asterisks in its text. Prints FILE:LINE and why. Exits with 1 if there is one.
"""
import re
import sys


def text_of(line):
    """The text of a comment's line, or "" if it is no such line, or empty."""
    match = re.match(r"\s*(?:/?\*|//) *(.*)", line)
    return match[1].removesuffix("*/").rstrip() if match else ""


def is_continued(before, line, after):
    """True if @line has at most two words, and lies within a sentence or a cell: it can't be a heading or an item."""
    if not before or not after or len(line.split()) > 2 or line[-1] in ".:;" or not re.search(r"\w", line) or re.match(r"[@*\-\[|<]|[A-Z]\d", line):
        return False
    # In @after: a word in small letters, and no columns. In @before: a line that was full.
    return re.match(r"[a-z0-9(@]", after) and not re.search(r"\S {2,}\S|:$|^@\w+:", after) and len(before) > 40 \
        and not re.search(r"[:;.]$", before)


def is_glued(line):
    """True if a comment follows a brace at the start of a line, or has an asterisk before a word: no factor, no pointer."""
    return re.match(r"}\s*/\*", line) or re.search(r"/\* \* |/\*(?:(?!\*/).)*(?<!\d) \* \w.*\*/", line)


def main(files):
    found = 0
    for name in files:
        with open(name, encoding="utf-8") as file:
            raw = file.read().splitlines()
        lines = [text_of(line) for line in raw]
        for number, line in enumerate(raw, 1):
            if is_glued(line):
                print("%s:%d: a comment glued to what is before it, or joined: it belongs above what it is about" % (name, number))
                found += 1
        for number in range(1, len(lines) - 1):
            if lines[number] and is_continued(*lines[number - 1:number + 2]):
                print("%s:%d: a line of %r inside a paragraph: wrap the lines below it, too" % (name, number + 1, lines[number]))
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
