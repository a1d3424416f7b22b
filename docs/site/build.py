#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the site and the manual from the headers' comments and the files in docs/: `make docs`.

    build.py [--out build/docs] [--man-only] [--source DIR]

Writes OUT/html and OUT/man (man1, man3), and Sphinx's input, OUT/source. Any warning of Sphinx is an error, and so is an @argument
that its function lacks. Needs no network. The pages work when they are opened as files, too.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests")]
import comments  # noqa: E402
import pages  # noqa: E402
from checks import read, write  # noqa: E402
from versions import version_of  # noqa: E402

# The headers for porters: each has a page with its opening comment.
SEAMS = ["internal/arch.h", "internal/env.h", "internal/env/bare.h", "internal/atomic.h", "internal/wait.h"]


def label(path):
    return "example-" + re.sub(r"[^a-z0-9]+", "-", os.path.basename(path).lower())


def toctree(entries):
    return ".. toctree::\n   :hidden:\n\n%s\n" % "".join("   %s\n" % entry for entry in entries)


def whole_theme(html):
    """Make Debian's furo work without a web server: its script imports another one, which only a module may, and browsers load no
    module from a disk; its style sheet loads one from /javascript. The theme of PyPI has both inside, and needs none of this."""
    static = os.path.join(html, "_static")
    script, style = os.path.join(static, "scripts", "furo.js"), os.path.join(static, "styles", "furo.css")

    def imported(match):
        return ";(() => {\n%s\n})();\n" % read(static, "scripts", match[1])

    def loaded(match):
        path = os.path.join("/usr/share", match[1])
        return read(path) if os.path.exists(path) else ""

    write(script, re.sub(r'^import (?:\* as )?\w+ from "\./([\w.-]+)";$', imported, read(script), flags=re.MULTILINE))
    write(style, re.sub(r"@import url\(/(javascript/[\w./-]+)\);", loaded, read(style)))


def label_cells(table):
    """Give each cell the head of its column, which the style sheet shows on a phone, where each row of a table is a card."""
    heads = [re.sub("<[^>]*>|\"", "", head).strip() for head in re.findall(r"<th\b[^>]*>(.*?)</th>", table[0], re.DOTALL)]

    def row(found):
        left = iter(heads)
        return re.sub(r"<td\b", lambda _: '<td data-head="%s"' % next(left, ""), found[0])
    return re.sub(r"<tr\b.*?</tr>", row, table[0], flags=re.DOTALL)


def finish(html):
    """Change what Sphinx wrote."""
    whole_theme(html)
    for path in glob.glob(os.path.join(html, "**", "*.html"), recursive=True):
        text = re.sub(r"<script\b[^>]*furo\.js[^>]*>", lambda tag: tag[0].replace('type="module"', "defer"), read(path))
        write(path, re.sub(r"<table\b.*?</table>", label_cells, text, flags=re.DOTALL))


