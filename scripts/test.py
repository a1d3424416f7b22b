#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the test stages in order, and print a summary.

    test.py [STAGE...]          default: every stage, in the order below

The last line is "N passed, N failed, N skipped". Exits with 1 if anything failed or a stage ran no
test. The output of each stage is in build/test/STAGE.log.
"""
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOGS = os.path.join(ROOT, "build", "test")
CLANG_FORMAT = 14  # other versions break some lines differently
CANT_RUN = 77  # the exit status of a test that can't run here
# QEMU's models; each takes other functions: 16-byte vectors; pairs of words by AVX; AVX2 and ERMS; the row of Zen 3. qemu 7
# emulates neither AVX-512 nor FSRM.
MODELS = ("qemu64", "SandyBridge", "Haswell", "EPYC-Milan")
BUSY = 4  # processes that loop while the tests run
# The stage busy leaves these out: they compile, inspect compiled code or run one thread, so load only slows them down.
NOT_WHEN_BUSY = "^(%s)$" % "|".join((
    "headers", "codegen", "compilers", "copies.pairs", "extern.*", "runners", "bootstrap",
    "install", "subproject", "guide", "docs", "examples", "single", "lab.*", "musl",
    "nofault.(sweep.*|link|gone|sanitize)", "tmpfs.*", "zephyr.seam",
    ".*mutant.*", "model.*", "abi.*", "man.*"))
TAIL = 60  # how many lines of a failure's output are shown


class Stage:
    def __init__(self, name):
        self.name = name
        self.log = os.path.join(LOGS, name + ".log")
        self.passed = 0
        self.failed = []  # names
        self.skipped = []
        self.shown = []  # output of the failures
        self.excused = False  # if true, a stage that ran no test has not failed
        self.status = None  # exit status of the last command
        self.seconds = 0

    def run(self, *command):
        """Run a command and append its output to the log. Returns (succeeded, output)."""
        with open(self.log, "a", encoding="utf-8") as log:
            log.write("+ %s\n" % " ".join(command))
            log.flush()
            start = log.tell()
            done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=subprocess.STDOUT, check=False)
        self.status = done.returncode
        with open(self.log, encoding="utf-8", errors="replace") as log:
            log.seek(start)
            return done.returncode == 0, log.read()

    def fail(self, name, output=""):
        self.failed.append(name)
        lines = output.strip().splitlines()
        self.shown.append("\n".join(["---- %s: %s" % (self.name, name)] + lines[-TAIL:]))

    def step(self, name, *command):
        """Run a command that is not a test but must succeed."""
        worked, output = self.run(*command)
        if not worked:
            errors = re.findall(r"^.*(?:error: |undefined reference).*", output, re.MULTILINE)
            self.fail(name, "\n".join(errors[:TAIL]) or output)
        return worked


def fixed_addresses():
    """A command prefix that turns address randomisation off if it uses more bits than the sanitizers can bear."""
    try:
        with open("/proc/sys/vm/mmap_rnd_bits", encoding="ascii") as bits:
            if int(bits.read()) <= 28:
                return []
    except OSError:
        pass
    prefix = ["setarch", "-R"]
    if not shutil.which("setarch"):
        return []
    return prefix if subprocess.run([*prefix, "true"], check=False).returncode == 0 else []


def preset(stage):
    """Configure, build and ctest the preset of the same name."""
    if not stage.step("configure", "cmake", "--preset", stage.name):
        return
    if not stage.step("build", "cmake", "--build", "--preset", stage.name, "--", "-k", "0"):
        return
    ctest(stage, stage.name)


def ctest(stage, name, *options):
    """Run and count the tests of a preset that has been built."""
    junit = os.path.join(ROOT, "build", name, "junit.xml")
    if os.path.exists(junit):
        os.remove(junit)
    prefix = fixed_addresses() if "san" in name else []
    worked, output = stage.run(*prefix, "ctest", "--preset", name, "--output-junit", junit, *options)
    if os.path.exists(junit):
        count(stage, junit)
    if not worked and not stage.failed:
        stage.fail("ctest", output)


def count(stage, junit):
    """Add the results that ctest wrote. Each line "SKIPPED name: why" of a test that passed counts as a skip, too."""
    for test in xml.parse(junit).iter("testcase"):
        name, said = test.get("name"), test.findtext("system-out") or ""
        skipped = test.find("skipped")
        if test.get("status") == "run":
            stage.passed += 1
            stage.skipped += ["%s/%s" % (name, skip)
                              for skip in re.findall(r"^SKIPPED (.*)", said, re.MULTILINE)]
        elif test.get("status") == "disabled":
            stage.skipped.append("%s: disabled" % name)
        elif skipped is not None and skipped.get("message", "").startswith("SKIP_"):
            # GoogleTest's reason, or else the last line that the test printed.
            reason = re.search(r": Skipped\n(.+)", said) or re.search(r"(.+)\s*\Z", said)
            stage.skipped.append("%s: %s" % (name, reason[1] if reason else "no reason given"))
        else:  # failed, or could not be started: ctest calls the latter "notrun" too
            why = test.find("failure") if skipped is None else skipped
            stage.fail(name, "%s\n%s" % (said, why.get("message", "") if why is not None else ""))


def processors(stage):
    """The battery and the nofault sweep of the release preset, on QEMU's models of several x86-64 processors."""
    emulator = shutil.which("qemu-x86_64")
    folder = os.path.join(ROOT, "build", "release", "tests")
    programs = [os.path.join(folder, name) for name in ("battery", "nofault.sweep")]
    missing = "qemu-x86_64" if not emulator else "" if os.uname().machine == "x86_64" else "x86-64"
    if not missing and not all(map(os.path.exists, programs)):
        missing = "the build of the stage release"
    if missing:
        stage.skipped.append("processors: needs %s" % missing)
        stage.excused = True
        return
    os.environ["HF_SWEEP_EMULATED"] = "1"
    for model in MODELS:
        for program, step in zip(programs, ([], ["41"])):
            name = "%s on %s" % (os.path.basename(program), model)
            worked, output = stage.run(sys.executable, "-B", "tests/ktap.py", emulator, "-cpu", model,
                                       program, *step)
            if worked:
                stage.passed += 1
            else:
                stage.fail(name, output)
    del os.environ["HF_SWEEP_EMULATED"]


