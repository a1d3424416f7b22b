#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run test stages, several at a time, and print a summary.

    test.py                     `make test`: the quick part of the stages of QUICK
    test.py --all               `make test-all`: every stage, and all of its tests
    test.py --rest              what `make test` leaves out of that
    test.py --list              print the stages, and what each of them tests
    test.py STAGE...            these stages, and all of their tests

Four stages run at a time. What must not have neighbours, such as the stress tests, runs at the end, one after the other.
A line is printed when a stage begins and when it ends; "processor" is the time that it kept processors busy. The last line
is "N passed, N failed, N skipped". Exits with 1 if anything failed or a stage ran no test, with 130 after ^C, which ends
everything that was started. The output of each stage is in build/test/STAGE.log, the times of its tests are in STAGE-*.xml.
caught.py prints the mutants that were caught.
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("scripts", "tests")]

import areas  # noqa: E402
from checks import Printed, fixed_addresses  # noqa: E402

LOGS = os.path.join(ROOT, "build", "test")
CLANG_FORMAT = 14  # other versions break some lines differently
CANT_RUN = 77  # the exit status of a test that can't run here
# QEMU's models; each takes other functions: 16-byte vectors; pairs of words by AVX; AVX2 and ERMS; the row of Zen 3. qemu 7
# emulates neither AVX-512 nor FSRM.
MODELS = ("qemu64", "SandyBridge", "Haswell", "EPYC-Milan")
LOOP = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
TAIL = 60  # how many lines of a failure's output are shown
LIMIT = 3600  # seconds for one command of a stage; one that takes longer is taken for one that hangs, on a busy machine too
GRACE = 10  # seconds that a command gets to clean up when it is ended
LANES = 4  # stages at a time: three leave processors idle for a twelfth of the time, while packages are fetched and kernels boot
PROCESSORS = len(os.sched_getaffinity(0))
ALL, QUICK_PART, REST = "all", "quick", "rest"  # which tests of a stage run
changed = threading.Condition()  # notified when a stage is built or has ended


class Stopped(Exception):
    """^C: no further command may start."""


