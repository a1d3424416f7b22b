#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests two copies of the library in one process, for all pairs of kinds of copy.

    run.py --source-dir DIR --work-dir DIR [--cc COMPILER]

A copy is static or shared, and its version is this one, a newer one with the same layout (version.h),
or one with another layout. Each copy has a program and a plug-in, built from the same sources.

  same layout    each program with each plug-in: locks, condition variables, faults, reports and
                 validation work through both copies (pair.c); two copies that validate print a warning
  other layout   refused: by the copy that is loaded second, which names both objects; or, if inlined
                 code of one layout is linked with the library of another, by the linker or the loader,
                 which names the function

Exits with 1 if a check failed.
"""
import concurrent.futures
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import ktap  # noqa: E402
import mutation  # noqa: E402
from checks import Checks, arguments, read, run, sources, start  # noqa: E402

# The numbers of this tree, and another layout number.
LAYOUT, MINOR = (int(re.search(r"^#define %s (\d+)" % name, read(HERE, "..", "..", "include", "holdfast", "version.h"),
                               re.MULTILINE)[1]) for name in ("HF_DETAIL_LAYOUT", "HF_VERSION_MINOR"))
OTHER = LAYOUT + 76

# name: (the change of version.h, the number in the name of the shared library)
VERSIONS = {
    "this": (None, 0),
    "newer": (mutation.swap("#define HF_VERSION_MINOR %d" % MINOR, "#define HF_VERSION_MINOR 99"), 1),
    "other": (mutation.swap("#define HF_DETAIL_LAYOUT %d" % LAYOUT, "#define HF_DETAIL_LAYOUT %d" % OTHER), 0),
}
KINDS = ("static", "shared")
VALIDATE = "holdfast: validate: two copies of the library take locks"
MISUSE = "refcount: addition on 0"


class Build:
    """Builds all copies, and their programs and plug-ins."""

    def __init__(self, args):
        self.args, self.cc = args, args.cc.split()

    def folder(self, version, kind):
        return os.path.join(self.args.work_dir, version, kind)

    def flags(self, tree):
        return [*self.cc, "-std=gnu11", "-O0", "-Wall", "-Wextra", "-Werror", "-fPIC",
                "-fvisibility=hidden", "-pthread", "-I" + os.path.join(tree, "include")]

    def tree(self, version):
        if not VERSIONS[version][0]:
            return self.args.source_dir
        folder = os.path.join(self.args.work_dir, version, "tree")
        tree = mutation.copy(self.args.source_dir, folder, "include", "src")
        mutation.edit(os.path.join(tree, "include", "holdfast", "version.h"), VERSIONS[version][0])
        return tree

    def library(self, version, kind, tree):
        """Builds the archive or the shared library."""
        folder = self.folder(version, kind)
        os.makedirs(folder, exist_ok=True)
        define = "-DHF_STATIC_LIBRARY" if kind == "static" else "-DHF_STAYS_LOADED"
        objects = []
        for source in sources(tree, "src"):
            objects.append(os.path.join(folder, os.path.relpath(source, tree).replace("/", "_") + ".o"))
            run(*self.flags(tree), define, "-c", source, "-o", objects[-1])
        archive = os.path.join(folder, "libholdfast.a")
        if kind == "static":
            if os.path.exists(archive):
                os.remove(archive)
            run("ar", "rcs", archive, *objects)
            return
        name = "libholdfast.so.%d" % VERSIONS[version][1]
        run(*self.cc, "-shared", "-pthread", "-Wl,-z,nodelete", "-Wl,-soname," + name, *objects, "-o",
            os.path.join(folder, name))

    def link(self, version, kind):
        """The linker's arguments; a program finds a shared library by its rpath."""
        folder = self.folder(version, kind)
        if kind == "static":
            return [os.path.join(folder, "libholdfast.a")]
        return [os.path.join(folder, "libholdfast.so.%d" % VERSIONS[version][1]), "-Wl,-rpath," + folder]

    def users(self, version, kind, tree):
        """Builds the program and the plug-in of one copy."""
        folder = self.folder(version, kind)
        objects = {}
        for stem in ("operations", "validated", "pair"):
            objects[stem] = os.path.join(folder, stem + ".o")
            run(*self.flags(tree), "-c", os.path.join(HERE, stem + ".c"), "-o", objects[stem])
        link = self.link(version, kind) + ["-pthread", "-ldl"]
        run(*self.cc, *objects.values(), "-o", os.path.join(folder, "pair"), *link)
        run(*self.cc, "-shared", objects["operations"], objects["validated"], "-o",
            os.path.join(folder, "plug.so"), *link)

    def all(self):
        trees = {version: self.tree(version) for version in VERSIONS}

        def one(version, kind):
            self.library(version, kind, trees[version])
            self.users(version, kind, trees[version])
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            list(pool.map(lambda copy: one(*copy),
                          [(version, kind) for version in VERSIONS for kind in KINDS]))

    def pair(self, program, plugin, **environment):
        """(exit status, standard output, standard error)"""
        done = subprocess.run([os.path.join(self.folder(*program), "pair"),
                               os.path.join(self.folder(*plugin), "plug.so"), plugin[1]],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              env=dict(os.environ, **environment))
        return done.returncode, done.stdout, done.stderr


