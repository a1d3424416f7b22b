#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The generated pair of files holdfast.h and holdfast.c, in a folder with programs that use it.

    run.py --source-dir DIR --work-dir DIR

  alone         the two files include no other file of Holdfast
  programs      C by gcc, clang and musl-gcc, C++ by g++ and clang++: no warning with -Wshadow, of the library also
                with -Wconversion; they run
  battery       all battery cases pass, in a program built by one command
  names         a plug-in with holdfast.c exports only what the header declares as public

Exits with 1 on a failure.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks, arguments, read, write  # noqa: E402
from versions import version_of  # noqa: E402

FLAGS = ["-O1", "-DNDEBUG", "-Wall", "-Wextra", "-Wshadow", "-Werror"]


class Test(Checks):
    def __init__(self, source, work):
        super().__init__()
        self.source, self.work = source, work

    def run(self, *command):
        """Run a command in the work folder. Return (success, command line and output)."""
        done = subprocess.run(command, cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=600)
        return done.returncode == 0, "%s\n%s" % (" ".join(command), done.stdout)

    def build_and_run(self, what, *command):
        worked, said = self.run(*command, "-o", "program", "-pthread")
        worked, said = self.run("./program", version_of(self.source)) if worked else (worked, said)
        self.check(what, worked, said)

    def alone(self):
        found = set(re.findall(r'^\s*#\s*include\s+"(.*)"', read(self.work, "holdfast.h") + read(self.work, "holdfast.c"),
                               re.MULTILINE))
        self.check("alone", found == {"holdfast.h"}, "included files: " + " ".join(sorted(found)))

    def programs(self, compilers):
        for cc in compilers:
            if cc == "musl-gcc":  # here the headers are others, not the optimiser
                self.build_and_run("C by " + cc, cc, "-O0", *FLAGS[1:], "program.c", "holdfast.c")
                continue
            cxx = cc.replace("gcc", "g++").replace("clang", "clang++")
            worked, said = self.run(cc, *FLAGS, "-Wconversion", "-Wsign-conversion", "-c", "holdfast.c", "-o", "holdfast.o")
            self.check("the library by " + cc, worked, said)
            self.build_and_run("C by " + cc, cc, *FLAGS, "program.c", "holdfast.o")
            self.build_and_run("C++ by " + cxx, cxx, "-std=c++17", *FLAGS, "program.cpp", "holdfast.o")

    def battery(self):
        """Each header's usual name becomes a file that includes holdfast.h, so the battery's sources compile unchanged."""
        folder = os.path.join(self.source, "tests", "battery")
        for name in glob.glob("**/*.h", root_dir=os.path.join(self.source, "include", "holdfast"), recursive=True):
            there = os.path.join(self.work, "names", "holdfast", name)
            os.makedirs(os.path.dirname(there), exist_ok=True)
            guard = re.search(r"^#define (HF_\w+_H)$", read(self.source, "include", "holdfast", name), re.MULTILINE)
            more = guard and not re.search(r"#define %s$" % guard[1], read(self.work, "holdfast.h"), re.MULTILINE)
            # A private header that holdfast.h lacks is included from the source tree.
            lines = [os.path.join(self.work, "holdfast.h")] + [os.path.join(self.source, "include", "holdfast", name)] * bool(more)
            write(there, "".join('#include "%s"\n' % line for line in lines))
        cases = sorted(glob.glob(os.path.join(folder, "*.c")))
        worked, said = self.run("gcc", "-std=gnu11", "-g0", "-O0", "-UNDEBUG", "-Wall", "-Wextra", "-Werror", "-Inames",
                                *cases, "holdfast.c", "-o", "all", "-pthread")
        if worked:
            worked, said = self.run(sys.executable, "-B", os.path.join(self.source, "tests", "ktap.py"), "./all")
        self.check("the battery", worked, said)

    def names(self):
        """Return the names that a plug-in exports, and those among them that are not public."""
        worked, said = self.run("gcc", "-O0", *FLAGS[1:], "-fPIC", "-shared", "holdfast.c", "-o", "plugin.so")
        self.check("a plug-in links", worked, said)
        _, listed = self.run("nm", "-D", "--defined-only", "--format=posix", "plugin.so")
        visible = set(re.findall(r"^(\S+) ", listed.split("\n", 1)[1], re.MULTILINE))
        public = {word for declaration in re.split(r"[;{}]", read(self.work, "holdfast.h") + read(self.work, "holdfast.c"))
                  if re.search(r"\bHF_API\b", declaration) for word in re.findall(r"\bhf_\w+", declaration)}
        # version.h appends the layout to some names. The linker adds __start_ and __stop_ for the table of sites.
        visible = {re.sub(r"_layout\d+$", "", name) for name in visible}
        return visible, {name for name in visible - public if not name.startswith(("__start_", "__stop_"))}


def main():
    args = arguments(__doc__, "source-dir", "work-dir")
    source, work = os.path.abspath(args.source_dir), os.path.abspath(args.work_dir)
    shutil.rmtree(work, ignore_errors=True)
    subprocess.run([sys.executable, "-B", os.path.join(source, "packaging", "single", "generate.py"), "--out", work], check=True)
    test = Test(source, work)
    for name in ("program.c", "program.cpp"):
        text = read(source, "packaging", name)
        write(os.path.join(work, name), re.sub(r"#include <holdfast/\w+\.h>", '#include "holdfast.h"', text))
    test.alone()
    compilers = [cc for cc in ("gcc", "clang", "musl-gcc") if shutil.which(cc)]
    for cc in sorted({"gcc", "clang", "musl-gcc"} - set(compilers)):
        test.skip("single " + cc, "it is not installed")
    test.programs(compilers)
    test.battery()
    visible, wrong = test.names()
    test.check("it exports %d names, all of them public" % len(visible), visible and not wrong, " ".join(sorted(wrong)))
    return test.end()


if __name__ == "__main__":
    sys.exit(main())
