#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a program that loses pages of its files under `hf-run --lost-pages`.

    lost.py --source-dir DIR --work-dir DIR --hf-run PROGRAM --program PROGRAM [NAME...]

  reports   each case of lost.c: its status, and its reports
  where     to a file; from children; what the status is with --lost-pages=fail
  guide     docs/guide/bus-error.md quotes what the example prints, apart from numbers and folders
"""
import os
import re
import shutil
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from lost_expected import CASES, wrong  # noqa: E402
from checks import Checks, Failed, Skip, arguments, read, start  # noqa: E402

SECONDS = 600  # of a program; a hang fails
SMALL = ("unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs -o size=256k none "$0" && exec "$@"')


class Runner:
    def __init__(self, options):
        self.options = options
        self.folder = os.path.join(options.work_dir, "files")
        shutil.rmtree(options.work_dir, ignore_errors=True)
        os.makedirs(self.folder)
        self.clean = {name: value for name, value in os.environ.items()
                      if not name.startswith("HF_RUN") and name != "LD_PRELOAD"}

    def run(self, *command):
        """Returns the status, standard output and standard error."""
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", env=self.clean,
                              timeout=SECONDS, check=False)
        return done.returncode, done.stdout, done.stderr

    def lose(self, option, case, folder=None, before=()):
        return self.run(*before, self.options.hf_run, option, self.options.program, case, folder or self.folder)


def expect(good, why):
    if not good:
        raise Failed(why)


def one(runner, case, folder=None, before=()):
    why = wrong(case, *runner.lose("--lost-pages", case, folder, before))
    if why.startswith("no "):
        raise Skip(why)
    expect(not why, why)


def full(runner):
    """A hole of a file on a full disk: a write there gets no page."""
    before = (*SMALL[:-1], SMALL[-1], runner.folder)
    if runner.run(*before, "true")[0]:
        raise Skip("may not mount here")
    one(runner, "full", before=before)


def unreadable(runner):
    """A device whose file has become shorter: reading its end is an I/O error."""
    path = os.path.join(runner.options.work_dir, "device")
    with open(path, "wb") as file:
        file.write(bytes(1 << 20))
    status, device, _ = runner.run("losetup", "--find", "--show", path) if shutil.which("losetup") else (1, "", "")
    if status:
        raise Skip("no loop devices, or not root")
    try:
        os.truncate(path, 0)
        one(runner, "unreadable", device.strip())
    finally:
        runner.run("losetup", "--detach", device.strip())


def linear(runner):
    """10,000 losses in 1,000 mappings: one report each, however often the mapping loses more."""
    status, output, errors = runner.lose("--lost-pages", "many")
    expect((status, output) == (7, "done\n"), "status %d: %s%s" % (status, output[-2000:], errors[-2000:]))
    found = errors.count(" bytes were mapped")
    expect(found == 1000, "%d reports of 1000 mappings" % found)


def to_file(runner):
    path = os.path.join(runner.options.work_dir, "reports")
    with open(path, "w", encoding="utf-8") as file:
        file.write("an earlier run\n")
    os.chdir(runner.options.work_dir)  # a relative name
    for case in ("by_exit", "by_kill", "in_fork"):
        _, output, errors = runner.lose("--lost-pages=reports", case)
        expect("holdfast" not in output + errors, output + errors)
        lines = read(path).splitlines()
        expect(len(lines) == 2 and "/files/file: from byte" in lines[0], "%s: %s" % (case, lines))
    status, _, errors = runner.lose("--lost-pages=/nonexistent/file", "once")
    expect(status == 125 and "/nonexistent/file can't be written" in errors, errors)


def by_shell(runner):
    """What the program starts survives, too, and appends to the same file."""
    path = os.path.join(runner.options.work_dir, "reports")
    command = "'%s' by_exit '%s'; '%s' by_kill '%s'; exit 5" % ((runner.options.program, runner.folder) * 2)
    status, _, _ = runner.run(runner.options.hf_run, "--lost-pages=" + path, "sh", "-c", command)
    expect(status == 5 and len(read(path).splitlines()) == 4, "status %d: %s" % (status, read(path)))


def fails(runner, case, status):
    found, output, errors = runner.lose("--lost-pages=fail", case)
    expect(found == status, "status %d, expected %d: %s%s" % (found, status, output, errors))


def off(runner):
    """Without the option the program dies, as without hf-run."""
    for before in ((), (runner.options.hf_run,)):
        status, _, errors = runner.run(*before, runner.options.program, "once", runner.folder)
        expect(status == -signal.SIGBUS and "holdfast" not in errors, "status %d: %s" % (status, errors))


# After fork, the child's losses are its own; after exec, the new program's.
FAILS = {"once": 99, "by_exit": 99, "by_quick_exit": 99, "by_abort": -signal.SIGABRT, "by_kill": -signal.SIGKILL, "punched": 7,
         "own_handler": 7, "in_fork": 7, "by_exec": 0, "closed_pipe": 99}


def guide(runner):
    program = os.path.join(runner.options.work_dir, "count")
    text = read(runner.options.source_dir, "docs", "guide", "bus-error.md")
    block = re.search(r"```console\n\$ hf-run --lost-pages ./count big.txt\n([^`]*)```", text)
    expect(block, "the guide does not run the example")
    status, _, errors = runner.run("cc", "-o", program, os.path.join(runner.options.source_dir, "tools/hf-run/example/count.c"))
    expect(not status, errors)
    path = os.path.join(runner.options.work_dir, "big.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("a line of text\n" * 100000)
    _, output, errors = runner.run(runner.options.hf_run, "--lost-pages", program, path)

    def masked(lines):
        lines = re.sub(r"/\S*/(?=count|big)", "FOLDER/", lines)
        return re.sub(r"0x[0-9a-f]+|\d+", "N", lines)
    expect(masked(block[1]) == masked(errors + output), "the guide has\n%sbut the example prints\n%s%s" % (block[1], errors, output))


def main():
    options = arguments(__doc__, "source-dir", "work-dir", "hf-run", "program", names="which")
    options.work_dir = os.path.abspath(options.work_dir)
    checks, runner = Checks(), Runner(options)
    wanted = options.which or ["reports", "where", "guide"]
    if "reports" in wanted:
        for case in CASES:
            special = {"full": full, "unreadable": unreadable}.get(case)
            checks.attempt("reports." + case, *((special, runner) if special else (one, runner, case)))
        checks.attempt("reports.many", linear, runner)
    if "where" in wanted:
        checks.attempt("where.file", to_file, runner)
        checks.attempt("where.children", by_shell, runner)
        checks.attempt("where.off", off, runner)
        for case, status in FAILS.items():
            checks.attempt("fail." + case, fails, runner, case, status)
    if "guide" in wanted:
        checks.attempt("guide", guide, runner)
    return checks.end()


if __name__ == "__main__":
    start(main)
