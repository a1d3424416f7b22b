# SPDX-License-Identifier: MIT
"""The contents of the headers: names with their comments, read by Doxygen, and the block comment at the top of each file.

load() runs Doxygen. The entries of a Header are its functions, macros, types and C++ classes, in the order of the file.
"""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

HERE = os.path.dirname(os.path.abspath(__file__))
FIELDS = ("Context", "Ordering", "Errors", "Return")
PUBLIC = re.compile(r"(?:hf_(?!detail_|env_)|HF_(?!DETAIL_|ENV_))\w+\Z")
# Attributes, which are removed from the displayed source of a type.
NOISE = re.compile(r"\b(?:HF_CAPABILITY|HF_ALIGNED|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)|\bHF_MAY_ALIAS\b")


class Entry:
    def __init__(self, header, kind, name):
        self.header, self.kind, self.name = header, kind, name
        self.line, self.signature, self.summary = 0, name, ""
        self.paragraphs, self.arguments, self.fields = [], {}, {}
        self.parameters, self.values, self.source = [], [], ""
        self.members = []  # of a class: (signature, words)

    def field(self, key):
        """A field of the comment, or of the file's block comment, which holds for all its functions."""
        return self.fields.get(key) or self.header.default(key)

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
        with open(os.path.join(root, path), encoding="utf-8") as file:
            self.text = file.read()
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


def words(element):
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def described(entry, node):
    """Sets the entry's words from the comment of an XML node."""
    entry.summary = words(node.find("briefdescription"))
    for para in node.findall("detaileddescription/para"):
        for item in para.findall("parameterlist/parameteritem"):
            for name in item.findall("parameternamelist/parametername"):
                entry.arguments[words(name)] = words(item.find("parameterdescription"))
        for section in para.findall("simplesect"):
            key = "Return" if section.get("kind") == "return" else words(section.find("title")).rstrip(":")
            entry.fields[key] = " ".join(words(p) for p in section.findall("para"))
        for child in list(para):
            if child.tag in ("parameterlist", "simplesect"):
                para.remove(child)
        if text := words(para):
            entry.paragraphs.append(text)
    if not entry.summary and entry.paragraphs:
        entry.summary = entry.paragraphs.pop(0)
    return entry


def spaced(text):
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"\* (?=\w)", "*", text)


def source_of(header, node):
    """The source of a type."""
    where = node.find("location")
    first, last = (int(where.get(key) or 0) for key in ("bodystart", "bodyend"))
    if last < first or not first:
        return ""
    # Doxygen's line numbers are those of filter.py's output, so search for the first line.
    name = words(node.find("compoundname")) or words(node.find("name"))
    match = re.search(r"^(?:typedef )?(?:struct|union|enum)[^;{]*\b%s\b[^;{]*\{.*?^\}[^;]*;" % name, header.text,
                      re.MULTILINE | re.DOTALL)
    return re.sub(r"[ \t]+\n", "\n", re.sub(r"(?<=\S)[ \t]+(?=;)", "", NOISE.sub("", match[0]))).expandtabs(4) \
        if match else ""


def member(header, node):
    kind, name = node.get("kind"), words(node.find("name"))
    entry = described(Entry(header, {"define": "macro", "typedef": "type"}.get(kind, kind), name), node)
    entry.line = int(node.find("location").get("line"))
    if kind == "define":
        names = [words(param.find("defname")) for param in node.findall("param")]
        if node.find("param") is not None:
            entry.signature = "%s(%s)" % (name, ", ".join(names))
        entry.parameters = [name for name in names if name]
        entry.source = "".join(node.find("initializer").itertext()).strip() if node.find("initializer") is not None else ""
    elif kind == "function":
        entry.signature = spaced(words(node.find("definition")) + words(node.find("argsstring")))
        entry.parameters = [words(param.find("declname")) for param in node.findall("param")
                            if param.find("declname") is not None]
    elif kind == "enum":
        entry.values = [(words(value.find("name")), words(value.find("briefdescription"))
                         or words(value.find("detaileddescription"))) for value in node.findall("enumvalue")]
    elif kind == "typedef":
        entry.signature = spaced(words(node.find("definition")))
    return entry


