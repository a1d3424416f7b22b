#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program with a copy of include/, src/ and single/, and one command of a compiler: no CMake.

    run.py --source-dir DIR --work-dir DIR

  lists         single/holdfast.c includes the files of CMakeLists.txt, and all headers that they do
  one command   a program in C, and one in C++, by gcc and by clang, without a warning; it runs
  sanitizers    the C program with each of theirs links and runs
  battery       all of the battery's cases, in a program built by one command
  names         what a plug-in with this file shows to others is what the headers declare public
  mutants       a file left out, a name that is there twice, and the pragma left out, are noticed

Exits with 1 on a failure.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

FLAGS = ["-O2", "-DNDEBUG", "-Wall", "-Wextra", "-Werror", "-Iholdfast/include"]
SINGLE = "holdfast/single/holdfast.c"


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


class Test:
    def __init__(self, source, work):
        self.source, self.work, self.failed = source, work, 0

    def check(self, what, good, why=""):
        print("%s %s%s" % ("ok" if good else "not ok", what, "\n" + why if not good else ""), flush=True)
        self.failed += not good

    def run(self, *command):
        """(worked, output), in the folder of the program."""
        done = subprocess.run(command, cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=600)
        return done.returncode == 0, "%s\n%s" % (" ".join(command), done.stdout)

    def lists(self):
        text = read(self.source, "single", "holdfast.c")
        wanted = sorted(re.findall(r"^\t\$\{PROJECT_SOURCE_DIR\}/(src/\S+\.c)", read(
            self.source, "CMakeLists.txt"), re.MULTILINE))
        has = re.findall(r'^#include "\.\./(\S+)"', text, re.MULTILINE)
        self.check("it has the library's %d files" % len(wanted), has == wanted and wanted,
                   " ".join(sorted(set(has) ^ set(wanted))) or "in another order, or twice")
        used = set()
        for folder, _, names in os.walk(os.path.join(self.source, "src")):
            for name in names:
                used |= set(re.findall(r"^#\s*include (<[^>]+>)", read(folder, name), re.MULTILINE))
        before = text.split("#pragma GCC visibility push")[0]
        used.discard("<sys/sdt.h>")  # macros alone, and only with HF_PROBES
        missing = used - set(re.findall(r"^#include (<[^>]+>)", before, re.MULTILINE))
        self.check("and the %d headers of the system that they include" % len(used), not missing,
                   " ".join(sorted(missing)))

    def programs(self, compilers):
        for cc in compilers:
            worked, said = self.run(cc, *FLAGS, "program.c", SINGLE, "-o", "program", "-pthread")
            worked, said = self.run("./program") if worked else (worked, said)
            self.check("C by %s" % cc, worked, said)

            # In one command where C++17 is what the compiler takes without being asked.
            cxx = cc.replace("gcc", "g++").replace("clang", "clang++")
            _, macros = self.run(cxx, "-dM", "-E", "-x", "c++", "/dev/null")
            if int(re.search(r"__cplusplus (\d+)", macros)[1]) >= 201703:
                how, worked, said = "one command", True, ""
                library = ["-x", "c", SINGLE]
            else:
                how, library = "two commands", ["holdfast.o"]
                worked, said = self.run(cc, *FLAGS, "-c", SINGLE, "-o", "holdfast.o")
            std = ["-std=c++17"] if how == "two commands" else []
            if worked:
                worked, said = self.run(cxx, *std, *FLAGS, "program.cpp", *library, "-o", "program",
                                        "-pthread")
            worked, said = self.run("./program") if worked else (worked, said)
            self.check("C++ by %s, in %s" % (cxx, how), worked, said)

    def sanitizers(self, compilers):
        for cc in compilers:
            for kind in ("address,undefined", "thread"):
                words = [cc, "-fsanitize=" + kind, "-O0", "-w", "-Iholdfast/include"]
                prefix = []
                if not self.run(*words, "empty.c", "-o", "program")[0] or not self.run("./program")[0]:
                    prefix = ["setarch", "-R"]  # addresses too random for it
                    if not self.run(*prefix, "./program")[0]:
                        print("SKIPPED single %s -fsanitize=%s: it does not work here" % (cc, kind))
                        continue
                worked, said = self.run(*words, "program.c", SINGLE, "-o", "program", "-pthread")
                worked, said = self.run(*prefix, "./program") if worked else (worked, said)
                self.check("-fsanitize=%s by %s" % (kind, cc), worked, said)

    def battery(self):
        """-UNDEBUG: its cases are assertions."""
        folder = os.path.join(self.source, "tests", "battery")
        cases = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".c"))
        worked, said = self.run("gcc", "-std=gnu11", "-g0", "-O1", "-UNDEBUG", "-Wall", "-Wextra", "-Werror",
                                "-Iholdfast/include", *cases, SINGLE, "-o", "all", "-pthread")
        if worked:
            worked, said = self.run(sys.executable, "-B", os.path.join(self.source, "tests", "ktap.py"),
                                    "./all")
        self.check("the battery", worked, said)

    def names(self):
        """(what a plug-in shows that has it, what of it is not public): its state is not for others."""
        worked, said = self.run("gcc", "-O0", *FLAGS[1:], "-fPIC", "-shared", SINGLE, "-o", "plugin.so")
        self.check("a plug-in links", worked, said)
        _, listed = self.run("nm", "-D", "--defined-only", "--format=posix", "plugin.so")
        listed = listed.split("\n", 1)[1]
        visible = set(re.findall(r"^(\S+) ", listed, re.MULTILINE))
        code = ""
        for folder, _, names in os.walk(os.path.join(self.source, "include")):
            code += "".join(read(folder, name) for name in names)
        for folder, _, names in os.walk(os.path.join(self.source, "src")):
            code += "".join(read(folder, name) for name in names if name.endswith(".h"))
        public = {word for declaration in re.split(r"[;{}]", code) if re.search(r"\bHF_API\b", declaration)
                  for word in re.findall(r"\bhf_\w+", declaration)}
        # A symbol's name may end with the layout (version.h). And the linker's, for the sites of the object.
        visible = {re.sub(r"_layout\d+$", "", name) for name in visible}
        wrong = {name for name in visible - public if not name.startswith(("__start_", "__stop_"))}
        return visible, wrong

    def mutants(self):
        path = os.path.join(self.work, SINGLE)
        text = read(path)
        for what, other, says in (
                ("a file left out", text.replace('#include "../src/report/report.c"\n', ""), "hf_report"),
                ("a name that is there twice",
                 text.replace("#pragma GCC visibility pop", "static void start_region(void)\n{\n}"),
                 "redefinition of .start_region")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(other)
            worked, said = self.run("gcc", "-O0", "-Iholdfast/include", "program.c", SINGLE, "-o", "bad",
                                    "-pthread")
            self.check("noticed: %s" % what, other != text and not worked and re.search(says, said), said)
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(r"#pragma GCC visibility.*", "", text))
        self.check("noticed: no visibility", self.names()[1])
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source-dir", required=True)
    parser.add_argument("--work-dir", required=True)
    args = parser.parse_args()
    work = os.path.abspath(args.work_dir)
    shutil.rmtree(work, ignore_errors=True)
    test = Test(os.path.abspath(args.source_dir), work)
    for folder in ("include", "src", "single"):
        shutil.copytree(os.path.join(args.source_dir, folder), os.path.join(work, "holdfast", folder))
    for name in ("main.c", "main.cpp"):
        shutil.copy(os.path.join(args.source_dir, "tests", "install", "consumer", name),
                    os.path.join(work, name.replace("main", "program")))
    test.lists()
    compilers = [cc for cc in ("gcc", "clang") if shutil.which(cc)]
    for cc in {"gcc", "clang"} - set(compilers):
        print("SKIPPED single %s: it is not here" % cc)
    test.programs(compilers)
    with open(os.path.join(work, "empty.c"), "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    test.sanitizers(compilers)
    test.battery()
    visible, wrong = test.names()
    test.check("it shows %d names, all of them public" % len(visible), visible and not wrong,
               " ".join(sorted(wrong)))
    test.mutants()
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
