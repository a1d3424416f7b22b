#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the fuzzers as OSS-Fuzz does (oss-fuzz/build.sh), with libFuzzer and AddressSanitizer, and run them.

    run.py --source-dir DIR --work-dir DIR [--runs N | --seconds N]

Exits with 77 if clang is not here. --runs: the same inputs each time (default: 20000).
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import arguments  # noqa: E402


def main():
    args = arguments(__doc__, "source-dir", "work-dir", runs={"type": int, "default": 20000}, seconds={"type": int})
    if not shutil.which("clang"):
        print("SKIPPED fuzz: no clang, and so no libFuzzer")
        return 77
    args.work_dir = os.path.abspath(args.work_dir)
    os.makedirs(os.path.join(args.work_dir, "corpus"), exist_ok=True)
    program = os.path.join(args.work_dir, "nofault")
    flags = "-O1 -g -fsanitize=address,fuzzer-no-link"
    subprocess.run(["bash", "tests/fuzz/oss-fuzz/build.sh"], cwd=args.source_dir, check=True,
                   env=dict(os.environ, CC="clang", CXX="clang++", CFLAGS=flags, CXXFLAGS=flags,
                            LIB_FUZZING_ENGINE="-fsanitize=fuzzer", OUT=args.work_dir))
    limit = "-max_total_time=%d" % args.seconds if args.seconds else "-runs=%d" % args.runs
    environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    done = subprocess.run([program, "-seed=1", "-max_len=16", "-len_control=0", limit,
                           *([os.path.join(args.work_dir, "corpus")] if args.seconds else [])],
                          cwd=args.work_dir, env=environment, check=False)
    return 1 if done.returncode else 0  # libFuzzer's own for a finding is 77, as for a skipped test


if __name__ == "__main__":
    sys.exit(main())
