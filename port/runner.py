# SPDX-License-Identifier: MIT
"""Functions for the ports' runners: emulators in parallel, mutated copies of the headers, the summary."""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))

import ktap  # noqa: E402
import mutation  # noqa: E402
from checks import Checks  # noqa: E402

CANT_RUN = 77  # exit status: a program or a package is missing
JOBS = str(os.cpu_count() or 1)


def say(text):
    print(text, flush=True)


def chosen(port, names, known, programs):
    """The given names, or by default all known ones. Prints SKIPPED and returns None if a program is missing."""
    if missing := [program for program in programs if not shutil.which(program)]:
        say("SKIPPED %s: not installed: %s" % (port, " ".join(missing)))
        return None
    if unknown := [name for name in names if name not in known]:
        sys.exit("unknown: %s; the names are: %s" % (" ".join(unknown), " ".join(known)))
    return names or list(known)


def each(run, names):
    """Yields (name, run(name)) in the order of the names. Runs one at a time on each processor."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from zip(names, pool.map(run, names))


def mutate(folder, flaw):
    """Copies the headers to `folder`, with one flaw: (file below include/holdfast, text that occurs once, its replacement)."""
    mutation.copy(os.path.join(ROOT, "include"), folder, "holdfast")
    mutation.edit(os.path.join(folder, "holdfast", flaw[0]), mutation.swap(flaw[1], flaw[2]))
    return folder


def kbuild(log, *arguments):
    """Runs make, without the options of a make that may have started this script. Raises if it fails or prints a
    warning: objtool's warnings do not make it fail."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    environment["KBUILD_BUILD_TIMESTAMP"] = "2026"  # else each build differs
    done = subprocess.run(["make", "-j" + JOBS, *arguments], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    with open(log, "a", encoding="utf-8") as file:
        file.write(done.stdout)
    complaints = re.findall(r"^.*(?:[Ww]arning|[Ee]rror): .*", done.stdout, re.MULTILINE)
    if done.returncode != 0 or complaints:
        raise RuntimeError("does not build: " + ("; ".join(complaints[:5]) or done.stdout[-500:]))


def emulate(command, log, limit, stop=None):
    """Runs an emulator for at most `limit` seconds. Returns (its console's lines, faults).

    After each line `stop` is called with all lines so far; if it returns true, the emulator is ended."""
    lines = []
    with open(log, "w", encoding="utf-8") as file, \
            subprocess.Popen(["timeout", str(limit), *command], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as emulator:
        for line in emulator.stdout:
            lines.append(line.decode("utf-8", "replace").replace("\r", "").rstrip("\n"))
            file.write(lines[-1] + "\n")
            if stop and stop(lines):
                emulator.terminate()
                return lines, []
    if emulator.returncode == 124:
        return lines, ["did not end in %d s" % limit]
    return lines, ["exit status is %d" % emulator.returncode] if emulator.returncode else []


def judge(lines, documents):
    """Judges the KTAP output of an emulated machine."""
    return ktap.judge("\n".join(lines), documents, console=True)


class Sum(Checks):
    """Prints the results of all machines, counts them, and prints the last line."""

    def fault(self, name, text):
        self.check(name, False, text)

    def caught(self, name, faults, expected):
        """Adds a mutant, one of whose faults must match `expected`."""
        if found := re.search(expected, "\n".join(faults)):
            say("%s: caught: %s" % (name, found[0]))
            self.passed += 1
        else:
            self.fault(name, "should fail with /%s/, but: %s" % (expected, faults[:5] or "passed"))

    def add(self, name, verdict, expected=None):
        """Adds a machine on which everything must pass or, with `expected`, which must fail in that way. Skipped cases
        do not count as passed."""
        if expected:
            self.caught(name, verdict.faults, expected)
            return
        say("%s: %d cases passed, %d faults" % (name, len(verdict.passed), len(verdict.faults)))
        self.passed += len(verdict.passed)
        for skip in verdict.skipped:
            self.skip(name, "%s: %s" % skip)
        for text in verdict.faults[:20]:
            self.fault(name, text)

    def end(self):
        """Returns the exit status."""
        status = super().end()
        return status if self.passed or self.failed else CANT_RUN
