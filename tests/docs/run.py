#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check that the reference and the manual are complete.

    run.py --source-dir DIR --words                          the headers' comments: needs gcc
    run.py --source-dir DIR --out DIR [--build-dir DIR]      the site and the manual, which it builds as `make docs` does

  names      each function, constant and type that gcc sees in the public headers has an entry
  fields     each entry has a summary; each function its context, ordering, result and arguments
  comments   no comment has an @argument that its functions lack

  build      `make docs` prints no warning of Sphinx, which checks all links and pictures
  pages      each entry is on its header's page, and each function has a manual page
  files      no page loads other sites' files, no script is a module, which a browser does not load from a disk, no style sheet
             loads a file from a server's root, no file is a link, and each cell names its column for phones
  manual     `mandoc -T lint` prints no warning
  install    if the library is built, `man hf_refcount_inc` finds the manual that `cmake --install` installs

Exits with 77 if a tool is missing.
"""
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, "..", "..", "bindings", "extern", "tests")]

import checks  # noqa: E402
import declared  # noqa: E402

# The summary of a function that differs from another one in its type or name only.
LIKE = re.compile(r"(?:(?:and )?(?:as|the same as|the same,) |hf_\w+\()", re.IGNORECASE)


def names(headers, source):
    known = {name for header in headers.values() for entry in header.entries
             for name in (entry.name, *(value for value, _ in entry.values))}
    wanted = {function.name for function in declared.functions(source, ["gcc"])}
    constants, types = declared.constants(source, ["gcc"])
    words = set(re.findall(r"\w+", "".join(header.text for header in headers.values())))
    wanted |= (constants | {kind.split()[-1] for kind in types}) & words
    return sorted("%s has no entry" % name for name in wanted - known - {"HF_ENV_FOREVER", "HF_EFAULT", "HF_EINVAL", "HF_ENOENT"})


def fields(headers):
    found = []
    for header in headers.values():
        for entry in header.entries:
            lacks = [] if entry.summary else ["summary"]
            if entry.kind == "function" and not LIKE.match(entry.summary):
                lacks += [key for key in ("Context", "Ordering") if not entry.field(key)
                          and not (key == "Ordering" and header.section("Ordering"))]
                lacks += ["Return"] * (entry.returns and not entry.field("Return"))
                lacks += ["@" + name for name in entry.parameters if not entry.argument(name)]
            if lacks:
                found.append("%s: %s has no %s" % (header.path, entry.name, ", ".join(lacks)))
    return found


def files(folder):
    """What a browser would complain of when it loads a page, a script or a style sheet."""
    paths = [path for kind in ("**/*.html", "_static/**/*.js", "_static/**/*.css")
             for path in glob.glob(kind, root_dir=folder, recursive=True)]
    texts = {path: checks.read(os.path.join(folder, path)) for path in paths}
    bad = {".html": r"""<td\b(?! data-head=)|<script\b[^>]*\stype="module"|"""
                    r"""<(?:(?:img|script|iframe)\b[^>]*\ssrc|link\b(?![^>]*rel="(?:canonical|search)")[^>]*\shref)="(?:\w+:|//).*""",
           ".js": r"^\s*(?:import\b(?!\s*\()|export\b).*", ".css": r"(?:@import\s+(?:url\()?|url\()[\"']?(?:/|\w+:(?!image)).*"}
    links = [path for path in glob.glob("**", root_dir=folder, recursive=True) if os.path.islink(os.path.join(folder, path))]
    return [path + ": a link" for path in links] + [
        "%s: %s" % (path, found[0].strip()[:80]) for path, text in texts.items()
        for found in [re.search(bad[os.path.splitext(path)[1]], text, re.MULTILINE)] if found]


def on_pages(docs, pages, folder):
    found = []
    for header in docs.headers.values():
        page = checks.read(docs.out, "html", docs.reference.page_of[header.path] + ".html")
        for entry in header.entries:
            anchor = "hf-cxx-" + entry.name.rsplit("::", 1)[-1].replace("_", "-") if entry.kind == "class" else \
                "c." + entry.name
            if 'id="%s"' % anchor not in page:
                found.append("%s is not on its page" % entry.name)
            if pages.has_page(entry) and not os.path.isfile(os.path.join(folder, entry.name + ".3")):
                found.append("%s has no manual page" % entry.name)
    return found


PLAIN = dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80", MANROFFSEQ="", MANPAGER="cat")


def manual(folder, run):
    found = []
    paths = []
    for path in sorted(glob.glob(os.path.join(folder, "man?", "*.?"))):
        with open(path, encoding="utf-8") as file:
            lead = re.match(r"\.so (.*)", file.read())
        if not lead:
            paths.append(path)
        elif not os.path.isfile(os.path.join(folder, lead[1])):
            found.append("%s: no such page: %s" % (path, lead[1]))
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *paths], cwd=folder, capture_output=True, text=True,
                              check=False)
        found += [line for line in (done.stdout + done.stderr).splitlines() if line]
    else:
        run.skip("manual.mandoc", "no mandoc")
    return found


def installed(build):
    """Raises Failed if man does not find the installed manual."""
    with tempfile.TemporaryDirectory() as prefix:
        checks.run("cmake", "--install", build, "--prefix", prefix)
        folder = next((folder for folder, _, _ in os.walk(prefix) if folder.endswith("/man")), prefix)
        shown = subprocess.run(["man", "-M", folder, "-P", "cat", "3", "hf_refcount_inc"], capture_output=True, text=True,
                               check=False, env=PLAIN)
        if "RETURN" not in shown.stdout.upper() and "ORDERING" not in re.sub(r".\x08", "", shown.stdout):
            raise checks.Failed(shown.stdout + shown.stderr)


def some(found):
    return "; ".join(found[:12]) + ("; and %d more" % (len(found) - 12) if len(found) > 12 else "")


def main():
    args = checks.arguments(__doc__, "source-dir", out={}, build_dir={}, words={"action": "store_true"})
    source = os.path.abspath(args.source_dir)
    missing = [] if shutil.which("gcc") else ["gcc"]
    if not args.words:
        missing += [name for name in ("sphinx", "myst_parser", "furo") if not importlib.util.find_spec(name)]
        if missing and sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
            os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])  # has Debian's packages
    if missing:
        print("SKIPPED docs: no %s; `make docs` installs them" % ", ".join(missing))
        return 77
    tools = os.path.join(source, "docs", "site")
    sys.path.insert(0, tools)
    import build
    import comments
    import pages
    run = checks.Checks()
    if args.words:
        headers, complaints = comments.load(source)
        run.wrong("names", some(names(headers, source)))
        run.wrong("fields", some(fields(headers)))
        run.wrong("comments", some(complaints))
        return run.end()

    out = os.path.abspath(args.out)
    done = subprocess.run([sys.executable, "-B", os.path.join(tools, "build.py"), "--source", source, "--out", out],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if not run.check("build", done.returncode == 0, done.stdout):
        return run.end()
    run.wrong("pages", some(on_pages(build.Site(source, out), pages, os.path.join(out, "man", "man3"))))
    run.wrong("files", some(files(os.path.join(out, "html"))))
    run.wrong("manual", some(manual(os.path.join(out, "man"), run)))
    if args.build_dir and os.path.exists(os.path.join(args.build_dir, "libholdfast.so")) and shutil.which("man"):
        run.attempt("install", installed, args.build_dir)
    else:
        run.skip("install", "the library is not built, or no man")
    return run.end()


if __name__ == "__main__":
    sys.exit(main())
