# SPDX-License-Identifier: MIT
"""What the ports' runners share: machines side by side, a flawed copy of the headers, the sum."""
import concurrent.futures
import os
import re
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))

import ktap  # noqa: E402
import mutation  # noqa: E402


def each(run, names):
    """(name, run(name)), in that order; as many at a time as there are processors: a guest uses one."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from zip(names, pool.map(run, names))


def mutate(folder, flaw):
    """A copy of the headers with one flaw, (file, what is there once, what comes instead), in `folder`.

    The file is one of include/holdfast, or one of lab/variants, whose name begins with "variants/"."""
    mutation.copy(os.path.join(ROOT, "include"), folder, "holdfast")
    shutil.copytree(os.path.join(ROOT, "lab", "variants"), os.path.join(folder, "variants"))
    file = flaw[0] if flaw[0].startswith("variants/") else "holdfast/" + flaw[0]
    mutation.edit(os.path.join(folder, file), mutation.swap(flaw[1], flaw[2]))
    return folder


def judge(console, documents):
    """The verdict on what a machine's console shows."""
    return ktap.judge(console, documents, console=True)


class Sum:
    """Of all machines: prints what each did, counts, and prints the last line."""

    def __init__(self):
        self.passed = self.failed = 0

    def say(self, text):
        print(text, flush=True)

    def fault(self, name, text):
        self.say("FAULT %s: %s" % (name, text))
        self.failed += 1

    def good(self, name, verdict):
        """A machine on which all must pass. A case that was skipped is no case that passed."""
        self.say("%s: %d cases passed, %d faults" % (name, len(verdict.passed), len(verdict.faults)))
        self.passed += len(verdict.passed)
        for skip in verdict.skipped:
            self.say("SKIPPED %s: %s: %s" % (name, *skip))
        for text in verdict.faults:
            self.fault(name, text)

    def mutant(self, name, verdict, expected):
        """A machine that must fail in the way that is named."""
        if re.search(expected, "\n".join(verdict.faults)):
            self.say("%s: caught" % name)
            self.passed += 1
        else:
            self.fault(name, "should fail by /%s/, but: %s" % (expected, verdict.faults or "passed"))

    def end(self):
        """Returns the exit status."""
        self.say("%d passed, %d failed" % (self.passed, self.failed))
        return 1 if self.failed else 0
