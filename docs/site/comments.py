# SPDX-License-Identifier: MIT
"""The contents of the headers: names with their comments, and the block comment at the top of each file.

The entries of a Header are its functions, macros, types and C++ classes, in the order of the file. The headers are written in
one style (clang-format's), by which declarations at file scope, and members of a class, are recognised. A comment describes:

    hf_x - summary, or hf_x, hf_y - summary    these names
    without a name, above a declaration        it, and those that follow without an empty line and have no comment
    behind a constant                          it
"""
import os
import re

import checks

FIELDS = ("Context", "Ordering", "Errors", "Return")
PUBLIC = re.compile(r"(?:hf_(?!detail_|env_)|HF_(?!DETAIL_|ENV_))\w+\Z")
INSIDE = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"  # of parentheses
# Attributes, which are removed from what is shown.
NOISE = re.compile(r"\s*\b(?:HF_(?:CAPABILITY|ALIGNED|ACQUIRE|TRY_ACQUIRE|RELEASE|REQUIRES|EXCLUDES|ASSERT_HELD|DETAIL_LINKED)"
                   r"|__attribute__)\s*\(%s\)|\s*\bHF_(?:MAY_ALIAS|INLINE|API|API_EACH|COLD|SLOW|MUST_CHECK|SCOPED_CAPABILITY"
                   r"|NO_THREAD_SAFETY_ANALYSIS)\b|\[\[nodiscard\]\] " % INSIDE)
# Declarations, each with its name. They are looked for in text whose comments are blank.
KINDS = {
    "macro": r"^#\s*define (?P<name>HF_\w+)(?:\((?P<parameters>[^)]*)\))?[ \t]*(?P<source>(?:.*\\\n)*.*)$",
    "function": r"^(?!#|typedef\b|\s|HF_(?:BEGIN|END)_)(?P<head>[\w\s*]*?(?:\(\w+\))?[\w\s*]*[\s*])"
                r"(?P<name>hf_\w+)\((?P<parameters>%s)\)[^;{}]*[;{]" % INSIDE,
    "type": r"^typedef (?P<head>(?!struct[^;(]*\{)[^;{]*)\(\*(?P<name>hf_\w+)\)\((?P<parameters>%s)\);" % INSIDE,
    "struct": r"^(?P<typedef>typedef )?(?P<kind>struct|union|enum)\b[^;{]*?\b(?P<name>hf_\w+) \{"
              r"(?P<body>.*?)^\}(?:[^;]*?\b(?P<other>hf_\w+))?[^;]*;",
}
CXX = {
    "class": r"^(?:template <[^\n]*>\n)?(?:class|struct) (?:HF_\w+(?:\([^)]*\))? )*(?P<name>\w+)"
             r"(?:\s[^{;]*)?\{(?P<body>.*?)^\};",
    "function": r"^(?P<head>(?:template <[^\n]*>\n)?(?:\[\[nodiscard\]\] )?"
                r"(?!#|template|class|struct|using|HF_(?:BEGIN|END)|\s|[/*}]|\w+:$)[\w:<>, \t&*.()]*?[ *&])"
                r"(?P<name>[a-z]\w+)\((?P<parameters>%s)\)[^;{}]*\{" % INSIDE,
    "var": r"^(?:HF_\w+|constexpr|static|inline)[\w ]* (?P<name>\w+)(?:\{[^}]*\}| = [^;]*);",
}
MEMBER = re.compile(r"^\t(?![\s}#]|(?:public|private|protected):)(?P<all>(?:template <[^\n]*>\s+)?(?:\[\[nodiscard\]\] )?"
                    r"(?:using \w+ = [^;]*|"
                    r"struct \w+(?= \{)|[\w:<>,\s&*~]*?(?:operator[^(]+(?:\(\)(?=\())?|~?\w+)"
                    r"\(%s\)[^;{}]*?))(?:\s+:\s[^;]*?)?\s*(?:[;{])" % INSIDE,
                    re.MULTILINE)
NAMED = re.compile(r"((?:hf_|HF_)\w+(?:, (?:hf_|HF_)\w+)*|[a-z_]+) - (.*)", re.DOTALL)
FIELD = re.compile(r"(Context|Ordering|Error|Return)s?:\s*(.*)")
COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


