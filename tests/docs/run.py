#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the site and the manual, and hold them to what a reader relies on.

    run.py --source-dir DIR --out DIR [--build-dir DIR] [PATTERN...]
    run.py --source-dir DIR --words

  build       `make docs` ends without a warning of Sphinx
  links       each link inside of the site leads to a page and to an anchor that is there, each picture too
  offline     no page loads anything from elsewhere; the search has its index in a file beside it
  search      the index knows each verb, those of one implementation too
  symbols     each public name that the compiler sees in the headers, that stands in one, or that the library exports
              has an entry on a page
  complete    each verb has a summary, context, ordering and result, and a word for each argument
  concepts    each concept's page begins with when to use it; the ones that have them in the header have example,
              ordering and verbs, literally the example's file; cost and states where there is one
  manual      each verb has a page of section 3; `man --warnings` and `mandoc -T lint` have nothing to say
  install     with the library built, `cmake --install` puts the manual where `man hf_refcount_inc` finds it
  mutants     copies with one flaw each, which the check for it must find

With --words symbols and complete only, of what the headers say: needs neither Sphinx nor anything that was built.

One line a check: "ok NAME", "FAULT NAME: why", "SKIPPED NAME: why"; the last is "N passed, N failed". With PATTERN only
the checks whose name contains one. Exits with 1 on a failure, with 77 if nothing could be checked.
"""
import argparse
import concurrent.futures
import glob
import html
import html.parser
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

SHOWN = 12  # faults of a check


class Page(html.parser.HTMLParser):
    """What a page of the site links to, loads, and has anchors for; and its text."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors, self.words = [], [], {""}, []
        self.titles, self.tag, self.names = [], [], False
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())
        self.text = "".join(self.words)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.update(attrs[key] for key in ("id", "name") if attrs.get(key))
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag in ("img", "script", "source", "iframe") and attrs.get("src"):
            self.loads.append(attrs["src"])
        if tag == "link" and attrs.get("href") and attrs.get("rel") not in ("canonical",):
            self.loads.append(attrs["href"])
        if tag == "code" and "xref" in (attrs.get("class") or "").split() and "a" not in self.tag:
            self.names = True  # a reference that led nowhere: Sphinx says nothing of it
        if tag not in ("br", "img", "input", "link", "meta", "hr", "col", "wbr", "source"):
            self.tag.append(tag)

    def handle_endtag(self, tag):
        while self.tag and self.tag.pop() != tag:
            pass

    def handle_data(self, data):
        if self.names:
            self.links.append("#no entry for " + data)
            self.names = False
        if "script" not in self.tag and "style" not in self.tag:
            self.words.append(data)
            if "h2" in self.tag and data.strip("¶ \n"):
                self.titles.append(data.strip())


def load_site(folder):
    paths = glob.glob("**/*.html", root_dir=folder, recursive=True)
    return {path: Page(os.path.join(folder, path)) for path in sorted(paths)}


def outside(link):
    return bool(re.match(r"[a-z][a-z0-9+.-]*:|//", link))


def links(site, folder):
    """Faults of the links inside of the site."""
    found = []
    for path, page in site.items():
        for link in page.links + page.loads:
            if outside(link):
                continue
            target, _, anchor = link.partition("#")
            target = urllib.parse.unquote(target.split("?")[0])
            there = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if there in site:
                if urllib.parse.unquote(anchor) not in site[there].anchors:
                    found.append("%s: no such anchor: %s" % (path, link))
            elif not os.path.isfile(os.path.join(folder, there)):
                found.append("%s: no such file: %s" % (path, link))
    return found


def offline(site, folder):
    found = ["%s loads %s" % (path, load) for path, page in site.items() for load in page.loads if outside(load)]
    for path in glob.glob("**/*.css", root_dir=folder, recursive=True):
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            urls = re.findall(r"url\([\"']?((?:https?:)?//[^)]*)", file.read())
            found += ["%s loads %s" % (path, url) for url in urls]
    # A script that is loaded works from file://, where a request does not.
    if "searchindex.js" not in "".join(site["search.html"].loads) and not os.path.isfile(
            os.path.join(folder, "searchindex.js")):
        found.append("there is no searchindex.js")
    return found