class Children:
    """The commands that run now. Each is a session of its own, so that all that it has started can be ended with it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = set()  # process groups
        self.stopped = False

    def run(self, command, log, limit, environment):
        """Run a command. Return its exit status, or None if it reached the time limit, and its processor time."""
        with self.lock:
            if self.stopped:
                raise Stopped
            child = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, start_new_session=True,
                                     stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
            self.running.add(child.pid)
        late = threading.Event()

        def end():
            late.set()
            self.end([child.pid])

        timer = threading.Timer(limit, end)
        timer.daemon = True
        timer.start()
        _, status, used = os.wait4(child.pid, 0)  # unlike child.wait(), it gives the processor time
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        with self.lock:
            self.running.discard(child.pid)
        if late.is_set():
            self.signal(child.pid, signal.SIGKILL)  # those that outlive it
        return None if late.is_set() else child.returncode, used.ru_utime + used.ru_stime

    @staticmethod
    def signal(group, number):
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            pass

    def end(self, groups):
        """Interrupt these, which lets scripts clean up, and kill what has not ended after a while."""
        for group in groups:
            self.signal(group, signal.SIGINT)
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and self.running & set(groups):
            time.sleep(0.1)
        for group in groups:
            self.signal(group, signal.SIGKILL)

    def stop(self):
        with self.lock:
            self.stopped = True
            groups = list(self.running)
        self.end(groups)


children = Children()


class Stage:
    def __init__(self, name):
        self.name = name
        self.log = os.path.join(LOGS, name + ".log")
        self.passed = 0
        self.failed = []  # names
        self.skipped = []
        self.shown = []  # output of the failures
        self.excused = False  # if true, a stage that ran no test has not failed
        self.part = ALL  # which of its tests
        self.is_built = False  # stages that use its build may begin
        self.status = None  # exit status of the last command; None if it reached the time limit
        self.seconds = 0
        self.processor = 0  # seconds
        self.commands = 0  # that have run

    def run(self, *command, **environment):
        """Run a command and append its output to the log. Returns (succeeded, output)."""
        with open(self.log, "a", encoding="utf-8") as log:
            log.write("+ %s\n" % " ".join(command))
            log.flush()
            start = log.tell()
            try:
                self.status, used = children.run(command, log, LIMIT, environment)
            except OSError as error:
                self.status, used = 127, 0
                log.write("%s\n" % error)
            if self.status is None:
                log.write("\nended: it did not end in %d s\n" % LIMIT)
        self.commands += 1
        self.processor += used
        with open(self.log, encoding="utf-8", errors="replace") as log:
            log.seek(start)
            return self.status == 0, log.read()

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


def preset(stage):
    """Configure, build and ctest the preset of the same name."""
    if not stage.step("configure", "cmake", "--preset", stage.name):
        return
    is_smaller = stage.part == QUICK_PART and stage.name in PARTS
    needed = ["--target", *areas.targets(stage.name, [stage.name])] if is_smaller else []
    if stage.step("build", "cmake", "--build", "--preset", stage.name, *needed, "--", "-k", "0", "-j", str(PROCESSORS)):
        with changed:
            stage.is_built = True
            changed.notify_all()
        ctest(stage, stage.name, *part_of(stage))


def part_of(stage):
    """ctest's options for a stage's part, without what needs the machine for itself."""
    left_out, only = ["alone"], []
    if stage.part == QUICK_PART:
        left_out.append("thorough")
        only = [stage.name] if stage.name in PARTS else []
    elif stage.part == REST and stage.name in PARTS:
        left_out.append(stage.name)
    elif stage.part == REST and stage.name in QUICK:
        only = ["thorough"]
    return ["-LE", areas.labelled(left_out), *(["-L", areas.labelled(only)] if only else [])]


def preset_alone(stage):
    """The tests of the preset that need the machine for themselves. They run even if others have failed."""
    if stage.is_built and not (stage.part == REST and stage.name in QUICK):
        ctest(stage, stage.name, "-L", areas.labelled(["alone"]), "--no-tests=ignore")


def ctest(stage, name, *options):
    """Run and count the tests of a preset that has been built."""
    junit = os.path.join(LOGS, "%s-%s-%d.xml" % (stage.name, name, stage.commands))
    if os.path.exists(junit):
        os.remove(junit)
    before = len(stage.failed)
    prefix = fixed_addresses() if "san" in name else []
    # One more than there are processors, since some tests wait for most of their time.
    worked, output = stage.run(*prefix, "ctest", "--preset", name, "-j", str(PROCESSORS + 1), "--output-junit", junit, *options)
    if os.path.exists(junit):
        count(stage, junit)
    if not worked and len(stage.failed) == before:
        stage.fail("ctest", output)


def count(stage, junit):
    """Add the results that ctest wrote. Each line "SKIPPED name: why" of a test that passed counts as a skip, too."""
    for test in xml.parse(junit).iter("testcase"):
        name, said = test.get("name"), test.findtext("system-out") or ""
        skipped = test.find("skipped")
        if test.get("status") == "run":
            stage.passed += 1
            stage.skipped += ["%s/%s" % (name, skip) for skip in Printed(said).skipped]
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
    for model in MODELS:
        for program, step in zip(programs, ([], ["41"])):
            name = "%s on %s" % (os.path.basename(program), model)
            worked, output = stage.run(sys.executable, "-B", "tests/ktap.py", emulator, "-cpu", model,
                                       program, *step, HF_SWEEP_EMULATED="1")
            if worked:
                stage.passed += 1
            else:
                stage.fail(name, output)


def busy(stage):
    """The multithreaded tests of the release preset, also those of `alone`, beside a busy loop on each processor."""
    if not os.path.exists(os.path.join(ROOT, "build", "release", "CTestTestfile.cmake")):
        stage.skipped.append("busy: needs the build of the stage release")
        stage.excused = True
        return
    loops = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(PROCESSORS)]
    try:
        ctest(stage, "release", "-LE", areas.labelled(["not-busy"]))
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
    """The port of this name, bare metal or a module of Linux, in QEMU. Each KTAP case and each mutant counts as a test."""
    lines(stage, "port/%s/run.py" % stage.name)


def kernel_tree(stage):
    """A Linux kernel with Holdfast's counts, locks and user memory, in QEMU: LKDTM, sweeps, locktorture, storms, mutants."""
    lines(stage, "port/kernel-tree/run.py")


