# SPDX-License-Identifier: MIT
"""Mutants: copies of the code with one deliberate flaw each, which a test must detect.

    tree = mutation.copy(source, folder, "include", "src")     a fresh copy of part of the code
    mutation.edit(os.path.join(tree, name), mutation.swap(before, after))
    mutation.build(cc, "-I", tree, ...)
    mutation.must_fail(*mutation.run(program), r"not ok 1 clear erms")    it failed, with the expected message

Raises Stale if the text to replace does not occur exactly once in its file, so that a later change of the code
can't silently disable a mutant; Survived if no test detected the mutant; and Skip if this machine can't run it.
`run_all` prints one line per mutant, "ok", "FAILED" or "SKIPPED", and returns an exit status.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess

from checks import Skip, read, write


class Stale(Exception):
    """The mutant's edit no longer applies to the code."""


class Survived(Exception):
    """The test did not detect the mutant, or failed with another message than the expected one."""


def copy(source, folder, *parts):
    """Replace `folder` by a copy of `parts`, which are files or folders of `source`. Return `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    for part in parts:
        path, to = os.path.join(source, part), os.path.join(folder, part)
        if os.path.isdir(path):
            shutil.copytree(path, to)
        else:
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy(path, to)
    return folder


def swap(before, after):
    """Return a change for `edit`: replace `before`, which must occur exactly once, by `after`."""
    def change(text):
        if text.count(before) != 1:
            raise Stale("occurs %d times, not once: %r" % (text.count(before), before))
        return text.replace(before, after)
    return change


def edit(path, change):
    """Replace a file's text by change(text)."""
    before = read(path)
    try:
        after = change(before)
    except Stale as why:
        raise Stale("%s: %s" % (path, why)) from None
    if after == before:
        raise Stale("%s: the edit has no effect" % path)
    write(path, after)


def build(*command):
    """Compile or link. Raises Stale if that fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Stale("can't be built:\n" + done.stdout)


def run(*command, seconds=300, **more):
    """Return the exit status and the output of a test. Without a flaw a few seconds suffice."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          timeout=seconds, check=False, **more)
    return done.returncode, done.stdout


def must_fail(status, output, expected):
    """Return the text that the regular expression `expected` matches in the output of a failed run.

    `status` is the exit status, negative for a signal; "status N" is appended to the output for the match.
    """
    text = "%s\nstatus %d" % (output, status)
    if status == 0:
        raise Survived("not detected")
    match = re.search(expected, text, re.MULTILINE)
    if not match:
        raise Survived("failed, but not with /%s/:\n%s" % (expected, text[-2000:]))
    return match[0].strip()


def run_all(mutants, one, jobs=1):
    """Call one(*mutant) for each (name, *mutant): it returns the message that detected the mutant, or raises.

    A mutant that hangs until subprocess times out counts as detected. Prints one line per mutant, in their
    order. Return an exit status.
    """
    def attempt(mutant):
        try:
            return "ok", one(*mutant)
        except subprocess.TimeoutExpired as why:
            return "ok", "detected by a time-out of %d seconds" % why.timeout
        except Skip as why:
            return "SKIPPED", why
        except (Stale, Survived) as why:
            return "FAILED", why
    states = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for (name, *_), (state, text) in zip(mutants, pool.map(attempt, [m[1:] for m in mutants])):
            print("%s %s: %s" % (state, name, text), flush=True)
            states.append(state)
    return 1 if "FAILED" in states else 0
