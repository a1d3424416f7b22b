# SPDX-License-Identifier: MIT
"""Mutants: copies of the code with one flaw each, which a test must find. A test that finds nothing
proves nothing.

    tree = mutation.copy(source, folder, "include", "src")     a fresh copy of a part of the code
    mutation.edit(os.path.join(tree, name), mutation.swap(before, after))
    ... build it, run it ...
    mutation.must_fail(status, output, r"not ok 1 clear erms") it failed, and in the way that is meant

A text that is to be replaced stands in its file exactly once, or the mutant is Stale: code that was
changed under a mutant must not leave it without effect. A mutant that nothing found is Survived; one
that this machine can't run raises Skip. `run_all` prints one line for each mutant: "ok", "FAILED" or
"SKIPPED", and returns an exit status.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess


class Stale(Exception):
    """The mutant does not fit the code any more."""


class Survived(Exception):
    """The test did not find the mutant, or failed in another way than it should."""


class Skip(Exception):
    """The mutant can't be run here: why not."""


def copy(source, folder, *parts):
    """A fresh copy of `parts` (files or folders of `source`) in `folder`; returns `folder`."""
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
    """A change for `edit`: `before`, which must be there exactly once, becomes `after`."""
    def change(text):
        if text.count(before) != 1:
            raise Stale("%d times in it, not once: %r" % (text.count(before), before))
        return text.replace(before, after)
    return change


def edit(path, change):
    """Changes one file: `change` makes the new text of the old one; None: the file goes."""
    if change is None:
        os.remove(path)
        return
    with open(path, encoding="utf-8") as file:
        before = file.read()
    try:
        after = change(before)
    except Stale as why:
        raise Stale("%s: %s" % (path, why)) from None
    if after == before:
        raise Stale("%s: the change changes nothing" % path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(after)


def must_fail(status, output, expected):
    """Returns what it is found by: the text that `expected` matches in the output of a failed run.

    `status` is the exit status, negative for a signal, and stands in the text as "status N".
    """
    text = "%s\nstatus %d" % (output, status)
    if status == 0:
        raise Survived("nothing finds it")
    match = re.search(expected, text, re.MULTILINE)
    if not match:
        raise Survived("should fail by /%s/, but:\n%s" % (expected, text[-2000:]))
    return match[0].strip()


def run_all(mutants, one, jobs=1):
    """Runs one(*mutant) for each (name, *mutant): it returns what found it, or raises.

    One that hangs until subprocess's time-out is found by that. Prints a line for each as it is done, in
    their order. Returns an exit status.
    """
    def attempt(mutant):
        try:
            return "ok", one(*mutant)
        except subprocess.TimeoutExpired as why:
            return "ok", "found by a time-out: it hangs for %d seconds" % why.timeout
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