def search(docs, folder):
    with open(os.path.join(folder, "searchindex.js"), encoding="utf-8") as file:
        index = file.read().lower()
    wanted = [n for n, entry in docs.reference.owner.items() if docs.reference.entry_of.get(n) == "function"]
    wanted += list(docs.reference.family)
    words = set(re.findall(r"\w+", index))
    return ["the search does not know %s" % n for n in wanted
            if n.lower() not in words and not re.match(r"hf_\w+_(?:cas|mcs|wfe|ticket|queued)\Z", n)
            and docs.reference.entry_of.get(docs.reference.family.get(n, n)) == "function"]


def symbols(docs, exported=()):
    """Names without an entry."""
    found = []
    for name, (kind, place, world) in sorted(docs.names.items()):
        if not docs.reference.knows(name):
            found.append("%s: the %s %s has no entry (%s)"
                         % (re.sub(r".*/holdfast/", "", place), kind, name, world))
    for header in docs.headers.values():
        for name, item in header.declared.items():
            if not docs.reference.knows(name) and name not in docs.names:
                found.append("%s:%d: %s has no entry" % (header.path, item.first + 1, name))
    found += ["the library exports %s, which has no entry" % n for n in exported if not docs.reference.knows(n)]
    return found


def on_pages(docs, site):
    """Names that have an entry and no place on a page."""
    found = []
    for name, entry in docs.reference.owner.items():
        path = docs.reference.page_of[entry.header.path] + ".html"
        page = site.get(path)
        if not page:
            found.append("%s is not there" % path)
        elif "c." + name not in page.anchors and not any(a.endswith("." + name) for a in page.anchors):
            found.append("%s has no anchor for %s" % (path, name))
    for name, verb in docs.reference.family.items():
        entry = docs.reference.owner[verb]
        path = docs.reference.page_of[entry.header.path] + ".html"
        if path in site and name in entry.also and not re.search(r"\b%s\b" % name, site[path].text):
            found.append("%s does not name %s" % (path, name))
    return found


def complete(docs):
    found = []
    for header in docs.headers.values():
        for entry in getattr(header, "kept", []):
            where = "%s:%d: %s" % (header.path, entry.line + 1, entry.names[0])
            if not any(text for _, text in entry.summaries):
                found.append("%s: no summary" % where)
            if docs.reference.entry_of.get(entry.names[0]) != "function":
                continue
            if not entry.signatures:
                found.append("%s: no signature" % where)
            lacks = [key for key in ("Context", "Ordering") if not entry.field(key)]
            if any(not text.startswith("void ") for _, text in entry.signatures) and not entry.field("Return"):
                lacks.append("Return")
            lacks += ["@" + name for name in entry.parameters() if not entry.argument(name)]
            if lacks:
                found.append("%s: has no %s" % (where, ", ".join(lacks)))
    return found


def concepts(docs, site, tools):
    found = []
    for stem in tools.concepts(docs.headers):
        header = docs.headers[stem + ".h"]
        path = docs.reference.page_of[header.path] + ".html"
        page = site[path]
        titles = [re.sub(r"¶$", "", title) for title in page.titles]
        if not titles or titles[0] != "Use when / not when":
            found.append("%s does not begin with when to use it, and when not" % path)
        for name in ("Verbs", "Ordering", "Example"):
            if header.section(name) and name not in titles:
                found.append("%s has no section %s" % (path, name))
        for example in tools.examples_of(header):
            with open(os.path.join(docs.root, example), encoding="utf-8") as file:
                text = file.read().strip()
            if not any(squeezed(text) in squeezed(p.text) for p in (page, *site.values())):
                found.append("%s: %s is not on a page as it is" % (path, example))
        if docs.costs(header) and "Cost" not in titles:
            found.append("%s has no section Cost" % path)
        if docs.diagram(header) and stem + ".svg" not in "".join(page.loads):
            found.append("%s does not show its states" % path)
    for stem in ("mutex", "refcount", "spinlock", "lockref", "nofault"):
        if not docs.costs(docs.headers[stem + ".h"]):
            found.append("no measured row for %s in docs/results" % stem)
    return found


