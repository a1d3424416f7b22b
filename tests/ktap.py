#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a test program and check its KTAP output. All KTAP of the project is judged here.

    ktap.py PROGRAM [ARGUMENT...]

Exits with 0 only if the program did, and its output is without fault. A correct output:

    KTAP version 1
    1..2
    ok 1 one case # a remark
        KTAP version 1          a nested document, indented by any number of spaces
        # Subtest: family
        1..1
        ok 1 inner              the case family.inner
    ok 2 family                 ends the nested document; not a case

Each document needs a plan and all of its cases, in order; "not ok", a garbled line and "Bail out!" are faults,
and at least one case must have passed. A skipped case ("ok 2 name # SKIP why") does not count as passed;
skipped cases are repeated at the end, as "SKIPPED name: why".
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
        self.faults = []  # messages


class Document:
    """A document that has begun and not ended."""

    def __init__(self, indent):
        self.indent, self.name, self.plan, self.seen = indent, "", None, 0


class Judge:
    def __init__(self, console):
        self.console = console
        self.documents = 0  # outermost documents with a version line
        self.begun = False
        self.open = []  # outermost first
        self.verdict = Verdict()
        self.fault = self.verdict.faults.append

    def at(self, indent):
        """Return the document of a line with this indentation; a deeper line begins a document."""
        self.begun = True
        while self.open and indent < self.open[-1].indent:
            self.close()
        if not self.open or indent > self.open[-1].indent:
            self.open.append(Document(indent))
        return self.open[-1]

    def pop(self):
        """End the innermost document. Return it."""
        document = self.open.pop()
        where = "%s: " % document.name if document.name else ""
        if document.plan is None:
            self.fault(where + "no plan")
        elif document.plan != document.seen:
            self.fault("%splanned %d cases, saw %d" % (where, document.plan, document.seen))
        return document

    def close(self):
        document = self.pop()
        if self.open:
            self.fault("%s: its parent has no line for it" % (document.name or "a document"))

    def case(self, match):
        indent, good = len(match[1]), match[2].lower() == "ok"
        name, number = (match[4] or "").strip(), int(match[3])
        inner = None
        if self.open and indent < self.open[-1].indent:
            inner = self.pop()
            if name != inner.name and inner.name:
                self.fault("%s ends as %s" % (inner.name, name))
        document = self.at(indent)
        document.seen += 1
        if number != document.seen:
            self.fault("case %d is numbered %d: %s" % (document.seen, number, name))
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
            indent = len(match[1])
            if indent == 0:
                while self.open:
                    self.close()
                self.documents += 1
            elif self.open and indent == self.open[-1].indent:
                self.fault("a second version in " + (self.open[-1].name or "a document"))
            self.at(indent)
        elif match := re.fullmatch(r"( +)# Subtest: (\S+)", line):
            self.at(len(match[1])).name = match[2]
        elif match := re.fullmatch(r"( *)1\.\.(\d+)(?: .*)?", line):
            document = self.at(len(match[1]))
            if document.plan is not None:
                self.fault("a second plan: 1..%s" % match[2])
            document.plan = int(match[2])
        elif re.match(r"\s*Bail out!", line, re.IGNORECASE):
            self.fault(line.strip())
        elif re.match(r"\s*(ok|not ok)\b", line, re.IGNORECASE):
            match = CASE.fullmatch(line)
            if not match or (self.console and " " in (match[4] or "").strip()):
                self.fault("garbled: " + line.strip())
            else:
                self.case(match)

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
            self.fault("no case passed")
        return self.verdict


def judge(text, documents=1, console=False):
    """Return the Verdict on the text's KTAP, which must be this many outermost documents.

    console: other programs print into the text too. So a case's name must be one word: several words are a
    line that was mixed with another one.
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
