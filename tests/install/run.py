#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Install into the build folder, then build and run programs with the installed files.

- C and C++ programs, by find_package (static and shared library) and by pkg-config
- README's first example, with the command given there; no LD_LIBRARY_PATH is needed
- a program that uses only a reference count: small, and without the rest of the library
- a program under gcc's and clang's ThreadSanitizer, with the library not instrumented: no report if it is
  correct, exactly one for a race, an inverted order, a mutex destroyed while locked, an unlock of a free one
- a static PIE, with what pkg-config names in /usr/local
- uninstalling removes what was installed and nothing else
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import checks  # noqa: E402
from checks import Failed, Skip, read, start, write  # noqa: E402
from versions import version_of  # noqa: E402


def run(*command, **environment):
    return checks.run(*command, env=dict(os.environ, **environment))


def sanitize(compiler, source, program, flags):
    """Build for ThreadSanitizer, and run: used correctly, and with each mistake, which is reported once."""
    if not shutil.which(compiler):
        raise Skip("it is not installed")
    prefix = checks.sanitizer_prefix(compiler, "-fsanitize=thread", program=program)
    run(compiler, "-fsanitize=thread", "-g", "-O1", "-std=gnu++17", "-Wall", "-Werror", source, "-o", program, *flags)
    for how, expected in (("well", None), ("race", "data race"), ("order", "lock-order-inversion"),
                          ("relock", "lock-order-inversion"), ("readers", "lock-order-inversion"),
                          ("destroy", "destroy of a locked mutex"),
                          ("destroy_recursive", "destroy of a locked mutex"), ("destroy_lockref", "destroy of a locked mutex"),
                          ("unlocked", "unlock of an unlocked mutex")):
        found = subprocess.run([*prefix, program, how], stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.STDOUT, check=False, timeout=600,
                               env=dict(os.environ, TSAN_OPTIONS="exitcode=66"))
        reports = re.findall("WARNING: ThreadSanitizer: (.*)", found.stdout)
        is_so = len(reports) == 1 and reports[0].startswith(expected) if expected else not reports
        if not is_so or found.returncode != (66 if expected else 0):
            raise Failed("%s: reports %s, not of %s; exit status %d\n%s"
                         % (how, reports, expected, found.returncode, found.stdout))


# How many bytes larger than an empty program a program with one reference count may be.
LIMITS = {"text": 16 * 1024, "bss": 4 * 1024}


def size(program):
    return dict(zip(*(line.split() for line in run("size", "-B", program).splitlines())))


def only_what_is_used(cc, source, library, work):
    """The linker takes only the needed files from the static library."""
    programs = {}
    for name, file in (("empty", write(os.path.join(work, "empty.c"), "int main(void) { return 0; }\n")),
                       ("refcount", os.path.join(source, "tests", "install", "consumer", "refcount.c"))):
        programs[name] = os.path.join(work, name)
        run(*cc.split(), "-O2", file, "-o", programs[name], "-I" + os.path.join(source, "include"),
            library)
    run(programs["refcount"])
    empty, refcount = (size(programs[name]) for name in ("empty", "refcount"))
    for section, limit in LIMITS.items():
        more = int(refcount[section]) - int(empty[section])
        if more > limit:
            raise Failed("%s: %d bytes more than in an empty program; the limit is %d" % (section, more, limit))
    found = [line for line in run("nm", programs["refcount"]).splitlines()
             if re.search(r"nofault|site|slot|node|spin_rate|mutex|hf_clear|hf_copy", line)]
    if found:
        raise Failed("linked although unused:\n" + "\n".join(found))