class Site:
    def __init__(self, root, out):
        self.root, self.out, self.source = root, out, os.path.join(out, "source")
        self.headers, self.complaints = comments.load(root)
        top = os.path.join(root, "include", "holdfast")
        self.seams = [comments.Header(top, path) for path in SEAMS if os.path.exists(os.path.join(top, path))]
        self.documents = self.markdown_files()
        self.examples = {path: label(path) for path in sorted(glob.glob("examples/*.c*", root_dir=root))}
        self.reference = pages.Reference(self.headers, self.documents, self.examples)
        for header in self.seams:
            self.reference.page_of[header.path] = "reference/" + header.stem.replace("/", "-")
        self.order = [self.headers[stem + ".h"] for stem in pages.ordered(self.headers)]
        self.version = version_of(root)

    def markdown_files(self):
        """{path in the repository: document of the site}"""
        found = {}
        for pattern in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/guide/*.md",
                        "docs/design/*.md", "docs/results/README.md", "tmpfs/*.md", "tmpfs/docs/*.md"):
            for path in sorted(set(glob.glob(pattern, root_dir=self.root)) - {"docs/design/README.md"}):
                name = path[:-3].removeprefix("docs/")
                found[path] = {"README.md": "index", "docs/results/README.md": "results/readme"}.get(path, name)
        return found

    def markdown(self, path):
        """The text of a Markdown file, with its links changed to those of the site."""
        folder, here = os.path.dirname(path), os.path.dirname(self.documents[path])
        folders = {"include/holdfast": "reference/index.rst", "include": "reference/index.rst",
                   "docs/design": "design/index.rst",
                   "docs/design/README.md": "design/index.rst", "docs/results": "results/readme.md", "docs/guide": "guide/README.md"}

        def link(match):
            words, target = match[1], match[2]
            if re.match(r"[a-z]+:|#", target):
                return match[0]
            if target.startswith("../../actions/"):
                return ""  # the badge of CI, which only the server that hosts the repository has
            file, _, anchor = target.partition("#")
            there = os.path.normpath(os.path.join(folder, file))
            page = self.documents.get(there)
            if page:
                return "[%s](%s%s)" % (words, os.path.relpath(page + ".md", here or "."), "#" + anchor if anchor else "")
            page = folders.get(there) or self.reference.page_of.get(there.removeprefix("include/holdfast/"))
            if page:
                page += "" if page.endswith((".rst", ".md")) else ".rst"
                return "[%s](%s)" % (words, os.path.relpath(page, here or "."))
            if there in self.examples:
                return "{ref}`%s <%s>`" % (words.strip("`"), self.examples[there])
            if not os.path.exists(os.path.join(self.root, there)):
                raise SystemExit("%s: no such file: %s" % (path, target))
            if there.endswith(".svg"):
                return "[%s](%s)" % (words, os.path.relpath(self.picture(there), os.path.join(self.source, here)))
            return words if words.startswith("`") else "`%s`" % there if words == there else "%s (`%s`)" % (words, there)

        # Code is left unchanged.
        parts = re.split(r"(^```.*?^```\s*?$|`[^`\n]+`(?!\]))", read(self.root, path),
                         flags=re.MULTILINE | re.DOTALL)
        return "".join(part if n % 2 else re.sub(r"\[((?:[^\][]|\[[^\]]*\])*)\]\(([^()\s]+)\)", link, part)
                       for n, part in enumerate(parts))

    def picture(self, path):
        target = os.path.join(self.source, "_pictures", path.replace("/", "-"))  # charts/ and diagrams/ share names
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.join(self.root, path), target)
        return target

    # ---- parts of a page that are not in the header ----------------------------------------------------

    def example(self, path):
        if path in self.placed:
            return ":ref:`%s <%s>`\n\n" % (path, self.examples[path])
        self.placed.add(path)
        return (".. _%s:\n\n.. rubric:: %s\n\nThe file as CI compiles and runs it.\n\n.. literalinclude:: /_include/%s\n"
                "   :language: %s\n\n" % (self.examples[path], path, os.path.basename(path),
                                         "c++" if path.endswith(".cpp") else "c"))

    def diagram(self, header):
        path = "docs/diagrams/%s.svg" % header.stem
        if not os.path.exists(os.path.join(self.root, path)):
            return ""
        return (".. image:: /_pictures/%s\n   :class: hf-diagram\n   :alt: The states of %s, drawn\n\n"
                % (os.path.basename(self.picture(path)), header.stem))

    # ---- pages ---------------------------------------------------------------------------------

    def generate(self):
        shutil.rmtree(self.source, ignore_errors=True)
        self.placed = set()
        for name in ("conf.py", "_static/holdfast.css", "_static/search.js"):
            os.makedirs(os.path.dirname(os.path.join(self.source, name)), exist_ok=True)
            shutil.copy(os.path.join(HERE, os.path.basename(name)), os.path.join(self.source, name))
        for path in self.examples:
            write(os.path.join(self.source, "_include", os.path.basename(path)), read(self.root, path))
        for path, document in self.documents.items():
            write(os.path.join(self.source, document + ".md"), self.markdown(path))
        for header in self.order + self.seams:
            extra = {"Example": "".join(self.example(path) for path in header.examples() if path in self.examples),
                     "State": self.diagram(header)}
            self.put(self.reference.page_of[header.path], self.reference.page(header, extra))
        self.indexes()
        self.programs()
        self.first_page()

    def put(self, document, *text):
        write(os.path.join(self.source, document + ".rst"), "".join(text))

    def line(self, header):
        return "* :doc:`%s </%s>`: %s\n" % (header.stem, self.reference.page_of[header.path],
                                          self.reference.inline(pages.sentence(header.summary)))

    def indexes(self):
        names = [os.path.basename(self.reference.page_of[h.path]) for h in self.order]
        self.put("reference/index", pages.heading("Reference", "="),
                 "One page for each header, made from its comments. All names: :ref:`genindex`.\n\n",
                 "".join(map(self.line, self.order)), "\n", toctree([*names, "seams"]))
        self.put("reference/seams", pages.heading("For porters", "="),
                 "What ``holdfast/internal`` requires of a processor and of a platform. It is not for programs.\n\n",
                 "".join(map(self.line, self.seams)), "\n",
                 toctree([os.path.basename(self.reference.page_of[h.path]) for h in self.seams]))
        others = [path for path in self.examples if path not in self.placed]
        self.put("examples", pages.heading("Examples", "="), "Each is a program that CI compiles and runs.\n\n",
                 "".join("* :ref:`%s <%s>`\n" % item for item in self.examples.items()), "\n",
                 "".join(map(self.example, others)))
        designs = [document for path, document in self.documents.items() if path.startswith("docs/design/")]
        self.put("design/index", pages.heading("Design decisions", "="),
                 "One page for each decision: context, decision, rejected alternatives, evidence.\n\n",
                 ".. toctree::\n   :maxdepth: 1\n\n", "".join("   /%s\n" % document for document in designs))

    def manuals_by_hand(self):
        return sorted(path for folder in ("docs/man", "tmpfs", "tools")
                      for path in glob.glob(folder + "/**/*.1", root_dir=self.root, recursive=True))

    def programs(self):
        """Pages for section 1 of the manual, which is written by hand."""
        self.manuals = []
        for path in self.manuals_by_hand():
            done = subprocess.run(["man", "-P", "cat", "-l", os.path.join(self.root, path)], capture_output=True, text=True,
                                  check=False, env=dict(os.environ, MANWIDTH="78", LC_ALL="C.UTF-8"))
            name = os.path.basename(path)[:-2]
            self.put("man/" + name, pages.heading(name, "="), pages.code(re.sub(r".\x08", "", done.stdout)))
            self.manuals.append("man/" + name)

    def first_page(self):
        """README, and the navigation of all pages."""
        index = read(self.root, "docs", "guide", "README.md")
        groups = [(name, ["guide/" + page for page in re.findall(r"\(([\w-]+)\.md\)", rows)])
                  for name, rows in re.findall(r"^## (.*)\n((?:(?!##).*\n)*)", index, re.MULTILINE)]
        elsewhere = ("index", "CHANGELOG", "CONTRIBUTING", "SECURITY", "results", "results/readme")
        others = [document for document in self.documents.values()
                  if document not in elsewhere and not document.startswith(("guide/", "design/"))]
        write(os.path.join(self.source, "index.md"), self.markdown("README.md") + "".join(
            "\n```{toctree}\n:hidden:\n:caption: %s\n\n%s\n```\n" % (caption, "\n".join(entries)) for caption, entries in (
                ("Start", ["Start here <self>", "Examples <examples>", "All guides <guide/README>"]),
                *(group for group in groups if group[1]),
                ("Platforms, packages, tests", others),
                ("Reference", ["Overview <reference/index>", "All names <genindex>"]),
                ("Programs", self.manuals),
                ("Results", ["Measured <results>", "Raw results <results/readme>"]),
                ("Project", ["Design decisions <design/index>", "Changes <CHANGELOG>", "Contributing <CONTRIBUTING>",
                             "Security <SECURITY>"]))))

    def html(self):
        target, trees = os.path.join(self.out, "html"), os.path.join(self.out, "doctrees")
        for folder in (target, trees):  # an earlier build's cache loses the places of constants
            shutil.rmtree(folder, ignore_errors=True)
        status = subprocess.run([sys.executable, "-B", "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", trees,
                                 self.source, target], env=dict(os.environ, HF_DOCS_VERSION=self.version),
                                check=False).returncode
        if not status:
            finish(target)
        return status

    def manual(self):
        folder = os.path.join(self.out, "man")
        made = pages.manual(self.headers, self.root, os.path.join(folder, "man3"), self.version)
        first = os.path.join(folder, "man1")
        shutil.rmtree(first, ignore_errors=True)
        os.makedirs(first)
        for path in self.manuals_by_hand():
            shutil.copy(os.path.join(self.root, path), first)
            made += 1
        return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default=ROOT, help="the repository")
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "docs"))
    parser.add_argument("--man-only", action="store_true", help="no HTML: needs no Sphinx")
    args = parser.parse_args()
    site = Site(os.path.abspath(args.source), os.path.abspath(args.out))
    for line in site.complaints:
        print(line, file=sys.stderr)
    print("docs: %d manual pages in %s" % (site.manual(), os.path.join(site.out, "man")), flush=True)
    status = 1 if site.complaints else 0
    if not args.man_only:
        site.generate()
        status |= site.html()
        if not status:
            print("docs: %s" % os.path.join(site.out, "html", "index.html"))
    return status


if __name__ == "__main__":
    sys.exit(main())
