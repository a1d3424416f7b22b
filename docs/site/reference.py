# SPDX-License-Identifier: MIT
"""The headers' pages as reStructuredText for Sphinx: reference/<stem>.rst, one a header, and their index."""
import os
import re

import blocks

# In the order in which a newcomer meets them. A header that is new and not here comes after them.
CONCEPTS = ["mutex", "cond", "refcount", "refcount_lock", "refcount_mutex", "rcuref", "lockref", "lockref_counted",
            "spinlock", "guard", "intrusive_ptr", "nofault", "region", "safe", "report", "validate", "cpu", "extern",
            "version"]
# For ports, tools and those who build primitives of their own.
SEAMS = ["atomic", "atomic_partial", "atomic_partial_whole", "wait", "compiler", "arch", "arch_nofault", "env",
         "cpu_feature"]
# Lists of verbs that are read with each implementation: they have no page.
NO_PAGE = re.compile(r"(?:refcount|spinlock|lockref)/verbs\Z")
# Of names that several files declare the first one's words count.
PRIORITY = ["env/bare", "env/linux_user", "env/linux_user_nodes", "spinlock/node", "env/linux_kernel", "atomic",
            "atomic_partial", "atomic_partial_whole", "arch/generic/", "arch/wait_portable", "arch/prefetch_portable",
            "arch/x86_64/", "arch/aarch64/", "arch/riscv64/"]
# What a page shows first, and what it shows last; the others stand between in the header's order.
FIRST = ["Use when / not when", "Verbs", "Example", "Guards", "C++", "Ordering"]
LAST = ["Source"]


def priority(header):
    for n, prefix in enumerate(PRIORITY):
        if header.stem == prefix or prefix.endswith("/") and header.stem.startswith(prefix):
            return n
    return -1


def heading(text, line):
    return "%s\n%s\n\n" % (text, line * max(len(text), 3))


def indented(text, by=3):
    return "".join(" " * by + line + "\n" if line else "\n" for line in text.rstrip("\n").split("\n"))


def literal(text, language="none"):
    return ".. code-block:: %s\n\n%s\n" % (language, indented(text))


def escape(text):
    return re.sub(r"([\\*`|_<>]|\A-\Z)", r"\\\1", text)


def sentence(text):
    """A summary as a sentence: a capital first, unless it begins with a name."""
    text = text.strip()
    if not re.match(r"(?:\w*_|\*|\w+\()", text):
        text = text[:1].upper() + text[1:]
    return text + ("" if text.endswith((".", "?", "!", ";")) else ".")


