#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Test the recipes of other package managers: build and run a program in C and one in C++ with each.

    run.py [--work-dir DIR] [meson|vcpkg|conan...]

  meson   the wrap file and its meson.build in a consumer's subprojects/, static and shared
  vcpkg   without vcpkg itself: CMake functions stand in for those that the port calls, so that its steps, options and
          paths are executed; then a consumer finds the package
  conan   `conan create`, static and shared, offline; Conan 2 from `make conan` or PATH

A part whose program is not installed is skipped. The last line is "N passed, N failed". Exits with 1 on a failure, with
77 if nothing could run.
"""
import argparse
import json
import os
import re
import shutil
import sys
import tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))

import checks  # noqa: E402
from checks import Failed, Skip, read, write  # noqa: E402

HERE = os.path.join(ROOT, "packaging")
PROGRAMS = ("program.c", "program.cpp")
CANT_RUN = 77


def run(*command, cwd=None, **environment):
    return checks.run(*command, cwd=cwd, timeout=600, env={**os.environ, **environment})


def need(*programs):
    for program, package in programs:
        if not shutil.which(program):
            raise Skip("%s is not installed (Debian: %s)" % (program, package))


def version():
    return ".".join(re.findall(r"^#define HF_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
                               read(ROOT, "include", "holdfast", "version.h"), re.MULTILINE))


def linked_with(program):
    return re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", program))


# ---- meson --------------------------------------------------------------------------------------

MESON = """project('consumer', 'c', 'cpp', default_options: ['cpp_std=c++17', 'buildtype=release'])
holdfast = dependency('holdfast', version: '>=%s')
executable('program_c', 'program.c', dependencies: holdfast)
executable('program_cxx', 'program.cpp', dependencies: holdfast)
"""


def meson(work, kind):
    need(("meson", "meson"), ("ninja", "ninja-build"))
    folder = os.path.join(work, kind)
    shutil.copytree(os.path.join(HERE, "meson"), os.path.join(folder, "subprojects"))
    for name in PROGRAMS:
        shutil.copy(os.path.join(HERE, name), folder)
    write(os.path.join(folder, "meson.build"), MESON % version())
    name = "holdfast-" + version()
    with tarfile.open(os.path.join(folder, "subprojects", "packagefiles", name + ".tar.gz"), "w:gz") as tar:
        for part in ("include", "src", "LICENSE"):
            tar.add(os.path.join(ROOT, part), name + "/" + part)
    build = os.path.join(folder, "build")
    said = run("meson", "setup", build, folder, "-Dholdfast:default_library=" + kind,
               "-Dholdfast:werror=true", "-Dholdfast:warning_level=2")
    if "Executing subproject holdfast" not in said:
        raise Failed("Meson did not use the subproject:\n" + said)
    run("meson", "compile", "-C", build)
    for program in ("program_c", "program_cxx"):
        run(os.path.join(build, program), version())
        if ("libholdfast.so.0" in linked_with(os.path.join(build, program))) != (kind == "shared"):
            raise Failed("%s is not linked with the %s library" % (program, kind))


# ---- vcpkg --------------------------------------------------------------------------------------

# Stand-ins for vcpkg's functions that the port calls: they configure, build and install once, for release.
VCPKG = """cmake_minimum_required(VERSION 3.20)
set(PORT holdfast)
set(CURRENT_PORT_DIR "@PORT@")
set(CURRENT_PACKAGES_DIR "@WORK@/package")
function(vcpkg_cmake_configure)
	cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
	execute_process(COMMAND ${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B @WORK@/build -G Ninja
		-DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}
		-DCMAKE_INSTALL_LIBDIR=lib ${arg_OPTIONS} OUTPUT_VARIABLE said ERROR_VARIABLE said
		COMMAND_ERROR_IS_FATAL ANY)
	if(said MATCHES "were not used by the project.*")
		message(FATAL_ERROR "unknown options: ${CMAKE_MATCH_0}")
	endif()