def docs(stage):
    """The site and the manual: checks of the output."""
    lines(stage, "tests/docs/run.py", "--source-dir", ".", "--out", "build/docs",
          "--build-dir", "build/release")


def packages(stage):
    """Debian packages: built, checked by lintian, tested in a minimal system. The release's archive; Meson, vcpkg, Conan, Bazel."""
    lines(stage, "packaging/deb.py", "--noopt", "--source-dir", ROOT, "--work-dir",
          os.path.join(ROOT, "build", "packages"))
    stage.step("conan", "make", "--no-print-directory", "conan")
    lines(stage, "packaging/run.py")


def rust(stage):
    """The crates of bindings/rust, with the library built by the stage release, and with the bundled C sources."""
    lines(stage, "bindings/rust/run.py", "--work-dir", "build/rust", "--build-dir", "build/release")


def lines(stage, *command):
    """Run a script whose output is that of tests/checks.py."""
    worked, output = stage.run(sys.executable, "-B", *command)
    found = Printed(output)
    stage.skipped += found.skipped
    if stage.status == CANT_RUN:
        stage.excused = bool(stage.skipped)
        return
    stage.passed += found.passed
    for name, why in found.failed.items():
        stage.fail(name, why)
    if not (worked and found.is_complete) and not stage.failed:
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


# The longest first, so that none is left for the end.
STAGES = {
    "release": preset,
    "kernel-tree": kernel_tree,
    "packages": packages,
    "asan": preset,
    "tsan": preset,
    "aarch64": preset,
    "riscv64": preset,
    "s390x": preset,
    "kernel": port,
    "rust": rust,
    "report": report,
    "processors": processors,
    "bare": port,
    "docs": docs,
    "tsan-clang": preset,
    "aarch64-lse": preset,
    "format-check": format_check,
    "busy": busy,
}
# The stages of `make test`. It leaves out the tests with the label `thorough`.
QUICK = ("release", "asan", "tsan", "report", "format-check")
# Of these presets `make test` builds and tests only what has the preset's name as a label, which all of `alone` have.
PARTS = ("asan", "tsan")
# It leaves nothing out of these.
WHOLE = ("report", "format-check")
# A stage begins when these are built or have ended: it uses their build, or the packages would contain half a manual.
AFTER = {
    "processors": ("release",),
    "rust": ("release",),
    "docs": ("release", "packages"),
}
# What runs alone, when all lanes have ended; `busy` has no other part.
ALONE = {preset: preset_alone, busy: busy}


