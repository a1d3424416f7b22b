#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run hf-run's library with other versions of glibc: those of Debian 11 (2.31) and 13 (2.41).

    glibc.py --source-dir DIR --work-dir DIR --library LIBRARY --conform PROGRAM --cc COMPILER

Downloads Debian's packages of glibc with apt, unpacks them, and starts programs by their loader. For each version:

  conform   the library and conform.c, compiled with its headers: with glibc's mutexes, with ours, profiled, validated
  built     the library and conform.c as they were compiled here, if that version is newer: the flags of a condition
            variable are elsewhere there (2.41), so they must be found when the process starts
"""
import glob
import os
import platform
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "port")]

import debian  # noqa: E402
from run import Runner, conform  # noqa: E402
from checks import Checks, Skip, arguments, read, run, sources, start, write  # noqa: E402

VERSIONS = {"2.31": "bullseye", "2.41": "trixie"}
PACKAGES = ["libc6", "libc6-dev", "libgcc-s1", "linux-libc-dev"]


def root_links(root):
    """Debian 13 has its libraries in usr, and the links to them in another package; links of Debian 11 begin with a slash."""
    for name in ("lib", "lib64"):
        if not os.path.exists(os.path.join(root, name)):
            os.symlink("usr/" + name, os.path.join(root, name))
    for path in glob.glob(os.path.join(root, "**", "*.so*"), recursive=True):
        if os.path.islink(path) and os.readlink(path).startswith("/"):
            target = root + os.readlink(path)
            os.remove(path)
            os.symlink(os.path.relpath(target, os.path.dirname(path)), path)


def fetch(version, folder):
    """Unpacks that version's packages, if that has not been done. Returns their root."""
    root, release = os.path.join(folder, "root"), VERSIONS[version]
    if not os.path.exists(os.path.join(folder, "done")):
        os.makedirs(folder, exist_ok=True)
        try:
            debian.apt(folder, "apt-get", "-q", "update", release=release, cpus=["amd64"])
            debian.unpack(folder, root, ["%s:amd64/%s" % (name, release) for name in PACKAGES], release, cpus=["amd64"])
        except (debian.Unavailable, OSError) as why:
            raise Skip("glibc %s can't be downloaded: %s" % (version, why)) from None
        root_links(os.path.join(root, "amd64"))
        write(os.path.join(folder, "done"), "")
    return os.path.join(root, "amd64")


def starter(root):
    """The loader and the folder of its libraries."""
    folder = os.path.join(root, "lib", "x86_64-linux-gnu")
    return [os.path.join(root, "lib64", "ld-linux-x86-64.so.2"), "--library-path", folder]


def compile_with(cc, root, *words):
    folders = [os.path.join(root, part, "x86_64-linux-gnu") for part in ("usr/lib", "lib")]
    # Debian's gcc looks into its own folder of libraries, too, unless these come first.
    return run(cc, "--sysroot=" + root, *("-B" + folder for folder in folders), *("-L" + folder for folder in folders),
               "-std=gnu11", "-O1", "-pthread", "-D_GNU_SOURCE=", *words)


# What run_lost.c needs of the library's regions.
LOST_PAGES = "/zeros.c"


def build_library(cc, source, root, path):
    """As CMakeLists.txt does."""
    names = read(source, "src", "sources.txt").split()
    include = [option for part in ("include", "tools/hf-run") for option in ("-I", os.path.join(source, part))]
    common = ["-fPIC", "-fvisibility=hidden", "-fexceptions", "-ftls-model=initial-exec", "-DHF_STAYS_LOADED", *include]
    parts = path + ".parts.o"
    unused = "-ffunction-sections", "-Wl,--gc-sections"
    compile_with(cc, root, *common, "-r", "-nostdlib", "-include", os.path.join(source, "tools", "hf-run", "site.h"),
                 *(os.path.join(source, name) for name in names
                   if "nofault" not in name and ("region" not in name or name.endswith(LOST_PAGES))),
                 "-o", parts)
    compile_with(cc, root, *common, *unused, "-shared", *sources(source, "tools", "hf-run", pattern="run_*.c"), parts,
                 "-o", path, "-ldl", "-Wl,-z,now,-z,nodelete,-z,defs",
                 "-Wl,--version-script=" + os.path.join(source, "tools", "hf-run", "run.map"))


def in_modes(checks, name, modes, start_by, program, library):
    runner = Runner(os.path.dirname(library), library, "conform=" + program)
    for mode in modes:
        options = {"glibc": None, "ours": []}.get(mode, ["--" + mode])
        checks.attempt("%s.%s" % (name, mode), conform, runner, options, "brief", start_by)


def main():
    options = arguments(__doc__, "source-dir", "work-dir", "library", "conform", "cc")
    checks, source = Checks(), options.source_dir
    own = tuple(map(int, platform.libc_ver()[1].split(".")[:2]))
    skipped = 0
    for version in VERSIONS:
        folder = os.path.join(options.work_dir, version)
        try:
            root = fetch(version, folder)
        except Skip as why:
            checks.skip(version, why)
            skipped += 1
            continue
        start_by = starter(root)
        library, program = os.path.join(folder, "libholdfast_run.so"), os.path.join(folder, "conform")
        build_library(options.cc, source, root, library)
        compile_with(options.cc, root, os.path.join(source, "tools", "hf-run", "tests", "conform.c"), "-o", program)
        in_modes(checks, version + ".conform", ["glibc", "ours", "profile", "validate"], start_by, program, library)
        if own <= tuple(map(int, version.split("."))):
            in_modes(checks, version + ".built", ["ours", "profile", "validate"], start_by, options.conform, options.library)
    return 77 if skipped == len(VERSIONS) else checks.end()


start(main)
