# SPDX-License-Identifier: MIT
"""Section 3 of the manual: one page a verb or macro, one a header; other names of the same lead there (.so)."""
import datetime
import os
import re
import shutil
import subprocess

import blocks
import reference

SEAMS = (*reference.SEAMS, "nofault")  # their macros are for ports: those that a world defines


def date(root):
    """That of the sources: the same sources give the same pages."""
    stamp = os.environ.get("SOURCE_DATE_EPOCH")
    if not stamp and shutil.which("git"):
        done = subprocess.run(["git", "-C", root, "log", "-1", "--format=%ct"], capture_output=True, text=True,
                              check=False)
        stamp = done.stdout.strip()
    moment = datetime.datetime.fromtimestamp(int(stamp), datetime.timezone.utc) if stamp else datetime.datetime.now()
    return moment.strftime("%Y-%m-%d")


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = text.replace("`", "\\(ga").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti")
    return re.sub(r"^\.", r"\\&.", text)


def fill(text):
    """A paragraph: names of ours in bold."""
    text = re.sub(r"`([^`]+)`", r"\1", text)
    out, at = [], 0
    for match in re.finditer(r"\b(?:hf_|HF_)\w+(?:\(\))?", text):
        out += [escape(text[at:match.start()]), "\\fB%s\\fR" % escape(match[0])]
        at = match.end()
    whole = "".join(out) + escape(text[at:])
    whole = re.sub(r"([.?!]) (?=[A-Z\\])", r"\1\n", whole)  # a sentence a line
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in whole.split("\n")) + "\n"


def literal(lines):
    body = "\n".join("\\&" + escape(line) if line.startswith(".") else escape(line) for line in lines)
    return ".PP\n.nf\n%s\n.fi\n" % re.sub(r"\n\n+", "\n\\&\n", body)


def text(parsed):
    out = []
    for block in parsed:
        if block[0] == "paragraph":
            out.append(".PP\n" + fill(block[1]))
        elif block[0] == "literal":
            out.append(literal(block[1]))
        else:
            rows = block[2]
            if block[1] and len(block[1]) > 2:
                rows = [[[cell] for cell in block[1]], *rows]
                widths = [max(len(blocks.words(row[n])) for row in rows) for n in range(len(rows[0]))]
                out.append(literal(["  ".join(blocks.words(cell).ljust(width)
                                             for cell, width in zip(row, widths)).rstrip() for row in rows]))
                continue
            for row in rows:
                words = [blocks.words(cell) for cell in row]
                inner = blocks.parse(row[-1]) if len(row) == 2 and len(row[1]) > 1 else []
                if len(inner) > 1:  # a list in a list
                    out.append(".TP\n\\fB%s\\fR\n%s.RS\n%s.RE\n" % (
                        escape(words[0]), fill(inner[0][1]) if inner[0][0] == "paragraph" else "\\&\n",
                        text(inner[1:] if inner[0][0] == "paragraph" else inner)))
                    continue
                out.append(".TP\n\\fB%s\\fR\n%s" % (escape(words[0]), fill("; ".join(filter(None, words[1:])) or "-")))
    return "".join(out)


