#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compile each example without warnings, run it, and compare its output with expected.txt.

    run.py --source-dir DIR --work-dir DIR --library FILE [--tmpfs FILE]

With gcc and clang, -DNDEBUG, -Wall -Wextra -Werror. An example may not use assert(): with -DNDEBUG it
would check nothing. Exits with 1 on a failure.
"""
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks, arguments, read  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-O2", "-DNDEBUG", "-Wall", "-Wextra", "-Werror", "-pthread"]


def expected():
    """{example: regular expression of its output}"""
    found = {}
    for line in read(os.path.join(HERE, "expected.txt")).splitlines():
        if match := re.fullmatch(r"\[(\w+)\]", line):
            name = match[1]
            found[name] = ""
        elif not line.startswith("#"):
            found[name] += line + ("" if line.endswith(r"\s") else r"\n")
    return found


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=300)


class Examples(Checks):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.folder = os.path.join(args.source_dir, "examples")

    def build(self, compilers, source, program, *more):
        """Returns None, or the compiler's messages if it fails."""
        cxx = source.endswith(".cpp")
        done = run(compilers[cxx], "-std=" + ("gnu++17" if cxx else "gnu11"), *FLAGS,
                   "-I", os.path.join(self.args.source_dir, "include"), source, "-o", program, *more)
        return done.stdout if done.returncode else None

    def libraries(self, name):
        """Returns the linker's arguments, or None if liburcu is missing."""
        if name == "tmpfs":
            if not self.args.tmpfs:
                return None
            urcu = run("pkg-config", "--libs", "liburcu-bp").stdout.split()
            return ["-I", os.path.join(self.args.source_dir, "tmpfs"), self.args.tmpfs,
                    self.args.library, *urcu]
        if name == "rcuref":
            found = run("pkg-config", "--cflags", "--libs", "liburcu") if shutil.which("pkg-config") else None
            return [self.args.library, *found.stdout.split()] if found and not found.returncode else None
        return [self.args.library]

    def one(self, name, wanted):
        source = next(os.path.join(self.folder, file) for file in os.listdir(self.folder)
                      if os.path.splitext(file)[0] == name and file.endswith((".c", ".cpp")))
        self.check("%s asserts nothing" % name, not re.search(r"\bassert\s*\(|assert\.h", read(source)))
        more = self.libraries(name)
        if more is None:
            self.skip(name, "no liburcu")
            return
        for compilers in (("gcc", "g++"), ("clang", "clang++")):
            if not shutil.which(compilers[source.endswith(".cpp")]):
                self.skip("%s by %s" % (name, compilers[0]), "no such compiler")
                continue
            program = os.path.join(self.args.work_dir, "%s_%s" % (name, compilers[0]))
            errors = self.build(compilers, source, program, *more)
            self.check("%s compiles by %s" % (name, compilers[0]), errors is None, errors)
            if errors is not None:
                continue
            done = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=False, timeout=300)
            self.check("%s by %s works" % (name, compilers[0]),
                       done.returncode == 0 and re.fullmatch(wanted, done.stdout),
                       "exit status %d, printed:\n%s" % (done.returncode, done.stdout))

    def readme(self):
        """README's first program is the example, prints what README says, and is killed with memcpy()."""
        readme, example = read(os.path.join(self.args.source_dir, "README.md")), read(os.path.join(self.folder, "truncated.c"))
        text = re.search(r"^```c\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)[1]
        self.check("README's program is examples/truncated.c", example.endswith(text) and text.startswith("#include"))
        said = re.search(r"^It prints `(.*?)`", readme, re.MULTILINE)
        self.check("README says what its program prints", said and re.fullmatch(expected()["truncated"], said[1] + "\n"))
        self.check("README's program has at most 25 lines", text.count("\n") <= 25, text.count("\n"))
        copies = text.replace("hf_copy_nofault(to, from, sizeof(to))", "(copy(to, from, sizeof(to)), 0)")
        copies = copies.replace("int main", "static void *(*volatile copy)(void *, const void *, size_t) = memcpy;\n\nint main")
        source, program = (os.path.join(self.args.work_dir, "memcpy" + suffix) for suffix in (".c", ""))
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <string.h>\n" + copies)
        errors = self.build(("gcc", "g++"), source, program, self.args.library)
        status = run(program).returncode if errors is None else errors
        self.check("with memcpy() it is killed by SIGBUS", copies != text and status == -signal.SIGBUS, status)


def main():
    args = arguments(__doc__, "source-dir", "work-dir", "library", tmpfs={"default": ""})
    shutil.rmtree(args.work_dir, ignore_errors=True)
    os.makedirs(args.work_dir)
    examples, wanted = Examples(args), expected()
    here = {os.path.splitext(file)[0] for file in os.listdir(examples.folder)
            if file.endswith((".c", ".cpp"))}
    examples.check("expected.txt has each example, and no other", here == set(wanted),
                   " ".join(sorted(here ^ set(wanted))))
    for name in sorted(here & set(wanted)):
        examples.one(name, wanted[name])
    examples.readme()
    return examples.end()


if __name__ == "__main__":
    sys.exit(main())
