# SPDX-License-Identifier: MIT
"""What the ports' runners share: parallel emulators, mutated copies of the headers, the summary."""
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

CANT_RUN = 77  # exit status: a program or a package is not here
JOBS = str(os.cpu_count() or 1)


def say(text):
    print(text, flush=True)


def chosen(port, names, known, programs):
    """The given names, or all known ones if there are none. None if a program is missing, which is reported."""
    if missing := [program for program in programs if not shutil.which(program)]:
        say("SKIPPED %s: not here: %s" % (port, " ".join(missing)))
        return None
    if unknown := [name for name in names if name not in known]:
        sys.exit("no such name: %s; there are: %s" % (" ".join(unknown), " ".join(known)))
    return names or list(known)


def each(run, names):
    """(name, run(name)), in that order; as many at a time as there are processors: a guest uses one."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from zip(names, pool.map(run, names))


def mutate(folder, flaw):
    """A copy of the headers with one flaw, (file, text that occurs once, its replacement), in `folder`.

    The file is one of include/holdfast, or one of lab/variants, whose name begins with "variants/"."""
    mutation.copy(os.path.join(ROOT, "include"), folder, "holdfast")
    shutil.copytree(os.path.join(ROOT, "lab", "variants"), os.path.join(folder, "variants"))
    file = flaw[0] if flaw[0].startswith("variants/") else "holdfast/" + flaw[0]
    mutation.edit(os.path.join(folder, file), mutation.swap(flaw[1], flaw[2]))
    return folder


def kbuild(log, *arguments):
    """Runs make, without the options of a make that may have called us. Raises if it fails, or if anything warns:
    objtool's warnings do not make it fail."""
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
    """Runs an emulator, with a limit in seconds. Returns (its console's lines, faults).

    stop: called with the lines after each; true ends the emulator."""
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
    """The verdict on a machine's KTAP output."""
    return ktap.judge("\n".join(lines), documents, console=True)


class Sum:
    """Of all machines: prints what each did, counts, and prints the last line."""

    def __init__(self):
        self.passed = self.failed = 0

    def fault(self, name, text):
        say("FAULT %s: %s" % (name, text))
        self.failed += 1

    def add(self, name, verdict, expected=None):
        """A machine on which everything must pass; or, with `expected`, one that must fail in that way. A skipped
        case does not count as passed."""
        if expected:
            found = re.search(expected, "\n".join(verdict.faults))
            if found:
                say("%s: caught: %s" % (name, found[0].splitlines()[0]))
                self.passed += 1
            else:
                self.fault(name, "should fail by /%s/, but: %s" % (expected, verdict.faults[:5] or "passed"))
            return
        say("%s: %d cases passed, %d faults" % (name, len(verdict.passed), len(verdict.faults)))
        self.passed += len(verdict.passed)
        for skip in verdict.skipped:
            say("SKIPPED %s: %s: %s" % (name, *skip))
        for text in verdict.faults[:20]:
            self.fault(name, text)

    def end(self):
        """Returns the exit status."""
        say("%d passed, %d failed" % (self.passed, self.failed))
        return 1 if self.failed else 0 if self.passed else CANT_RUN
