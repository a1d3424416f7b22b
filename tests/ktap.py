#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a program that prints KTAP, and judge what it printed.

    ktap.py PROGRAM [ARGUMENT...]

Exits with 0 only if the program did too, printed the version and a plan, and then every case of the
plan in order, none of them "not ok" and at least one of them run. Skipped cases are repeated at the
end, one a line that starts with "SKIPPED".
"""
import re
import subprocess
import sys

CASE = re.compile(r"(ok|not ok) (\d+)(?: (?:- )?([^#]*))?(?:# *SKIP\b *(.*))?", re.IGNORECASE)


def judge(text):
    """Return (passed, skipped, faults): a number, [(name, reason)], [what is wrong]."""
    version = plan = None
    passed, skipped, faults, seen = 0, [], [], 0
    for line in text.splitlines():
        if re.fullmatch(r"KTAP version 1", line):
            version = True
        elif match := re.fullmatch(r"1\.\.(\d+).*", line):
            if plan is not None:
                faults.append("a second plan: " + line)
            plan = int(match[1])
        elif match := CASE.match(line):
            seen += 1
            name = (match[3] or "").strip() or "case %d" % seen
            if int(match[2]) != seen:
                faults.append("case %d comes as number %s: %s" % (seen, match[2], name))
            if match[1].lower() == "not ok":
                faults.append("not ok: " + name)
            elif match[4] is not None:
                skipped.append((name, match[4].strip() or "no reason given"))
            else:
                passed += 1
        elif re.match(r"\s*(not ok\b|Bail out!)", line, re.IGNORECASE):
            faults.append(line.strip())
    if not version:
        faults.append("no line `KTAP version 1`")
    if plan is None:
        faults.append("no plan")
    elif plan != seen:
        faults.append("planned %d cases, saw %d" % (plan, seen))
    if passed == 0:
        faults.append("no case was run and passed")
    return passed, skipped, faults


def main(command):
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace", check=False)
    print(run.stdout, end="", flush=True)
    passed, skipped, faults = judge(run.stdout)
    if run.returncode != 0:
        faults.append("the program's exit status is %d" % run.returncode)
    for name, reason in skipped:
        print("SKIPPED %s: %s" % (name, reason))
    for fault in faults:
        print("FAULT " + fault)
    print("%d passed, %d skipped, %d faults" % (passed, len(skipped), len(faults)))
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