def traps(args, flags, prefix, work):
    """pthread-to-holdfast.sed makes a compile error of each call that means something else afterwards, and of no other."""
    script = os.path.join(prefix, "share", "holdfast", "pthread-to-holdfast.sed")
    for line, error in (("pthread_mutex_init(&m, NULL); pthread_cond_init(&c, NULL); pthread_mutex_destroy(&m);", None),
                        ("pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);", None),
                        ("if (pthread_mutex_trylock(&m) == 0) return;", "TODO_hf_mutex_trylock"),
                        ("pthread_mutex_timedlock(&m, &t);", "TODO_hf_mutex_lock_timeout"),
                        ("while (pthread_cond_timedwait(&c, &m, &t) == 0);", "TODO_hf_cond_wait_until"),
                        ("pthread_mutex_init(&m, &a);", "TODO_attributes"),
                        ("m = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;", "TODO_there_is_no_such_mutex"),
                        ("if (pthread_mutex_lock(&m) != 0) return;", None),
                        ("int e = pthread_mutex_init(&m, NULL); e |= pthread_cond_destroy(&c); if (e) return;", None),
                        ("if (pthread_mutex_lock((&m)) || pthread_mutex_init(&(m), NULL)) return;", None),
                        ("if (pthread_mutex_lock(((&m)))) return;", "error: ")):
        text = ("#define _GNU_SOURCE\n#include <pthread.h>\n#include <time.h>\nstatic pthread_mutex_t m ="
                " PTHREAD_MUTEX_INITIALIZER;\nstatic pthread_cond_t c;\n"
                "void f(pthread_mutexattr_t a, struct timespec t)\n{\n%s\n}\n" % line)
        moved = write(os.path.join(work, "moved.c"), run("sed", "-f", script, write(os.path.join(work, "trap.c"), text)))
        warnings = ["-w"] if error else ["-Wall", "-Werror"]
        done = subprocess.run([*args.cc.split(), *warnings, "-fsyntax-only", moved, *flags], stderr=subprocess.PIPE, text=True,
                              check=False)
        if (done.returncode == 0) != (error is None) or (error or "") not in done.stderr:
            raise Failed("%s: %s" % (line, done.stderr or "no error"))


def where_the_loader_searches(args, work):
    """In a folder that ldconfig serves, pkg-config names no RUNPATH: with one, glibc does not start a static PIE."""
    destination = os.path.join(work, "destination")
    run(args.cmake, "--install", args.build_dir, "--prefix", "/usr/local", DESTDIR=destination)
    library = next(folder for folder, _, files in os.walk(destination) if "libholdfast.a" in files)
    if library[len(destination):] + ":" not in run("/sbin/ldconfig", "-v", "-N", "-X"):
        raise Skip("the loader does not search " + library[len(destination):])
    flags = run("pkg-config", "--define-variable=prefix=" + os.path.dirname(library), "--cflags", "--libs", "--static", "holdfast",
                PKG_CONFIG_PATH=os.path.join(library, "pkgconfig")).split()
    program = os.path.join(work, "static_pie")
    run(*args.cc.split(), "-static-pie", os.path.join(args.source_dir, "packaging", "program.c"), "-o", program, *flags)
    run(program, version_of(args.source_dir))


def files_in(folder):
    return {os.path.relpath(os.path.join(where, name), folder)
            for where, folders, names in os.walk(folder) for name in names + folders}


def uninstall(args, prefix):
    """Uninstalling removes the installed files and the folders created for them, and keeps all other files."""
    others = {os.path.join("share", "doc", "others", "README"),
              os.path.join("include", "holdfast", "mine.h")}
    for name in others:
        write(os.path.join(prefix, name), "")
    before = files_in(prefix)
    # As `make uninstall`: the release's build folder need not be named.
    build = [] if args.build_dir == os.path.join(args.source_dir, "build", "release") else ["-DBUILD=" + args.build_dir]
    script = (args.cmake, "-DPREFIX=" + prefix, *build, "-P",
              os.path.join(args.source_dir, "packaging", "cmake", "uninstall.cmake"))
    run(args.cmake, "--install", args.build_dir, "--prefix", prefix)
    if "include/holdfast/refcount.h" not in files_in(prefix):
        raise Failed("nothing was installed in " + prefix)
    run(*script)
    # Empty bin, lib and include folders may belong to other packages.
    more = {name for name in files_in(prefix) - before
            if "holdfast" in name or "gdb" in name or not os.path.isdir(os.path.join(prefix, name))}
    if more or before - files_in(prefix):
        raise Failed("left behind: %s; removed by mistake: %s" % (more, before - files_in(prefix)))
    if subprocess.run(script, check=False, stderr=subprocess.DEVNULL).returncode == 0:
        raise Failed("uninstalling a second time did not fail")