def busy(stage):
    """The multithreaded tests of the release preset, while looping processes keep the processors busy."""
    if not os.path.exists(os.path.join(ROOT, "build", "release", "CTestTestfile.cmake")):
        stage.skipped.append("busy: needs the build of the stage release")
        stage.excused = True
        return
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        ctest(stage, "release", "--exclude-regex", NOT_WHEN_BUSY)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def report(stage):
    """Unit tests of the lab's report, in its virtual environment."""
    if not stage.step("venv", "make", "--no-print-directory", "venv"):
        return
    worked, output = stage.run("build/venv/bin/python", "-m", "unittest", "discover", "-v",
                               "-s", "lab/report")
    stage.skipped += ["%s: %s" % skip for skip in
                      re.findall(r"^(\S+) .*\.\.\. skipped (.*)", output, re.MULTILINE)]
    if not worked:
        stage.fail("unittest", output)
        stage.failed = re.findall(r"^(?:FAIL|ERROR): (.*)", output, re.MULTILINE) or stage.failed
    if match := re.search(r"^Ran (\d+) tests?", output, re.MULTILINE):
        stage.passed = max(0, int(match[1]) - len(stage.failed) - len(stage.skipped))


def port(stage):
    """The port of the same name under QEMU. Each KTAP case and each mutant counts as a test."""
    lines(stage, "port/%s/run.py" % stage.name)


def kernel_tree(stage):
    """A Linux kernel with Holdfast's refcount and lockref, in QEMU: LKDTM's cases, file system stress, mutants."""
    lines(stage, "port/kernel-tree/run.py")


def docs(stage):
    """The site and the manual: checks of the output, mutants."""
    lines(stage, "tests/docs/run.py", "--source-dir", ".", "--out", "build/docs",
          "--build-dir", "build/release")