class Reference:
    def __init__(self, headers, root, pages):
        """pages: repository path -> the site's document, of what is a page besides the headers."""
        self.headers, self.root, self.pages = headers, root, dict(pages)
        self.owner = {}      # a documented name -> (its entry's first name, role)
        self.entry_of = {}
        self.page_of = {}    # header's stem -> document
        self.examples = {}   # example's path -> document and label
        self.family = {}     # name of an implementation's verb -> the documented one
        self.index()

    # ---- which name is where -----------------------------------------------------------------

    def index(self):
        order = sorted(self.headers.values(), key=priority)
        for header in order:
            if NO_PAGE.search(header.stem):
                continue
            self.page_of[header.path] = "reference/" + header.stem.replace("/", "-")
            kept = []
            for entry in header.entries:
                new = [name for name in entry.names if name not in self.owner]
                if new:
                    entry.first = new[0]
                    for name in new:
                        self.owner[name] = entry
                    kept.append(entry)
                    for value in entry.values:
                        if entry.kind in ("enum", "type") and value[0] not in self.owner:
                            self.owner[value[0]] = entry
                            self.entry_of[value[0]] = "enumerator"
                    for name in new:
                        item = header.declared.get(name)
                        self.entry_of[name] = item.kind if item else entry.kind
                    for name in entry.also:
                        self.family.setdefault(name, new[0])
            header.kept = kept

        # The tag of a type that has a name of its own.
        for header in order:
            for other in header.declared.values():
                for item in header.declared.values() if other.kind == "tag" else ():
                    if item.kind == "type" and item.first == other.first and self.knows(item.name):
                        self.family.setdefault(other.name, self.family.get(item.name, item.name))

    def implementations(self, names, signatures):
        """names: all that the compiler sees. Those that a roster makes of a documented verb; and of what macros make
        as the compiler sees it."""
        for name, entry in self.owner.items():
            if name in names and names[name][0] == "function" and name not in dict(entry.signatures):
                text = signatures(name)
                if text:
                    entry.signatures.append((name, text))
        for header in self.headers.values():
            for name in header.roster:
                prefix = "hf_%s_" % header.stem
                for symbol in names:
                    if symbol.startswith(prefix + name + "_") and not self.knows(symbol):
                        verb = prefix + symbol[len(prefix + name) + 1:]
                        if verb in self.owner and self.owner[verb].header is header:
                            self.family[symbol] = verb
                            self.owner[verb].also.append(symbol)
        for entry in set(self.owner.values()):
            entry.also = sorted(set(entry.also))

    def knows(self, name):
        return name in self.owner or name in self.family

    # ---- words -------------------------------------------------------------------------------

    def role(self, name):
        name = self.family.get(name, name)
        kind = self.entry_of.get(name)
        if kind == "function":
            return "func"
        return {"macro": "macro", "enumerator": "enumerator", "struct": "struct", "union": "union", "enum": "enum",
                "type": "type"}.get(kind)

    def inline(self, text):
        """A line of a comment, with links to what it names."""
        out, at = [], 0
        pattern = re.compile(
            r"`(?P<code>[^`]+)`"
            r"|(?P<path>(?:docs|examples|src|tests|lab|port|scripts|include|tmpfs|packaging)/[\w/.<>*-]*[\w>*])"
            r"|(?P<header>\b(?:[a-z_0-9]+/)*(?:[a-z_0-9]+|<[a-z]+>)\.h\b)"
            r"|(?P<name>\b(?:hf_|HF_)[\w<>]*\w>?(?:\*)?)(?P<call>\(\))?"
            r"|(?P<kind>\b[A-Z]+_[A-Z_]+\b)"
            r"|(?P<cxx>\b(?:hf|std)::[\w:<>]+\w>?(?:\(\))?)"
            r"|(?P<other>\b[a-z_]\w*\(\)|-D\w+(?:=[^\s;,.()]+)?)")
        for match in pattern.finditer(text):
            out.append(escape(text[at:match.start()]))
            out.append(self.word(match))
            at = match.end()
        out.append(escape(text[at:]))
        return "".join(out).strip()

    def word(self, match):
        code = "\\ ``%s``\\ " % match[0].strip("`")
        if match["name"]:
            name = match["name"]
            if self.knows(name) and self.role(name):
                owner = self.family.get(name, name)
                return "\\ :c:%s:`%s <%s>`\\ " % (self.role(name), match[0], owner)
        if match["kind"]:
            name = "HF_REPORT_" + match["kind"]
            return "\\ :c:enumerator:`%s <%s>`\\ " % (match[0], name) if self.knows(name) else escape(match[0])
        if match["path"]:
            path = match["path"].rstrip(".")
            target = self.examples.get(path) or self.pages.get(path)
            if target:
                return "\\ %s\\ " % (":ref:`%s <%s>`" % (path, target) if path in self.examples
                                     else ":doc:`%s </%s>`" % (path, target))
        if match["header"] and match["header"] in self.page_of:
            return "\\ :doc:`%s </%s>`\\ " % (match["header"], self.page_of[match["header"]])
        return code

    # ---- blocks ------------------------------------------------------------------------------

    def text(self, parsed):
        out = []
        for block in parsed:
            if block[0] == "paragraph":
                out.append(self.inline(block[1]) + "\n\n")
            elif block[0] == "literal":
                out.append(literal("\n".join(block[1]), "c" if is_code(block[1]) else "none"))
            else:
                out.append(self.table(block[1], block[2]))
        return "".join(out)

    def table(self, heads, rows):
        out = [".. list-table::\n   :widths: auto\n   :class: hf-table%s\n" % ("" if heads else " hf-pairs")]
        if heads:
            out.append("   :header-rows: 1\n")
        out.append("\n")
        for row in ([[[cell] for cell in heads]] if heads else []) + rows:
            for n, cell in enumerate(row):
                body = self.cell(cell).rstrip("\n") or "\\ "
                lines = body.split("\n")
                out.append("   %s - %s\n" % ("*" if n == 0 else " ", lines[0]))
                out.append("".join("       %s\n" % line if line else "\n" for line in lines[1:]))
        return "".join(out) + "\n"

    def cell(self, lines):
        lines = [line for line in lines if line.strip()]
        if len(lines) > 1 and all(line.rstrip().endswith((";", ")", "}")) for line in lines):
            return "\n".join("| ``%s``" % line.strip() for line in lines)
        if len(lines) == 1:
            return ("``%s``" % lines[0].strip() if lines[0].rstrip().endswith(";") else self.inline(lines[0]))
        first = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
        return self.text(blocks.parse([line[first:] if not line[:first].strip() else line for line in lines]))

    # ---- a page ------------------------------------------------------------------------------

    def page(self, header, extra):
        """extra: sections that come from elsewhere, name -> reStructuredText."""
        label = "hf-" + header.stem.replace("/", "-").replace("_", "-")
        title = header.stem
        out = [".. _%s:\n\n" % label, heading(title, "=")]
        out.append(".. rst-class:: hf-summary\n\n%s\n\n" % self.inline(sentence(header.summary)))
        if "/" not in header.stem or header.stem.split("/")[0] in ("refcount", "spinlock", "lockref"):
            out.append(literal("#include <holdfast/%s>" % header.path, "c"))
        if everywhere(header):
            out.append("Where %s.\n\n" % self.inline("; ".join(everywhere(header))))
        sections = []
        for section in header.sections:
            title, parsed = blocks.section(*section)
            if title in ("Arguments", "Return") or title == "Context" and header.default("Context"):
                continue
            if not title and sections:  # a paragraph between two sections goes on with the first
                sections[-1][1].extend(parsed)
            else:
                sections.append((title, list(parsed)))
        first = [s for name in FIRST for s in sections if s[0].split(" (")[0] == name]
        last = [s for s in sections if s[0] in LAST]
        rest = [s for s in sections if s not in first and s not in last]
        if header.lead and any(header.lead):
            out.append(self.text(blocks.parse(header.lead)))
        for name, parsed in first:
            if name == "Example":
                shown = extra.pop("Example", "")
                if shown and re.fullmatch(r"(?:examples/[\w.]+(?:, )?)+\.?", str(parsed[0][1])):
                    parsed = parsed[1:]
                out.append(heading("Example", "-") + shown + self.text(parsed))
                continue
            out.append(heading(name, "-") + self.text(parsed))
            if name == "Ordering" and extra.get("Cost"):
                out.append(heading("Cost", "-") + extra.pop("Cost"))
        if extra.get("Cost"):
            out.append(heading("Cost", "-") + extra.pop("Cost"))
        for name, parsed in rest:
            name, _, where = name.partition(" (") if name.startswith(("State", "Modes")) else (name, "", "")
            if name:
                out.append(heading(name, "-"))
            if where:
                out.append("(%s\n\n" % self.inline(where))
            if name.startswith("State") and extra.get("State"):
                out.append(extra.pop("State"))
            out.append(self.text(parsed))
        if extra.get("State"):
            out.append(heading("State", "-") + extra.pop("State"))
        if extra.get("Implementations"):
            out.append(heading("Implementations", "-") + extra["Implementations"])
        if header.kept:
            out.append(heading("Reference", "-"))
            before = None
            for entry in header.kept:
                if entry.heading != before and entry.heading:
                    out.append(heading(entry.heading[:1].upper() + entry.heading[1:], "~"))
                before = entry.heading
                out.append(self.entry(entry))
        if header.classes:
            out.append(heading("C++", "-") if not header.section("C++") else heading("In C++", "-"))
            for item in header.classes:
                out.append(self.cxx(*item))
        for name, parsed in last:
            out.append(heading(name, "-") + self.text(parsed))
        return "".join(out)

    def entry(self, entry):
        names = [name for name in entry.names if self.owner.get(name) is entry]
        kind = self.entry_of[names[0]]
        signatures = dict(entry.signatures)
        lines = []
        for name in names:
            role = self.entry_of[name]
            text = signatures.get(name, name)
            lines.append((role, name, text))
        directive = {"function": "function", "macro": "macro", "enum": "enum", "struct": "struct",
                     "union": "union"}.get(kind, "type")
        same = [line for line in lines if (line[0] == "macro") == (kind == "macro")
                and (line[0] == "function") == (kind == "function")]
        out = [".. c:%s:: " % directive]
        if directive in ("function", "macro"):
            out.append(("\n" + " " * len(out[0])).join(text for _, _, text in same))
        else:
            out.append(("\n" + " " * len(out[0])).join(name for _, name, _ in same))
        out.append("\n\n")
        body = self.body(entry, names, same, kind)
        out.append(indented(body) if body.strip() else "")
        out.append("\n")
        # Things of another kind that the same words explain: a type, and the macro that makes one.
        for role, name, text in lines:
            if (role, name, text) not in same:
                other = {"function": "function", "macro": "macro"}.get(role, "type")
                out.append(".. c:%s:: %s\n\n   See above.\n\n" % (other, text if other != "type" else name))
        return "".join(out)

    def body(self, entry, names, same, kind):
        out = []
        several = len(entry.summaries) > 1
        for group, text in entry.summaries:
            group = [name for name in group if name in names]
            if text:
                prefix = ", ".join("``%s``" % name for name in group) + ": " if several else ""
                out.append(prefix + self.inline(sentence(text)) + "\n\n")
        for paragraph in entry.paragraphs:
            out.append(self.text(blocks.parse(paragraph)))
        if kind in ("struct", "union", "type") and entry.source:
            out.append(literal(cleaned(entry.source), "c"))
        if kind in ("enum", "type") and entry.values:
            for name, text in entry.values:
                if self.owner.get(name) is entry:
                    out.append(".. c:enumerator:: %s\n\n%s\n" % (name, indented(self.inline(text)) if text
                                                                   else "   \\ \n"))
        if kind == "macro":
            rows = [[["``%s``" % name], ["``%s``" % value if value else ""], [text]] for name, value, text in
                    entry.values if name in names and shown(value)]
            rows = [row for row in rows if not parameters_of(entry, row[0][0].strip("`"))]
            if len(rows) > 1 or any(row[2][0] for row in rows) and len(entry.values) > 1:
                out.append(self.values(rows))
            elif rows and len(names) == 1:
                out.append("Its value is %s.\n\n" % rows[0][1][0])
        fields = self.fields(entry, kind)
        if fields:
            out.append(".. container:: hf-fields\n\n" + indented(fields) + "\n")
        return "".join(out)

    def values(self, rows):
        out = [".. list-table::\n   :widths: auto\n   :class: hf-table\n\n"]
        for name, value, text in rows:
            words = self.inline(text[0]) if text[0] else ""
            out.append("   * - %s\n     - %s\n     - %s\n" % (name[0], value[0], words))
        return "".join(out) + "\n"

    def fields(self, entry, kind):
        out = []
        if kind in ("function", "macro"):
            arguments = [(name, entry.argument(name)) for name in entry.parameters()]
            known = [(name, text) for name, text in arguments if text]
            if known:
                text = "".join("| ``%s``: %s\n" % (name, self.inline(text)) for name, text in known)
                out.append(":Arguments:\n%s" % indented(text))
        if kind == "function" or any(entry.field(key) for key in entry.fields):
            returns = any(not text.startswith("void ") for _, text in entry.signatures)
            for key in ("Context", "Ordering", "Errors", "Return"):
                text = self.resolved(entry, key)
                if kind != "function" and key not in entry.fields:
                    continue
                if not text and key == "Errors":
                    text = "none"
                if not text and key == "Return" and not returns:
                    text = "nothing"
                if text:
                    out.append(":%s: %s\n" % (key, self.inline(text)))
        where = [text for text in entry.where if text not in everywhere(entry.header)]
        if where:
            out.append(":Where: %s\n" % self.inline("; ".join(where)))
        if entry.also:
            out.append(":Of one implementation: %s\n" % ", ".join("``%s``" % name for name in entry.also))
            out.append("\n.. index::\n%s" % "".join("   single: %s\n" % name for name in entry.also))
        return "".join(out)

    def resolved(self, entry, key):
        """A field, and after "as hf_x()" what that is."""
        text = entry.field(key)
        match = text and re.match(r"as (\w+)\(\)(.*)", text)
        if match:
            other = self.owner.get(match[1]) or self.owner.get("hf_" + match[1])
            if not other:
                stem = re.match(r"hf_[a-z]+(?:_waitfree)?_", entry.names[0])
                other = stem and self.owner.get(stem[0] + match[1])
            if other and other is not entry:
                there = self.resolved(other, key)
                if there and there not in text:
                    return text + ". That is: " + there
        return text

    def cxx(self, name, comment, text, kind):
        text = cleaned(promises(text) if kind == "class" else text)
        words = " ".join(comment).strip()
        match = NAMED.match(words)
        if match:
            words = match[2]
        out = [".. _hf-cxx-%s:\n\n.. rst-class:: hf-cxx\n\n``hf::%s``\n" % (name.replace("_", "-"), name)]
        body = (self.inline(sentence(words)) + "\n\n" if words else "") + literal(text, "c++")
        out.append(indented(body) + "\n")
        out.append(".. index::\n   single: hf::%s\n\n" % name)
        return "".join(out)


