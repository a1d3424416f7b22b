#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Test the recipes of other package managers: build and run a program in C and one in C++ with each.

    run.py [--work-dir DIR] [dist|meson|vcpkg|conan...]

  dist    what `make dist` writes (scripts/release.py): twice the same bytes; the archive, unpacked into an empty folder, is
          complete, and is built, installed and tested without git; the two single files in it make a program
  meson   the wrap file, which takes that archive, and its meson.build in a consumer's subprojects/, static and shared
  vcpkg   without vcpkg, which is in no package: names, versions, options and the checksum; `dist` shows what is installed
  conan   `conan create`, offline, static from the archive and shared from the tree; Conan 2 from `make conan` or PATH
  bazel   BUILD.bazel, built from the archive by Debian's Bazel 4, in its sandbox. It knows no modules: MODULE.bazel is not read

A part whose program is not installed is skipped. The last line is "N passed, N failed". Exits with 1 on a failure, with
77 if nothing could run.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "scripts")]

import checks  # noqa: E402
import release  # noqa: E402
from checks import Failed, Skip, read, write  # noqa: E402

HERE = os.path.join(ROOT, "packaging")
PROGRAMS = ("program.c", "program.cpp")
CANT_RUN = 77
UNOPTIMISED = "-DNDEBUG"  # in place of -O3: compiles in a third of the time, and the recipes are the same


def run(*command, cwd=None, **environment):
    return checks.run(*command, cwd=cwd, timeout=600, env={**os.environ, **environment})


def need(*programs):
    for program, package in programs:
        if not shutil.which(program):
            raise Skip("%s is not installed (Debian: %s)" % (program, package))


def version():
    return release.versions.version_of(ROOT)


# ---- dist ---------------------------------------------------------------------------------------

# What the archive is tested with: the battery, which has cases for each primitive, and the examples.
QUICK = "^(battery|example[.].*)$"


def dist(work):
    """Write the release. Return its folder; the parts that follow use it."""
    folder = os.path.join(os.path.dirname(work), "dist", "release")
    if not os.path.exists(os.path.join(folder, "SHA256SUMS")):
        release.dist(ROOT, folder)
    return folder


def same_bytes(work):
    first = dist(work)
    second = os.path.join(work, "again")
    release.dist(ROOT, second)
    for line in read(first, "SHA256SUMS").splitlines():
        wanted, name = line.split()
        for folder in (first, second):
            with open(os.path.join(folder, name), "rb") as file:
                if hashlib.sha256(file.read()).hexdigest() != wanted:
                    raise Failed("%s differs from SHA256SUMS of the first run" % os.path.join(folder, name))


def unpacked(work):
    """Unpack the archive into an empty folder. Return the tree, and an environment in which git fails."""
    folder, name = os.path.join(work, "unpacked"), "holdfast-" + version()
    if not os.path.exists(folder):
        os.makedirs(folder)
        run("tar", "-xzf", os.path.join(dist(work), name + ".tar.gz"), "-C", folder)
        write(os.path.join(work, "bin", "git"), "#!/bin/sh\necho 'git is not there' >&2\nexit 127\n")
        os.chmod(os.path.join(work, "bin", "git"), 0o755)
    if os.listdir(folder) != [name]:
        raise Failed("the archive has more than one folder: " + " ".join(os.listdir(folder)))
    return os.path.join(folder, name), dict(PATH=os.path.join(work, "bin") + ":" + os.environ["PATH"])


def complete(work):
    """The archive has all tracked files, the generated ones, and no others."""
    tree, _ = unpacked(work)
    found = set(release.deb.files_of(tree))
    wanted = set(release.deb.files_of(ROOT)) | {"single/holdfast.h", "single/holdfast.c"}
    if missing := wanted - found:
        raise Failed("missing: " + " ".join(sorted(missing)))
    more = [name for name in found - wanted if not re.fullmatch(r"docs/man/man3/hf_\w+\.3", name, re.IGNORECASE)]
    if more:
        raise Failed("not tracked: " + " ".join(sorted(more)))
    if "docs/man/man3/hf_mutex_lock.3" not in found:
        raise Failed("there is no manual page of hf_mutex_lock")


