# SPDX-License-Identifier: MIT
"""What the comments of the headers say, as data: a Header has sections and entries.

The format is the one that the headers are written in. A block comment at the top: "name - summary", and sections,
each a title at the margin and its body indented under it, or beside it. Before a declaration: "hf_x - summary",
"@argument: text" lines, paragraphs, and the fields Context, Ordering, Errors, Return.

What an entry leaves out it has from elsewhere, in this order:
  - "the same", "as hf_x()", "hf_x(); and more" in its summary: the entry before it, or that of hf_x
  - the sections Arguments, Context, Ordering, Errors, Return of the block comment at the top
"""
import os
import re

FIELDS = ("Context", "Ordering", "Errors", "Return")
# Worlds and choices: an entry names them where its verb exists in some of them only.
CONDITIONS = {
    "HF_ENV_HAS_IRQ": "interrupts can be masked (HF_ENV_HAS_IRQ): kernels, bare metal",
    "HF_ENV_HAS_FORK": "processes fork (HF_ENV_HAS_FORK): Linux user space",
    "HF_ENV_HAS_PARK": "threads can park (HF_ENV_HAS_PARK): Linux user space",
    "HF_ENV_HAS_REGION": "mappings lose pages (HF_ENV_HAS_REGION): Linux user space",
    "!HF_ENV_HAS_CLEAR": "outside of a Linux kernel",
    "HF_ENV_HAS_NODE_MARKS": "a node's index may be foreign (HF_ENV_HAS_NODE_MARKS): Linux user space",
}
NAME = r"(?:hf_[a-z0-9]|HF_[A-Z])[\w<>]*"
NAMES = re.compile(r"(%s(?:, (?:%s|\d+))*) - (.*)" % (NAME, NAME), re.DOTALL)
PUBLIC = re.compile(r"(?:hf_(?!detail_)|HF_(?!DETAIL_))\w+\Z")
# Words of our own that a reader of a signature does not need.
NOISE = re.compile(r"\b(?:HF_INLINE|HF_COLD|HF_SLOW|HF_API_EACH|HF_API|HF_MUST_CHECK|HF_NO_THREAD_SAFETY_ANALYSIS"
                   r"|extern|static|inline)\b")
NOISE_CALL = re.compile(r"\b(?:HF_ACQUIRE|HF_TRY_ACQUIRE|HF_RELEASE|HF_REQUIRES|HF_EXCLUDES|HF_ASSERT_HELD"
                        r"|HF_CAPABILITY|HF_ALIGNED|__attribute__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")


class Entry:
    """A documented thing: a verb, or some that are explained together; a macro, a type, an enumeration."""

    def __init__(self, header, kind, line):
        self.header, self.kind, self.line = header, kind, line
        self.summaries = []   # (names, text)
        self.signatures = []  # (name, text), as many as there are
        self.source = ""      # of a type: its text
        self.arguments = {}   # name -> text
        self.paragraphs = []  # lists of lines
        self.fields = {}
        self.values = []      # of an enumeration: (name, text); of constants: their values
        self.where = []       # conditions
        self.heading = ""     # the line that it stands under
        self.base = None      # the entry that it leaves things out for
        self.also = []        # names of the same verb of other implementations

    @property
    def names(self):
        return [name for names, _ in self.summaries for name in names]

    def field(self, key, seen=()):
        """What holds for it, or None."""
        if key in self.fields:
            return self.fields[key]
        if self.base and self.base not in seen:
            found = self.base.field(key, (*seen, self))
            if found:
                return found
        return self.header.default(key)

    def argument(self, name, seen=()):
        if name in self.arguments:
            return self.arguments[name]
        if self.base and self.base not in seen:
            found = self.base.argument(name, (*seen, self))
            if found:
                return found
        return self.header.arguments.get(name)

    def parameters(self):
        """The names of the parameters, of all signatures."""
        return list(dict.fromkeys(p for _, text in self.signatures for p in parameters(text)))