def squeezed(text):
    return re.sub(r"\s+", " ", text)


def manual(docs, folder):
    """Faults of the manual; and what could not be looked at."""
    found, skipped = [], []
    pages = {os.path.basename(path)[:-2]: path for path in glob.glob(os.path.join(folder, "man3", "*.3"))}
    kinds = docs.reference.entry_of
    for name in [*docs.reference.owner, *docs.reference.family]:
        kind = kinds.get(docs.reference.family.get(name, name))
        if name.startswith("hf_") and kind == "function" and not name.startswith("hf_arch_") and name not in pages:
            found.append("%s has no manual page" % name)
    real = []
    for name, path in sorted(pages.items()):
        with open(path, encoding="utf-8") as file:
            first = file.readline()
        if first.startswith(".so "):
            if not os.path.isfile(os.path.join(folder, first[4:].strip())):
                found.append("%s leads nowhere: %s" % (name, first.strip()))
        else:
            real.append(path)
    real += sorted(glob.glob(os.path.join(folder, "man1", "*.1")))
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *real], capture_output=True, text=True,
                              check=False)
        found += [line for line in (done.stdout + done.stderr).splitlines() if line]
    else:
        skipped.append("manual.mandoc: mandoc is not here")
    if shutil.which("man"):
        # The links between pages are followed from the folder above.
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for path, said in zip(real, pool.map(man, real)):
                found += ["man %s: %s" % (os.path.basename(path), line) for line in said.splitlines()[:3]]
        done = subprocess.run(["man", "-M", folder, "-P", "cat", "3", "hf_refcount_asm_inc"], capture_output=True,
                              text=True, check=False, env=plain())
        if "one more reference" not in re.sub(r".\x08", "", done.stdout).lower():
            found.append("`man hf_refcount_asm_inc` does not show hf_refcount_inc")
    else:
        skipped.append("manual.man: man is not here")
    return found, skipped


def words(source, run):
    """What needs no site."""
    import build as tools
    docs = tools.Site(source, os.path.join(source, "build", "docs"))
    run.check("symbols", symbols(docs))
    run.check("complete", complete(docs))
    print("%d passed, %d failed" % (run.passed, run.failed))
    return 1 if run.failed else 0