def compound(header, node):
    kind, name = node.get("kind"), words(node.find("compoundname"))
    entry = described(Entry(header, "class" if "::" in name or kind == "class" else kind, name), node)
    entry.line = int(node.find("location").get("line"))
    if entry.kind != "class":
        entry.source = source_of(header, node)
        return entry
    for part in node.findall("sectiondef"):
        if not part.get("kind").startswith("public"):
            continue
        for item in part.findall("memberdef"):
            about = described(Entry(header, "", ""), item)
            text = words(item.find("definition")) + words(item.find("argsstring"))
            template = ", ".join(words(p.find("type")) + " " + words(p.find("declname"))
                                 for p in item.findall("templateparamlist/param"))
            text = re.sub(re.escape(name) + "::", "", ("template <%s> " % template.strip() if template else "") + text)
            if "detail_" not in text and item.get("kind") in ("function", "typedef"):
                entry.members.append((spaced(text), " ".join([about.summary, *about.paragraphs]).strip()))
    return entry


def run_doxygen(include, out):
    with open(os.path.join(HERE, "Doxyfile"), encoding="utf-8") as file:
        settings = file.read()
    os.makedirs(out, exist_ok=True)
    settings += 'INPUT = %s\nOUTPUT_DIRECTORY = "%s"\nINPUT_FILTER = "%s -B %s"\n' % (
        " ".join('"%s"' % path for path in include), out, sys.executable, os.path.join(HERE, "filter.py"))
    done = subprocess.run(["doxygen", "-"], input=settings, text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    return [line for line in done.stderr.splitlines() if "warning:" in line or "error:" in line]


def load(root, out):
    """({path: Header} of the headers that users include, Doxygen's warnings)"""
    top = os.path.join(root, "include", "holdfast")
    public = [name for name in sorted(os.listdir(top)) if name.endswith(".h")]
    found = {name: Header(top, name) for name in public}
    complaints = run_doxygen([os.path.join(top, name) for name in public], out)
    folder = os.path.join(out, "xml")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".xml") or name in ("index.xml", "Doxyfile.xml"):
            continue
        node = ET.parse(os.path.join(folder, name)).getroot().find("compounddef")
        if node is None or node.get("kind") not in ("file", "namespace", "class", "struct", "union"):
            continue
        if node.get("kind") in ("class", "struct", "union"):
            header = found.get(os.path.basename(node.find("location").get("file")))
            own = words(node.find("compoundname"))
            if header and "detail_" not in own:
                header.entries.append(compound(header, node))
            continue
        for item in node.findall("sectiondef/memberdef"):
            header = found.get(os.path.basename(item.find("location").get("file")))
            own = words(item.find("name"))
            if header and (PUBLIC.match(own) and not own.endswith("_H") or node.get("kind") == "namespace") \
                    and "detail_" not in own and "operator" not in own:
                entry = member(header, item)
                if node.get("kind") == "namespace":
                    entry.kind, entry.name = "class", "hf::" + own
                header.entries.append(entry)
    for header in found.values():
        tidy(header)
    return found, complaints


def tidy(header):
    """Keep one entry per name: the typedef of a struct; of several platforms' functions the one with a comment."""
    by_name, tags = {}, {}
    for entry in header.entries:
        if entry.kind == "type":
            match = re.match(r"typedef (?:struct|union|enum) (\w+) \*?(\w+)$", entry.signature)
            if match:
                tags[match[1]] = entry
    for entry in sorted(header.entries, key=lambda e: e.line):
        if entry.name in tags and tags[entry.name] is not entry:
            owner = tags[entry.name]
            owner.source = owner.source or entry.source
            owner.summary = owner.summary or entry.summary
            owner.paragraphs = owner.paragraphs or entry.paragraphs
            owner.values = owner.values or entry.values
            continue
        before = by_name.get(entry.name)
        if before is None or (entry.summary and not before.summary):
            by_name[entry.name] = entry
    header.entries = sorted(by_name.values(), key=lambda e: e.line)
