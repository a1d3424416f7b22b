#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run other programs' own tests under hf-run.

    suites.py --hf-run PROGRAM

  cpython    the tests of the interpreter's threads, locks and queues: they are in Debian's libpython3.N-testsuite, or
             come with an interpreter from elsewhere
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from checks import Checks, Failed, arguments, run, start  # noqa: E402

MODULES = ["test_threading", "test_thread", "test_threading_local", "test_queue", "test_threadsignals", "test_sched"]
SECONDS = 1800  # more than a busy machine needs
RUNS = 3  # on a busy machine some of the tests fail now and then: those count that fail in each run


def has_tests(python):
    return subprocess.run([python, "-c", "import test.test_threading"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def failures(*command):
    """The tests that fail, in any environment: some interpreters import modules that a test expects not to be there."""
    try:
        output = run(*command, "-m", "test", "-v", *MODULES, may=(0, 2), timeout=SECONDS)
    except subprocess.TimeoutExpired as late:
        raise Failed("not done after %d seconds:\n%s" % (SECONDS, str(late.output)[-500:])) from None
    if "Tests result: " not in output:
        raise Failed("it ended early:\n" + output[-1000:])
    return set(re.findall(r"^(?:FAIL|ERROR): (\S+ \S+)", output, re.MULTILINE))


def cpython(hf_run, python, with_glibc, option):
    more = failures(hf_run, *option, python) - with_glibc
    for _ in range(1, RUNS):
        if not more:
            return
        more &= failures(hf_run, *option, python)
    if more:
        raise Failed("these tests pass with glibc's mutexes, and failed %d times: %s" % (RUNS, ", ".join(sorted(more))))


def find_python():
    found = [python for python in ("/usr/bin/python3", shutil.which("python3"), sys.executable)
             if python and has_tests(python)]
    # A shim of a version manager would start another program first.
    return run(found[0], "-c", "import sys; print(sys.executable)").strip() if found else None


def main():
    options = arguments(__doc__, "hf-run")
    checks = Checks()
    python = find_python()
    if not python:
        checks.skip("cpython", "no interpreter with its tests: Debian's package is libpython3.N-testsuite")
    else:
        with_glibc = failures(python)
        checks.attempt("cpython", cpython, options.hf_run, python, with_glibc, [])
        # To a file: some tests want nothing on standard error.
        with tempfile.TemporaryDirectory() as folder:
            checks.attempt("cpython.profile", cpython, options.hf_run, python, with_glibc,
                           ["--profile=" + os.path.join(folder, "profile")])
    return checks.end() if checks.passed or checks.failed else 77


start(main)
