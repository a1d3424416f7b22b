#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print where the time of the last runs of scripts/test.py went: stages, build steps, the longest tests.

    times.py [PRESET]           default: release

Seconds of build steps and tests are those on the wall, while others ran beside them; the processor's seconds of a stage are
of all that it started.
"""
import collections
import glob
import json
import os
import re
import sys
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOGS = os.path.join(ROOT, "build", "test")
TESTS = 25  # how many are listed


def stages():
    with open(os.path.join(LOGS, "times.json"), encoding="utf-8") as file:
        rows = json.load(file)
    print("| stage | seconds | processor | of that, configure and build |\n| --- | ---: | ---: | ---: |")
    for name, row in rows.items():
        built = sum(used for command, _, used in row["steps"] if command.startswith("cmake "))
        print("| `%s` | %.0f | %.0f | %s |" % (name, row["seconds"], row["processor"], "%.0f" % built if built else "-"))
    print("| all | | %.0f | |" % sum(row["processor"] for row in rows.values()))


def group(path):
    """The part of the project to which a build's output belongs."""
    if path.endswith(".gch"):
        return "precompiled header"
    if match := re.search(r"/(unit|stress|model|battery|nofault|tools)/", path.replace("_", "/").replace(".dir", "")):
        return "tests/" + match[1]
    return os.path.dirname(path).split("/")[0] if "/" in path else "library"


def steps(preset):
    """The build steps. Ninja's log has the begin and end of each, in milliseconds."""
    seconds, counts = collections.Counter(), collections.Counter()
    with open(os.path.join(ROOT, "build", preset, ".ninja_log"), encoding="utf-8") as log:
        rows = [line.split("\t") for line in log.readlines()[1:]]
    for path, (begun, ended) in {row[3]: (int(row[0]), int(row[1])) for row in rows}.items():  # the last of each output
        seconds[group(path)] += (ended - begun) / 1000
        counts[group(path)] += 1
    print("\n| build steps of %s | number | seconds |\n| --- | ---: | ---: |" % preset)
    for name, sum_of in seconds.most_common():
        print("| %s | %d | %.0f |" % (name, counts[name], sum_of))


def tests(preset):
    found = collections.Counter()
    for path in glob.glob(os.path.join(LOGS, "*-%s-*.xml" % preset)):
        for test in xml.parse(path).iter("testcase"):
            found[test.get("name")] = float(test.get("time", 0))
    print("\n| tests of %s | seconds |\n| --- | ---: |" % preset)
    for name, sum_of in found.most_common(TESTS):
        print("| %s | %.0f |" % (name, sum_of))
    print("| all %d | %.0f |" % (len(found), sum(found.values())))


def main(presets):
    stages()
    for preset in presets or ["release"]:
        steps(preset)
        tests(preset)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