def built(work):
    need(("ninja", "ninja-build"))
    tree, environment = unpacked(work)
    build, prefix = os.path.join(work, "build"), os.path.join(work, "prefix")
    run("cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_C_FLAGS_RELEASE=" + UNOPTIMISED, "-DCMAKE_CXX_FLAGS_RELEASE=" + UNOPTIMISED,
        *("-DHOLDFAST_BUILD_%s=OFF" % part for part in ("LAB", "TMPFS", "TOOLS", "EXTERN")), **environment)
    run("cmake", "--build", build, "--target", "holdfast", "holdfast_shared", "battery", "examples/all", **environment)
    said = run("ctest", "--test-dir", build, "-R", QUICK, **environment)
    if int(re.search(r"tests passed, 0 tests failed out of (\d+)", said)[1]) < 10:
        raise Failed("ctest ran fewer tests than expected:\n" + said)
    run("cmake", "--install", build, "--prefix", prefix, **environment)
    for file in ("include/holdfast/mutex.h", "share/holdfast/pthread-to-holdfast.sed",
                 "share/man/man3/hf_mutex_lock.3"):
        if not os.path.exists(os.path.join(prefix, file)):
            raise Failed("not installed: " + file)
    library = [folder for folder, _, names in os.walk(prefix) if "holdfast.pc" in names][0]
    flags = run("pkg-config", "--cflags", "--libs", "holdfast", **environment, PKG_CONFIG_PATH=library).split()
    program = os.path.join(work, "program")
    run("cc", os.path.join(HERE, "program.c"), "-o", program, *flags)
    run(program, version())


def single(work):
    tree, environment = unpacked(work)
    program, folder = os.path.join(work, "single"), os.path.join(tree, "single")
    text = re.sub(r'#include [<"]holdfast/.*\n', "", read(HERE, "program.c"))
    source = write(os.path.join(work, "single.c"), '#include "holdfast.h"\n' + text)
    run("cc", "-I" + folder, source, os.path.join(folder, "holdfast.c"), "-pthread", "-o", program, **environment)
    run(program, version())


# ---- meson --------------------------------------------------------------------------------------

MESON = """project('consumer', 'c', 'cpp', default_options: ['cpp_std=c++17', 'buildtype=release'])
holdfast = dependency('holdfast', version: '>=%s')
executable('program_c', 'program.c', dependencies: holdfast)
executable('program_cxx', 'program.cpp', dependencies: holdfast)
"""


def meson(work, kind):
    need(("meson", "meson"), ("ninja", "ninja-build"))
    folder = os.path.join(work, kind)
    shutil.copytree(os.path.join(dist(work), "recipes", "meson"), os.path.join(folder, "subprojects"))
    for name in PROGRAMS:
        shutil.copy(os.path.join(HERE, name), folder)
    write(os.path.join(folder, "meson.build"), MESON % version())
    build = os.path.join(folder, "build")
    # Optimised once: gcc warns of some things only then.
    said = run("meson", "setup", build, folder, "-Dholdfast:default_library=" + kind,
               *(["-Dbuildtype=plain", "-Dholdfast:buildtype=plain"] if kind == "shared" else []),
               "-Dholdfast:werror=true", "-Dholdfast:warning_level=2")
    if "Executing subproject holdfast" not in said:
        raise Failed("Meson did not use the subproject:\n" + said)
    run("meson", "compile", "-C", build)
    for program in ("program_c", "program_cxx"):
        run(os.path.join(build, program), version())
        if ("[libholdfast.so.1]" in run("readelf", "-d", os.path.join(build, program))) != (kind == "shared"):
            raise Failed("%s is not linked with the %s library" % (program, kind))


# ---- vcpkg --------------------------------------------------------------------------------------

def vcpkg(work):
    """The manifest and the port agree with each other, with the release and with CMake's options."""
    manifest, port = json.loads(read(HERE, "vcpkg", "holdfast", "vcpkg.json")), read(HERE, "vcpkg", "holdfast", "portfile.cmake")
    if manifest["name"] != "holdfast" or manifest["version"] != version():
        raise Failed("vcpkg.json: %(name)s %(version)s" % manifest)
    helpers = {helper["name"] for helper in manifest["dependencies"] if helper["host"]}
    called = re.findall(r"^(vcpkg_cmake_\w+)\(", port, re.MULTILINE)
    wanted = {"vcpkg-cmake-config" if "config" in name else "vcpkg-cmake" for name in called}
    if helpers != wanted:
        raise Failed("vcpkg.json has the host dependencies %s, the port needs %s" % (helpers, wanted))
    options = set(re.findall(r"^holdfast_option\((\w+)", read(ROOT, "CMakeLists.txt"), re.MULTILINE))
    if unknown := set(re.findall(r"-DHOLDFAST_(\w+)=", port)) - options:
        raise Failed("unknown options: %s" % unknown)
    released = read(dist(work), "recipes", "vcpkg", "holdfast", "portfile.cmake")
    with open(os.path.join(dist(work), "holdfast-%s.tar.gz" % version()), "rb") as file:
        if hashlib.sha512(file.read()).hexdigest() not in released:
            raise Failed("the released port has not the archive's checksum")


# ---- conan --------------------------------------------------------------------------------------