class Entry:
    def __init__(self, header, kind, name):
        self.header, self.kind, self.name = header, kind, name
        self.line, self.signature, self.summary = 0, name, ""
        self.paragraphs, self.arguments, self.fields = [], {}, {}
        self.parameters, self.values, self.source = [], [], ""
        self.members = []  # of a class: (signature, words)

    def field(self, key):
        """A field of the comment, or of the file's block comment, which holds for all its functions."""
        return self.fields.get(key) or (self.header.default(key) if self.kind == "function" else "")

    def argument(self, name):
        return self.arguments.get(name) or self.header.arguments.get(name)

    @property
    def returns(self):
        return not re.match(r"(?:static |inline )*void (?!\*)", self.signature)


class Header:
    """path is relative to include/holdfast."""

    def __init__(self, root, path):
        self.path, self.stem = path, re.sub("^internal/", "", path[:-2])
        self.summary, self.sections, self.entries, self.arguments = "", [], [], {}
        self.text = checks.read(root, path)
        for comment in re.findall(r"^/\*\n(.*?)\*/", self.text, re.MULTILINE | re.DOTALL):
            lines = [re.sub(r"^ \*(?: |$)", "", line).rstrip().expandtabs(8) for line in comment.split("\n")]
            if re.match(r"[\w, -]+? - ", lines[0]) and not PUBLIC.match(lines[0].split(" - ")[0]):
                self.read(lines)
                return
        match = re.search(r"^/\* ([\w, -]+?) - (.*?) \*/", self.text, re.MULTILINE)
        self.summary = match[2] if match else ""

    def read(self, lines):
        """Parse "name - summary" and then sections: a title at the margin with its lines below or beside it."""
        self.summary, at = lines[0].split(" - ", 1)[1], 1
        while at < len(lines) and lines[at]:
            self.summary += " " + lines[at].strip()
            at += 1
        section = ["", []]
        self.sections.append(section)
        for n, line in enumerate(lines[at:], at):
            after = next((text for text in lines[n + 1:] if text), "")
            beside = re.match(r"([A-Z][\w' /+().,-]*?) {2,}(\S.*)", line)
            title = (re.match(r"[A-Za-z](?:\S| (?! ))*\Z", line) and not line.endswith((".", ":"))
                     and after.startswith(" ") and not lines[n - 1])
            if title:
                section = [line, []]
                self.sections.append(section)
            elif beside:
                section = [beside[1], [" " * beside.start(2) + beside[2]]]
                self.sections.append(section)
            elif line and not line.startswith(" ") and not lines[n - 1]:
                section = ["", [line]]
                self.sections.append(section)
            else:
                section[1].append(line)
        names = ()
        for line in self.section("Arguments"):
            if match := re.match(r"\s*(\S.*?) {2,}(\S.*)", line):
                names = re.split(r", ", match[1])
                self.arguments.update((name, match[2]) for name in names)
            else:
                for name in names:
                    self.arguments[name] += " " + line.strip()

    def section(self, title):
        return next((lines for name, lines in self.sections if name == title), [])

    def default(self, key):
        """A field for all functions: the section of that name, if it is a sentence and not a table."""
        text = "\n".join(self.section(key)).strip()
        return "" if re.search(r"\S {2,}\S", text) else " ".join(text.split())

    def examples(self):
        return re.findall(r"examples/\w+\.c(?:pp)?", " ".join(self.section("Example")))


def lines_of(comment):
    text = re.sub(r"^/\*+ ?|\s*\*/$", "", comment)
    return [re.sub(r"^\s*\*(?: |$)", "", line).rstrip() for line in text.split("\n")]


def groups_of(lines):
    """[(names, summary)] at the start of a comment, and the lines after them."""
    found, rest = [], lines
    while rest and not rest[0]:
        rest = rest[1:]
    while rest and (match := NAMED.match(rest[0])):
        rest, summary = rest[1:], match[2]
        while rest and rest[0] and not rest[0].startswith("@") and not NAMED.match(rest[0]):
            summary, rest = summary + " " + rest[0].strip(), rest[1:]
        found.append((match[1].split(", "), summary))
    return found, rest


