#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judge what a program of test cases printed, as KTAP: the only judge of it.

    ktap.py PROGRAM [ARGUMENT...]

Runs the program, and exits with 0 only if the program did too and its output has no fault. Good is

    KTAP version 1
    1..2
    ok 1 one case # a remark
        KTAP version 1          a document in a document: deeper by any number of spaces
        # Subtest: family
        1..1
        ok 1 inner              a case: family.inner
    ok 2 family                 the end of it: no case

with a plan for each document, all of its cases in order, none of them "not ok", none garbled, no
"Bail out!", and at least one case that ran. A skipped case ("ok 2 name # SKIP why") is no case that
passed: each is repeated at the end on a line of its own, "SKIPPED name: why".
"""
import re
import subprocess
import sys

CASE = re.compile(r"( *)(ok|not ok) (\d+)(?: (?:- )?([^#]*))?(?:#(?: *(SKIP)\b)? *(.*))?",
                  re.IGNORECASE)


class Verdict:
    def __init__(self):
        self.passed = []  # names
        self.skipped = []  # (name, reason)
        self.faults = []  # what is wrong


class Document:
    """One that is open: where it is indented, and what was seen of it."""

    def __init__(self, indent, name=""):
        self.indent, self.name = indent, name
        self.plan, self.seen = None, 0

    def end(self, faults):
        where = "%s: " % self.name if self.name else ""
        if self.plan is None:
            faults.append(where + "no plan")
        elif self.plan != self.seen:
            faults.append("%splanned %d cases, saw %d" % (where, self.plan, self.seen))


class Judge:
    def __init__(self, console):
        self.console = console
        self.documents = 0  # outermost ones with a version
        self.begun = False
        self.open = []  # outermost first
        self.verdict = Verdict()

    def fault(self, text):
        self.verdict.faults.append(text)

    def at(self, indent):
        """The document that a line of that indent belongs to; opens one if it is a deeper one."""
        self.begun = True
        while self.open and indent < self.open[-1].indent:
            self.close()
        if not self.open or indent > self.open[-1].indent:
            self.open.append(Document(indent))
        return self.open[-1]

    def close(self):
        document = self.open.pop()
        document.end(self.verdict.faults)
        if self.open:
            self.fault("%s: its parent has no line for it" % (document.name or "a document"))

    def version(self, indent):
        if indent == 0:
            while self.open:
                self.close()
            self.documents += 1
        elif self.open and indent == self.open[-1].indent:
            self.fault("a second version in " + (self.open[-1].name or "a document"))
        self.at(indent)

    def subtest(self, indent, name):
        if indent:
            self.at(indent).name = name

    def plan(self, indent, number):
        document = self.at(indent)
        if document.plan is not None:
            self.fault("a second plan: 1..%d" % number)
        document.plan = number

    def case(self, line, match):
        indent, good = len(match[1]), match[2].lower() == "ok"
        name, number = (match[4] or "").strip(), int(match[3])
        inner = None
        if self.open and indent < self.open[-1].indent:
            inner = self.open.pop()  # this line is its end
            inner.end(self.verdict.faults)
            if name != inner.name and inner.name:
                self.fault("%s ends as %s" % (inner.name, name))
        document = self.at(indent)
        document.seen += 1
        if number != document.seen:
            self.fault("case %d comes as number %d: %s" % (document.seen, number, name))
        path = [d.name for d in self.open if d.name]
        name = ".".join([*path, name or "case %d" % document.seen])
        if not good:
            self.fault("not ok: " + name)
        elif match[5]:
            self.verdict.skipped.append((name, match[6].strip() or "no reason given"))
        elif not inner:
            self.verdict.passed.append(name)

    def line(self, line):
        if match := re.fullmatch(r"( *)KTAP version 1", line):
            self.version(len(match[1]))
        elif match := re.fullmatch(r"( *)# Subtest: (\S+)", line):
            self.subtest(len(match[1]), match[2])
        elif match := re.fullmatch(r"( *)1\.\.(\d+)(?: .*)?", line):
            self.plan(len(match[1]), int(match[2]))
        elif re.match(r"\s*Bail out!", line, re.IGNORECASE):
            self.fault(line.strip())
        elif re.match(r"\s*(ok|not ok)\b", line, re.IGNORECASE):
            match = CASE.fullmatch(line)
            if not match or (self.console and " " in (match[4] or "").strip()):
                self.fault("garbled: " + line.strip())
            else:
                self.case(line, match)

    def end(self, documents):
        while self.open:
            self.close()
        if not self.begun:
            self.fault("no plan")
        if self.documents == 0:
            self.fault("no line `KTAP version 1`")
        elif self.documents != documents:
            self.fault("%d KTAP documents, not %d" % (self.documents, documents))
        if not self.verdict.passed:
            self.fault("no case was run and passed")
        return self.verdict


def judge(text, documents=1, console=False):
    """The verdict on all the KTAP in the text, which must be so many documents.

    console: others print into it too, so a case's name is one word, and more of them on its line
    are not its own.
    """
    one = Judge(console)
    for line in text.splitlines():
        one.line(line)
    return one.end(documents)


def main(command):
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace", check=False)
    print(run.stdout, end="", flush=True)
    verdict = judge(run.stdout)
    if run.returncode != 0:
        verdict.faults.append("the program's exit status is %d" % run.returncode)
    for skip in verdict.skipped:
        print("SKIPPED %s: %s" % skip)
    for fault in verdict.faults:
        print("FAULT " + fault)
    print("%d passed, %d skipped, %d faults"
          % (len(verdict.passed), len(verdict.skipped), len(verdict.faults)))
    return 1 if verdict.faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