def main():
    args = checks.arguments(__doc__, "source-dir", "build-dir", "cmake", "cc", "cxx")
    consumer = os.path.join(args.source_dir, "tests", "install", "consumer")
    work = os.path.join(args.build_dir, "tests", "install")
    prefix = os.path.join(work, "prefix")
    build = os.path.join(work, "build")
    shutil.rmtree(work, ignore_errors=True)
    said = checks.Checks()
    run(args.cmake, "--install", args.build_dir, "--prefix", prefix)

    run(args.cmake, "-S", consumer, "-B", build, "-G", "Ninja",
        "-DCMAKE_PREFIX_PATH=" + prefix, "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_C_COMPILER=" + args.cc, "-DCMAKE_CXX_COMPILER=" + args.cxx)
    run(args.cmake, "--build", build)
    for program in ("c_static", "c_shared", "cxx_static", "cxx_shared"):
        said.attempt("find_package " + program, run, os.path.join(build, program), version_of(args.source_dir))

    if not said.check("pkg-config is installed", shutil.which("pkg-config")):
        return said.end()
    found = [os.path.join(folder, "pkgconfig") for folder, _, files in os.walk(prefix)
             if "libholdfast.so" in files]
    flags = run("pkg-config", "--cflags", "--libs", "holdfast", PKG_CONFIG_PATH=found[0]).split()
    for compiler, source in ((args.cc, "program.c"), (args.cxx, "program.cpp")):
        program = os.path.join(build, "pkg_config_" + os.path.splitext(source)[1][1:])
        run(*compiler.split(), os.path.join(args.source_dir, "packaging", source), "-o", program, *flags)
        said.attempt("pkg-config " + source, run, program, version_of(args.source_dir))
        # The path to the library must be plain, without "..".
        runpath = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", run("readelf", "-d", program))
        said.check("RUNPATH of " + source, runpath == [os.path.dirname(found[0])], runpath)

    said.attempt("a static PIE", where_the_loader_searches, args, work)

    static = [flag.replace("-lholdfast", "-l:libholdfast.a") for flag in flags] + ["-pthread"]
    for compiler in ("g++", "clang++"):
        said.attempt("tsan " + compiler, sanitize, compiler, os.path.join(consumer, "tsan.cpp"),
                     os.path.join(build, "tsan_" + compiler), static)

    text = read(args.source_dir, "README.md")
    example = re.search(r"^```c\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]
    for strict in ("-std=gnu89", "-std=gnu17"):
        said.attempt("README's example, " + strict, run, *args.cc.split(), *strict.split(), "-Wall", "-Wextra", "-Werror",
                     "-c", write(os.path.join(work, "example.c"), example), "-o", os.path.join(work, "example.o"), *flags[:1])
    write(os.path.join(build, "program.c"), example)
    command = re.search(r"`(cc \$\(pkg-config.*?program\.c.*?)`", text, re.DOTALL)[1]
    printed = run("sh", "-c", 'cc() { %s "$@"; }; cd "%s" && %s && ./a.out' % (args.cc, build, command),
                  PKG_CONFIG_PATH=found[0])
    said.check("README's command", "`%s`" % printed.strip() in text, printed)
    said.attempt("pthread-to-holdfast.sed", traps, args, flags[:1], prefix, work)
    said.attempt("only what is used", only_what_is_used, args.cc, args.source_dir,
                 os.path.join(os.path.dirname(found[0]), "libholdfast.a"), work)
    said.attempt("uninstall", uninstall, args, os.path.join(work, "uninstall"))
    return said.end()


if __name__ == "__main__":
    start(main)
