#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""packaging/share/gdb/holdfast.py in gdb, on a program whose threads wait.

    gdb.py --source-dir DIR --build-dir DIR --work-dir DIR --cmake CMAKE --static PROGRAM --dynamic PROGRAM

  static     a program with the static library; the script is sourced
  dynamic    a program with the shared library; gdb auto-loads the script from the installed files
  stripped   the same; the library has only its exported symbols
  core       a core dump of the static program
  exited     a program that has not been started, and one that has ended: each command reports that

Exits with 77 if gdb is not installed or can't run a program.
"""
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks, Printed, arguments  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def gdb(*words, **environment):
    # SIGSTOP, SIGCONT: a benchmark may suspend all other processes while this test runs.
    command = ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off",
               "-ex", "handle SIGSTOP SIGCONT nostop noprint nopass", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, check=False, timeout=600,
                          env=dict(os.environ, **environment))
    return done.stdout


STOP = ["-ex", "set breakpoint pending on", "-ex", "break stop_here", "-ex", "run", "-ex", "up"]
CHECKS = ["-x", os.path.join(HERE, "gdb_checks.py")]


def judge(checks, name, said):
    """Pass if all checks ran and none failed."""
    found = Printed(said)
    checks.check(name, found.is_complete and not found.failed and found.passed > 40, "\n".join(found.failed.values()) or said)


def install(args):
    """Install as a user would. Return the path of the shared library, and gdb's arguments."""
    prefix = os.path.join(args.work_dir, "prefix")
    shutil.rmtree(prefix, ignore_errors=True)
    subprocess.run([args.cmake, "--install", args.build_dir, "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL)
    library = next(path for path in glob.glob(os.path.join(prefix, "**", "libholdfast.so.*"), recursive=True)
                   if not os.path.islink(path) and path.startswith(prefix) and "/auto-load/" not in path)
    folder = os.path.join(prefix, "share", "gdb", "auto-load")
    return library, ["-iex", "add-auto-load-scripts-directory " + folder,
                     "-iex", "add-auto-load-safe-path " + folder]


def main():
    args = arguments(__doc__, "source-dir", "work-dir", "build-dir", "cmake", "static", "dynamic")
    if not shutil.which("gdb"):
        print("SKIPPED tools.gdb: gdb is not installed")
        return 77
    said = gdb("-ex", "python print(6 * 7)", "-ex", "run", "/bin/true")
    if "42" not in said or "exited normally" not in said:
        print("SKIPPED tools.gdb: gdb has no Python, or can't run a program: "
              + " ".join(said.split())[-200:])
        return 77
    os.makedirs(args.work_dir, exist_ok=True)
    script = ["-ex", "source " + os.path.join(args.source_dir, "packaging", "share", "gdb", "holdfast.py")]
    core = os.path.join(args.work_dir, "core")
    for old in glob.glob(core + "*"):
        os.remove(old)
    checks = Checks()
    judge(checks, "static", gdb(*script, *STOP, *CHECKS, "-ex", "generate-core-file " + core, args.static))
    judge(checks, "core", gdb(*script, "-ex", "core-file " + core, "-ex", "up", *CHECKS, args.static))

    commands = [word for name in ("waiters", "regions", "reports", "profile")
                for word in ("-ex", "holdfast " + name)]
    ended = gdb(*script, *commands, "-ex", "run", *commands, "/bin/true")
    checks.check("exited", ended.count("the program is not running, so its memory can't be read") == 8, ended)

    library, words = install(args)
    words += ["-ex", "set environment LD_LIBRARY_PATH " + os.path.dirname(library)]
    judge(checks, "dynamic", gdb(*words, *STOP, *CHECKS, args.dynamic))
    subprocess.run(["strip", "--strip-unneeded", library], check=True)
    judge(checks, "stripped", gdb(*words, *STOP, *CHECKS, args.dynamic, HF_STRIPPED="1"))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
