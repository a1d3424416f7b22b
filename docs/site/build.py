#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The site and the manual, from the comments of the headers and the files in docs/: `make docs`.

    build.py [--out build/docs] [--man-only] [--source DIR]

Writes OUT/html, OUT/man (man1, man3), and on the way OUT/source, which Sphinx reads. Any warning of Sphinx is an error.
Needs no network.
"""
import argparse
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import headers  # noqa: E402
import manual  # noqa: E402
import reference  # noqa: E402
import symbols  # noqa: E402

# The guides' order; one that is not here comes after them, by name.
GUIDES = ["choose", "pthread", "atomics", "kernel", "faults", "porting", "reports", "other-languages", "tools"]
# The lab's titles that a concept's costs are under; its own, where that isn't its stem.
COSTS = {"nofault": ("clear", "copy")}
# Of a table that several concepts share: lines that are not the concept's are left out.
LINES = {"rcuref": ("refcount", ("rcuref", "default", "shared_ptr")),
         "lockref-waitfree": ("lockref", ("waitfree", "default", "bounded"))}
# Tables of which the lab report has no comparison between machines: their rows as they are, ns an operation.
ROWS = {"nofault": ("guard", "fault"), "safe": ("guard",), "lockref": ("holder",), "cond": ("cond",),
        "region": ("region",)}
CASES = 6  # columns of a machine at most


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Site:
    def __init__(self, root, out):
        self.root, self.out = root, out
        self.source = os.path.join(out, "source")
        self.headers = headers.load(os.path.join(root, "include", "holdfast"))
        self.pages = self.documents()
        self.reference = reference.Reference(self.headers, root, self.pages)
        self.names = symbols.declared(os.path.join(root, "include"))
        self.reference.implementations(self.names, symbols.signatures(os.path.join(root, "include")))
        for header in self.headers.values():
            for path in examples_of(header):
                if os.path.exists(os.path.join(root, path)):
                    self.reference.examples.setdefault(path, "example-" + label(os.path.basename(path)))
        self.others = [path for path in sorted(glob.glob("examples/*.c*", root_dir=root))
                       if path not in self.reference.examples]
        for path in self.others:
            self.reference.examples[path] = "example-" + label(os.path.basename(path))

    # ---- documents that are there already ----------------------------------------------------

    def documents(self):
        """Repository path -> document, of the Markdown files."""
        found = {}
        for pattern in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/*.md", "docs/guide/*.md",
                        "docs/design/*.md", "docs/results/README.md", "docs/man/*.md"):
            for path in sorted(glob.glob(pattern, root_dir=self.root)):
                name = path[:-3]
                name = name[5:] if name.startswith("docs/") else name
                found[path] = {"README.md": "readme", "docs/README.md": "documents",
                               "docs/results/README.md": "results/readme"}.get(path, name)
        return found

    def title(self, path):
        match = re.search(r"^# (.*)", read(os.path.join(self.root, path)), re.MULTILINE)
        return match[1] if match else os.path.basename(path)

    def markdown(self, path):
        """A Markdown file with its links as the site has them."""
        text = read(os.path.join(self.root, path))
        folder = os.path.dirname(path)
        here = os.path.dirname(self.pages[path])

        def link(match):
            words, target = match[1], match[2]
            if re.match(r"[a-z]+:|#", target):
                return match[0]
            file, _, anchor = target.partition("#")
            there = os.path.normpath(os.path.join(folder, file))
            if there in self.pages:
                document = os.path.relpath(self.pages[there] + ".md", here or ".")
                return "[%s](%s%s)" % (words, document, "#" + anchor if anchor else "")
            if there.startswith("include/holdfast/") and there[17:] in self.reference.page_of:
                target = self.reference.page_of[there[17:]] + ".rst"
                return "[%s](%s)" % (words, os.path.relpath(target, here or "."))
            if there in ("include/holdfast", "include"):
                return "[%s](%s)" % (words, os.path.relpath("reference/index.rst", here or "."))
            if there == "docs/design":
                return "[%s](%s)" % (words, os.path.relpath("design/index.rst", here or "."))
            if there in ("docs/results", "docs/guide"):
                index = {"docs/results": "results/readme.md"}.get(there, "guide/README.md")
                return "[%s](%s)" % (words, os.path.relpath(index, here or "."))
            if there in self.reference.examples:
                return "{ref}`%s <%s>`" % (words.strip("`"), self.reference.examples[there])
            if re.match(r"docs/.*\.svg\Z", there) and os.path.exists(os.path.join(self.root, there)):
                shutil.copy(os.path.join(self.root, there), self.picture(there))
                return "[%s](%s)" % (words, os.path.relpath("_pictures/" + os.path.basename(there), here or "."))
            if not os.path.exists(os.path.join(self.root, there)):
                raise SystemExit("%s: no such file: %s" % (path, target))
            if words.startswith("`"):
                return words
            return "%s (`%s`)" % (words, there) if words != there else "`%s`" % there

        # Not inside of code.
        out = []
        for n, part in enumerate(re.split(r"(^```.*?^```\s*?$|`[^`\n]+`(?!\]))", text, flags=re.MULTILINE | re.DOTALL)):
            out.append(part if n % 2 else re.sub(r"\[((?:[^\][]|\[[^\]]*\])*)\]\(([^()\s]+)\)", link, part))
        return "".join(out)

    def picture(self, path):
        target = os.path.join(self.source, "_pictures", os.path.basename(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        return target

    # ---- what a concept's page has besides its header -----------------------------------------

    def extras(self, header):
        return {"Example": self.examples(header), "Cost": self.costs(header), "State": self.diagram(header),
                "Implementations": self.implementations(header)}

    def examples(self, header):
        out = []
        for path in examples_of(header):
            if os.path.exists(os.path.join(self.root, path)):
                out.append(self.example(path, path not in self.placed, header))
                self.placed.add(path)
        return "".join(out)

    def example(self, path, named, header=None):
        name = os.path.basename(path)
        if not named:
            return ":ref:`%s <%s>`\n\n" % (path, self.reference.examples[path])
        write(os.path.join(self.source, "_include", name + ".txt"), read(os.path.join(self.root, path)))
        depth = "../" if header else ""
        return (".. _%s:\n\n.. rubric:: %s\n\nThe file as CI compiles and runs it.\n\n"
                ".. literalinclude:: %s_include/%s.txt\n   :language: %s\n\n"
                % (self.reference.examples[path], path, depth, name, "c++" if name.endswith(".cpp") else "c"))

    def diagram(self, header):
        """Drawn from text: docs/diagrams/<stem>.svg, or <stem>.dot by graphviz."""
        stem = header.stem.replace("/", "-")
        for name in dict.fromkeys((stem, stem.replace("-", "_"), os.path.basename(stem) if "/" in stem else stem)):
            base = os.path.join(self.root, "docs", "diagrams", name)
            made = os.path.join(self.out, "diagrams", name + ".svg")
            file = next((f for f in (base + ".svg", made) if os.path.exists(f)), None)
            if not file and os.path.exists(base + ".dot") and shutil.which("dot"):
                os.makedirs(os.path.dirname(made), exist_ok=True)
                subprocess.run(["dot", "-Tsvg", "-o", made, base + ".dot"], check=True)
                file = made
            if file:
                shutil.copy(file, self.picture(name + ".svg"))
                return (".. image:: ../_pictures/%s.svg\n   :class: hf-diagram\n   :alt: The states of %s, drawn\n\n"
                        % (name, header.stem))
        return ""

    def costs(self, header):
        stem = header.stem.replace("/", "-")
        wanted, only = COSTS.get(stem, (stem,)), None
        if stem in LINES:
            wanted, only = (LINES[stem][0],), LINES[stem][1]
        out = []
        for title, shares in self.measured().items():
            if title.split(":")[0] not in wanted:
                continue
            heads = [title if len(wanted) > 1 else title.partition(": ")[2],
                     *("%s: %s" % (who, c) for who, share in shares for c in share.columns)]
            rows = []
            for name in dict.fromkeys(n for _, share in shares for n in share.lines):
                cells = [c for _, share in shares for c in (share.lines.get(name) or ["-"] * len(share.columns))]
                if any(c != "-" for c in cells) and (not only or name.split(" (")[0] in only):
                    rows.append([name, *cells])
            if not rows:
                continue
            out.append(".. list-table::\n   :class: hf-table hf-numbers\n   :header-rows: 1\n\n")
            for row in [heads, *rows]:
                out.append("   * - " + "\n     - ".join(reference.escape(cell) for cell in row) + "\n")
            out.append("\n")
        for table in ROWS.get(stem, ()):
            out.append(self.rows(table))
        if not any(out):
            return ""
        machines = ["%s is %s, %s processors, %s, %s, measured %s (``docs/results/%s``)." % (
            letter, reference.escape(m["cpu"]), m["cpus"], m["kernel"], m["compiler"], m["date"], name)
            for letter, name, m in self.machines]
        return "".join(out) + " ".join(machines) + (
            " In parentheses is the fairness: operations of the thread that had fewest over those of the one that had"
            " most. All tables, and how to send in those of your machine: :doc:`/results`.\n\n"
            if "nofault" not in stem else " All tables: :doc:`/results`.\n\n")

    def rows(self, table):
        """A table of the archive, variants by cases, of all machines; "" if none has it, or it is too wide."""
        heads, lines, about = ["ns"], {}, ""
        for letter, _, _ in self.machines:
            mine = [r for r in self.raw[letter] if r["table"] == table and r.get("checked") and r.get("ns_per_op")
                    and r.get("kind") in ("ours", "default", "peer")]
            cases = list(dict.fromkeys((r["case"], r["threads"]) for r in mine))
            if len(cases) > CASES:
                return ""
            several = len({threads for _, threads in cases}) > 1
            for case, threads in cases:
                heads.append("%s: %s%s" % (letter, case, ", %d threads" % threads if several else ""))
                for row in mine:
                    if (row["case"], row["threads"]) == (case, threads):
                        name = row["variant"].replace("peer:", "")
                        cells = lines.setdefault(name, [])
                        cells += ["-"] * (len(heads) - 2 - len(cells))
                        cells.append("%.*f" % (1 if row["ns_per_op"] < 1000 else 0, row["ns_per_op"]))
        if not lines:
            return ""
        from holdfast_report import tables
        known = tables.known().get(table)
        about = " ".join(getattr(known, "about", "").split())
        text = ".. list-table::\n   :class: hf-table hf-numbers\n   :header-rows: 1\n\n"
        for row in [heads, *([name, *cells, *["-"] * (len(heads) - 1 - len(cells))] for name, cells in lines.items())]:
            text += "   * - " + "\n     - ".join(reference.escape(cell) for cell in row) + "\n"
        return (self.reference.inline(reference.sentence(about)) + "\n\n" if about else "") + text + "\n"

    def measured(self):
        """Title -> the machines' shares of the table, by the lab report's own reading of the archive."""
        if not hasattr(self, "shares"):
            sys.path.insert(0, os.path.join(self.root, "lab", "report"))
            from pathlib import Path
            from holdfast_report import results_page, tables
            archive = results_page.load_archive(Path(self.root) / "docs" / "results")
            self.shares, self.machines, self.raw = {}, [], {}
            for n, (name, results) in enumerate(archive):
                opener = gzip.open if name.endswith(".gz") else open
                with opener(os.path.join(self.root, "docs", "results", name), "rt", encoding="utf-8") as file:
                    whole = json.load(file)
                self.raw[results_page.letter(n)] = whole["rows"]
                self.machines.append((results_page.letter(n), name, whole["machine"]))
            for family in tables.known().values():
                for n, (_, results) in enumerate(archive):
                    for share in family.compared(results):
                        self.shares.setdefault(share.title, []).append((results_page.letter(n), share))
        return self.shares

    def implementations(self, header):
        below = [h for h in self.headers.values() if h.stem.startswith(header.stem + "/")
                 and h.path in self.reference.page_of]
        if "/" in header.stem or not below or header.stem in ("arch", "env"):
            return ""
        rows = "".join("* :doc:`%s </%s>`: %s\n" % (h.path, self.reference.page_of[h.path],
                                                  self.reference.inline(reference.sentence(h.summary)))
                       for h in below)
        tree = ".. toctree::\n   :hidden:\n\n" + "".join(
            "   %s <%s>\n" % (h.stem, os.path.basename(self.reference.page_of[h.path])) for h in below)
        return rows + "\n" + tree + "\n"

    # ---- pages ---------------------------------------------------------------------------------

    def generate(self):
        shutil.rmtree(self.source, ignore_errors=True)
        self.placed = set()
        os.makedirs(self.source)
        shutil.copy(os.path.join(HERE, "conf.py"), self.source)
        os.makedirs(os.path.join(self.source, "_static"))
        shutil.copy(os.path.join(HERE, "holdfast.css"), os.path.join(self.source, "_static"))
        for path, document in self.pages.items():
            write(os.path.join(self.source, document + ".md"), self.markdown(path))
        order = concepts(self.headers)
        first = [self.headers[stem + ".h"] for stem in order]
        for header in first + [h for h in self.headers.values() if h not in first]:
            if header.path in self.reference.page_of:
                write(os.path.join(self.source, self.reference.page_of[header.path] + ".rst"),
                      self.reference.page(header, self.extras(header)))
        self.reference_index(order)
        self.examples_page()
        self.programs()
        self.guides()
        self.design()
        self.index()

    def entry(self, stem):
        header = self.headers[stem + ".h"]
        return "* :doc:`%s </%s>`: %s\n" % (stem, self.reference.page_of[header.path],
                                          self.reference.inline(reference.sentence(header.summary)))

    def reference_index(self, order):
        seams = [s for s in reference.SEAMS if s + ".h" in self.headers]
        below = sorted(h.stem for h in self.headers.values()
                       if h.stem.startswith(("arch/", "env/")) and h.path in self.reference.page_of)
        text = [reference.heading("Reference", "="),
                "One page a header: when to use it and when not, a whole example, the ordering of each operation, what"
                " it costs, its states, and each verb with its arguments, context, ordering, errors and result. The"
                " pages are made from the headers' own comments. All names: :ref:`genindex`.\n\n",
                reference.heading("Concepts", "-"), "".join(self.entry(s) for s in order), "\n",
                reference.heading("Seams", "-"),
                "For ports, tools, and those who build a primitive of their own.\n\n",
                "".join(self.entry(s) for s in seams), "\n",
                ".. toctree::\n   :hidden:\n\n", "".join("   %s\n" % s for s in order), "   seams\n\n"]
        write(os.path.join(self.source, "reference", "index.rst"), "".join(text))
        text = [reference.heading("Seams", "="),
                "Two axes, and nothing else knows them: ``arch``, which processor, and ``env``, which world. All shared"
                " memory is touched through ``atomic``.\n\n", "".join(self.entry(s) for s in seams), "\n",
                reference.heading("Worlds and processors", "-"), "".join(self.entry(s) for s in below), "\n",
                ".. toctree::\n   :hidden:\n\n",
                "".join("   %s\n" % s for s in seams),
                "".join("   %s <%s>\n" % (s, s.replace("/", "-")) for s in below)]
        write(os.path.join(self.source, "reference", "seams.rst"), "".join(text))

    def examples_page(self):
        text = [reference.heading("Examples", "="),
                "Each is a program that CI compiles and runs, and stands on the page of its concept.\n\n"]
        for path in sorted(self.placed):
            text.append("* :ref:`%s <%s>`\n" % (path, self.reference.examples[path]))
        text.append("\n")
        for path in self.others:
            text.append(self.example(path, True))
        write(os.path.join(self.source, "examples.rst"), "".join(text))

    def programs(self):
        """Manual pages of section 1, as others write them: Markdown is a page already, the rest is rendered."""
        self.manuals = [p for p in sorted(glob.glob("docs/man/*.1", root_dir=self.root))]
        shown = [doc for path, doc in self.pages.items() if path.startswith("docs/man/")]
        for path in self.manuals:
            name = os.path.basename(path)[:-2]
            done = subprocess.run(["man", "-P", "cat", "-l", os.path.join(self.root, path)], capture_output=True,
                                  text=True, check=False, env=dict(os.environ, MANWIDTH="78", LC_ALL="C.UTF-8"))
            plain = re.sub(r".\x08", "", done.stdout)
            write(os.path.join(self.source, "man", name + ".rst"),
                  reference.heading(name, "=") + reference.literal(plain))
            shown.append("man/" + name)
        self.shown_programs = shown

    def guides(self):
        guides = [d for p, d in self.pages.items() if p.startswith("docs/guide/")
                  and os.path.basename(p).lower() not in ("readme.md", "index.md")]
        guides.sort(key=lambda d: (next((n for n, w in enumerate(GUIDES) if w in d), len(GUIDES)), d))
        others = [d for d in ("bare-metal", "kernel", "tmpfs") if d in self.pages.values()]
        rest = [d for p, d in self.pages.items() if re.fullmatch(r"docs/[^/]+\.md", p)
                and d not in (*others, "results", "documents")]
        self.which = next((d for d in guides if re.search(r"which|choos", d)), None)
        self.guide_pages = [d for d in guides if d != self.which] + others + rest
        self.guide_index = next((d for p, d in self.pages.items() if re.search(r"guide/(README|index)\.md\Z", p)),
                                "guide/index")
        if self.guide_index not in self.pages.values():
            write(os.path.join(self.source, "guide", "index.rst"), reference.heading("Guides", "=")
                  + "".join("* :doc:`/%s`\n" % d for d in filter(None, [self.which, *self.guide_pages])) + "\n")

    def design(self):
        pages = [(d, self.title(p)) for p, d in self.pages.items() if p.startswith("docs/design/")]
        write(os.path.join(self.source, "design", "index.rst"),
              reference.heading("Design decisions", "=")
              + "One page a decision: its context, what was decided, what was rejected, and the evidence.\n\n"
              + ".. toctree::\n   :maxdepth: 1\n\n" + "".join("   /%s\n" % d for d, _ in pages))

    def index(self):
        """The first page, and the navigation."""
        which = "* :doc:`Which one do I take? </%s>`\n" % self.which if self.which else ""
        parts = [reference.heading("Holdfast", "="),
                 ".. rst-class:: hf-summary\n\nReference counts, locks and memory accesses that hold when they are"
                 " misused, contended or faulted: one set of C and C++ headers for Linux programs, kernel modules and"
                 " bare metal.\n\n",
                 "* :doc:`Start: what it is, and a first program <readme>`\n", which,
                 "* :doc:`Guides: migrate, port, find a fault <%s>`\n" % self.guide_index,
                 "* :doc:`Reference by concept <reference/index>`, and :ref:`all names <genindex>`\n",
                 "* :doc:`Results: what each costs <results>`\n",
                 "* :doc:`Design decisions: why it is as it is <design/index>`\n\n",
                 reference.heading("Concepts", "-"),
                 "".join(self.entry(s) for s in concepts(self.headers)), "\n"]

        def tree(caption, entries):
            return (".. toctree::\n   :hidden:\n   :caption: %s\n\n" % caption
                    + "".join("   %s\n" % e for e in entries) + "\n")

        parts.append(tree("Start", ["Start here <readme>"]
                          + (["Which one do I take? <%s>" % self.which] if self.which else [])
                          + ["Examples <examples>"]))
        parts.append(tree("Guides", ["All guides <%s>" % self.guide_index, *self.guide_pages]))
        parts.append(tree("Reference", ["Overview <reference/index>", "All names <genindex>"]))
        if self.shown_programs:
            parts.append(tree("Programs", self.shown_programs))
        parts.append(tree("Results", ["Measured <results>", "Raw results <results/readme>"]))
        documents = ["documents"] if "documents" in self.pages.values() else []
        parts.append(tree("Project", ["Design decisions <design/index>", "Changes <CHANGELOG>",
                                      "Contributing <CONTRIBUTING>", *documents]))
        write(os.path.join(self.source, "index.rst"), "".join(parts))

    def html(self):
        target = os.path.join(self.out, "html")
        # From scratch: what Sphinx keeps of a build before forgets where constants of C are.
        for folder in (target, os.path.join(self.out, "doctrees")):
            shutil.rmtree(folder, ignore_errors=True)
        return subprocess.run([sys.executable, "-B", "-m", "sphinx", "-W", "--keep-going", "-q", "-b",
                               "html", "-d", os.path.join(self.out, "doctrees"), self.source, target],
                              env=dict(os.environ, HF_DOCS_VERSION=version(self.root)), check=False).returncode


def concepts(found):
    """The stems of the headers that a program includes, in the order of their pages."""
    known = [s for s in reference.CONCEPTS if s + ".h" in found]
    new = sorted(h.stem for h in found.values()
                 if "/" not in h.stem and h.stem not in reference.CONCEPTS + reference.SEAMS)
    return known + new


def examples_of(header):
    """The examples that a header's block comment names."""
    for title, beside, lines, _ in header.sections:
        if title == "Example":
            return re.findall(r"examples/[\w]+\.c(?:pp)?", " ".join([beside, *lines]))
    return []


def label(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def version(root):
    text = read(os.path.join(root, "include", "holdfast", "version.h"))
    return ".".join(re.findall(r"#define HF_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(HERE))
    parser.add_argument("--source", default=root, help="the repository")
    parser.add_argument("--out", default=os.path.join(root, "build", "docs"))
    parser.add_argument("--man-only", action="store_true", help="no HTML: needs no Sphinx")
    args = parser.parse_args()
    site = Site(os.path.abspath(args.source), os.path.abspath(args.out))
    pages = manual.write(site, os.path.join(site.out, "man"), version(site.root))
    print("docs: %d manual pages in %s" % (pages, os.path.join(site.out, "man")), flush=True)
    if args.man_only:
        return 0
    site.generate()
    status = site.html()
    if not status:
        print("docs: %s" % os.path.join(site.out, "html", "index.html"))
    return status


if __name__ == "__main__":
    sys.exit(main())
