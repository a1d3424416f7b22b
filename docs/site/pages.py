# SPDX-License-Identifier: MIT
"""Write the headers' contents as pages: reStructuredText for Sphinx, man(7) for section 3 of the manual."""
import datetime
import os
import re
import shutil
import subprocess

from checks import write
from comments import FIELDS

# The order of the headers for a newcomer; any others follow.
ORDER = ["mutex", "mutex_recursive", "cond", "wait_address",
         "refcount", "refcount_lock", "rcuref", "lockref", "lockref_waitfree",
         "lockref_counted", "spinlock", "spinlock_ticket", "lock_class", "intrusive_ptr",
         "nofault", "nofault_handler", "nofault_copy", "nofault_word", "nofault_memory", "safe", "region",
         "report", "validate", "extern", "version"]
FIRST = ["Use when / not when", "Operations", "Example", "Guards", "C++", "Ordering"]
# Sphinx's directive of each kind of entry, and the role by which a name is linked to it.
ROLES = {"function": "func", "macro": "macro", "enum": "enum", "struct": "struct", "union": "union", "type": "type",
         "enumerator": "enumerator"}


def ordered(headers):
    stems = [stem for stem in ORDER if stem + ".h" in headers]
    return stems + sorted(h.stem for h in headers.values() if h.stem not in stems)


def sentence(text):
    text = text.strip()
    if not re.match(r"(?:\w*_|\*|\w+\()", text):
        text = text[:1].upper() + text[1:]
    return text + ("" if not text or text.endswith((".", "?", "!", ";")) else ".")


def chunks(lines):
    """Yields ("text", words) and ("literal", lines): columns and indented lines keep their layout."""
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    chunk = []
    for line in [*(line[margin:] for line in lines), ""]:
        if line.strip():
            chunk.append(line)
        elif chunk:
            if any(re.search(r"\S {2,}\S", part) or part.startswith(" ") for part in chunk):
                yield "literal", chunk
            else:
                yield "text", " ".join(part.strip() for part in chunk)
            chunk = []


def two_columns(lines):
    """The rows of a two-column table, or None if the second column does not begin at one position."""
    gap = re.search(r"\S( {2,})\S", lines[0])
    at = gap.end() - 1 if gap else 0
    rows = []
    for line in lines:
        left, right = line[:at], line[at:].strip()
        if not at or re.search(r"\S {2,}\S", left.rstrip()) or re.search(r"\S {2,}\S", right) or line[at:at + 1] == " " \
                or left.strip() and (left.startswith(" ") or not left.endswith("  ")) or right.endswith((";", "}")):
            return None
        if left.strip():
            rows.append([left.strip(), right])
        else:
            rows[-1][1] += " " + right
    return rows if len(rows) > 1 else None


def joined(parts):
    """Join adjacent literal chunks: they are one drawing."""
    out = []
    for kind, body in parts:
        if kind == "literal" and out and out[-1][0] == "literal":
            out[-1] = (kind, [*out[-1][1], "", *body])
        else:
            out.append((kind, body))
    return out


def sections(header):
    """(title, chunks) in the order of FIRST, without those that the entries repeat."""
    found = []
    for title, lines in header.sections:
        if title in ("Arguments", "Return") or title in FIELDS and header.default(title):
            continue
        parts = joined(chunks(lines))
        if not title and found:
            found[-1][1].extend(parts)
        elif parts:
            found.append((title, parts))
    rank = {name: n for n, name in enumerate(FIRST)}
    return sorted(found, key=lambda s: (-1 if not s[0] else rank.get(s[0], len(FIRST)), s[0] == "Source"))


# ---- the site -----------------------------------------------------------------------------------

def heading(text, line):
    return "%s\n%s\n\n" % (text, line * max(len(text), 3))


def indented(text, by=3):
    return "".join(" " * by + line + "\n" if line else "\n" for line in text.rstrip("\n").split("\n"))


def code(text, language="none"):
    return ".. code-block:: %s\n\n%s\n" % (language, indented(text))


def escape(text):
    return re.sub(r"([\\*`|_<>]|\A-\Z)", r"\\\1", text)


def is_code(lines):
    return sum(line.rstrip().endswith((";", "{", "}")) for line in lines) * 2 > len([x for x in lines if x.strip()])


def synopsis(header):
    """The signatures, as a manual page begins with them."""
    return [entry.signature + ";" * (entry.kind == "function") for entry in header.entries if has_page(entry)]


