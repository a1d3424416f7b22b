# SPDX-License-Identifier: MIT
"""What the ports' runners share: a flawed copy of the headers, and judging a console full of KTAP."""
import concurrent.futures
import os
import re
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def each(run, names):
    """(name, run(name)), in that order; as many at a time as there are processors: a guest uses one."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from zip(names, pool.map(run, names))


def mutate(folder, mutation):
    """A copy of the headers with one flaw, (file, what is there once, what comes instead), in `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "include"), folder)
    path = os.path.join(folder, "holdfast", mutation[0])
    with open(path, encoding="utf-8") as header:
        text = header.read()
    if text.count(mutation[1]) != 1:
        sys.exit("%s: %s is not there once: %s" % (folder, mutation[0], mutation[1]))
    with open(path, "w", encoding="utf-8") as header:
        header.write(text.replace(mutation[1], mutation[2]))
    return folder


def judge(text, documents):
    """Return (names that passed, faults) of all the KTAP in the output, leaves only."""
    passed, faults = [], []
    begun = 0
    suite = ""
    plans = {"": None, "    ": None}
    seen = {"": 0, "    ": 0}

    def ends(indent):
        if plans[indent] is not None and plans[indent] != seen[indent]:
            faults.append("%s: planned %d, saw %d"
                          % (suite or "top", plans[indent], seen[indent]))
        plans[indent], seen[indent] = None, 0

    for line in text.splitlines():
        if line == "KTAP version 1":
            ends("")
            begun += 1
            suite = ""
        elif match := re.match(r"    # Subtest: (\S+)", line):
            suite = match[1]
        elif match := re.fullmatch(r"( {4})?1\.\.(\d+)", line):
            plans[match[1] or ""] = int(match[2])
        elif match := re.match(r"( {4})?(ok|not ok) (\d+) (\S+)(?: *#.*)?$", line):
            indent = match[1] or ""
            seen[indent] += 1
            if int(match[3]) != seen[indent]:
                faults.append("number %s comes as %d: %s" % (match[3], seen[indent], line.strip()))
            name = "%s.%s" % (suite, match[4]) if indent else match[4]
            if not indent and suite and match[4] != suite:
                faults.append("%s ends as %s" % (suite, match[4]))
            if match[2] != "ok":
                faults.append("not ok: " + name)
            elif indent or not suite:  # a suite's own line is no case
                passed.append(name)
            if not indent:
                if suite and plans["    "] is None:
                    faults.append("%s: no plan" % suite)
                ends("    ")
                suite = ""
        elif re.match(r"\s*Bail out!", line):
            faults.append(line.strip())
        elif re.match(r"\s*(ok|not ok)\b", line):
            faults.append("garbled: " + line.strip())
    if begun and plans[""] is None:
        faults.append("no plan")
    ends("")
    if begun != documents:
        faults.append("%d KTAP documents, not %d" % (begun, documents))
    return passed, faults
