# SPDX-License-Identifier: MIT
"""The output format of all test runners, and helpers that they share.

One line per check, "ok NAME", "FAILED NAME: why" or "SKIPPED NAME: why", then "N passed, N failed".

    checks = Checks()
    checks.check("two and two", 2 + 2 == 4)
    checks.attempt("compiles", compile_it, "a.c")     passes unless compile_it("a.c") raises Failed or Skip
    return checks.end()                               the exit status

Printed(text) reads these lines; tests/ktap.py judges the output of test programs.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import threading


class Failed(Exception):
    """A check failed; the argument says why."""


class Skip(Exception):
    """A check can't run here; the argument says why."""


class Checks:
    def __init__(self):
        self.passed = self.failed = 0
        self.lock = threading.Lock()

    def check(self, name, good, why=""):
        """Print and count one check. Return whether it passed."""
        with self.lock:
            print("ok " + name if good else "FAILED %s: %s" % (name, why), flush=True)
            self.passed += bool(good)
            self.failed += not good
        return bool(good)

    def wrong(self, name, why):
        """Print and count one check, which fails if `why` is not empty."""
        return self.check(name, not why, why)

    @staticmethod
    def skip(name, why):
        print("SKIPPED %s: %s" % (name, why), flush=True)

    def attempt(self, name, function, *arguments):
        """Call `function`; print and count one check, which fails if it raises Failed. Return whether it passed."""
        try:
            function(*arguments)
        except Skip as why:
            self.skip(name, why)
            return False
        except Failed as why:
            return self.check(name, False, why)
        return self.check(name, True)

    def end(self):
        """Print the totals. Return the exit status; a run without checks fails."""
        print("%d passed, %d failed" % (self.passed, self.failed), flush=True)
        return 1 if self.failed or not self.passed else 0


class Printed:
    """What a runner has printed: the number of passed checks, {failed check: why}, ["NAME: why" of each skip], and whether it
    came to its last line."""

    def __init__(self, text):
        found = re.findall(r"^(ok|FAILED|SKIPPED) ((.*)(?:\n(?!ok |FAILED |SKIPPED |\d+ passed, \d+ failed).*)*)", text,
                           re.MULTILINE)
        totals = re.findall(r"^(\d+) passed, \d+ failed$", text, re.MULTILINE)
        self.passed = int(totals[-1]) if totals else sum(state == "ok" for state, _, _ in found)
        self.failed = {line.partition(":")[0]: whole for state, whole, line in found if state == "FAILED"}
        self.skipped = [line for state, _, line in found if state == "SKIPPED"]
        self.is_complete = bool(totals)


def arguments(doc, *required, names=None, **more):
    """Parse the command line: a required --NAME VALUE for each of `required`; an option for each of `more`, whose
    value is a dictionary of arguments for add_argument(); and any number of words, called `names`."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in required:
        parser.add_argument("--" + name, required=True)
    for name, settings in more.items():
        parser.add_argument("--" + name.replace("_", "-"), **settings)
    if names:
        parser.add_argument(names, nargs="*")
    return parser.parse_args()


def start(main):
    """Exit with main()'s status, or with the message of the Failed that it raises."""
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(str(error))


def sources(*path, pattern="*.c"):
    """All files in a folder and its subfolders that match `pattern`."""
    return sorted(glob.glob(os.path.join(*path, "**", pattern), recursive=True))


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def write(path, text):
    """Write a file, creating its folder if necessary. Return the path."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def fixed_addresses():
    """A command prefix that turns address randomisation off if it uses more bits than the sanitizers can bear."""
    prefix = ["setarch", "-R"]
    try:
        if int(read("/proc/sys/vm/mmap_rnd_bits")) <= 28:
            return []
    except OSError:
        pass
    works = shutil.which("setarch") and subprocess.run([*prefix, "true"], check=False).returncode == 0
    return prefix if works else []


def sanitizer_prefix(*command, program):
    """Build an empty program with a sanitizer, by this command, and run it. Return the words before such a program: those of
    fixed_addresses(). Raises Skip if it can't be built or run."""
    built = subprocess.run([*command, "-x", "c", "-", "-o", program], input="int main(void) { return 0; }", text=True,
                           stderr=subprocess.DEVNULL, check=False).returncode == 0
    prefix = fixed_addresses()
    if not built or subprocess.run([*prefix, program], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise Skip("it does not work here")
    return prefix


def run(*command, may=(0,), **more):
    """Return a command's output, standard error included. Raises Failed if its exit status is not in `may`."""
    done = subprocess.run(command, stdin=None if "input" in more else subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **more)
    if done.returncode not in may:
        raise Failed("exit status %d of: %s\n%s" % (done.returncode, " ".join(command), done.stdout[-4000:]))
    return done.stdout