class Reference:
    """documents: repository path -> the site's document; examples: repository path -> label."""

    WORD = re.compile(
        r"`(?P<code>[^`]+)`"
        r"|(?P<path>(?:docs|examples|src|tests|lab|port|scripts|include|tmpfs|packaging)/[\w/.<>*-]*[\w>*])"
        r"|(?P<header>\b(?:[a-z_0-9]+/)*[a-z_0-9]+\.h\b)"
        r"|(?P<name>\b(?:hf_|HF_)\w+)(?:\(\))?"
        r"|(?P<kind>\b[A-Z]+_[A-Z_]+\b)"
        r"|\b(?:hf|std)::[\w:<>]+\w>?(?:\(\))?|\b[a-z_]\w*\(\)|-D\w+(?:=[^\s;,.()]+)?")

    def __init__(self, headers, documents, examples):
        self.headers, self.documents, self.examples = headers, documents, examples
        self.page_of = {h.path: "reference/" + h.stem.replace("/", "-") for h in headers.values()}
        self.kinds = {}
        for header in headers.values():
            for entry in header.entries:
                if entry.kind in ROLES:
                    self.kinds.setdefault(entry.name, entry.kind)
                for name, _ in entry.values:
                    self.kinds.setdefault(name, "enumerator")

    def inline(self, text):
        out, at = [], 0
        for match in self.WORD.finditer(text):
            out += [escape(text[at:match.start()]), self.link(match)]
            at = match.end()
        return ("".join(out) + escape(text[at:])).strip()

    def link(self, match):
        name, path = match["name"], (match["path"] or "").rstrip(".")
        if match["kind"]:
            name = "HF_REPORT_" + match["kind"]
            if name not in self.kinds:
                return escape(match[0])
        if name in self.kinds:
            return "\\ :c:%s:`%s <%s>`\\ " % (ROLES[self.kinds[name]], match[0], name)
        if path in self.examples:
            return "\\ :ref:`%s <%s>`\\ " % (path, self.examples[path])
        if path in self.documents:
            return "\\ :doc:`%s </%s>`\\ " % (path, self.documents[path])
        if match["header"] in self.page_of:
            return "\\ :doc:`%s </%s>`\\ " % (match["header"], self.page_of[match["header"]])
        return "\\ ``%s``\\ " % match[0].strip("`")

    def text(self, parts):
        return "".join(self.inline(body) + "\n\n" if kind == "text" else self.literal(body) for kind, body in parts)

    def literal(self, lines):
        rows = two_columns(lines)
        if not rows:
            return code("\n".join(lines), "c" if is_code(lines) else "none")
        heads = rows[0][0] == "operation"
        return (".. list-table::\n   :widths: auto\n   :class: hf-table%s\n%s\n" % (
            "" if heads else " hf-pairs", "   :header-rows: 1\n" * heads)
            + "".join("   * - %s\n     - %s\n" % tuple(self.inline(cell) or "\\ " for cell in row) for row in rows) + "\n")

    def page(self, header, extra):
        """extra: {"Example" or "State": reStructuredText that is not in the header}."""
        out = [".. _hf-%s:\n\n" % header.stem.replace("/", "-").replace("_", "-"), heading(header.stem, "="),
               ".. rst-class:: hf-summary\n\n%s\n\n" % self.inline(sentence(header.summary)),
               code("\n".join(["#include <holdfast/%s>" % header.path, *synopsis(header)]), "c")]
        for title, parts in sections(header):
            name = re.sub(r" \(.*", "", title)
            if title:
                out.append(heading(name, "-"))
            if name == "Example" and extra.get("Example"):
                parts = [part for part in parts if not re.match(r"examples/", str(part[1]))]
            if name in ("Example", "State"):
                out.append(extra.pop(name, ""))
            out.append(self.text(parts))
        out += [heading(name, "-") + text for name, text in extra.items() if text]
        if any(entry.kind != "class" for entry in header.entries):
            out.append(heading("Reference", "-"))
            out += [self.entry(entry) for entry in header.entries if entry.kind != "class"]
        classes = [entry for entry in header.entries if entry.kind == "class"]
        if classes:
            out.append(heading("C++ interface" if header.section("C++") else "C++", "-"))
            out += [self.cxx(entry) for entry in classes]
        return "".join(out)

    def entry(self, entry):
        kind = entry.kind if entry.kind in ROLES else "var"
        shown = entry.signature if kind in ("function", "macro", "var") else entry.name
        body = [self.inline(sentence(entry.summary)) + "\n\n"] if entry.summary else []
        body += [self.inline(text) + "\n\n" for text in entry.paragraphs]
        if entry.kind in ("struct", "union", "type"):
            text = entry.source or (entry.signature + ";" if "typedef" in entry.signature else "")
            body.append(code(text, "c") if text else "")
        for name, words in entry.values:
            body.append(".. c:enumerator:: %s\n\n%s\n" % (name, indented(self.inline(words)) if words else "   \\ \n"))
        if entry.kind == "macro" and not entry.parameters and entry.source and len(entry.source) < 60 \
                and not re.search(r"detail|DETAIL|[{\\]|__", entry.source):
            body.append("Its value is ``%s``.\n\n" % entry.source)
        fields = []
        known = [(name, entry.argument(name)) for name in entry.parameters if entry.argument(name)]
        if known:
            fields.append(":Arguments:\n" + indented("".join("| ``%s``: %s\n" % (n, self.inline(t)) for n, t in known)))
        fields += [":%s: %s\n" % (key, self.inline(entry.field(key))) for key in FIELDS if entry.field(key)]
        if fields:
            body.append(".. container:: hf-fields\n\n" + indented("".join(fields)) + "\n")
        text = "".join(body)
        return ".. c:%s:: %s\n\n%s\n" % (kind, shown, indented(text) if text.strip() else "")

    def cxx(self, entry):
        short = entry.name.rsplit("::", 1)[-1]
        lines = []
        for signature, about in entry.members:
            lines += ["// " + about] * bool(about) + [signature + ";"]
        shown = "\n".join(lines) if lines else entry.signature if "(" in entry.signature else ""
        return ".. _hf-cxx-%s:\n\n.. rst-class:: hf-cxx\n\n``%s``\n%s\n.. index::\n   single: %s\n\n" % (
            short.replace("_", "-"), entry.name,
            indented("".join([self.inline(sentence(text)) + "\n\n" for text in (entry.summary, *entry.paragraphs) if text]
                             + [code(shown, "c++")] * bool(shown))), entry.name)


