#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holdfast as a CMake subproject: it needs only a C compiler, and is installed only if the parent asks for it.

usage: subproject.py --source-dir DIR --work-dir DIR --cmake CMAKE --cc CC
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks, arguments, run, sources, start, write  # noqa: E402

PARENT = """cmake_minimum_required(VERSION 3.20)
project(parent LANGUAGES C)
%s
add_executable(parent main.c)
target_link_libraries(parent PRIVATE holdfast::holdfast)
install(TARGETS parent)
"""
ADD = "add_subdirectory(%s holdfast)"
FETCH = """include(FetchContent)
FetchContent_Declare(holdfast SOURCE_DIR %s)
FetchContent_MakeAvailable(holdfast)"""
MAIN = """#include <holdfast/refcount.h>
#include <holdfast/version.h>
#include <string.h>
int main(void)
{
	hf_refcount_t count = HF_REFCOUNT_INIT(1);

	return !hf_refcount_dec_and_test(&count) || strcmp(hf_version(), HF_VERSION);
}
"""


def main():
    args = arguments(__doc__, "source-dir", "work-dir", "cmake", "cc")
    shutil.rmtree(args.work_dir, ignore_errors=True)
    checks = Checks()

    def build(name, how, *options):
        """Build and install the parent. Return the installed files and the files of the build folder."""
        folder = os.path.join(args.work_dir, name)
        write(os.path.join(folder, "CMakeLists.txt"), PARENT % (how % args.source_dir))
        write(os.path.join(folder, "main.c"), MAIN)
        out, prefix = os.path.join(folder, "build"), os.path.join(folder, "prefix")
        # The build must not look for a C++ compiler.
        run(args.cmake, "-S", folder, "-B", out, "-G", "Ninja", "-DCMAKE_C_COMPILER=" + args.cc,
            "-DCMAKE_CXX_COMPILER=/no/compiler/for/c++", *options)
        run(args.cmake, "--build", out, "--target", "parent", "holdfast", "holdfast_shared")
        run(os.path.join(out, "parent"))
        run(args.cmake, "--install", out, "--prefix", prefix)
        return ({os.path.relpath(path, top) for path in sources(top, pattern="*") if not os.path.isdir(path)}
                for top in (prefix, out))

    installed, built = build("plain", ADD)
    checks.check("add_subdirectory installs nothing of Holdfast", installed == {"bin/parent"})
    checks.check("and builds no tests, lab or examples",
                 not any("hf-lab" in name or "unit_tests" in name or "/examples/" in name for name in built))
    checks.check("FetchContent installs nothing of Holdfast", next(build("fetched", FETCH)) == {"bin/parent"})
    for name, option in (("asked", "-DHOLDFAST_INSTALL=ON"), ("old-name", "-DHF_INSTALL=ON")):
        installed = next(build(name, ADD, option))
        checks.check("%s installs Holdfast" % option, {"bin/parent", "include/holdfast/refcount.h"} <= installed)
    return checks.end()


if __name__ == "__main__":
    start(main)
