#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write Holdfast for a kernel tree as a series of patches, for `git am`: one patch a subject.

    series.py TREE FOLDER

TREE is an unchanged kernel tree, and stays so. The patches are FOLDER/patches/*.patch; FOLDER/linux is a git repository with
one commit for each, of the files alone that the series touches. At the end the patches are applied in another place, and
the result is compared with what `run.py --into` writes. Prints the size of each patch.
"""
import filecmp
import glob
import os
import shutil
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import run  # noqa: E402

MAKEFILE = "lib/holdfast/Makefile"
# The lines of MAKEFILE that later patches bring: {number of the patch: line}.
LATER = {5: "obj-$(CONFIG_X86_64) += user_memory.o\n", 6: "obj-$(CONFIG_ARM64) += user_memory_arm64.o src/cpu/cpu.o\n"}

# (subject and message, the paths in the tree that this patch brings)
SUBJECTS = (
    ("""lib: add the headers of Holdfast, its reports and its queue nodes

Saturating counts, a lockref and a queued spinlock as headers. Nothing uses them yet. lib/holdfast/port/kernel/seam.c is what they need of a
kernel: per-CPU nodes for each of the four contexts, and a warning, which debugfs's clear_warn_once re-arms.

The headers use the compiler's atomic builtins, so gcc for arm64 must not make calls of libgcc's functions of them.
""", ["include/holdfast", "lib/holdfast/src", "lib/holdfast/port", MAKEFILE, "lib/Makefile", "arch/arm64/Makefile"]),
    ("""refcount: use Holdfast's saturating count

The functions keep their names, their orderings and LKDTM's verdicts. A report names the object and the call site. `refs`
stays an atomic_t, since code all over the tree initialises it.
""", ["include/linux/refcount.h", "lib/refcount.c"]),
    ("""lockref: use Holdfast's lockref

Holders of a reference change the count by a compare-and-swap of the lock and the count together, a bounded number of times,
and take the lock then. Where a spinlock has more than four bytes each operation takes the lock.
""", ["include/linux/lockref.h", "include/linux/holdfast_lock.h", "lib/lockref.c"]),
    ("""locking/qspinlock: wait in Holdfast's queue

Of the spinlock only queued_spin_lock_slowpath() changes: in both words 0 is free, and the low byte is the locked byte. A CPU
may take the lock again before the first waiter, at most 128 times and for about a microsecond, which saves moves of the cache
line. Interrupts on a CPU have nodes of their own. Needs a kernel without CONFIG_PARAVIRT_SPINLOCKS.

The uncontended paths are the kernel's as before.
""", ["kernel/locking/qspinlock.c"]),
    ("""x86/uaccess: copy and clear user memory by Holdfast's functions

raw_copy_from_user(), raw_copy_to_user(), __clear_user() and clear_user() return exactly the number of bytes that are not done,
up to the byte before the fault. The alternatives choose one of four implementations: FSRM, ERMS, REP_GOOD, none of these.
""", ["arch/x86/include/asm", "lib/holdfast/user_memory.c", MAKEFILE]),
    ("""arm64: copy and clear user memory by Holdfast's functions

__arch_copy_from_user(), __arch_copy_to_user() and __arch_clear_user() return exactly the number of bytes that are not done. They
take the place of three members of arch/arm64/lib's archive, which a kernel with modules links whole.
""", ["lib/holdfast/user_memory_arm64.c", "arch/arm64/lib/Makefile", MAKEFILE]),
)


def git(folder, *arguments):
    names = {"GIT_%s_%s" % (who, what): value for who in ("AUTHOR", "COMMITTER")
             for what, value in (("NAME", "Holdfast"), ("EMAIL", "holdfast@localhost"), ("DATE", "2026-01-01T00:00:00Z"))}
    return subprocess.run(["git", "-c", "core.autocrlf=false", "-c", "commit.gpgsign=false", "-C", folder, *arguments],
                          env={**os.environ, **names}, check=True, stdout=subprocess.PIPE, text=True).stdout


def files(folder):
    """The paths of all files in a folder, relative to it, but for git's own."""
    return sorted(os.path.relpath(path, folder) for path in glob.glob(os.path.join(folder, "**"), recursive=True)
                  if os.path.isfile(path))


def begin(tree, folder):
    """Makes a repository with the kernel's files that the series changes. Returns its path."""
    for path in (*run.REPLACED, *run.ADDED):
        run.replace(os.path.join(tree, path), os.path.join(folder, path))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "the kernel's files")
    return folder


def same(one, other):
    """Raises if the two folders differ."""
    names, others = files(one), files(other)
    _, differ, missing = filecmp.cmpfiles(one, other, names, shallow=False)
    if found := differ + missing + sorted(set(names) ^ set(others)):
        raise RuntimeError("%s and %s differ: %s" % (one, other, found[:5]))


def write(tree, folder):
    """Writes the repository and the patches, and applies them. Returns [(subject, lines added, lines removed)]."""
    folder = os.path.abspath(folder)
    shutil.rmtree(folder, ignore_errors=True)
    whole, repository = begin(tree, os.path.join(folder, "whole")), begin(tree, os.path.join(folder, "linux"))
    run.put_into(whole)
    sizes = []
    for number, (message, paths) in enumerate(SUBJECTS, 1):
        for path in paths:
            run.replace(os.path.join(whole, path), os.path.join(repository, path))
        for line in [line for later, line in LATER.items() if MAKEFILE in paths and later > number]:
            run.runner.mutation.edit(os.path.join(repository, MAKEFILE), run.runner.mutation.swap(line, ""))
        git(repository, "add", "-A")
        subject, *paragraphs = message.strip().split("\n\n")
        text = ["--message=" + textwrap.fill(" ".join(paragraph.split()), 75) for paragraph in paragraphs]
        git(repository, "commit", "-q", "-m", subject, *text)
        counts = [line.split("\t")[:2] for line in git(repository, "show", "--numstat", "--format=").splitlines() if line]
        sizes.append((subject, sum(int(added) for added, _ in counts), sum(int(removed) for _, removed in counts)))
    same(whole, repository)
    patches = git(repository, "format-patch", "-B", "-M", "-o", os.path.join(folder, "patches"),
                  "-%d" % len(SUBJECTS)).split("\n")
    applied = begin(tree, os.path.join(folder, "applied"))
    git(applied, "am", "-q", *filter(None, patches))
    same(whole, applied)
    return sizes


def main(tree, folder):
    for subject, added, removed in write(tree, folder):
        print("%5d added %5d removed  %s" % (added, removed, subject))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