class Description:
    """The words of a comment: summary, paragraphs, arguments, fields."""

    def __init__(self, summary, lines):
        # In a comment of one line the fields are sentences.
        parts = re.split(r"(?:^|(?<=[.;] ))(?=(?:Ordering|Context|Return|Errors):)", summary)
        self.summary = parts[0].strip().rstrip(";" if len(parts) > 1 else "").strip()
        self.paragraphs, self.arguments, self.fields = [], {}, {}
        add = None  # adds words to what the last line began
        for line in [*lines, *(part.strip().rstrip(".") for part in parts[1:])]:
            text = " ".join(line.split())
            argument, field = re.match(r"@([\w.]+(?:, @?[\w.]+)*):\s*(.*)", text), FIELD.match(text)
            if argument:
                keys, place, text = re.split(r", @?", argument[1]), self.arguments, argument[2]
            elif field:
                keys, place, text = [field[1] + "s" * (field[1] == "Error")], self.fields, field[2]
            elif not text:
                add = None
                continue
            elif add:
                add(text)
                continue
            else:
                keys, place = [len(self.paragraphs)], self.paragraphs
                self.paragraphs.append("")

            def add(more, place=place, keys=keys):
                for key in keys:
                    there = place[key] if place is self.paragraphs else place.get(key, "")
                    place[key] = (there + " " + more).strip()
            add(text)
        if not self.summary and self.paragraphs:
            self.summary = self.paragraphs.pop(0)

    def describe(self, entry):
        """Give an entry that has no description these words, without the arguments of other functions in the same comment."""
        if not entry.summary:
            entry.summary, entry.paragraphs, entry.fields = self.summary, self.paragraphs, self.fields
            entry.arguments = {name: words for name, words in self.arguments.items() if name in entry.parameters}


def shown(text):
    return re.sub(r"\s+", " ", NOISE.sub("", text).replace("HF_DETAIL_CONSTEXPR", "constexpr")).strip()


def names_of(parameters):
    """The names of a function's or macro's parameters."""
    flat = re.sub(r"\(\*(\w+)\)\(%s\)" % INSIDE, r" \1", NOISE.sub("", parameters))
    return [match[1] for part in flat.split(",") if (match := re.search(r"(\w+|\.\.\.)(?:\[\w*\])?\s*$", part)) and match[1] != "void"]


def declared(header, code):
    """Yields (place, entry) of each declaration at file scope."""
    begin = code.find("HF_BEGIN_CXX")
    end = code.find("HF_END_CXX") if begin >= 0 else 0
    plain = code[:begin] + re.sub(r"[^\n]", " ", code[begin:end]) + code[end:] if begin >= 0 else code
    for kind, pattern in KINDS.items():
        for match in re.finditer(pattern, plain, re.MULTILINE | (re.DOTALL if kind == "struct" else 0)):
            name = match["name"]
            if kind == "struct":
                entry = Entry(header, "type" if match["typedef"] else match["kind"], match["other"] or name)
                entry.tag = name
                entry.source = shown_source(header.text[match.start():match.end()])
                inner = header.text[match.start("body"):match.end("body")]
                rows = re.findall(r"^\t(HF_\w+)[^\n/]*(?:/\*(.*?)\*/)?", inner, re.MULTILINE | re.DOTALL)
                entry.values = [(value, " ".join(words.split())) for value, words in rows]
                name = entry.name
            else:
                entry = Entry(header, kind, name)
                entry.parameters = names_of(match["parameters"] or "")
            if kind == "macro":
                entry.source = match["source"].strip()
                entry.signature = name + ("(%s)" % match["parameters"] if match["parameters"] is not None else "")
            elif kind == "function":
                entry.signature = shown("%s%s(%s)" % (match["head"], name, match["parameters"]))
            elif kind == "type":
                entry.signature = shown("typedef %s(*%s)(%s)" % (match["head"], name, match["parameters"]))
            if PUBLIC.match(name) and not name.endswith("_H"):
                yield match.start(), entry
    for kind, pattern in CXX.items() if begin >= 0 else ():
        for match in re.compile(pattern, re.MULTILINE | (re.DOTALL if kind == "class" else 0)).finditer(code, begin, end):
            if "detail_" in match["name"]:
                continue
            entry = Entry(header, "class", "hf::" + match["name"])
            if kind == "function":
                entry.signature = shown("%s%s(%s)" % (match["head"], match["name"], match["parameters"]))
            elif kind == "class":
                entry.members = members(header, code, match)
            yield match.start(), entry


