# SPDX-License-Identifier: MIT
"""`conan create` builds and runs a program in C and one in C++ with the package."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class HoldfastTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"
    test_type = "explicit"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            version = str(self.dependencies["holdfast"].ref.version)
            for program in ("program_c", "program_cxx"):
                self.run("%s %s" % (os.path.join(self.cpp.build.bindir, program), version), env="conanrun")
