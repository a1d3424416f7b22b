#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the quick tests before a commit. Takes two minutes on two processors if a build exists.

    check.py [FILE...]          default: the files that differ from the main branch

Runs, of the release preset, the quick tests and those of the areas to which the changed files belong (tests/areas.txt), after it
has built what they need, and the check of the format. A file that belongs to no area is a failure. `make test-all` runs the
other tests: emulators, sanitizers, ports and so on. Prints the failures and then a summary line; the log is
build/test/check.log. Exits with 1 on a failure.
"""
import os
import subprocess
import sys
import time

import areas
from test import LOGS, ROOT, Stage, ctest, format_check


def git(*arguments):
    """The lines of git's output; none if it fails."""
    done = subprocess.run(["git", "-C", ROOT, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed():
    """The files that differ from the merge base with the main branch, and untracked files."""
    base = next((line for name in ("main", "origin/main")
                 for line in git("merge-base", name, "HEAD")), "HEAD")
    return sorted({*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")})


def run(stage, chosen):
    if not stage.step("configure", "cmake", "--preset", "release"):
        return
    if stage.step("build", "cmake", "--build", "--preset", "release", "--target", *areas.targets("release", chosen),
                  "--", "-k", "0"):
        ctest(stage, "release", "-L", areas.labelled(chosen))
    format_check(stage)


def main(files):
    files = files or changed()
    chosen, homeless = areas.of_files(files)
    os.makedirs(LOGS, exist_ok=True)
    os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(ROOT, "build", "pycache")
    os.environ.pop("MAKEFLAGS", None)
    stage, start = Stage("check"), time.monotonic()
    open(stage.log, "w", encoding="utf-8").close()
    print("%d changed files; running the quick tests, and those of: %s"
          % (len(files), ", ".join(chosen) or "no area"), flush=True)
    for file in homeless:
        stage.fail(file, "no area of tests/areas.txt has this file")
    run(stage, ["quick", *chosen])
    for text in stage.shown:
        print(text)
    for name in stage.skipped:
        print("skipped: " + name)
    for name in stage.failed:
        print("failed: " + name)
    print("check: %d passed, %d failed, %d skipped in %.0f s; `make test-all` runs the other tests"
          % (stage.passed, len(stage.failed), len(stage.skipped), time.monotonic() - start))
    return 1 if stage.failed or not stage.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
