#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a mutant of a model. Exits with 0 only if the model checker caught it.

    expect_caught.py PROGRAM [ARGUMENT...]

Caught means that the program exits with status 1 and prints the word "caught". A crash or any other status
does not count.
"""
import re
import subprocess
import sys


def main(command):
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         errors="replace", check=False)
    print(run.stdout, end="")
    said = re.search(r"\bcaught\b", run.stdout) is not None
    print("exit status %d, %s" % (run.returncode, "caught" if said else 'no line with "caught"'))
    return 0 if said and run.returncode == 1 else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
