#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tmpfs is built by itself, with Holdfast as it is installed, and its server says its version.

    installed.py --source-dir DIR --build-dir DIR --work-dir DIR --cmake PROGRAM --cc CC
"""
import argparse
import os
import shutil
import subprocess
import sys


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit("%s\n%s\nexit status %d" % (" ".join(command), done.stdout, done.returncode))
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("source-dir", "build-dir", "work-dir", "cmake", "cc"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    shutil.rmtree(args.work_dir, ignore_errors=True)
    prefix, source, build = (os.path.join(args.work_dir, name) for name in ("prefix", "source", "build"))
    run(args.cmake, "--install", args.build_dir, "--prefix", prefix)
    # A copy, beside which nothing else of Holdfast lies.
    shutil.copytree(os.path.join(args.source_dir, "tmpfs"), source)
    run(args.cmake, "-S", source, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix, "-DCMAKE_C_COMPILER=" + args.cc,
        "-DCMAKE_C_FLAGS=-Werror")
    run(args.cmake, "--build", build)
    run(args.cmake, "--install", build, "--prefix", prefix)
    said = run(os.path.join(prefix, "bin", "hf-tmpfs"), "--version")
    assert said.startswith("hf-tmpfs-fuse of Holdfast "), said
    print("ok installed: " + said.splitlines()[0])


if __name__ == "__main__":
    main()
