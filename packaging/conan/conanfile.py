# SPDX-License-Identifier: MIT
"""Conan 2 recipe: `conan create packaging/conan -o "holdfast/*:shared=True"`. It copies the tree that it is in; the one that
`make dist` writes has a conandata.yml, by which it downloads the release's archive."""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, load, rm, rmdir

required_conan_version = ">=2.0"


class HoldfastConan(ConanFile):
    name = "holdfast"
    description = "Saturating reference counts, locks, and memory accesses that survive a fault"
    license = "MIT"
    topics = ("refcount", "lockref", "spinlock", "mutex", "sigsegv")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def set_version(self):
        """Reads the version from version.h, the only place that has it, or beside conandata.yml from that."""
        if self.conan_data:
            self.version = next(iter(self.conan_data["sources"]))
            return
        header = load(self, os.path.join(self.recipe_folder, "..", "..", "include", "holdfast", "version.h"))
        self.version = ".".join(re.findall(r"^#define HF_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header,
                                           re.MULTILINE))

    def source(self):
        if self.conan_data:
            get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def export_sources(self):
        if self.conan_data:
            return
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*", "packaging/cmake/*", "packaging/share/*", "src/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("the library supports only Linux; for other platforms see port/")

    def configure(self):
        """The library is compiled as C, even for programs in C++."""
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "LAB", "TMPFS", "TOOLS", "EXTERN"):
            toolchain.cache_variables["HOLDFAST_BUILD_" + part] = False
        toolchain.cache_variables["HOLDFAST_INSTALL"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        """CMake builds both libraries. Keep the one that the option `shared` selects, and drop what Conan generates."""
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        library = os.path.join(self.package_folder, "lib")
        rm(self, "libholdfast.a" if self.options.shared else "libholdfast.so*", library)
        for folder in ("lib/cmake", "lib/pkgconfig", "share"):
            rmdir(self, os.path.join(self.package_folder, folder))

    def package_info(self):
        self.cpp_info.libs = ["holdfast"]
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.set_property("cmake_target_name", "holdfast::holdfast")
        if self.options.shared:  # the name in Holdfast's own CMake package
            self.cpp_info.set_property("cmake_target_aliases", ["holdfast::holdfast_shared"])
        self.cpp_info.set_property("pkg_config_name", "holdfast")