def installed(build):
    """Does an installation have the manual?"""
    if not shutil.which("man") or not shutil.which("cmake"):
        print("SKIPPED install: man or cmake is not here")
        return []
    with tempfile.TemporaryDirectory() as prefix:
        done = subprocess.run(["cmake", "--install", build, "--prefix", prefix], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            return done.stdout.splitlines()[-3:]
        folder = next((f for f, _, _ in os.walk(prefix) if f.endswith("/man")), prefix)
        shown = subprocess.run(["man", "-M", folder, "-P", "cat", "3", "hf_refcount_inc"], capture_output=True,
                               text=True, check=False, env=plain())
    return [] if "one more reference" in re.sub(r".\x08", "", shown.stdout).lower() else [
        "man -M %s hf_refcount_inc: %s" % (folder, shown.stderr)]


def plain():
    return dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80", MANROFFSEQ="", MANPAGER="cat")


def man(path):
    done = subprocess.run(["man", "--warnings=w", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False, env=plain())
    # Code and tables are as wide as they are.
    return "\n".join(line for line in done.stderr.splitlines() if not re.search(r"can't break|cannot adjust", line))


def replaced(folder, path, old, new):
    file = os.path.join(folder, path)
    with open(file, encoding="utf-8") as text:
        before = text.read()
    if before.count(old) < 1:
        raise SystemExit("tests/docs: %s has no %r" % (path, old))
    with open(file, "w", encoding="utf-8") as text:
        text.write(before.replace(old, new, 1))


MUTANTS = {  # name: (file, what to replace, by what, check, what it must say)
    "a verb without a comment": ("refcount.h", "/**\n * hf_refcount_inc -",
                                 "HF_INLINE void hf_refcount_frob(hf_refcount_t *r)\n{\n\t(void)r;\n}\n\n"
                                 "/**\n * hf_refcount_inc -", symbols, "hf_refcount_frob has no entry"),
    "a verb of all implementations without one": ("refcount/verbs.h", "HF_INLINE void HF_DETAIL_V(inc)(",
                                                  "HF_INLINE void HF_DETAIL_V(frob)(hf_refcount_t *r)\n{\n\t(void)r;\n}\n\n"
                                                  "HF_INLINE void HF_DETAIL_V(inc)(", symbols,
                                                  "hf_refcount_asm_frob has no entry"),
    "a macro without one": ("version.h", "/* Of these headers. */\n",
                            "#define HF_FROB 1\n\n/* Of these headers. */\n", symbols, "HF_FROB has no entry"),
    "a type without one": ("cond.h", "/* Goes with hf_mutex_t. */\n", "", symbols, "hf_cond_t has no entry"),
    "an enumeration without one": ("report.h", "/* What becomes of a report. */\n", "", symbols,
                                   "HF_REPORT_MODE_ABORT has no entry"),
    "a declaration without one": ("report.h", "HF_BEGIN_DECLS\n",
                                  "HF_BEGIN_DECLS\n\nvoid hf_report_frob(void) HF_API;\n\n", symbols,
                                  "hf_report_frob has no entry"),
    "a verb without its ordering": ("refcount.h", " * Ordering: release\n * Errors:   it was the last",
                                    " * Errors:   it was the last", complete, "hf_refcount_dec: has no Ordering"),
    "a verb without its result": ("mutex.h", " * Ordering: acquire if true; none if false\n * Return:   true = taken\n",
                                  " * Ordering: acquire if true; none if false\n", complete,
                                  "hf_mutex_trylock: has no Return"),
    "an argument without a word": ("mutex.h", " * @timeout: in nanoseconds; 0 = spin briefly, but do not park\n", "",
                                   complete, "hf_mutex_lock_timeout: has no @timeout"),
}


def mutant(source, name):
    """Does the check find this flaw? Returns a fault, or None."""
    import build as tools
    path, old, new, check, wanted = MUTANTS[name]
    with tempfile.TemporaryDirectory() as work:
        for folder in ("include", "examples", "docs"):
            shutil.copytree(os.path.join(source, folder), os.path.join(work, folder))
        for file in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
            shutil.copy(os.path.join(source, file), work)
        replaced(os.path.join(work, "include", "holdfast"), path, old, new)
        docs = tools.Site(work, os.path.join(work, "out"))
        said = check(docs)
    return None if any(wanted in line for line in said) else "%s was not found: %s" % (name, said[:3])


def broken_site(docs, site, folder, tools):
    """The same of what was built: an anchor that goes, a page, its sections, the index, an export without an entry."""
    page = site["reference/refcount.html"]
    page.anchors.discard("c.hf_refcount_dec_and_test")
    said = links(site, folder)
    page.anchors.add("c.hf_refcount_dec_and_test")
    if not any("no such anchor" in line and "hf_refcount_dec_and_test" in line for line in said):
        yield "an anchor that is gone was not missed"
    gone = site.pop("reference/safe.html")
    with tempfile.TemporaryDirectory() as empty:
        if not any("no such file" in line and "safe.html" in line for line in links(site, empty)):
            yield "a page that is gone was not missed"
    site["reference/safe.html"] = gone
    with tempfile.TemporaryDirectory() as empty:
        with open(os.path.join(empty, "searchindex.js"), "w", encoding="utf-8") as file:
            file.write("Search.setIndex({})")
        if not any("hf_refcount_asm_inc" in line for line in search(docs, empty)):
            yield "a verb that the search does not know was not missed"
        if not any("hf_mutex_lock has no manual page" in line for line in manual(docs, empty)[0]):
            yield "a verb without a manual page was not missed"
        os.makedirs(os.path.join(empty, "man3"))
        with open(os.path.join(empty, "man3", "hf_frob.3"), "w", encoding="utf-8") as file:
            file.write(".so man3/hf_nowhere.3\n")
        if not any("hf_frob leads nowhere" in line for line in manual(docs, empty)[0]):
            yield "a manual page that leads nowhere was not found"
    titles, page.titles = page.titles, []
    text, page.text = page.text, ""
    said = concepts(docs, site, tools)
    page.titles, page.text = titles, text
    for wanted in ("does not begin with when to use it", "has no section Ordering", "has no section Cost",
                   "examples/refcount.c is not on a page"):
        if not any(wanted in line for line in said):
            yield "not found of a page that is empty: " + wanted
    if not symbols(docs, ["hf_nowhere"]):
        yield "a symbol of the library that has no entry was not found"
    page.loads.append("https://example.org/script.js")
    if not offline(site, folder):
        yield "a script from elsewhere was not found"
    page.loads.pop()


class Run:
    def __init__(self, patterns):
        self.patterns, self.passed, self.failed = patterns, 0, 0

    def wants(self, name):
        return not self.patterns or any(pattern in name for pattern in self.patterns)

    def check(self, name, found):
        found = list(found)
        if found:
            self.failed += 1
            print("FAULT %s: %s" % (name, "; ".join(found[:SHOWN])
                                    + ("; and %d more" % (len(found) - SHOWN) if len(found) > SHOWN else "")))
        else:
            self.passed += 1
            print("ok %s" % name, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source-dir", required=True)
    parser.add_argument("--out", help="where the site and the manual go")
    parser.add_argument("--build-dir", help="where the library has been built")
    parser.add_argument("--words", action="store_true", help="look at what the headers say, and build nothing")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    args = parser.parse_args()
    source = os.path.abspath(args.source_dir)
    sys.path.insert(0, os.path.join(source, "docs", "site"))
    if args.words:
        return words(source, Run(args.patterns))
    if not args.out:
        parser.error("--out or --words")
    out = os.path.abspath(args.out)
    missing = [name for name in ("sphinx", "myst_parser", "furo") if not importlib.util.find_spec(name)]
    if missing and sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])  # Debian's own has its packages
    if missing:
        print("SKIPPED docs: needs %s, which `make docs` installs" % ", ".join(missing))
        return 77
    import build as tools
    import symbols as seen
    run = Run(args.patterns)

    folder = os.path.join(out, "html")
    done = subprocess.run([sys.executable, "-B", os.path.join(source, "docs", "site", "build.py"), "--source", source,
                           "--out", out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout, end="")
    run.check("build", done.stdout.strip().splitlines() if done.returncode else [])
    if done.returncode:
        print("%d passed, %d failed" % (run.passed, run.failed))
        return 1
    site = load_site(folder)
    docs = tools.Site(source, out)
    exported = []
    library = os.path.join(args.build_dir or "", "libholdfast.so")
    if os.path.exists(library):
        exported = seen.exported(library)
        if run.wants("install"):
            run.check("install", installed(args.build_dir))
    else:
        print("SKIPPED symbols.exported, install: the library has not been built")
    for name, check in (("links", lambda: links(site, folder)), ("offline", lambda: offline(site, folder)),
                        ("search", lambda: search(docs, folder)),
                        ("symbols", lambda: symbols(docs, exported) + on_pages(docs, site)),
                        ("complete", lambda: complete(docs)), ("concepts", lambda: concepts(docs, site, tools)),
                        ("mutants.site", lambda: broken_site(docs, site, folder, tools))):
        if run.wants(name):
            run.check(name, check())
    if run.wants("manual"):
        found, skipped = manual(docs, os.path.join(out, "man"))
        run.check("manual", found)
        for line in skipped:
            print("SKIPPED %s" % line)
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        names = [name for name in MUTANTS if run.wants("mutants." + name)]
        for name, fault in zip(names, pool.map(mutant, [source] * len(names), names)):
            run.check("mutants." + name, [fault] if fault else [])
    print("%d passed, %d failed" % (run.passed, run.failed))
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