class Header:
    """One file: path is relative to include/holdfast."""

    def __init__(self, root, path):
        self.path = path
        self.stem = re.sub("^internal/", "", path[:-2])
        self.summary = ""
        self.lead = []       # lines before the first section
        self.sections = []   # (title, text beside the title, lines, column of the text beside)
        self.entries = []
        self.classes = []    # C++: (name, comment, text)
        self.roster = []     # names of a family
        self.declared = {}   # public name -> Declaration
        self.arguments = {}
        with open(os.path.join(root, path), encoding="utf-8") as file:
            self.text = file.read()
        read(self)

    def section(self, title):
        return next((s for s in self.sections if s[0] == title), None)

    def default(self, key):
        """A field that the block comment at the top has for all entries, if it is one sentence or two."""
        found = self.section(key)
        if not found:
            return None
        text = " ".join(filter(None, [found[1], *(line.strip() for line in found[2])]))
        return None if re.search(r"\S {2,}\S", "\n".join([found[1], *found[2]])) else text


def is_public(name):
    """Not private, and not the guard of an include."""
    return PUBLIC.match(name) and not re.match(r"HF_[A-Z0-9_]+_H\Z", name)


class Declaration:
    def __init__(self, kind, name, text, first, last, where):
        self.kind, self.name, self.text, self.first, self.last, self.where = kind, name, text, first, last, where
        self.values = []
        self.source = ""


def parameters(signature):
    """The parameters' names in a signature."""
    depth, start, parts = 0, None, []
    for at, letter in enumerate(signature):
        if letter == "(":
            depth += 1
            if start is None:
                start = at + 1
        elif letter == ")":
            depth -= 1
            if depth == 0:
                parts.append(signature[start:at])
                break
        elif letter == "," and depth == 1:
            parts.append(signature[start:at])
            start = at + 1
    names = []
    for part in parts:
        pointer = re.search(r"\(\*(\w+)\)\s*\(", part)
        last = re.search(r"(\w+)\s*(?:\[[^]]*\])*\s*\Z", part)
        if pointer:
            names.append(pointer[1])
        elif last and last[1] != "void":
            names.append(last[1])
        elif part.strip() == "...":
            names.append("...")
    return names


def signature(text):
    """A declaration without what is for the compiler."""
    before = None
    while before != text:
        before, text = text, NOISE_CALL.sub("", text)
    text = re.sub(r"\s+", " ", NOISE.sub("", text)).strip()
    text = re.sub(r"\s+([,;)])", r"\1", text)
    return re.sub(r"\(\s+", "(", text).rstrip(" ;")


def stripped(comment):
    """The lines of a comment, without its frame."""
    lines = []
    for line in comment[2:-2].split("\n"):
        line = line.expandtabs(8)
        lines.append(re.sub(r"^\s*\*(?: |$)", "", line) if lines else re.sub(r"^\*?\s?", "", line))
    # A comment that begins beside its /* goes on below, one further to the right.
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return [line.rstrip() for line in lines]