def packages(stage):
    """Debian packages: built, checked by lintian, tested in a minimal system. The recipes for Meson, vcpkg, Conan."""
    lines(stage, "packaging/deb.py", "--noopt", "--source-dir", ROOT, "--work-dir",
          os.path.join(ROOT, "build", "packages"))
    stage.step("conan", "make", "--no-print-directory", "conan")
    lines(stage, "packaging/run.py")


def rust(stage):
    """The crates of bindings/rust, with the library built by the stage release, and with the bundled C sources."""
    lines(stage, "bindings/rust/run.py", "--work-dir", "build/rust", "--build-dir", "build/release")


def lines(stage, *command):
    """Run a script that prints "FAULT name", "FAILED name" and "SKIPPED name: why", and last "N passed, N failed"."""
    worked, output = stage.run(sys.executable, "-B", *command)
    stage.skipped += re.findall(r"^SKIPPED (.*)", output, re.MULTILINE)
    if stage.status == CANT_RUN:
        stage.excused = bool(stage.skipped)
        return
    total = re.search(r"^(\d+) passed, (\d+) failed\s*\Z", output, re.MULTILINE)
    if total:
        stage.passed += int(total[1])
    for fault in re.findall(r"^FAULT (.*)", output, re.MULTILINE):
        stage.fail(fault, fault)
    for name in re.findall(r"^FAILED ([^:\n]*)", output, re.MULTILINE):
        stage.fail(name, output)
    if (not worked or not total) and not stage.failed:
        stage.fail(os.path.basename(command[0]), output)


def format_check(stage):
    """Check that clang-format would change nothing."""
    _, output = stage.run("clang-format", "--version")
    version = re.search(r"version (\d+)", output)
    if version and int(version[1]) != CLANG_FORMAT:
        stage.skipped.append("format-check: needs clang-format %d, this is %s"
                             % (CLANG_FORMAT, version[1]))
        stage.excused = True
    elif stage.step("format-check", "make", "--no-print-directory", "format-check"):
        stage.passed += 1


STAGES = {
    "release": preset,
    "processors": processors,
    "busy": busy,
    "asan": preset,
    "tsan": preset,
    "tsan-clang": preset,
    "aarch64": preset,
    "aarch64-lse": preset,
    "riscv64": preset,
    "s390x": preset,
    "bare": port,
    "kernel": port,
    "kernel-tree": kernel_tree,
    "packages": packages,
    "rust": rust,
    "report": report,
    "docs": docs,
    "format-check": format_check,
}


def main(names):
    if unknown := [name for name in names if name not in STAGES]:
        sys.exit("unknown stage: %s; the stages are: %s" % (" ".join(unknown), " ".join(STAGES)))
    os.makedirs(LOGS, exist_ok=True)
    os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(ROOT, "build", "pycache")
    os.environ.pop("MAKEFLAGS", None)
    stages = [Stage(name) for name in names or STAGES]
    for number, stage in enumerate(stages, 1):
        print("[%d/%d] %-13s" % (number, len(stages), stage.name), end="", flush=True)
        open(stage.log, "w", encoding="utf-8").close()
        start = time.monotonic()
        STAGES[stage.name](stage)
        stage.seconds = time.monotonic() - start
        if not (stage.passed or stage.failed or stage.excused):
            stage.fail("no test was run")
        print("%d passed, %d failed, %d skipped in %.0f s"
              % (stage.passed, len(stage.failed), len(stage.skipped), stage.seconds))
        for text in stage.shown:
            print(text, flush=True)

    print("\n%-14s%8s%8s%8s" % ("stage", "passed", "failed", "skipped"))
    for stage in stages:
        print("%-14s%8d%8d%8d"
              % (stage.name, stage.passed, len(stage.failed), len(stage.skipped)))
    for word in ("skipped", "failed"):
        for stage in stages:
            for name in getattr(stage, word):
                print("%s in %s: %s" % (word, stage.name, name))
    failed = sum(len(stage.failed) for stage in stages)
    print("\n%d passed, %d failed, %d skipped"
          % (sum(stage.passed for stage in stages), failed,
             sum(len(stage.skipped) for stage in stages)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
