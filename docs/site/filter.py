#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Doxygen's INPUT_FILTER: replaces kernel-doc in the headers' comments by Doxygen's commands.

    hf_x - summary               \\brief; a comment with several names is copied before each declaration
    @argument: text              \\param
    Return:                      \\return
    Context: Ordering: Errors:   \\par
    comment before a type, macro or class    its description

The block comment at the top of a file is left to comments.py.
"""
import re
import sys

NAMED = re.compile(r"((?:hf_|HF_)\w+(?:, (?:(?:hf_|HF_)\w+))*) - (.*)", re.DOTALL)
FIELDS = {"Context": "Context", "Ordering": "Ordering", "Errors": "Errors", "Error": "Errors"}
DECLARES = re.compile(r"\s*(?:typedef|struct|enum|union|class|template|#\s*define|using|\[\[|HF_INLINE|HF_DETAIL_CONSTEXPR|"
                      r"explicit|inline|extern|friend|\w[\w:<>*& ]*\()")


def body(comment):
    """The lines of a comment without its delimiters."""
    text = re.sub(r"^/\*+ ?|\s*\*/$", "", comment)
    return [re.sub(r"^\s*\*(?: |$)", "", line).rstrip() for line in text.split("\n")]


def escape(text):
    """Escape text that Doxygen would take for a command or a tag."""
    return re.sub(r"[\\@]|<(?=[\w/])|(?<!\w)#(?=\w)", lambda m: "\\" + m[0], text)


def converted(lines):
    """[(names, lines for Doxygen)] of a comment that begins with names, else []."""
    groups, rest = [], [line for line in lines]
    while rest and not rest[0]:
        rest.pop(0)
    while rest and (match := NAMED.match(rest[0])):
        rest.pop(0)
        summary = match[2]
        while rest and rest[0] and not rest[0].startswith("@") and not NAMED.match(rest[0]):
            summary += " " + rest.pop(0).strip()
        groups.append((match[1].split(", "), summary))
    return [(names, described(summary, rest)) for names, summary in groups]


def described(summary, lines):
    # In a comment of one line the fields are sentences.
    fields = re.findall(r"(?:^|(?<=[.;] ))(Ordering|Context|Return|Errors): ?(.*?)\.?(?=(?: (?:Ordering|Context|Errors):)|$)",
                        summary)
    summary = re.split(r"(?:^|(?<=[.;] ))(?:Ordering|Context|Return|Errors):", summary)[0]
    out = ["\\brief " + escape(summary.strip().rstrip(";").strip())]
    for line in lines + ["%s: %s" % field for field in fields]:
        argument = re.match(r"@([\w.]+(?:, @?[\w.]+)*):\s*(.*)", line)
        field = re.match(r"(Context|Ordering|Errors?|Returns?):\s*(.*)", line)
        if argument:
            out.append("\\param %s %s" % (argument[1].replace("@", "").replace(" ", ""), escape(argument[2])))
        elif field and field[1].startswith("Return"):
            out += ["", "\\return " + escape(field[2])]
        elif field:
            out += ["", "\\par %s:" % FIELDS[field[1]], escape(field[2])]
        else:
            out.append(escape(line) if not line.startswith(" ") else " " + escape(line.strip()))
    return out


def declaration(text, name, at):
    """The position of the first declaration of a name after `at`, or -1."""
    for match in re.finditer(r"^(?!\s|/|\*|#include|\})(?:[^\n(]*[\s*(])?%s\b" % name, text[at:], re.MULTILINE):
        begin = at + match.start()
        while True:  # a declaration of several lines
            before = text.rfind("\n", 0, max(begin - 1, 0)) + 1
            line = text[before:begin - 1] if begin else ""
            if not line.strip() or not re.match(r"[A-Za-z_]", line) or line.rstrip().endswith((";", "}", "*/", "{", ":")) \
                    or before == begin:
                return begin
            begin = before
    return -1


def others(text, at):
    """The positions of all but the first declaration in a block without empty lines."""
    run = re.match(r"\n(?:[^\n]+\n)*", text[at:])[0]
    found, complete = [], False
    for line in re.finditer(r"[^\n]+\n|\n", run):
        if complete and re.match(r"#\s*define HF_|(?:template|struct|typedef|inline)\b|\[\[", line[0]):
            found.append(at + line.start())
        if re.match(r"\s*/\*", line[0]):
            break
        complete = bool(re.search(r"(?:[;}])\s*(?:/\*.*)?$|^#\s*define .*[^\\\n]$", line[0].rstrip("\n")))
    return found


def fitting(lines, rest):
    """Drop arguments that this function does not have, from a comment about several functions."""
    head = re.match(r"[^;{]*", rest)[0]
    return [line for line in lines if not line.startswith("\\param ")
            or re.search(r"\b%s\b" % re.sub(r",.*", "", line.split()[1]), head)]


def commented(lines):
    return "/** " + "\n * ".join(lines).replace("*/", "* /") + "\n */"


def convert(text):
    out, done, inserts = [], 0, []
    comments = [m for m in re.finditer(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', text, re.DOTALL) if m[0].startswith("/*")]
    for number, match in enumerate(comments):
        begin = text.rfind("\n", 0, match.start()) + 1
        after = text[match.end():match.end() + 200].lstrip(" \t")
        lines = body(match[0])
        new = None
        if not text[begin:match.start()].strip():  # the comment begins its line
            groups = converted(lines)
            if groups:
                first, several = True, sum(len(names) for names, _ in groups) > 1
                for names, all_lines in groups:
                    for name in names:
                        place = match.end() + 1 if first and re.match(r"\ntypedef\b", after) else \
                            declaration(text, name, match.end())
                        lines_of = fitting(all_lines, text[place:]) if several and place >= 0 else all_lines
                        gap = text[match.end():place].strip() if place >= 0 else "none"
                        if first and not gap:
                            new = commented(lines_of)
                        elif place >= 0:
                            inserts.append((place, commented(lines_of) + "\n"))
                        first = False
                new = new or ""
            elif re.match(r"\n#ifndef (HF_\w+)\n#define \1\b", after):
                inserts.append((text.index("#define", match.end()),
                                commented([escape(line.strip()) for line in lines]) + "\n"))
                new = ""
            elif after.startswith("\n") and DECLARES.match(after[1:]) and not re.match(r"-{3}", lines[0]):
                lines[0] = re.sub(r"^\w+ - ", "", lines[0])
                new = commented([escape(line.strip()) for line in lines])
                inserts += [(place, new + "\n") for place in others(text, match.end())]
        elif re.match(r"\s*(?:#\s*define\s+HF_\w+|HF_[A-Z]\w*\b.*,|HF_[A-Z]\w*\s*=?)", text[begin:match.start()]) \
                and "\n" not in match[0]:
            new = "/**< " + escape(" ".join(lines).strip()) + " */"  # after a constant
        if new is not None:
            inserts.append((match.start(), (new, match.end())))
    for place, what in sorted(inserts, key=lambda insert: insert[0]):
        out.append(text[done:place])
        done = place
        if isinstance(what, tuple):
            out.append(what[0])
            done = what[1]
        else:
            out.append(what)
    return "".join(out) + text[done:]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        sys.stdout.write(convert(source.read()))
