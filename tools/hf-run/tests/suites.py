#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run other programs' own tests under hf-run.

    suites.py --hf-run PROGRAM

  cpython    the tests of the interpreter's threads, locks and queues: they are in Debian's libpython3-testsuite, or
             come with an interpreter from elsewhere

Redis's and memcached's tests are not in Debian's packages.
"""
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from checks import Checks, Failed, Skip, arguments, run, start  # noqa: E402

MODULES = ["test_threading", "test_thread", "test_threading_local", "test_queue", "test_threadsignals", "test_sched"]
SECONDS = 900


def has_tests(python):
    return subprocess.run([python, "-c", "import test.test_threading"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def cpython(hf_run, option):
    found = [python for python in ("/usr/bin/python3", shutil.which("python3"), sys.executable)
             if python and has_tests(python)]
    if not found:
        raise Skip("no interpreter with its tests: Debian's package is libpython3-testsuite")
    # A shim of a version manager would start another program first.
    python = run(found[0], "-c", "import sys; print(sys.executable)").strip()
    try:
        run(hf_run, *option, python, "-m", "test", "-q", *MODULES, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Failed("not done after %d seconds" % SECONDS) from None


def main():
    options = arguments(__doc__, "hf-run")
    checks = Checks()
    checks.attempt("cpython", cpython, options.hf_run, [])
    checks.attempt("cpython.profile", cpython, options.hf_run, ["--profile"])
    checks.skip("redis", "Debian does not package its tests")
    checks.skip("memcached", "Debian does not package its tests")
    return checks.end()


start(main)
