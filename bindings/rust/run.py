#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build and test the crates, offline, from Debian's crates (librust-*-dev).

    run.py --work-dir DIR [--build-dir DIR] [PATTERN...]

  functions      functions.rs is what generate.py would write
  test_bundled   unit, integration and documentation tests with the bundled C sources, by Debian's cargo
  guide          the example in Rust of docs/guide/other-languages.md
  package        the files that cargo would publish are complete and build
  test_system    unit and integration tests, optimised, with the library of --build-dir, installed and found by pkg-config, by
                 the first cargo in PATH. If that is not Debian's, the documentation tests too, each of which is a program
  doc            the documentation is built without a C compiler, a library, or a warning
  lint           clippy and rustfmt, if they are installed

All use one folder of objects for each cargo, so doc and lint, which make holdfast-sys anew, come last.
Runs the checks whose name contains a PATTERN, by default all. Prints one line for each. Exits with 1 on a
failure, with 77 if cargo or a crate is missing.
"""
import argparse
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests"))

import checks  # noqa: E402
from checks import Failed, Skip, read, write  # noqa: E402

REGISTRY = "/usr/share/cargo/registry"
CRATES = ("libc", "lock_api", "cc", "pkg-config")
CANT_RUN = 77


def command(*words, cwd=HERE, **environment):
    return checks.run(*words, cwd=cwd, env=dict(os.environ, **environment), timeout=1200)


class Cargo:
    """One cargo with its compiler. It works offline in its own copy of the workspace: lock files differ in format."""

    def __init__(self, path, work):
        self.path, folder = path, os.path.dirname(path)
        self.version = command(path, "--version").split()[1]
        self.work = os.path.join(work, self.version)
        self.home = os.path.join(self.work, "home")
        self.source = os.path.join(self.work, "bindings", "rust")
        self.target = os.path.join(self.work, "target")
        os.makedirs(self.home, exist_ok=True)
        shutil.copy(os.path.join(HERE, "cargo-debian.toml"), os.path.join(self.home, "config.toml"))
        # The crates reach the C sources, the headers and the guide by relative links.
        os.makedirs(os.path.dirname(self.source), exist_ok=True)
        for link in ("include", "src", "docs", "bindings/extern", "LICENSE"):
            if not os.path.islink(os.path.join(self.work, link)):
                os.symlink(os.path.join(ROOT, link), os.path.join(self.work, link))
        # The copy keeps the times of the files, by which cargo decides what to build.
        shutil.rmtree(self.source, ignore_errors=True)
        shutil.copytree(HERE, self.source, symlinks=True,
                        ignore=shutil.ignore_patterns("target", "__pycache__", "Cargo.lock"))
        self.environment = {
            "CARGO_HOME": self.home, "CARGO_TARGET_DIR": self.target, "CARGO_NET_OFFLINE": "true",
            "CARGO_TERM_COLOR": "never", "RUSTFLAGS": "-D warnings",
            "RUSTC": os.path.join(folder, "rustc"), "RUSTDOC": os.path.join(folder, "rustdoc"),
        }
        if not os.path.exists(self.environment["RUSTDOC"]):
            del self.environment["RUSTDOC"]

    def __call__(self, *words, cwd=None, **environment):
        return command(self.path, *words, cwd=cwd or self.source, **{**self.environment, **environment})


def passed(output):
    """Fails if cargo has run no test."""
    if not sum(int(n) for n in re.findall(r"^test result: ok\. (\d+) passed", output, re.MULTILINE)):
        raise Failed("cargo has run no test\n" + output)


class Crates:
    def __init__(self, cargos, work, build):
        self.cargos, self.work, self.build = cargos, work, build
        self.debian, self.newest = cargos[-1], cargos[0]

    def functions(self):
        if not shutil.which("gcc"):
            raise Skip("needs gcc, which lists the declarations")
        command(sys.executable, "-B", os.path.join(HERE, "generate.py"), "--check")

    def test_bundled(self):
        out = self.debian("test", "--workspace", "--features", "bundled")
        passed(out)

    def test_system(self):
        if not shutil.which("pkg-config"):
            raise Skip("needs pkg-config")
        library = os.path.join(self.build or "", "libholdfast-extern.so")
        if not self.build or not os.path.exists(library):
            raise Skip("needs the build of the stage release")
        prefix = os.path.join(self.work, "prefix")
        command("cmake", "--install", self.build, "--prefix", prefix)
        found = [folder for folder, _, names in os.walk(prefix) if "holdfast-extern.pc" in names][0]
        with_library = {"PKG_CONFIG_PATH": found, "LD_LIBRARY_PATH": os.path.dirname(found)}
        tested = ["--lib", "--tests"] if self.newest is self.debian else []
        out = self.newest("test", "--workspace", "--release", *tested, **with_library)
        folder = os.path.join(self.newest.target, "release", "deps")
        program = [os.path.join(folder, name) for name in os.listdir(folder)
                   if re.fullmatch(r"locks-\w+", name)][0]
        if prefix not in command("ldd", program, **with_library):
            raise Failed("the tests are not linked with the installed library")
        passed(out)

    def doc(self):
        self.newest("doc", "--workspace", "--no-deps", DOCS_RS="1", CC="/bin/false", PKG_CONFIG="/bin/false",
                    RUSTDOCFLAGS="-D warnings -D rustdoc::broken_intra_doc_links")

    def package(self):
        """Builds holdfast-sys, but only lists the files of holdfast-locks, whose dependency cargo would look up in a registry.
        `make release-check`, which may use the network, builds both."""
        # The assembler warns of an address without a number at -O0.
        out = self.newest("package", "--allow-dirty", "--package", "holdfast-sys", HOLDFAST_SYS_BUNDLED="1", CFLAGS="-O1")
        if re.search(r"^warning", out, re.MULTILINE):
            raise Failed(out)
        wanted = {"holdfast-sys": ["c/include/holdfast/mutex.h", "c/extern/mutex.c", "LICENSE", "README.md",
                                   "c/src/nofault/arch/x86_64.c", "build.rs", "src/functions.rs"],
                  "holdfast-locks": ["src/lib.rs", "src/mutex.rs", "LICENSE", "README.md", "tests/locks.rs"]}
        for crate, files in wanted.items():
            listed = self.newest("package", "--list", "--allow-dirty", "--package", crate).split()
            if missing := [file for file in files if file not in listed]:
                raise Failed("missing in the package %s: %s" % (crate, ", ".join(missing)))

    def lint(self):
        done, folder = [], os.path.dirname(self.newest.path)
        for tool, words in (("cargo-clippy", ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
                            ("cargo-fmt", ["fmt", "--all", "--check"])):
            if not os.path.exists(os.path.join(folder, tool)):
                checks.Checks.skip(tool, "not in the folder of %s" % self.newest.path)
                continue
            self.newest(*words, DOCS_RS="1")
            done.append(tool)
        if not done:
            raise Skip("neither clippy nor rustfmt is installed")

    def guide(self):
        page = os.path.join(ROOT, "docs", "guide", "other-languages.md")
        examples = re.findall(r"^```rust\n(.*?)^```$", read(page), re.MULTILINE | re.DOTALL)
        if not examples:
            raise Failed("no example in Rust in " + page)
        folder = os.path.join(self.debian.source, "holdfast-locks", "examples")
        for number, text in enumerate(examples):
            write(os.path.join(folder, "guide%d.rs" % number), text)
            self.debian("run", "--quiet", "--package", "holdfast-locks", "--example", "guide%d" % number,
                        "--features", "bundled")
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work-dir", required=True)
    parser.add_argument("--build-dir")
    parser.add_argument("pattern", nargs="*")
    args = parser.parse_args()
    work = os.path.abspath(args.work_dir)
    os.makedirs(work, exist_ok=True)

    paths = [shutil.which("cargo"), "/usr/bin/cargo"]
    cargos = list({os.path.realpath(path): path for path in paths if path and os.path.exists(path)}.values())
    if not cargos:
        print("SKIPPED rust: needs cargo")
        return CANT_RUN
    known = os.listdir(REGISTRY) if os.path.isdir(REGISTRY) else []
    if missing := [crate for crate in CRATES
                   if not any(re.fullmatch(crate + r"-\d.*", name) for name in known)]:
        print("SKIPPED rust: needs Debian's packages of the crates " + ", ".join(missing))
        return CANT_RUN

    build = args.build_dir and os.path.abspath(args.build_dir)
    crates, said = Crates([Cargo(path, work) for path in cargos], work, build), checks.Checks()
    for name in ("functions", "test_bundled", "guide", "package", "test_system", "doc", "lint"):
        if not args.pattern or any(pattern in name for pattern in args.pattern):
            said.attempt(name, getattr(crates, name))
    return said.end()


if __name__ == "__main__":
    sys.exit(main())
