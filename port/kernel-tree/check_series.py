#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the patches of series.py as a maintainer would: checkpatch --strict, and a build with W=1 and C=1 after each patch.

    check_series.py [KERNEL]     also: --checkpatch, only that

KERNEL is 6.1 or 6.12. Fetches its source as run.py does. Builds the objects that the patches touch and some that include
their headers (OBJECTS), first of the stock tree, then after each patch, with gcc's warnings of W=1, with those in system
headers (Holdfast's are such), and with sparse. A finding must be in ACCEPTED, with a reason; a warning is new if the stock
tree does not give it. The last line is "N passed, N failed". Exits with 1 if anything failed, with 77 if a program is
missing.
"""
import collections
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import run  # noqa: E402
import series  # noqa: E402
from run import BUILD, say  # noqa: E402

# (object, the first patch that has it; 0 = the stock tree)
OBJECTS = (("lib/refcount.o", 0), ("lib/lockref.o", 0), ("kernel/locking/qspinlock.o", 0), ("kernel/fork.o", 0),
           ("fs/dcache.o", 0), ("lib/usercopy.o", 0), ("lib/iov_iter.o", 0),
           ("lib/holdfast/src/report/report.o", 1), ("lib/holdfast/port/kernel/seam.o", 1),
           ("lib/holdfast/user_memory.o", 5))

# What checkpatch does not see: the library as it is, whose style is the project's own (clang-format checks it).
LIBRARY = ("include/holdfast", "lib/holdfast/src")
# checkpatch's kinds of findings that stay, and why.
ACCEPTED = {
    "AVOID_BUG": "without a node a waiter can't wait, and to return would be to enter a held lock",
    "CODE_INDENT": "clang-format aligns a ?: so",
    "LEADING_SPACE": "clang-format aligns a ?: so",
    "CONSTANT_COMPARISON": "both sides of a comparison of versions are constants",
    "COMPLEX_MACRO": "it defines functions",
    "INCLUDE_LINUX": "static_cpu_has() is x86's alone",
    "PREFER_KERNEL_TYPES": "the names of C, in functions that also exist in user space",
    "EXPORT_SYMBOL": "the functions have two forms, and both are exported by the same lines at the end of the file",
    "FILE_PATH_CHANGES": "who maintains the files is not ours to say",
    "LINUX_VERSION_CODE": "one text for 6.1 and 6.12, and sparse has no __has_include()",
    "NEW_TYPEDEFS": "refcount_t is the kernel's name, and a port has to define hf_env_lockref_lock_t",
    "UNCOMMENTED_DEFINITION": "the comment above the structure says what a lockref's lock protects",
    "USE_LOCKDEP": "spin_is_locked() is no assertion here, but an operation that a port has to define",
}
# Warnings of gcc and sparse that stay, as regular expressions, and why.
ACCEPTED_WARNINGS = {
    r"lockref.*context imbalance.*put_or_lock": "it returns with or without the lock; the kernel's own gives the same warning",
}


def checkpatch(tree, folder, total):
    """Judges each patch, without the files of the library, whose style is the project's own."""
    repository = os.path.join(folder, "linux")
    for number, commit in enumerate(series.git(repository, "rev-list", "--reverse", "HEAD").split()[1:], 1):
        patch = os.path.join(folder, "checked-%d.patch" % number)
        with open(patch, "w", encoding="utf-8") as file:
            file.write(series.git(repository, "format-patch", "--stdout", "-B", "-M", "-1", commit, "--", ".",
                                  *(":!" + path for path in LIBRARY)))
        done = subprocess.run(["perl", os.path.join(tree, "scripts", "checkpatch.pl"), "--root=" + tree, "--strict",
                               "--show-types", "--terse", "--no-summary", "--no-signoff", "--max-line-length=100", patch],
                              cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        found = re.findall(r"^.*?:(\d+): (?:ERROR|WARNING|CHECK):(\w+): (.*)", done.stdout, re.MULTILINE)
        for kind, often in sorted(collections.Counter(kind for _, kind, _ in found).items()):
            say("    %-24s %3d  %s" % (kind, often, ACCEPTED.get(kind, "?")))
        unknown = ["%s:%s: %s" % one for one in found if one[1] not in ACCEPTED]
        if done.returncode and not found:
            unknown = done.stdout.splitlines()[-3:]
        for line in unknown:
            say("    " + line)
        if unknown:
            total.fault("checkpatch, patch %d" % number, "%d findings" % len(unknown))
        else:
            say("checkpatch, patch %d: %d findings, all accepted" % (number, len(found)))
            total.passed += 1


def warnings(tree, out, objects):
    """Builds the objects again. Returns the set of warnings, or raises."""
    for name in objects:
        path = os.path.join(out, name)
        if os.path.exists(path):
            os.remove(path)
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(["make", "-k", "-j" + run.runner.JOBS, "-C", tree, "O=" + out, "ARCH=x86_64", "W=1", "C=2",
                           "KCFLAGS=-Wsystem-headers", *objects], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    with open(os.path.join(out, "build.log"), "a", encoding="utf-8") as file:
        file.write(done.stdout)
    found = set()
    for path, kind, text in re.findall(r"^(\S+?):\d+(?::\d+)?: (warning|error): (.*)", done.stdout, re.MULTILINE):
        path = os.path.relpath(os.path.join(out, path), tree) if not os.path.isabs(path) else os.path.relpath(path, tree)
        found.add("%s: %s: %s" % (path, kind, text))
    if done.returncode:
        raise RuntimeError("does not build: " + "; ".join(sorted(found))[:2000] + done.stdout[-1000:])
    return found


def builds(kernel, folder, total):
    """Builds the objects in the stock tree, and after each patch."""
    tree, out = os.path.join(BUILD, kernel, "series"), os.path.join(BUILD, "build-%s-series" % kernel)
    shutil.rmtree(tree, ignore_errors=True)
    subprocess.run(["cp", "-al", os.path.join(BUILD, kernel, "stock"), tree], check=True)
    guest = run.Guest(kernel)
    run.configure(guest, tree, out)
    run.make(guest, tree, out, "prepare")
    repository = os.path.join(folder, "linux")
    commits = series.git(repository, "rev-list", "--reverse", "HEAD").split()
    before = set()
    for number, commit in enumerate(commits):
        if number:
            changed = series.git(repository, "diff", "--no-renames", "--name-only", commits[number - 1], commit).split()
            series.git(repository, "checkout", "-q", commit)
            for path in changed:
                if os.path.exists(os.path.join(repository, path)):
                    run.replace(os.path.join(repository, path), os.path.join(tree, path))
                else:
                    os.remove(os.path.join(tree, path))
        subject = series.git(repository, "show", "-s", "--format=%s", commit).strip() if number else "the stock tree"
        try:
            found = warnings(tree, out, [name for name, first in OBJECTS if first <= number])
        except RuntimeError as why:
            total.fault("patch %d" % number, str(why))
            continue
        new = sorted(found - before)
        if not number:
            before = found
            say("%s: %d warnings" % (subject, len(found)))
            continue
        unknown = []
        for line in new:
            why = [why for pattern, why in ACCEPTED_WARNINGS.items() if re.search(pattern, line)]
            if not why:
                unknown.append(line)
            say("    %s  %s" % (line, why or "?"))
        if unknown:
            total.fault("patch %d" % number, "%d new warnings" % len(unknown))
        else:
            say("patch %d (%s): builds, %d accepted warnings" % (number, subject, len(new)))
            total.passed += 1


def main(*arguments):
    kernel, only = next((one for one in arguments if one in run.KERNELS), "6.1"), "--checkpatch" in arguments
    if missing := [name for name in ("perl", "git", "sparse", "gcc", "flex", "bison", "bc") if not shutil.which(name)]:
        say("SKIPPED check_series: not installed: " + " ".join(missing))
        return run.CANT_RUN
    os.makedirs(BUILD, exist_ok=True)
    tree = os.path.join(run.fetch(kernel), "stock")
    folder = os.path.join(BUILD, "series-checked")
    total = run.runner.Sum()
    series.write(tree, folder)
    checkpatch(tree, folder, total)
    if not only:
        builds(kernel, folder, total)
    return total.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
