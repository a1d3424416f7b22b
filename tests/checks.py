# SPDX-License-Identifier: MIT
"""What a test runner prints of its checks: one form for all of them.

A line for each check, "ok NAME", "FAILED NAME: why" or "SKIPPED NAME: why", and "N passed, N failed" at the
end. scripts/test.py reads these lines.

    checks = Checks()
    checks.check("two and two", 2 + 2 == 4)
    checks.attempt("compiles", compile_it, "a.c")     compile_it() raises Failed or Skip, or returns
    return checks.end()                               the exit status
"""
import argparse
import glob
import os
import subprocess
import sys
import threading


class Failed(Exception):
    """The check found something: what."""


class Skip(Exception):
    """The check can't be made here: why."""


class Checks:
    def __init__(self):
        self.passed = self.failed = 0
        self.lock = threading.Lock()

    def check(self, name, good, why=""):
        """Print and count one; returns whether it is good."""
        with self.lock:
            print("ok " + name if good else "FAILED %s: %s" % (name, why), flush=True)
            self.passed += bool(good)
            self.failed += not good
        return bool(good)

    def wrong(self, name, why):
        """Print and count one that is good if there is nothing wrong with it."""
        return self.check(name, not why, why)

    @staticmethod
    def skip(name, why):
        print("SKIPPED %s: %s" % (name, why), flush=True)

    def attempt(self, name, function, *arguments):
        """Print and count one that raises where it fails; returns whether it is good."""
        try:
            function(*arguments)
        except Skip as why:
            self.skip(name, why)
            return False
        except Failed as why:
            return self.check(name, False, why)
        return self.check(name, True)

    def end(self):
        """Print the total. Returns the exit status; a run without a check has failed."""
        print("%d passed, %d failed" % (self.passed, self.failed), flush=True)
        return 1 if self.failed or not self.passed else 0


def arguments(doc, *required, names=None, **more):
    """What a runner is given: --NAME VALUE for each of `required`; for each of `more` what add_argument() takes;
    and as many words as there are, as `names`."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in required:
        parser.add_argument("--" + name, required=True)
    for name, settings in more.items():
        parser.add_argument("--" + name.replace("_", "-"), **settings)
    if names:
        parser.add_argument(names, nargs="*")
    return parser.parse_args()


def start(main):
    """Ends the program with main()'s exit status, or in the words of what it failed with."""
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(str(error))


def sources(*path, pattern="*.c"):
    """All files of that pattern in a folder and the folders in it."""
    return sorted(glob.glob(os.path.join(*path, "**", pattern), recursive=True))


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def write(path, text):
    """Its folder is made where it is not there. Returns the path."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def run(*command, may=(0,), **more):
    """The output of a command, standard error included; Failed if it ends with another status than it may."""
    done = subprocess.run(command, stdin=None if "input" in more else subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **more)
    if done.returncode not in may:
        raise Failed("exit status %d of: %s\n%s" % (done.returncode, " ".join(command), done.stdout[-4000:]))
    return done.stdout
