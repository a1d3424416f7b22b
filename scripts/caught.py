#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print the mutants that the last run of the tests caught, one on each line: "test: mutant".

    caught.py [FILE...]         default: the reports and logs in build/test

To see that a change of the tests loses none, run this before and after it, and compare the two lists.
"""
import glob
import os
import re
import sys
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# A test whose lines "ok NAME: how it failed" are all mutants; in other tests the name says that it is one. A name may begin
# with the number of an invariant, "T2: ", or with "mount: ".
ALL = re.compile(r"^ok ((?:(?:[A-Z]\w?\d|mount): )?[^:\n]+)", re.MULTILINE)
NAMED = re.compile(r"^ok ((?:mutants?\b|detected|flaws?\b)[^\n]*)", re.MULTILINE)
PORT = re.compile(r"^(\S[^\n]*): caught: ", re.MULTILINE)


def of_report(path):
    """The mutants in a report of ctest."""
    for test in xml.parse(path).iter("testcase"):
        name, said = test.get("name"), test.findtext("system-out") or ""
        if test.get("status") != "run":
            continue
        if re.search(r"\.(mutant|flaw)\.", name):
            yield name
        else:
            for what in (ALL if name.endswith(".mutants") else NAMED).findall(said):
                yield "%s: %s" % (name, what)


def of_log(path):
    """The mutants in the log of a port, or of another stage without ctest."""
    stage = os.path.basename(path)[:-len(".log")]
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    for what in PORT.findall(text) + ([] if "<testsuite" in text or "ctest" in text else NAMED.findall(text)):
        yield "%s: %s" % (stage, what)


def main(files):
    logs = os.path.join(ROOT, "build", "test")
    found = set()
    for path in files or glob.glob(os.path.join(logs, "*.xml")) + glob.glob(os.path.join(logs, "*.log")):
        found.update(of_report(path) if path.endswith(".xml") else of_log(path))
    print("\n".join(sorted(found)))
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
