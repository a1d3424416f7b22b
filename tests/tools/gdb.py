#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""share/gdb/holdfast.py in gdb, on a program whose threads wait: by hand and loaded by itself.

    gdb.py --source-dir DIR --build-dir DIR --work-dir DIR --cmake CMAKE --static PROGRAM --dynamic PROGRAM

  static     the program has the static library, and the script is sourced
  dynamic    the program has the shared library; gdb loads the script with it, from an installed tree
  stripped   the same, of the library only what it exports has a name
  core       the static one's core dump
  exited     a program that has ended, and one that has not been started: each command says so

Exits with 77 where gdb is not here, or can't run a program.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks, arguments  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def gdb(*words, **environment):
    # A benchmark that runs meanwhile may stop and continue all processes: not an event of this test.
    command = ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off",
               "-ex", "handle SIGSTOP SIGCONT nostop noprint nopass", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, check=False, timeout=600,
                          env=dict(os.environ, **environment))
    return done.stdout


STOP = ["-ex", "set breakpoint pending on", "-ex", "break stop_here", "-ex", "run", "-ex", "up"]
CHECKS = ["-x", os.path.join(HERE, "gdb_checks.py")]


def judge(checks, name, said):
    """Good if all checks ran, and none failed."""
    bad = re.findall(r"^FAILED .*(?:\n  .*)*", said, re.MULTILINE)
    total = re.search(r"^(\d+) passed, 0 failed$", said, re.MULTILINE)
    checks.check(name, total and int(total[1]) > 40, "\n".join(bad) or said)


def install(args):
    """Installs as a user does. Returns (the shared library, arguments for gdb)."""
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
        print("SKIPPED tools.gdb: gdb is not here")
        return 77
    said = gdb("-ex", "python print(6 * 7)", "-ex", "run", "/bin/true")
    if "42" not in said or "exited normally" not in said:
        print("SKIPPED tools.gdb: gdb has no Python, or can't run a program here: "
              + " ".join(said.split())[-200:])
        return 77
    os.makedirs(args.work_dir, exist_ok=True)
    script = ["-ex", "source " + os.path.join(args.source_dir, "share", "gdb", "holdfast.py")]
    core = os.path.join(args.work_dir, "core")
    for old in glob.glob(core + "*"):
        os.remove(old)
    checks = Checks()
    judge(checks, "static", gdb(*script, *STOP, *CHECKS, "-ex", "generate-core-file " + core, args.static))
    judge(checks, "core", gdb(*script, "-ex", "core-file " + core, "-ex", "up", *CHECKS, args.static))

    commands = [word for name in ("waiters", "regions", "reports", "profile")
                for word in ("-ex", "holdfast " + name)]
    ended = gdb(*script, *commands, "-ex", "run", *commands, "/bin/true")
    checks.check("exited", ended.count("the program is not running: there is no memory to read") == 8, ended)

    library, words = install(args)
    words += ["-ex", "set environment LD_LIBRARY_PATH " + os.path.dirname(library)]
    judge(checks, "dynamic", gdb(*words, *STOP, *CHECKS, args.dynamic))
    subprocess.run(["strip", "--strip-unneeded", library], check=True)
    judge(checks, "stripped", gdb(*words, *STOP, *CHECKS, args.dynamic, HF_STRIPPED="1"))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