endfunction()
function(vcpkg_cmake_install)
	execute_process(COMMAND ${CMAKE_COMMAND} --build @WORK@/build --target install
		COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(there_is)
	foreach(file IN LISTS ARGN)
		if(NOT EXISTS ${file})
			message(FATAL_ERROR "missing: ${file}")
		endif()
	endforeach()
endfunction()
function(vcpkg_cmake_config_fixup)
	cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
	there_is(${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/holdfastConfig.cmake)
endfunction()
function(vcpkg_fixup_pkgconfig)
	there_is(${CURRENT_PACKAGES_DIR}/lib/pkgconfig/holdfast.pc)
endfunction()
function(vcpkg_install_copyright)
	cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
	there_is(${arg_FILE_LIST})
endfunction()
set(CMAKE_CURRENT_LIST_DIR "@PORT@")
include("@PORT@/portfile.cmake")
"""

CMAKE = """cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
%s
add_executable(program_c program.c)
add_executable(program_cxx program.cpp)
target_link_libraries(program_c PRIVATE holdfast::holdfast)
target_link_libraries(program_cxx PRIVATE holdfast::holdfast_shared)
"""


def vcpkg_manifest(_):
    manifest = json.loads(read(HERE, "vcpkg", "holdfast", "vcpkg.json"))
    if manifest["name"] != "holdfast" or manifest["version"] != version():
        raise Failed("vcpkg.json: %(name)s %(version)s" % manifest)
    called = set(re.findall(r"^(vcpkg_cmake_\w+)\(", read(HERE, "vcpkg", "holdfast", "portfile.cmake"),
                            re.MULTILINE))
    helpers = {helper["name"] for helper in manifest["dependencies"] if helper["host"]}
    wanted = {"vcpkg-cmake-config" if "config" in name else "vcpkg-cmake" for name in called}
    if helpers != wanted:
        raise Failed("vcpkg.json has the host dependencies %s, the port needs %s" % (helpers, wanted))


def vcpkg_port(work):
    port, folder = os.path.join(HERE, "vcpkg", "holdfast"), os.path.join(work, "consumer")
    write(os.path.join(work, "port.cmake"), VCPKG.replace("@PORT@", port).replace("@WORK@", work))
    run("cmake", "-P", os.path.join(work, "port.cmake"))
    package = os.path.join(work, "package")
    usage = read(package, "share", "holdfast", "usage")
    os.makedirs(folder)
    for name in PROGRAMS:
        shutil.copy(os.path.join(HERE, name), folder)
    find = re.search(r"find_package\(.*\)", usage)
    if not all(target in usage for target in ("holdfast::holdfast)", "holdfast::holdfast_shared)")):
        raise Failed("usage does not name both targets:\n" + usage)
    write(os.path.join(folder, "CMakeLists.txt"), CMAKE % find[0])
    build = os.path.join(folder, "build")
    run("cmake", "-S", folder, "-B", build, "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + package)
    run("cmake", "--build", build)
    for program in ("program_c", "program_cxx"):
        run(os.path.join(build, program), version())


# ---- conan --------------------------------------------------------------------------------------

def conan_program():
    own = os.path.join(ROOT, "build", "conan", "bin", "conan")
    found = own if os.path.exists(own) else shutil.which("conan")
    if not found or not re.search(r"version 2\.", run(found, "--version")):
        raise Skip("Conan 2 is not installed (`make conan`)")
    return found


def conan(work, kind):
    program = conan_program()
    home = dict(CONAN_HOME=os.path.join(work, "home"))
    if not os.path.exists(os.path.join(home["CONAN_HOME"], "profiles", "default")):
        run(program, "profile", "detect", **home)
        run(program, "remote", "disable", "*", **home)
    said = run(program, "create", os.path.join(HERE, "conan"), "-o",
               "holdfast/*:shared=%s" % (kind == "shared"),
               "-c", "tools.cmake.cmaketoolchain:generator=Ninja",
               "-c", "tools.build:jobs=%d" % (os.cpu_count() or 1), **home)
    if said.count("holdfast %s\n" % version()) < 2:
        raise Failed("the test programs did not run:\n" + said)
    libraries = [name for folder, _, names in os.walk(home["CONAN_HOME"]) for name in names
                 if folder.endswith("/p/lib") and name.startswith("libholdfast.")]
    wanted = ["libholdfast.a"] + ["libholdfast.so", "libholdfast.so.0", "libholdfast.so." + version()] * (
        kind == "shared")
    if sorted(libraries) != wanted:
        raise Failed("the packages contain other libraries: " + " ".join(sorted(libraries)))


PARTS = {
    "meson": [("a static subproject", lambda work: meson(work, "static")),
              ("a shared subproject", lambda work: meson(work, "shared"))],
    "vcpkg": [("the manifest", vcpkg_manifest), ("the port", vcpkg_port)],
    "conan": [("a static package", lambda work: conan(work, "static")),
              ("a shared package", lambda work: conan(work, "shared"))],
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