def conan_program():
    own = os.path.join(ROOT, "build", "conan", "bin", "conan")
    found = own if os.path.exists(own) else shutil.which("conan")
    if not found or not re.search(r"version 2\.", run(found, "--version")):
        raise Skip("Conan 2 is not installed (`make conan`)")
    return found


def conan(work, kind, recipe):
    program = conan_program()
    home = dict(CONAN_HOME=os.path.join(work, kind))
    if not os.path.exists(os.path.join(home["CONAN_HOME"], "profiles", "default")):
        run(program, "profile", "detect", **home)
        run(program, "remote", "disable", "*", **home)
    said = run(program, "create", recipe, "-o",
               "holdfast/*:shared=%s" % (kind == "shared"),
               "-c", "tools.cmake.cmaketoolchain:generator=Ninja",
               "-c", "tools.cmake.cmaketoolchain:extra_variables=" + str({"CMAKE_C_FLAGS_RELEASE": {
                   "value": UNOPTIMISED, "cache": True, "type": "STRING", "docstring": ""}}),
               "-c", "tools.build:jobs=%d" % (os.cpu_count() or 1), **home)
    if said.count("holdfast %s\n" % version()) < 2:
        raise Failed("the test programs did not run:\n" + said)
    libraries = [name for folder, _, names in os.walk(home["CONAN_HOME"]) for name in names
                 if folder.endswith("/p/lib") and name.startswith("libholdfast.")]
    wanted = ["libholdfast.a"] if kind == "static" else ["libholdfast.so", "libholdfast.so.1", "libholdfast.so." + version()]
    if sorted(libraries) != sorted(wanted):
        raise Failed("the package contains other libraries: " + " ".join(sorted(libraries)))


# ---- bazel --------------------------------------------------------------------------------------

# Bazel 4 downloads these rules, though they are its own: here each is only another name for that.
BAZEL_RULES = {"cc": "cc_binary cc_import cc_library cc_proto_library cc_test cc_toolchain cc_toolchain_suite",
               "java": "java_binary java_import java_runtime java_toolchain", "proto": "proto_lang_toolchain proto_library"}


def bazel(work):
    need(("bazel", "bazel-bootstrap"))
    folder, repositories = os.path.join(work, "consumer"), {"holdfast": unpacked(work)[0], "platforms": "/usr/share/bazel/platforms"}
    for language, rules in BAZEL_RULES.items():
        repositories["rules_" + language] = there = os.path.join(work, language)
        for name, text in (("WORKSPACE", ""), (language + "/BUILD", ""), (
                language + "/defs.bzl", "".join("%s = native.%s\n" % (rule, rule) for rule in rules.split()))):
            write(os.path.join(there, name), text)
    write(os.path.join(repositories["holdfast"], "WORKSPACE"), "")
    write(os.path.join(folder, "WORKSPACE"), "".join('local_repository(name = "%s", path = "%s")\n' % item
                                                     for item in repositories.items()))
    write(os.path.join(folder, "BUILD"), "".join('cc_binary(name = "%s", srcs = ["%s"], deps = ["@holdfast"])\n'
                                                 % (name.replace(".", "_"), name) for name in PROGRAMS))
    for name in PROGRAMS:
        shutil.copy(os.path.join(HERE, name), folder)
    out = "--output_user_root=" + os.path.join(work, "out")
    run("bazel", "--batch", out, "build", "--symlink_prefix=" + os.path.join(work, "made-"), "--noshow_progress", "//:all", cwd=folder)
    for program in ("program_c", "program_cpp"):
        run(os.path.join(work, "made-bin", program), version())


PARTS = {
    "dist": [("two runs write the same bytes", same_bytes), ("the archive is complete", complete),
             ("the archive is built, tested and installed", built),
             ("the single files make a program", single)],
    "meson": [("a static subproject", lambda work: meson(work, "static")),
              ("a shared subproject", lambda work: meson(work, "shared"))],
    "vcpkg": [("the port and its manifest", vcpkg)],
    "conan": [("a static package of the archive",
               lambda work: conan(work, "static", os.path.join(dist(work), "recipes", "conan"))),
              ("a shared package", lambda work: conan(work, "shared", os.path.join(HERE, "conan")))],
    "bazel": [("programs in C and C++", bazel)],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work-dir", default=os.path.join(ROOT, "build", "packaging"))
    parser.add_argument("part", nargs="*", choices=[[], *PARTS], default=[])
    args = parser.parse_args()
    said = checks.Checks()
    for part in args.part or PARTS:
        work = os.path.join(os.path.abspath(args.work_dir), part)
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        for what, check in PARTS[part]:
            said.attempt("%s: %s" % (part, what), check, work)
    return said.end() if said.passed + said.failed else CANT_RUN


if __name__ == "__main__":
    sys.exit(main())
