#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library's USDT probes: described in the ELF notes, in the guide, and reached by a running program.

    probes.py --guide FILE --shared LIBRARY --static PROGRAM --dynamic PROGRAM

  notes      the shared library and a program with the static one have an ELF note for each probe, with the
             number of arguments that src/profile/probe.h documents
  guide      docs/guide/tools.md has a bpftrace command for each probe; bpftrace, if installed, compiles them
  static, dynamic
             gdb stops the program at each probe, and the arguments are right

Exits with 77 if the library was built without probes.
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks, Printed, arguments  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PROBES = {"contended": 2, "acquired": 3, "park": 3, "wake": 2, "misuse": 4, "fault": 3,
          "region_fault": 3}


def output(*command, **environment):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, check=False, timeout=600,
                          env=dict(os.environ, **environment))
    return done.stdout


def notes(file):
    """Return {probe: the set of its numbers of arguments}."""
    found = {}
    for name, arguments in re.findall(r"Provider: holdfast\s+Name: (\w+)\s+Location:.*\s+Arguments:(.*)",
                                      output("readelf", "-n", file)):
        found.setdefault(name, set()).add(len(arguments.split()))
    return found


def check_guide(checks, guide, shared):
    with open(guide, encoding="utf-8") as file:
        lines = re.findall(r"^bpftrace (?:-p PID )?-e '(.*)'$", file.read(), re.MULTILINE)
    missing = [name for name in PROBES if not any(":holdfast:%s " % name in line for line in lines)]
    checks.wrong("guide", missing and "no bpftrace command for %s" % missing)
    if not shutil.which("bpftrace"):
        checks.skip("bpftrace", "it is not installed")
        return
    # -d only compiles, which works on a kernel without uprobes too.
    trial = output("bpftrace", "-d", "-e", "BEGIN { exit(); }")
    if "Program" not in trial:
        checks.skip("bpftrace", "it can't run: " + " ".join(trial.split())[-100:])
        return
    for line in lines:
        program = re.sub(r"usdt:[^:]*:", "usdt:%s:" % shared, line)
        said = output("bpftrace", "-d", "-e", program)
        checks.wrong("bpftrace " + line[:60], said if "ERROR" in said and "RLIMIT" not in said else "")


def check_gdb(checks, name, program, **environment):
    words = sum((["-ex", "set environment %s %s" % item] for item in environment.items()), [])
    said = output("gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off",
                  "-ex", "handle SIGSTOP SIGCONT nostop noprint nopass",
                  "-ex", "handle SIGSEGV SIGBUS nostop noprint pass", *words,
                  "-x", os.path.join(HERE, "probes_checks.py"), program)
    found = Printed(said)
    checks.check(name, found.is_complete and not found.failed and found.passed > 10, said)


def main():
    args = arguments(__doc__, "guide", "shared", "static", "dynamic")
    if not notes(args.shared) and not notes(args.static):
        print("SKIPPED tools.probes: the library was built without sys/sdt.h")
        return 77
    checks = Checks()
    for file in (args.shared, args.static):
        checks.check("notes of " + os.path.basename(file),
                     notes(file) == {name: {count} for name, count in PROBES.items()}, notes(file))
    check_guide(checks, args.guide, args.shared)
    if not shutil.which("gdb") or "exited normally" not in output("gdb", "-nx", "-batch", "-ex", "run",
                                                                  "/bin/true"):
        checks.skip("gdb", "it is not installed, or can't run a program")
    else:
        check_gdb(checks, "static", args.static)
        check_gdb(checks, "dynamic", args.dynamic, LD_LIBRARY_PATH=os.path.dirname(args.shared))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