class Manual:
    def __init__(self, site, folder, version):
        self.site, self.folder, self.version = site, os.path.join(folder, "man3"), version
        self.date = date(site.root)
        self.pages, self.links = {}, {}

    def head(self, name):
        return ('.\\" Made from include/holdfast by make docs.\n.TH %s 3 %s "Holdfast %s" "Holdfast Manual"\n'
                % (name.upper(), self.date, self.version))

    def verb(self, header, entry, names):
        reference_ = self.site.reference
        summary = next((text for group, text in entry.summaries if names[0] in group), "") or entry.summaries[0][1]
        others = [name for name in (*names[1:], *entry.also)]
        out = [self.head(names[0]), ".SH NAME\n%s \\- %s\n" % (", ".join(escape(name) for name in names),
                                                             escape(one_line(summary)))]
        out.append(".SH SYNOPSIS\n.nf\n.B #include <holdfast/%s>\n.PP\n" % header.path)
        for name, signature in entry.signatures:
            if name in names:
                macro = self.site.reference.entry_of.get(name) == "macro"
                out.append(".B %s\n" % quoted(("#define " if macro else "") + signature + ("" if macro else ";")))
        out.append(".fi\n.SH DESCRIPTION\n")
        for group, words in entry.summaries:
            if words:
                group = [name for name in group if name in names]
                out.append(".PP\n" + fill((", ".join(group) + ": " if len(entry.summaries) > 1 else "")
                                          + reference.sentence(words)))
        for paragraph in entry.paragraphs:
            out.append(text(blocks.parse(paragraph)))
        known = [(name, entry.argument(name)) for name in entry.parameters() if entry.argument(name)]
        for name, words in known:
            out.append(".TP\n\\fI%s\\fR\n%s" % (escape(name), fill(words)))
        kind = reference_.entry_of.get(names[0])
        returns = any(not s.startswith("void ") for _, s in entry.signatures)
        for key, title in (("Return", "RETURN VALUE"), ("Errors", "ERRORS"), ("Context", "CONTEXT"),
                           ("Ordering", "ORDERING")):
            words = reference_.resolved(entry, key) if kind == "function" or key in entry.fields else None
            if not words and kind == "function" and key in ("Return", "Errors"):
                words = "nothing" if key == "Return" and not returns else "none" if key == "Errors" else None
            if words:
                out.append(".SH %s\n%s" % (title, fill(reference.sentence(words))))
        if entry.where:
            out.append(".SH AVAILABILITY\n" + fill(reference.sentence("Where " + "; ".join(entry.where))))
        if entry.also:
            out.append(".SH IMPLEMENTATIONS\nOf one implementation, whichever is the default:\n")
            out.append("".join(".br\n%s\n" % escape(name) for name in entry.also))
        out.append(".SH SEE ALSO\n.BR hf_%s (3)\n" % concept(header))
        self.add(names[0], "".join(out), others)

    def add(self, name, page, others):
        page = re.sub(r"^(\.SH .*\n)\.PP\n", r"\1", page, flags=re.MULTILINE)
        self.pages.setdefault(name, page)
        for other in others:
            if other not in self.pages:
                self.links.setdefault(other, name)

    def concept(self, header):
        name = "hf_" + concept(header)
        out = [self.head(name), ".SH NAME\n%s \\- %s\n" % (name, escape(one_line(header.summary)))]
        out.append(".SH SYNOPSIS\n.B #include <holdfast/%s>\n" % header.path)
        if header.lead and any(header.lead):
            out.append(".SH DESCRIPTION\n" + text(blocks.parse(header.lead)))
        for section in header.sections:
            title, parsed = blocks.section(*section)
            if title in ("Arguments", "Return"):
                continue
            if title:
                out.append(".SH %s\n" % escape(title.upper() if len(title) < 40 else title))
            out.append(text(parsed).replace(".PP\n", "", 1) if title and parsed and parsed[0][0] == "paragraph"
                       else text(parsed))
        verbs = [n for e in header.kept for n in e.names if n in self.pages or n in self.links]
        if verbs:
            out.append(".SH SEE ALSO\n" + ",\n".join(".BR %s (3)" % v for v in dict.fromkeys(verbs)).replace(
                ",\n.BR", " ,\n.BR") + "\n")
        self.add(name, "".join(out), [n for e in header.kept for n in e.names
                                      if n.startswith("hf_") and n not in self.pages and n not in self.links
                                      and n != name])

    def save(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        for name, page in self.pages.items():
            with open(os.path.join(self.folder, name + ".3"), "w", encoding="utf-8") as file:
                file.write(page)
        for name, target in self.links.items():
            if name not in self.pages:
                with open(os.path.join(self.folder, name + ".3"), "w", encoding="utf-8") as file:
                    file.write(".so man3/%s.3\n" % target)
        return len(self.pages), len(set(self.links) - set(self.pages))


def quoted(words):
    return '"%s"' % escape(words).replace('"', '\\(dq')


def one_line(words):
    words = re.sub(r"`", "", words.strip().rstrip("."))
    return words.split(". ")[0]


def concept(header):
    return header.stem.replace("/", "_")


def is_verb(name, kind):
    """What a page of its own is for: not what a port fills in."""
    return kind in ("function", "macro") and not re.match(r"hf_arch_|HF_ARCH_", name)


def write(site, folder, version):
    made = Manual(site, folder, version)
    wanted = [h for h in site.headers.values() if hasattr(h, "kept") and not h.stem.startswith("arch/")]
    kinds = site.reference.entry_of
    for header in site.headers.values():
        if not hasattr(header, "kept"):
            for entry in header.entries:
                entry.header.kept = []
            header.kept = []
    for header in wanted:
        for entry in header.kept:
            names = [n for n in entry.names if site.reference.owner.get(n) is entry and is_verb(n, kinds.get(n))]
            if names and names[0].startswith("hf_"):
                made.verb(header, entry, names)
            elif names and entry.parameters() and header.stem.split("/")[0] not in SEAMS:
                made.verb(header, entry, names)
    for header in wanted:
        if "/" not in header.stem or header.stem.split("/")[0] in ("refcount", "spinlock", "lockref", "nofault"):
            made.concept(header)
    made.save()
    own = sorted(os.path.basename(p) for p in os.listdir(os.path.join(site.root, "docs", "man"))
                 if p.endswith(".1")) if os.path.isdir(os.path.join(site.root, "docs", "man")) else []
    first = os.path.join(folder, "man1")
    shutil.rmtree(first, ignore_errors=True)
    if own:
        os.makedirs(first)
        for name in own:
            shutil.copy(os.path.join(site.root, "docs", "man", name), first)
    return len(made.pages) + len(own)