class Clock:
    """Prints lines with the time since the begin; one at a time."""

    def __init__(self):
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def say(self, text):
        seconds = time.monotonic() - self.start
        if children.stopped:
            return
        with self.lock:
            print("%3d:%02d  %s" % (seconds // 60, seconds % 60, text), flush=True)


def result(stage):
    """The counts of a stage; if no test ran, the reason."""
    if stage.excused and not (stage.passed or stage.failed):
        return "could not run: %s" % "; ".join(stage.skipped)
    return "%d passed, %d failed, %d skipped" % (stage.passed, len(stage.failed), len(stage.skipped))


def attempt(stage, function):
    """Run a part of a stage. An error of this script fails the stage and leaves the others running."""
    begun = time.monotonic()
    try:
        function(stage)
    except Stopped:
        stage.fail("stopped")
    except Exception:  # pylint: disable=broad-except
        stage.fail("scripts/test.py", traceback.format_exc())
    stage.seconds += time.monotonic() - begun


def in_lanes(stages, act):
    """Call act(stage) for each stage in their order, LANES at a time. A stage waits for those of AFTER."""
    waiting, running = list(stages), []

    def ready():
        for stage in waiting:
            if all(other.is_built for other in waiting + running if other.name in AFTER.get(stage.name, ())):
                return stage
        return None

    def lane():
        while True:
            with changed:
                changed.wait_for(lambda: ready() or not waiting)
                if not waiting:
                    return
                stage = ready()
                waiting.remove(stage)
                running.append(stage)
            try:
                act(stage)
            finally:
                with changed:
                    running.remove(stage)
                    changed.notify_all()

    threads = [threading.Thread(target=lane, daemon=True) for _ in range(LANES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_stages(stages):
    """Run the stages, and print what becomes of them."""
    clock = Clock()
    alone = [stage for stage in stages if STAGES[stage.name] in ALONE]
    ended = []

    def end(stage):
        ended.append(stage)
        if not (stage.passed or stage.failed or stage.excused):
            stage.fail("no test was run")
        clock.say("[%d/%d] %s: %s in %.0f s (processor %.0f s)"
                  % (len(ended), len(stages), stage.name, result(stage), stage.seconds, stage.processor))
        for text in stage.shown if not children.stopped else ():
            print(text, flush=True)

    def act(stage):
        clock.say("%s begins" % stage.name)
        attempt(stage, STAGES[stage.name])
        if stage not in alone:
            end(stage)
        else:
            clock.say("%s: %s so far; the tests that run alone follow at the end" % (stage.name, result(stage)))

    in_lanes([stage for stage in stages if STAGES[stage.name] is not busy], act)
    for stage in alone:
        clock.say("%s, alone" % stage.name)
        attempt(stage, ALONE[STAGES[stage.name]])
        end(stage)


def summary(stages, seconds):
    """Print the table of the stages, what was skipped and what failed, and the sums. Return the exit status."""
    form = "%-14s%8s%8s%8s%9s%11s"
    print("\n" + form % ("stage", "passed", "failed", "skipped", "seconds", "processor"))
    for stage in stages:
        row = form % (stage.name, stage.passed, len(stage.failed), len(stage.skipped),
                      "%.0f" % stage.seconds, "%.0f" % stage.processor)
        print(row + ("  " + result(stage) if result(stage).startswith("could not") else ""))
    print(form % ("all", "", "", "", "%.0f" % seconds, "%.0f" % sum(stage.processor for stage in stages)))
    for word in ("skipped", "failed"):
        for stage in stages:
            for name in getattr(stage, word):
                print("%s in %s: %s" % (word, stage.name, name))
    failed = sum(len(stage.failed) for stage in stages)
    print("\n%d passed, %d failed, %d skipped"
          % (sum(stage.passed for stage in stages), failed,
             sum(len(stage.skipped) for stage in stages)))
    return 1 if failed else 0


def described(name):
    """The first line of what a stage says of itself; a preset says it in CMakePresets.json."""
    if STAGES[name] is preset:
        with open(os.path.join(ROOT, "CMakePresets.json"), encoding="utf-8") as file:
            return next(one["displayName"] for one in json.load(file)["configurePresets"] if one["name"] == name)
    return STAGES[name].__doc__.split("\n")[0]


def chosen(words):
    """The stages that the command line asks for, in the order of STAGES."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--rest", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("stage", nargs="*")
    args = parser.parse_args(words)
    if unknown := [name for name in args.stage if name not in STAGES]:
        parser.error("unknown stage: %s; the stages are: %s" % (" ".join(unknown), " ".join(STAGES)))
    if args.list:
        print("\n".join("%-14s%s" % (name, described(name)) for name in STAGES))
        sys.exit()
    wanted = STAGES if args.all or args.rest else args.stage or QUICK
    stages = [Stage(name) for name in STAGES if name in wanted and not (args.rest and name in WHOLE)]
    for stage in stages:
        stage.part = REST if args.rest else ALL if args.all or args.stage else QUICK_PART
    return stages


def interrupt(*_):
    raise KeyboardInterrupt


def main(words):
    stages = chosen(words)
    os.makedirs(LOGS, exist_ok=True)
    os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(ROOT, "build", "pycache")
    os.environ.pop("MAKEFLAGS", None)
    for stage in stages:
        open(stage.log, "w", encoding="utf-8").close()
    begun = time.monotonic()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        run_stages(stages)
    except KeyboardInterrupt:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        print("\nstopped: ending what runs", flush=True)
        children.stop()
        return 130
    return summary(stages, time.monotonic() - begun)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