def shown_source(text):
    return re.sub(r"[ \t]+\n", "\n", NOISE.sub("", text)).expandtabs(4)


def members(header, code, match):
    """[(signature, words)] of the public members of a class."""
    found, public = [], not re.match(r"(?:template[^\n]*\n)?class", match[0])
    comments = {m.end(): lines_of(m[0]) for m in COMMENT.finditer(header.text) if m[0].startswith("/*")}
    at, end = match.start("body"), match.end("body")
    while at < end:
        label = re.compile(r"^(public|private|protected):", re.MULTILINE).search(code, at, end)
        stop = label.start() if label else end
        for one in MEMBER.finditer(code, at, stop) if public else ():
            if not re.search(r"detail_|~", one["all"]) and "delete" not in one["all"].split() and "friend" not in one["all"]:
                above = comments.get(len(header.text[:one.start()].rstrip()), [])
                found.append((shown(one["all"]), " ".join(" ".join(above).split())))
        public, at = bool(label) and label[1] == "public", label.end() if label else end
    return found


def read(header):
    """Set a header's entries. Returns complaints: arguments that no function of the comment has."""
    text, complaints = header.text, []
    found = [match for match in COMMENT.finditer(text) if match[0].startswith("/*")]
    code = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]) if match[0].startswith("/*") else match[0], text)
    places = sorted(declared(header, code), key=lambda item: item[0])
    by_name = {}
    for place, entry in places:
        entry.line = place
        by_name.setdefault(getattr(entry, "tag", entry.name), []).append(entry)
        by_name.setdefault(entry.name.removeprefix("hf::"), []).append(entry)
    for comment in found:
        begin = text.rfind("\n", 0, comment.start()) + 1
        before, lines = text[begin:comment.start()], lines_of(comment[0])
        if before.strip():  # behind a macro
            if match := re.match(r"#\s*define (HF_\w+)", before):
                for entry in by_name.get(match[1], ()):
                    Description(" ".join(lines), []).describe(entry)
            continue
        groups, rest = groups_of(lines)
        if groups and groups[0][0] == [header.stem] and any(line.startswith("Use when") for line in rest):
            continue  # the opening comment
        entries = []
        for names, summary in groups:
            description = Description(summary, rest)
            for name in names:
                for entry in [entry for entry in by_name.get(name, ()) if entry.line > comment.start()]:
                    description.describe(entry)
                    entries.append(entry)
        if not groups:
            run = re.match(r"(?:[^\n]*[^\s\n][^\n]*\n)*", text[comment.end() + 1:])[0]
            stop = comment.end() + 1 + (run.find("/*") if "/*" in run else len(run))
            for place, entry in places:
                if comment.end() < place <= max(stop, comment.end() + 1) and not re.match("-{3}", lines[0]):
                    Description("", lines).describe(entry)
        elif entries:
            known = {name for entry in entries for name in entry.parameters}
            complaints += ["%s: %s has no argument '%s'" % (header.path, entries[0].name, name)
                           for name in Description("", rest).arguments if name not in known and name != "guard"]
    for _, entry in places:
        before = next((other for other in header.entries if other.name == entry.name), None)
        if not before:
            header.entries.append(entry)
        elif entry.summary and not before.summary:
            header.entries[header.entries.index(before)] = entry
    return complaints


def load(root):
    """({path: Header} of the headers that users include, complaints)"""
    top = os.path.join(root, "include", "holdfast")
    found = {name: Header(top, name) for name in sorted(os.listdir(top)) if name.endswith(".h")}
    return found, [line for header in found.values() for line in read(header)]