def read(header):
    text = header.text
    comments = []  # (first line, last line, is a block, lines)
    blank = list(text)
    for match in re.finditer(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', text, re.DOTALL):
        if match[0].startswith('"'):
            continue
        first = text.count("\n", 0, match.start())
        begin = text.rfind("\n", 0, match.start()) + 1
        comments.append((first, first + match[0].count("\n"), not text[begin:match.start()].strip(),
                         stripped(match[0])))
        for at in range(match.start(), match.end()):
            if blank[at] != "\n":
                blank[at] = " "
    source = text.split("\n")
    code = "".join(blank).split("\n")
    declarations = declared(code, source, comments)
    for declaration in declarations:
        if is_public(declaration.name):
            header.declared.setdefault(declaration.name, declaration)
    blocks = [c for c in comments if c[2]]
    banner = next((c for c in blocks if re.match(r"[\w, -]+? - ", c[3][0] if c[3] else "")
                   and not PUBLIC.match(c[3][0].split(" - ")[0])), None)
    if banner:
        read_banner(header, banner[3])
    roster = re.search(r"#define HF_\w+_ROSTER\(X\)((?:.*\\\n)+.*)", text)
    if roster:
        header.roster = re.findall(r"X\((\w+)", roster[1])
    read_entries(header, [c for c in blocks if c is not banner], declarations, code)
    read_classes(header, code, source, blocks)


def read_banner(header, lines):
    first = re.match(r"([\w, -]+?) - (.*)", lines[0])
    header.summary = first[2]
    at = 1
    while at < len(lines) and lines[at].strip():  # a summary of two lines
        header.summary += " " + lines[at].strip()
        at += 1
    section = None
    for n, line in enumerate(lines[at:], at):
        after = next((text for text in lines[n + 1:] if text.strip()), "")
        beside = re.match(r"([A-Z][\w' /+().,-]*?) {2,}(\S.*)", line)
        title = (re.match(r"(?:[A-Z](?:\S| (?! ))*|[a-z]+)\Z", line) and not line.endswith((".", ":"))
                 and after.startswith(" ") and not lines[n - 1].strip())
        if title or beside and (not section or not lines[n - 1].strip() or section[1]):
            section = [line, "", [], 2] if title else [beside[1], beside[2], [], beside.start(2)]
            header.sections.append(section)
        elif section and (not line or line[0].isspace()):
            section[2].append(line)
        elif section and line and not lines[n - 1].strip():
            section = ["", "", [line], 0]  # a paragraph between sections
            header.sections.append(section)
        elif section:
            section[2].append(line)
        else:
            header.lead.append(line)
    for title, beside, lines_of, column in header.sections:
        if title == "Arguments":
            for line in [" " * column + beside, *lines_of]:
                if match := re.match(r"\s*((?:\.\.\.|[\w, ])+?) {2,}(\S.*)", line):
                    last = match[1].split(", ")
                    for name in last:
                        header.arguments[name] = match[2]
                elif line.strip():
                    for name in last:
                        header.arguments[name] += " " + line.strip()


def declared(code, source, comments):
    """All declarations of C: functions, macros, types, constants."""
    found, conditions, pending, first = [], [], "", 0
    depth = 0
    at = 0
    trailing = {c[0]: " ".join(c[3]) for c in comments if not c[2]}
    cxx = 0
    while at < len(code):
        line = code[at]
        if line.lstrip().startswith("#") and depth == 0:
            start = at
            while code[at].endswith("\\"):
                at += 1
            whole = "\n".join(code[start:at + 1])
            directive = re.match(r"\s*#\s*(\w+)\s*(.*)", line)
            word, rest = directive[1], directive[2].strip()
            if word in ("if", "ifdef", "ifndef"):
                conditions.append(rest if word == "if" else
                                  ("defined " if word == "ifdef" else "!defined ") + rest)
                if cxx or rest == "__cplusplus":
                    cxx += 1
            elif word in ("else", "elif"):
                conditions[-1] = "else of " + conditions[-1]
                if cxx == 1:
                    cxx = 0
                    conditions[-1] = ""
            elif word == "endif":
                conditions.pop()
                if cxx:
                    cxx -= 1
            elif word == "define":
                name = re.match(r"\w+(?:\([^)]*\))?", rest)
                if name:
                    body = whole[whole.index(name[0]) + len(name[0]):]
                    body = re.sub(r"\s*\\?\n\s*", " ", body).strip()
                    item = Declaration("macro", name[0].split("(")[0], name[0], start, at, list(conditions))
                    item.source = body
                    item.values = [trailing[start]] if start in trailing else []
                    found.append(item)
            pending = "" if depth == 0 and not pending.strip() else pending
            at += 1
            continue
        if cxx:
            at += 1
            continue
        if not pending.strip():
            if not line.strip() or re.match(r"\s*(HF_BEGIN_DECLS|HF_END_DECLS|HF_BEGIN_CXX|HF_END_CXX)\s*$", line):
                at += 1
                continue
            first, pending = at, ""
        pending += line + "\n"
        depth += line.count("{") - line.count("}")
        ends = depth == 0 and (line.rstrip().endswith((";", "}"))
                               or re.match(r"HF_\w+\(.*\)\s*$|HF_[A-Z_]+\s*$", line) and first == at)
        if ends:
            found += declaration(pending, first, at, list(conditions), source, trailing)
            pending = ""
        at += 1
    return found


def declaration(text, first, last, where, source, trailing):
    head = text.split("{", 1)[0]
    bare = NOISE_CALL.sub("", head)
    if re.match(r"\s*typedef\b", head):
        tail = text.rsplit("}", 1)[-1] if "{" in text else text
        pointer = re.search(r"\(\*(\w+)\)", tail)
        name = pointer[1] if pointer else (re.findall(r"\b(\w+)\b", NOISE_CALL.sub("", tail)) or [""])[-1]
        item = Declaration("type", name, signature(text) if "{" not in text else name, first, last, where)
        item.source = "\n".join(source[first:last + 1])
        out = [item]
        tag = re.search(r"\b(?:struct|enum|union)\s+(\w+)", bare)
        if tag and "{" in text:
            out.append(Declaration("tag", tag[1], tag[1], first, last, where))
            if "enum" in bare:
                item.values = enumerators(text, first, trailing)
        return out
    tag = re.match(r"\s*(struct|enum|union)\s+(\w+)\s*\Z", bare)
    if tag and "{" in text:
        item = Declaration(tag[1], tag[2], tag[2], first, last, where)
        item.source = "\n".join(source[first:last + 1])
        if tag[1] == "enum":
            item.values = enumerators(text, first, trailing)
        return [item, *(Declaration("enumerator", name, name, first, last, where) for name, _ in item.values)]
    function = re.search(r"\b(hf_\w+)\s*\(", bare)
    if function and not re.match(r"\s*HF_STATIC_ASSERT|\s*struct\s+\w+\s*;", head):
        return [Declaration("function", function[1], signature(head), first, last, where)]
    made = re.match(r"\s*HF_\w+\(", head)
    return [Declaration("made", "", "", first, last, where)] if made else []


def enumerators(text, first, trailing):
    out = []
    for n, line in enumerate(text.split("\n")):
        body = line.split("{", 1)[-1] if n == 0 else line
        for name in re.findall(r"\b(HF_[A-Z]\w*)\b(?=\s*(?:,|=|\}|$))", body.split("}")[0]):
            out.append((name, trailing.get(first + n, "")))
    return out


def read_entries(header, comments, declarations, code):
    heading, before = "", None
    covered = set()
    by_line = sorted((d for d in declarations), key=lambda d: d.first)
    for first, last, _, lines in comments:
        text = "\n".join(lines)
        rule = re.match(r"-{3,} (.*?) -{3,}", text)
        if rule:
            heading = rule[1]
            continue
        run = adjacent(by_line, last, code, comments)
        parts = [m for m in [NAMES.match(lines[0] if lines else "")] if m]
        if parts:
            names = []
        else:
            names = list(dict.fromkeys(d.name for d in run if is_public(d.name)
                                       and d.kind not in ("enumerator", "tag")))
            if not names or all(d.name in covered for d in run):
                continue
        kinds = {d.name: d.kind for d in run}
        entry = Entry(header, "", first)
        read_comment(entry, lines, names)
        entry.heading = heading
        listed = []
        for name in entry.names:
            item = header.declared.get(name)
            kind = item.kind if item else kinds.get(name, "")
            if item:
                listed.append(item)
                entry.where += [CONDITIONS[c] for c in item.where
                                if c in CONDITIONS and CONDITIONS[c] not in entry.where]
            entry.kind = entry.kind or kind
            if item and item.kind in ("function", "macro"):
                entry.signatures.append((name, item.text))
            covered.add(name)
        if listed and listed[0].kind in ("struct", "union", "enum", "type"):
            entry.source = listed[0].source
            entry.values = listed[0].values
        elif listed and listed[0].kind == "macro":
            entry.values = [(d.name, d.source, d.values[0] if d.values else "") for d in listed if d.kind == "macro"]
        if not entry.kind:
            entry.kind = "macro" if entry.names[0].isupper() else "function"
        entry.base = before if re.match(r"(and )?the same\b|the same,", entry.summaries[0][1], re.IGNORECASE) else None
        header.entries.append(entry)
        before = entry
    # A macro whose comment is beside it.
    for item in by_line:
        if item.kind == "macro" and item.values and is_public(item.name) and item.name not in covered:
            entry = Entry(header, "macro", item.first)
            entry.summaries = [([item.name], item.values[0])]
            entry.signatures = [(item.name, item.text)]
            entry.values = [(item.name, item.source, "")]
            covered.add(item.name)
            header.entries.append(entry)
    header.entries.sort(key=lambda e: e.line)


def adjacent(declarations, last, code, comments):
    """The declarations that follow a comment with no empty line or comment between."""
    starts = {c[0] for c in comments if c[0] > last}
    run, line = [], last + 1
    while line < len(code) and code[line].strip() and line not in starts:
        here = [d for d in declarations if d.first == line]
        if here:
            run += here
            line = max(d.last for d in here)
            if here[0].kind == "function" and "{" in "".join(code[here[0].first:line + 1]):
                break
        line += 1
    return run


def read_comment(entry, lines, names):
    """names: of a comment that names none itself."""
    if names:
        summary, rest, by_name = [], list(lines), [(names, "")]
        while rest and rest[0].strip() and not rest[0].startswith("@"):
            summary.append(rest.pop(0).strip())
        by_name = [(names, " ".join(summary))]
    else:
        by_name, rest = [], list(lines)
        while rest and (match := NAMES.match(rest[0])):
            rest.pop(0)
            summary = match[2]
            while rest and rest[0].strip() and not rest[0].startswith("@") and not NAMES.match(rest[0]):
                summary += " " + rest.pop(0).strip()
            group, also = expand(match[1].split(", "), entry.header.roster)
            by_name.append((group, summary))
            entry.also += also
    entry.summaries = [(group, inline_fields(entry, text)) for group, text in by_name]
    current, target = None, None
    for line in rest:
        argument = re.match(r"((?:@[\w.]+(?:, )?)+):\s*(.*)", line)
        field = re.match(r"(Context|Ordering|Errors?|Returns?):\s*(.*)", line)
        if argument:
            current, target = re.findall(r"@([\w.]+)", argument[1]), entry.arguments
            for name in current:
                target[name] = argument[2]
        elif field:
            key = {"Error": "Errors", "Returns": "Return"}.get(field[1], field[1])
            current, target = [key], entry.fields
            target[key] = field[2]
        elif not line.strip():
            current = target = None
            entry.paragraphs.append([])
        elif current and line.startswith(" "):
            for name in current:
                target[name] += " " + line.strip()
        else:
            current = None
            if not entry.paragraphs:
                entry.paragraphs.append([])
            entry.paragraphs[-1].append(line)
    entry.paragraphs = [p for p in entry.paragraphs if p]


def inline_fields(entry, text):
    """The short form: fields as sentences of one line."""
    match = re.search(r"\s*\b(Ordering): (.*?)\.?\s*\Z", text, re.DOTALL)
    if match:
        entry.fields[match[1]] = match[2]
        text = text[:match.start()]
    match = re.search(r"(?:^|(?<=[.;] ))Returns? (.*?)(?:[.;]|\Z)\s*", text)
    if match:
        entry.fields["Return"] = match[1]
        text = (text[:match.start()] + text[match.end():]).strip() or "Returns " + match[1]
    return text.strip().rstrip(";")


def expand(names, roster):
    """hf_load8_x, 16, 32 are three names; hf_spinlock_<name>_t as many as the family has: one stands for all."""
    out, also = [], []
    for name in names:
        if name.isdigit():
            out.append(re.sub(r"\d+", name, out[0], count=1))
        elif "<" in name:
            made = [name.replace("<name>", n).replace("<NAME>", n.upper()) for n in roster]
            also += made if out else made[:-1]
            out += [] if out else made[-1:]
        else:
            out.append(name)
    return list(dict.fromkeys(out)), also


def read_classes(header, code, source, comments):
    """C++: what of a class or a function is public."""
    inside = False
    if header.path.endswith("/verbs.h"):  # for the default, which has the family's own name
        family = header.path.split("/")[0]
        code, source = (of_family("\n".join(lines), family).split("\n") for lines in (code, source))
    for at, line in enumerate(code):
        if line.strip() == "HF_BEGIN_CXX":
            inside = True
        elif line.strip() == "HF_END_CXX":
            inside = False
        match = inside and re.match(r"(?:inline\s+)?(?:class|struct)\s+(.*?)\s*(?::[^:].*)?\{\s*$", line)
        alias = inside and re.match(r"using (\w+) = .*;", line)
        function = inside and re.match(r"(?:\[\[nodiscard\]\]\s+)?inline .*?\b(\w+)\(", line)
        if not match and not alias and not function:
            continue
        first = at
        while first and (code[first - 1].startswith("template") or code[first - 1].startswith("[[")):
            first -= 1
        comment = next((c for c in comments if c[1] == first - 1), None)
        words = comment[3] if comment else []
        if alias or function:
            name = (alias or function)[1]
            end = at
            while not re.search(r"[;{]", code[end]):
                end += 1
            text = " ".join(code[first:end + 1]).split("{")[0]
        else:
            name = re.sub(r"<.*|\bfinal\b|(?<!:):(?!:).*", "", signature(match[1])).split()[-1]
            end = at
            while not code[end].startswith(("private:", "};")):
                end += 1
            text = "\n".join(source[first:end]).rstrip() + "\n};"
        operator = function and "operator" in text.split("(")[0]
        if name.startswith("hf_detail_") or operator or any(c[0] == name for c in header.classes):
            continue
        header.classes.append((name, words, text, "function" if function else "alias" if alias else "class"))
    return header


def of_family(text, family):
    """verbs.h as it is for the default. A line break inside of a macro's arguments goes to the line's end."""
    def named(match):
        return family + "\0" * match[0].count("\n")

    text = re.sub(r"HF_DETAIL_PASTE\(%s_,\s*HF_DETAIL_\w+\)" % family, named, text)
    text = re.sub(r"HF_DETAIL_V\((\w+)\)", r"hf_%s_\1" % family, text)
    return "\n".join(line.replace("\0", "") + "\n" * line.count("\0") for line in text.split("\n"))


def load(root):
    """All headers of include/holdfast, by path; then what entries have from those of other files."""
    found = {}
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".h"):
                path = os.path.relpath(os.path.join(folder, name), root)
                found[path] = Header(root, path)
    for path, header in found.items():
        if path.endswith("/verbs.h") and header.classes:
            family = found[path.replace("/verbs.h", ".h")]
            names = {c[0] for c in header.classes}
            family.classes = header.classes + [c for c in family.classes if c[0] not in names]
    by_name = {}
    for header in found.values():
        for entry in header.entries:
            for name in entry.names:
                by_name.setdefault(name, entry)
    for header in found.values():
        for entry in header.entries:
            match = re.match(r"(?:[Aa]s|the same as) (hf_\w+)\(\)|(hf_\w+)\(\)", entry.summaries[0][1])
            if match:
                base = by_name.get(match[1] or match[2])
                entry.base = base if base is not entry else None
    return found
