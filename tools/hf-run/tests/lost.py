#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a program that loses pages of its files under `hf-run --lost-pages`.

    lost.py --source-dir DIR --work-dir DIR --hf-run PROGRAM --programs lost=PATH [NAME...]

  reports   each case of lost.c: its status, and its reports
  where     to a file; from children; what the status is with --lost-pages=fail
  guide     docs/guide/bus-error.md quotes what the example prints, apart from numbers and folders
"""
import os
import re
import shutil
import signal
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from run import Runner, expect, find  # noqa: E402
from checks import Checks, Skip, arguments, read, start, write  # noqa: E402

SMALL = ("unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs -o size=256k none "$0" && exec "$@"')

# Of each case of lost.c: its status, and its reports in order.
BUS, STATUS = -signal.SIGBUS, 7

LOST = r"/file: from byte 12288 on, read by read_byte\+"
FROM_4 = r"/file: from byte 16384 on, read by read_byte\+"
WRITTEN = r"/file: from byte 20480 on, read by write_byte\+"
ZEROS = "the process reads zeros there: what it computes from them is not the file's$"
LEFT = "the program handles SIGBUS itself, so lost pages are left to its handler$"
MISSING = "so its disk is full or cannot be read, or it has grown again$"

ONCE = (STATUS, [LOST, ZEROS])
CASES = {
    "once": (STATUS, [LOST + ".*; 65536 bytes were mapped, from byte 0 on; the file has 12288 bytes$", ZEROS]),
    "thrice": (STATUS, ["/file: from byte 49152 on,", ZEROS, "/file: from byte 4096 on,"]),
    "neighbours": (STATUS, ["/file: from byte 0 on,", ZEROS, "/below: from byte 12288 on,"]),
    "writes_shared": (STATUS, [WRITTEN, ZEROS, r"/file: written at byte 20487 by write_byte\+.*: what is written there is "
                               "lost$"]),
    "writes_private": (STATUS, [WRITTEN, ZEROS]),
    "writes_handled": (STATUS, [WRITTEN, ZEROS]),
    "writes_read_only": (-signal.SIGSEGV, [LOST, ZEROS]),
    "full": (STATUS, ["/file: from byte 32768 on,.*" + MISSING, ZEROS, "/file: written at byte 32768 by"]),
    "own_handler": (STATUS, [LEFT]), "no_handler": (STATUS, [LEFT, LOST, ZEROS]), "blocked": ONCE,
    "queued": (BUS, []), "alignment": (BUS, [LOST, ZEROS]),
    "huge": (BUS, []), "fetched": (BUS, []),
    "by_exit": ONCE, "by_quick_exit": ONCE,
    "by_kill": (-signal.SIGKILL, [LOST, ZEROS]), "by_exec": (0, [LOST, ZEROS]),
    "in_fork": (STATUS, [FROM_4, ZEROS]), "in_vfork": (STATUS, [FROM_4, ZEROS]),
    "threads": (STATUS, ["/file: from byte \\d+ on,", ZEROS]),
    "cancelled": (STATUS, [FROM_4, ZEROS]), "interrupted": (STATUS, [FROM_4, ZEROS]),
    "sandboxed": (STATUS, [r"lost pages: \(/proc does not say what\)", ZEROS]), "old_kernel": ONCE,
    "closed_pipe": (STATUS, []),
}

PRINTS = {"own_handler": "the program's handler\n", "by_exit": "", "by_quick_exit": "",
          "in_fork": "child 3\ndone\n", "in_vfork": "child 3\ndone\n"}


def lose(runner, option, case, before=()):
    """Returns the status, the output, and what is on standard error."""
    os.makedirs(runner.file("files"), exist_ok=True)
    return runner.run([option], "lost", case, runner.file("files"), before=before, status=None)


def one(runner, case, *more):
    status, output, errors = lose(runner, "--lost-pages", case, *more)
    if re.match("no |there are huge pages", output):
        raise Skip("no such case: " + output.splitlines()[0])
    expected, reports = CASES[case]
    found = [line for line in errors.splitlines() if line.startswith("holdfast: ")]
    good = len(found) == len(reports) and all(re.search(report, line) for report, line in zip(reports, found))
    prints = PRINTS.get(case, "done\n" if expected == STATUS else "")
    expect((status, output, good) == (expected, prints, True),
           "status %d, expected %d, with the reports %s:\n%s%s" % (status, expected, reports, output, errors))


def full(runner):
    """A hole of a file on a full disk: a write there gets no page."""
    before = (*SMALL, runner.file("files"))
    if runner.run(None, "true", before=before, status=None)[0]:
        raise Skip("may not mount here")
    one(runner, "full", before)


def to_file(runner):
    path = write(runner.file("reports"), "an earlier run\n")
    os.chdir(runner.work)  # a relative name
    for case in ("by_exit", "by_kill", "in_fork"):
        _, output, errors = lose(runner, "--lost-pages=reports", case)
        expect("holdfast" not in output + errors, output + errors)
        lines = read(path).splitlines()
        expect(len(lines) == 2 and "/files/file: from byte" in lines[0], "%s: %s" % (case, lines))
    status, _, errors = lose(runner, "--lost-pages=/nonexistent/file", "once")
    expect(status == 125 and "/nonexistent/file can't be written" in errors, errors)


def by_shell(runner):
    """What the program starts survives, too, and appends to the same file."""
    path = runner.file("reports")
    command = "'%s' by_exit '%s'; '%s' by_kill '%s'; exit 5" % ((runner.programs["lost"], runner.file("files")) * 2)
    runner.run(["--lost-pages=" + path], "sh", "-c", command, status=5)
    expect(len(read(path).splitlines()) == 4, read(path))


def fails(runner, case):
    found, output, errors = lose(runner, "--lost-pages=fail", case)
    expect(found == FAILS[case], "status %d, expected %d: %s%s" % (found, FAILS[case], output, errors))


def off(runner):
    """Without the option the program dies, as without hf-run."""
    for options in (None, []):
        status, _, errors = runner.run(options, "lost", "once", runner.file("files"), status=None)
        expect(status == -signal.SIGBUS and "holdfast" not in errors, "status %d: %s" % (status, errors))


# After fork, the child's losses are its own; after exec, the new program's.
FAILS = {"once": 99, "by_exit": 99, "by_quick_exit": 99, "by_kill": -signal.SIGKILL,
         "own_handler": 7, "in_fork": 7, "by_exec": 0, "closed_pipe": 99}


def guide(runner, source):
    program = runner.file("count")
    text = read(source, "docs", "guide", "bus-error.md")
    block = find(text, r"```console\n\$ hf-run --lost-pages ./count big.txt\n([^`]*)```", "the guide").group(1)
    runner.run(None, "cc", "-o", program, os.path.join(source, "tools/hf-run/example/count.c"))
    output, errors = runner.run(["--lost-pages"], program, write(runner.file("big.txt"), "a line of text\n" * 100000))

    def masked(lines):
        lines = re.sub(r"/\S*/(?=count|big)", "FOLDER/", lines)
        return re.sub(r"0x[0-9a-f]+|\d+", "N", lines)
    expect(masked(block) == masked(errors + output), "the guide has\n%sbut the example prints\n%s%s" % (block, errors, output))


def main():
    options = arguments(__doc__, "source-dir", "work-dir", "hf-run", "programs", names="which")
    shutil.rmtree(options.work_dir, ignore_errors=True)
    checks, runner = Checks(), Runner(os.path.abspath(options.work_dir), None, options.programs)
    runner.hf_run = options.hf_run
    wanted = options.which or ["reports", "where", "guide"]
    if "reports" in wanted:
        for case in CASES:
            checks.attempt("reports." + case, *((full, runner) if case == "full" else (one, runner, case)))
    if "where" in wanted:
        checks.attempt("where.file", to_file, runner)
        checks.attempt("where.children", by_shell, runner)
        checks.attempt("where.off", off, runner)
        for case in FAILS:
            checks.attempt("fail." + case, fails, runner, case)
    if "guide" in wanted:
        checks.attempt("guide", guide, runner, options.source_dir)
    return checks.end()


if __name__ == "__main__":
    start(main)