def everywhere(header):
    """The conditions that all entries of a header have."""
    entries = [entry.where for entry in header.kept]
    return [text for text in entries[0] if all(text in where for where in entries)] if entries else []


def parameters_of(entry, name):
    return any("(" in text for other, text in entry.signatures if other == name)


NAMED = re.compile(r"(\w+) - (.*)", re.DOTALL)


def is_code(lines):
    return sum(line.rstrip().endswith((";", "{", "}")) for line in lines) * 2 > len([l for l in lines if l.strip()])


def cleaned(text):
    """A type's source without what is for the compiler."""
    import headers
    lines = []
    for line in text.split("\n"):
        line = headers.NOISE_CALL.sub("", line)
        line = re.sub(r"\b(?:HF_MAY_ALIAS|HF_NO_THREAD_SAFETY_ANALYSIS|HF_SCOPED_CAPABILITY|HF_API\w*"
                      r"|HF_DETAIL_CONSTEXPR)\b ?", "", line)
        line = re.sub(r"^(typedef struct|struct|class) {2,}", r"\1 ", line).rstrip()
        if line.strip() or not lines or lines[-1].strip():
            lines.append(line.expandtabs(4))
    text = "\n".join(lines)
    text = re.sub(r"(?<=\S)\s+;", ";", text)
    return re.sub(r"\s+\n(\s*[{])", r"\n\1", text)


