#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library's USDT probes: in the files, with their arguments, and where gdb stops.

    probes.py --guide FILE --shared LIBRARY --static PROGRAM --dynamic PROGRAM

  notes      readelf finds each probe with as many arguments as src/profile/probe.h says, in the shared library
             and in a program with the static one
  guide      docs/guide/tools.md has a line of bpftrace for each; where bpftrace is here it parses them
  static, dynamic
             gdb stops the program at each probe, with the right arguments

Exits with 77 where the library was built without probes.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROBES = {"contended": 2, "acquired": 3, "park": 3, "wake": 2, "misuse": 4, "fault": 3,
          "region_fault": 3}


def output(*command, **environment):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, check=False, timeout=600,
                          env=dict(os.environ, **environment))
    return done.stdout


def notes(file):
    """{probe: {numbers of arguments}}"""
    found = {}
    for name, arguments in re.findall(r"Provider: holdfast\s+Name: (\w+)\s+Location:.*\s+Arguments:(.*)",
                                      output("readelf", "-n", file)):
        found.setdefault(name, set()).add(len(arguments.split()))
    return found


def verdict(name, wrong):
    print("%s %s" % ("FAILED" if wrong else "ok", name) + (": %s" % wrong if wrong else ""), flush=True)
    return not wrong


def check_guide(guide, shared):
    with open(guide, encoding="utf-8") as file:
        lines = re.findall(r"^bpftrace (?:-p PID )?-e '(.*)'$", file.read(), re.MULTILINE)
    missing = [name for name in PROBES if not any(":holdfast:%s " % name in line for line in lines)]
    good = verdict("guide", missing and "no line of bpftrace for %s" % missing)
    if not shutil.which("bpftrace"):
        print("SKIPPED bpftrace: it is not here")
        return good
    # It compiles a program before it attaches: a kernel without uprobes is no hindrance.
    trial = output("bpftrace", "-d", "-e", "BEGIN { exit(); }")
    if "Program" not in trial:
        print("SKIPPED bpftrace: it can't be run here: " + " ".join(trial.split())[-100:])
        return good
    for line in lines:
        program = re.sub(r"usdt:[^:]*:", "usdt:%s:" % shared, line)
        said = output("bpftrace", "-d", "-e", program)
        good &= verdict("bpftrace " + line[:60], said if "ERROR" in said and "RLIMIT" not in said else "")
    return good


def check_gdb(name, program, **environment):
    words = sum((["-ex", "set environment %s %s" % item] for item in environment.items()), [])
    said = output("gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off",
                  "-ex", "handle SIGSTOP SIGCONT nostop noprint nopass",
                  "-ex", "handle SIGSEGV SIGBUS nostop noprint pass", *words,
                  "-x", os.path.join(HERE, "probes_checks.py"), program)
    good = re.search(r"^checked: 0 failed$", said, re.MULTILINE) and len(re.findall("^ok ", said,
                                                                                    re.MULTILINE)) > 10
    return verdict(name, "" if good else said)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("guide", "shared", "static", "dynamic"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    if not notes(args.shared) and not notes(args.static):
        print("SKIPPED tools.probes: the library was built without sys/sdt.h")
        return 77
    good = [verdict("notes of " + os.path.basename(file),
                    notes(file) != {name: {count} for name, count in PROBES.items()} and notes(file))
            for file in (args.shared, args.static)]
    good.append(check_guide(args.guide, args.shared))
    if not shutil.which("gdb") or "exited normally" not in output("gdb", "-nx", "-batch", "-ex", "run",
                                                                  "/bin/true"):
        print("SKIPPED gdb: it is not here, or can't run a program")
    else:
        good.append(check_gdb("static", args.static))
        good.append(check_gdb("dynamic", args.dynamic, LD_LIBRARY_PATH=os.path.dirname(args.shared)))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