# ---- the manual ---------------------------------------------------------------------------------

def date(root):
    """The date of the sources, so that the same sources make the same pages."""
    stamp = os.environ.get("SOURCE_DATE_EPOCH")
    if not stamp and shutil.which("git"):
        done = subprocess.run(["git", "-C", root, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
        stamp = done.stdout.strip()
    moment = datetime.datetime.fromtimestamp(int(stamp), datetime.timezone.utc) if stamp else datetime.datetime.now()
    return moment.strftime("%Y-%m-%d")


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = text.replace("`", "\\(ga").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti")
    return re.sub(r"^\.", r"\\&.", text, flags=re.MULTILINE)


def fill(text):
    """A paragraph with one line per sentence and our names in bold."""
    parts = re.split(r"(\b(?:hf_|HF_)\w+(?:\(\))?)", re.sub(r"`([^`]+)`", r"\1", text))
    whole = "".join("\\fB%s\\fR" % roff(part) if n % 2 else roff(part) for n, part in enumerate(parts))
    lines = re.sub(r"([.?!]) (?=[A-Z\\])", r"\1\n", whole).split("\n")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in lines) + "\n"


def manual_text(parts):
    return "".join(".PP\n" + fill(body) if kind == "text" else
                   ".PP\n.nf\n%s\n.fi\n" % re.sub(r"\n\n+", "\n\\&\n", roff("\n".join(body))) for kind, body in parts)


def one_line(text):
    return text.replace("`", "").strip().rstrip(".").split(". ")[0]


def manual_page(header, entry, head):
    out = [head(entry.name), ".SH NAME\n%s \\- %s\n" % (entry.name, roff(one_line(entry.summary) or header.summary)),
           ".SH SYNOPSIS\n.nf\n.B #include <holdfast/%s>\n.PP\n" % header.path,
           '.B "%s"\n.fi\n.SH DESCRIPTION\n' % roff(entry.signature + ";" * (entry.kind == "function")).replace('"', '\\(dq'),
           fill(sentence(entry.summary)), *(".PP\n" + fill(text) for text in entry.paragraphs)]
    out += [".TP\n\\fI%s\\fR\n%s" % (name, fill(entry.argument(name))) for name in entry.parameters if entry.argument(name)]
    out += [".SH %s\n%s" % (key.upper().replace("RETURN", "RETURN VALUE"), fill(sentence(entry.field(key))))
            for key in ("Return", "Errors", "Context", "Ordering") if entry.field(key)]
    return "".join(out) + ".SH SEE ALSO\n.BR hf_%s (3)\n" % header.stem


def has_page(entry):
    return entry.kind == "function" or entry.kind == "macro" and bool(entry.parameters)


def manual(headers, root, folder, version):
    """Write man3: a page for each header, function and macro with arguments; types link to their header's page."""
    made, when = {}, date(root)

    def head(name):
        return ('.\\" Made from include/holdfast by make docs.\n.TH %s 3 %s "Holdfast %s" "Holdfast Manual"\n'
                % (name.upper(), when, version))

    for header in headers.values():
        own = "hf_" + header.stem
        pages = [entry.name for entry in header.entries if has_page(entry)]
        made.update((entry.name, manual_page(header, entry, head)) for entry in header.entries if has_page(entry))
        out = [head(own), ".SH NAME\n%s \\- %s\n" % (own, roff(one_line(header.summary))),
               ".SH SYNOPSIS\n.B #include <holdfast/%s>\n" % header.path]
        for title, parts in sections(header):
            body = manual_text(parts)
            out.append(".SH %s\n" % roff((title or "Description").upper()) + re.sub(r"\A\.PP\n", "", body))
        if pages:
            out.append(".SH SEE ALSO\n" + " ,\n".join(".BR %s (3)" % name for name in pages) + "\n")
        made.setdefault(own, "".join(out))
        for entry in header.entries:
            if entry.kind in ROLES and entry.name.startswith("hf_"):
                made.setdefault(entry.name, ".so man3/%s.3\n" % own)
    shutil.rmtree(folder, ignore_errors=True)
    for name, page in made.items():
        write(os.path.join(folder, name + ".3"), page)
    return len(made)