def promises(text):
    """A class without the bodies of its functions."""
    text = re.sub(r"^#if HF_VALIDATE\n.*?^#endif\n", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    out, depth, cut, since = [], 0, None, 0
    for part in re.split(r"(/\*.*?\*/|[{};])", text, flags=re.DOTALL):
        if part == "{":
            depth += 1
            head = "".join(out[since:])
            if cut is None and depth == 2 and "(" in re.sub(r"/\*.*?\*/", "", head, flags=re.DOTALL):
                cut = depth
                # What members are made from is the class's affair.
                words, end, code = head.rpartition("*/")
                code = re.sub(r"(\)[\w\s]*?)\s*:\s(?!:).*\Z", r"\1", code, flags=re.DOTALL).rstrip()
                out[since:] = [words + end + code, ";"]
                continue
        if cut is None:
            out.append(part)
        if part == "}":
            if cut == depth:
                cut = None
                since = len(out)
            depth -= 1
        if part == ";" and cut is None or part == "{" and depth == 1:
            since = len(out)
    return re.sub(r"\n\s*\n+", "\n", "".join(out))


def shown(value):
    """Is a macro's value worth a reader's time?"""
    return bool(value) and len(value) < 60 and "HF_DETAIL_" not in value and "__" not in value and "{" not in value
