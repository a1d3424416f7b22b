#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run other programs' own tests under hf-run.

    suites.py --hf-run PROGRAM

  cpython    the tests of the interpreter's threads, locks and queues: they are in Debian's libpython3.N-testsuite, or
             come with an interpreter from elsewhere

  redis      its tests of lists, sets, transactions and freeing, with I/O threads: the tests are in Debian's source package, the
             server is Debian's; needs tclsh

  memcached  those of its tests that a server passes which was not compiled for them: the tests are in Debian's source
             package, the server is Debian's; needs perl
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "port")]

import debian  # noqa: E402
from checks import Checks, Failed, Skip, arguments, run, start, write  # noqa: E402

MODULES = ["test_threading", "test_thread", "test_threading_local", "test_queue", "test_threadsignals", "test_sched"]
SECONDS = 1800  # more than a busy machine needs
RUNS = 3  # on a busy machine some of the tests fail now and then: those count that fail in each run

UNITS = ["unit/type/list", "unit/type/set", "unit/multi", "unit/lazyfree"]

# Without those that take long, or for which time passes.
FILES = ["64bit", "binary", "cas", "chunked-extstore", "conn-limits", "dyn-maxbytes", "extstore", "extstore-buckets",
         "extstore-jbod", "flags", "getandtouch", "incrdecr", "issue_67", "item_size_max", "lru", "lru-maintainer", "maxconns",
         "multiversioning", "noreply", "slabs-reassign-chunked", "slabs_reassign", "stats", "watcher"]


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


def redis_passes(folder, prefix):
    """Runs Redis's tests with a server behind these words. Returns why they fail, or ""."""
    write(os.path.join(folder, "src", "redis-server"), '#!/bin/sh\nexec %s %s "$@"\n'
          % (" ".join(prefix), shutil.which("redis-server")))
    os.chmod(os.path.join(folder, "src", "redis-server"), 0o755)
    # timeout also ends what the tests have started.
    output = run("timeout", "--kill-after=9", str(SECONDS), "./runtest", "--clients", "2", "--config", "io-threads", "3",
                 "--config", "io-threads-do-reads", "yes", *(word for unit in UNITS for word in ("--single", unit)),
                 may=range(-64, 256), cwd=folder)
    return "" if "All tests passed without errors" in output else output[-2000:]


def memcached_passes(folder, prefix):
    """The same of memcached's. Its tests start a server that was compiled with them: Debian's has not the option for that."""
    for name, command in (("timedrun", 'shift\nexec "$@"'), ("memcached-debug", "exec %s $(echo \"$*\" | sed %s)" % (
            " ".join([*prefix, shutil.which("memcached")]), "'s/-o relaxed_privileges//'"))):
        write(os.path.join(folder, name), "#!/bin/sh\n%s\n" % command)
        os.chmod(os.path.join(folder, name), 0o755)
    output = run("timeout", "--kill-after=9", str(SECONDS), "prove", "-j2", *("t/%s.t" % name for name in FILES),
                 may=range(-64, 256), cwd=folder)
    return "" if "Result: PASS" in output else output[-2000:]


def with_source(hf_run, package, needed, passes):
    """Runs the tests of Debian's source package with Debian's server."""
    missing = [name for name in needed if not shutil.which(name)]
    if missing:
        raise Skip("not installed: " + ", ".join(missing))
    with tempfile.TemporaryDirectory() as work:
        try:
            folder = debian.source(work, package)
        except (debian.Unavailable, OSError, IndexError) as why:
            raise Skip("its source can't be downloaded: %s" % why) from None
        os.chmod(work, 0o755)  # a server may change its user
        for name in needed:
            if name.startswith("redis-") and name != "redis-server":
                os.symlink(shutil.which(name), os.path.join(folder, "src", name))
        for _ in range(RUNS):
            why = passes(folder, [os.path.realpath(hf_run)])
            if not why:
                return
        if passes(folder, []):
            raise Skip("its tests fail with glibc's mutexes, too")
    raise Failed("they pass with glibc's mutexes:\n" + why)


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
    checks.attempt("redis", with_source, options.hf_run, "redis",
                   ["redis-server", "redis-cli", "redis-benchmark", "redis-check-aof", "redis-check-rdb", "tclsh"], redis_passes)
    checks.attempt("memcached", with_source, options.hf_run, "memcached", ["memcached", "prove"], memcached_passes)
    return checks.end() if checks.passed or checks.failed else 77


start(main)
