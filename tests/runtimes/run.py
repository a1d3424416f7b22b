#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fault handling in processes of other runtimes: Go, Rust std, OpenJDK, CPython, Node.js, if installed.

tests/nofault/sanitize tests AddressSanitizer and Valgrind; bindings/rust the Rust crates.
"""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from checks import Checks, Failed, Skip, arguments, run, write  # noqa: E402


class Runtimes:
    def __init__(self, args):
        self.args = args
        self.include = os.path.join(args.source_dir, "include")
        self.built = set()

    def once(self, what, build):
        """Call build() unless it was done for another check."""
        if what not in self.built:
            build()
        self.built.add(what)

    @staticmethod
    def call(*command, status=0, env=None, **more):
        return run(*command, may=(status,), timeout=300, env=dict(os.environ, **(env or {})), **more)

    def path(self, name):
        return os.path.join(self.args.work_dir, name)

    def library(self, name, *flags):
        library = self.path(name)
        self.call("gcc", "-O1", "-g", "-shared", "-fPIC", "-DHF_STATIC_LIBRARY", *flags, "-I" + self.include,
                  os.path.join(HERE, "probe.c"), self.args.library, "-pthread", "-o", library)
        return library

    @staticmethod
    def need(*programs):
        for program in programs:
            if not shutil.which(program):
                raise Skip("no %s" % program)

    def good(self, *command, **more):
        output = self.call(*command, **more)
        if "good" not in output:
            raise Failed(output[-800:])
        return output

    def go(self, how):
        self.need("go")
        folder = self.path("go")
        self.once("go", lambda: self.build_go(folder))
        self.good(os.path.join(folder, "probe"), how)

    def build_go(self, folder):
        os.makedirs(folder, exist_ok=True)
        for name in ("probe.go", "probe.h", "probe.c"):
            shutil.copy(os.path.join(HERE, name), folder)
        write(os.path.join(folder, "go.mod"), "module probe\n\ngo 1.19\n")
        self.call("go", "build", "-o", "probe", ".", cwd=folder,
                  env={"CGO_CFLAGS": "-O1 -g -DHF_STATIC_LIBRARY -I" + os.path.abspath(self.include), "GOFLAGS": "-mod=mod",
                       "CGO_LDFLAGS": os.path.abspath(self.args.library) + " -lpthread",
                       "GOCACHE": os.path.abspath(self.path("gocache")), "CGO_ENABLED": "1"})

    def rust(self, how, status):
        self.need("rustc")
        parts = self.path("rust.o"), self.path("rust")

        def build():
            self.call("gcc", "-O1", "-g", "-DHF_STATIC_LIBRARY", "-I" + self.include, "-c", os.path.join(HERE, "probe.c"),
                      "-o", parts[0])
            self.call("rustc", "-O", "--edition=2021", os.path.join(HERE, "probe.rs"), "-o", parts[1],
                      "-Clink-arg=" + parts[0], "-Clink-arg=" + self.args.library)
        self.once("rust", build)
        output = self.good(parts[1], how, status=status)
        if status and "has overflowed its stack" not in output:
            raise Failed("Rust did not print its message: " + output[-800:])

    def java(self, how, *flags):
        self.need("java", "javac")
        home = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("javac"))))
        include = os.path.join(home, "include")
        if not os.path.exists(os.path.join(include, "jni.h")):
            raise Skip("no jni.h")
        preload = ["-DPROBE_PRELOAD"] if how == "preload" else []
        library = self.library("java-%s.so" % how, "-DPROBE_JNI", "-I" + include,
                               "-I" + os.path.join(include, "linux"), *preload)
        self.once("java", lambda: self.call("javac", "-d", self.args.work_dir, os.path.join(HERE, "Probe.java")))
        env = {"LD_PRELOAD": os.path.abspath(library)} if preload else {}
        self.good(os.path.join(home, "bin", "java"), *flags, "-cp", self.args.work_dir, "Probe",
                  os.path.abspath(library), how, env=env)

    def python(self, order):
        library = self.path("python.so")
        self.once("python", lambda: self.library("python.so"))
        output = self.good(sys.executable, os.path.join(HERE, "probe.py"), os.path.abspath(library), order,
                           status=-11 if order == "before" else 0)
        if order == "before" and "Fatal Python error: Segmentation fault" not in output:
            raise Failed("faulthandler printed no dump: " + output[-800:])

    def node(self):
        self.need("node")
        include = next((path for path in ("/usr/include/node", "/usr/local/include/node")
                        if os.path.exists(os.path.join(path, "node_api.h"))), None)
        if not include:
            raise Skip("no node_api.h")
        library = self.library("probe.node", "-DPROBE_NODE", "-I" + include)
        self.good("node", "-e", "const p = require(process.argv[1]); for (let i = 0; i < 20; i++) "
                  "if (p.run()) process.exit(3); console.log('good')", os.path.abspath(library))


def main():
    args = arguments(__doc__, "source-dir", "work-dir", "library")
    shutil.rmtree(args.work_dir, ignore_errors=True)
    os.makedirs(args.work_dir)
    runtimes, checks = Runtimes(args), Checks()
    checks.attempt("Go, with regions in locked threads", runtimes.go, "locked")
    checks.attempt("Go, a region that ends on another thread", runtimes.go, "unlocked")
    checks.attempt("Rust std", runtimes.rust, "", 0)
    checks.attempt("Rust std, stack overflow", runtimes.rust, "full", -6)
    checks.attempt("Rust std, stack overflow in a thread", runtimes.rust, "full in a thread", -6)
    checks.attempt("OpenJDK, JNI, -Xcheck:jni", runtimes.java, "jni", "-Xcheck:jni")
    checks.attempt("OpenJDK, LD_PRELOAD", runtimes.java, "preload")
    checks.attempt("CPython, faulthandler enabled first", runtimes.python, "before")
    checks.attempt("CPython, faulthandler enabled afterwards", runtimes.python, "after")
    checks.attempt("Node.js, a native module", runtimes.node)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