def works(build, program, plugin):
    """Runs a pair of the same layout. Returns what is wrong, or None."""
    status, out, err = build.pair(program, plugin)
    verdict = ktap.judge(out, 1)
    if status or verdict.faults:
        return "status %d, %s\n%s%s" % (status, verdict.faults, out, err)
    lines = err.splitlines()
    expected = [VALIDATE] * ("# two validate" in out) + [MISUSE] * ("a handler in an unloaded plug-in" in verdict.passed)
    if len(lines) != len(expected) or not all(text in line for text, line in zip(expected, lines)):
        return "expected on standard error %s, found\n%s" % (expected, err)
    # The symbols of a program's shared library come first, even for a plug-in with its own copy.
    if ("# two validate" in out) != (program[1] == "static"):
        return "the wrong number of copies:\n" + out
    return None


def refused(result, *patterns):
    """Returns what is wrong, or None: the run must fail, and its messages match all patterns."""
    status, out, err = result
    if status == 0 or "ok 1" in out:
        return "was not refused"
    missing = [pattern for pattern in patterns if not re.search(pattern, err)]
    return "status %d; no %s in\n%s" % (status, missing, err) if missing else None


def checks(build):
    """Yields (name, what is wrong or None) for each check."""
    good = [(version, kind) for version in ("this", "newer") for kind in KINDS]
    for program in good:
        for plugin in good:
            yield "works: %s %s, plug-in %s %s" % (program + plugin), works(build, program, plugin)

    for program, plugin in [(p, q) for kind in KINDS for other in KINDS
                            for p, q in [(("this", kind), ("other", other)),
                                         (("other", kind), ("this", other))]]:
        layouts = {"this": LAYOUT, "other": OTHER}
        patterns = [r"layout %d\.\d+ in " % layouts[which[0]] for which in (program, plugin)]
        patterns += ["do not fit together", "plug.so" if plugin[1] == "static" else "libholdfast.so"]
        if program[1] == plugin[1] == "shared":
            # The loader already has a library of that name, and does not load the plug-in's.
            patterns = [r"undefined symbol: hf_detail_\w+_layout%d\b" % layouts[plugin[0]]]
        yield ("refused: %s %s, plug-in %s %s" % (program + plugin),
               refused(build.pair(program, plugin), *patterns))

    # The program's inlined code and the shared library differ in layout.
    preload = os.path.join(build.folder("other", "shared"), "libholdfast.so.0")
    result = build.pair(("this", "shared"), ("this", "shared"), LD_PRELOAD=preload)
    yield ("refused: an older program finds a library of another layout",
           refused(result, r"undefined symbol: hf_detail_\w+_layout%d\b" % LAYOUT))
    # Objects that were compiled before the static library was replaced.
    old, new = build.folder("this", "static"), build.folder("other", "static")
    done = subprocess.run([*build.cc, *[os.path.join(old, stem + ".o")
                                        for stem in ("operations", "validated", "pair")],
                           os.path.join(new, "libholdfast.a"), "-o", os.path.join(new, "mixed"),
                           "-pthread", "-ldl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, env=dict(os.environ, LC_ALL="C"))
    yield ("refused: older objects are linked with a library of another layout",
           refused((done.returncode, done.stdout, done.stderr), r"hf_detail_mutex_lock_slow_layout%d\b" % LAYOUT))


def main():
    args = arguments(__doc__, "source-dir", "work-dir", cc={"default": "cc"})
    build = Build(args)
    build.all()
    results = Checks()
    for name, wrong in checks(build):
        results.wrong(name, wrong)
    return results.end()


if __name__ == "__main__":
    start(main)
