#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run programs under hf-run.

    run.py --source-dir DIR --work-dir DIR --hf-run PROGRAM --library LIBRARY --programs NAME=PATH,...
           --preloads LIBRARY --cc COMPILER --emulator WORD,... [NAME...]

  conform     what programs expect of mutexes, with glibc's, ours, ours with a profile, ours with validation;
              on all processors, and on one
  profile     the counts of a known program; each way to end; each format
  validate    each fault is reported, once; nothing else is
  inherit     children of fork and exec, `make -j4`
  refuse      what cannot be run is refused in words
  guide       docs/guide/your-program.md quotes what the example prints, apart from numbers and folders

With an emulator, only conform, profile and validate, with the library preloaded into the emulated program. lost.py and
mutants.py use the checks, too.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from checks import Checks, Failed, Skip, arguments, read, start, write  # noqa: E402


class Runner:
    seconds = 600  # of a program; a hang fails
    hf_run = None  # None: set what it sets

    def __init__(self, work, library, programs, emulator=""):
        self.work, self.library = work, library
        self.programs = dict(word.split("=", 1) for word in programs.split(","))
        self.emulator = [word for word in emulator.split(",") if word]
        self.clean = {name: value for name, value in os.environ.items()
                      if not name.startswith("HF_RUN") and name != "LD_PRELOAD"}
        os.makedirs(work, exist_ok=True)

    def start(self, options):
        """What starts a program under hf-run: words, and variables. Options None: with glibc's mutexes."""
        if options is None:
            return self.emulator, {}
        if self.hf_run:
            return [self.hf_run, *options], {}
        variables = {"LD_PRELOAD": self.library}
        for option in options:
            name, _, value = option.lstrip("-").partition("=")
            variable = {"lost-pages": "LOST", "profile-signal": "SIGNAL"}.get(name, name.upper())
            variables["HF_RUN_" + variable] = {"validate": value or "report", "profile-signal": "12"}.get(name, value)
        if not self.emulator:
            return [], variables
        return [*self.emulator, *(word for pair in variables.items() for word in ("-E", "=".join(pair)))], {}

    def run(self, options, program, *words, status=0, before=(), **more):
        """Run a program under hf-run. Returns its standard output and standard error; status None: its status, too."""
        by, variables = self.start(options)
        with subprocess.Popen([*before, *by, self.programs.get(program, program), *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                              env=dict(self.clean, **variables, **more), start_new_session=True) as child:
            try:
                output, errors = child.communicate(timeout=self.seconds)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)  # its children, too, which would keep the pipes open
                raise Failed("a hang\n%s%s" % child.communicate()) from None
        if status is None:
            return child.returncode, output, errors
        if child.returncode != status:
            raise Failed("status %d, expected %d\n%s%s" % (child.returncode, status, output[-2000:], errors[-2000:]))
        return output, errors

    def file(self, name):
        return os.path.join(self.work, name)


def find(text, pattern, what="the output"):
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise Failed("%s has no /%s/:\n%s" % (what, pattern, text[-3000:]))
    return found


def expect(good, why):
    if not good:
        raise Failed(why)


# ---- conform

def conform(runner, options, which="", before=()):
    output, errors = runner.run(options, "conform", which, before=before)
    expect(output == "0 failures\n", output + errors[-2000:])
    if options == ["--validate"]:
        expect("holdfast" not in errors, "validation reports a program without faults:\n" + errors[-3000:])


def opens(runner, options):
    """A library that is opened with RTLD_DEEPBIND has the program's mutexes; it is found by the program's RUNPATH."""
    output, errors = runner.run(options, "opens")
    expect(output == "4000 turns\n", output + errors)
    if options is not None:
        find(errors, "^hf-run: librun_plugged.so: opened without RTLD_DEEPBIND", "standard error")


def system_calls(runner, source):
    """Beside those that a program makes with glibc's mutexes, waiting needs only those that the guide lists."""
    if not shutil.which("strace"):
        raise Skip("strace is missing")
    guide = read(source, "docs", "guide", "your-program.md")
    listed = re.findall("`(\\w+)`", find(guide, r"Threads that wait use the system calls ([^.]*)\.", "the guide").group(1))
    made = []
    for variables in ({}, {"LD_PRELOAD": runner.library}):
        path = runner.file("strace")
        runner.run(None, "conform", "windows", before=("strace", "-f", "-o", path, *sum(
            (["-E", "=".join(pair)] for pair in variables.items()), [])))
        made.append(set(re.findall(r"^\d+ +(\w+)\(", read(path), re.MULTILINE)))
    more = made[1] - made[0] - set(listed) - {"sched_getaffinity"}  # that one before main()
    expect("futex" in made[1] and not more, "also made: %s" % more)


def all_conform(checks, runner, source):
    modes = [("glibc", None), ("ours", []), ("profile", ["--profile"]), ("validate", ["--validate"])]
    pins = [("", ())]
    if runner.emulator:
        checks.skip("conform.fork", "qemu 7 crashes in the forked child of a program with threads")
    elif shutil.which("taskset"):
        pins.append((".one_processor", ("taskset", "-c", str(min(os.sched_getaffinity(0))))))
    else:
        checks.skip("conform.one_processor", "taskset is missing")
    for pin, before in pins:
        for name, options in modes:
            checks.attempt("conform.%s%s" % (name, pin), conform, runner, options, "emulated" if runner.emulator else "", before)
            if name != "validate":  # it reports the unlocks
                checks.attempt("conform.handoff.%s%s" % (name, pin), conform, runner, options, "handoff", before)
    if runner.emulator:
        return
    for name, options in modes:
        checks.attempt("conform.opens." + name, opens, runner, options)
    checks.attempt("conform.system_calls", system_calls, runner, source)


# ---- profile

def profiled(runner, how, status=7):
    """Run counts.c. Returns the profile, all of which are sorted by how long the rows were waited for."""
    path = runner.file(how)
    for name in (path, path + ".json"):
        if os.path.exists(name):
            os.remove(name)
    runner.run(["--profile=" + path, "--profile-signal=USR2"], "counts", how, status=status)
    expect(os.path.exists(path + ".json"), "there is no profile")
    profile = json.loads(read(path + ".json"))
    waits = [row["wait_ns"] for row in profile["rows"]]
    expect(waits == sorted(waits, reverse=True), "the rows are not sorted by how long they were waited for: %s" % waits)
    return profile


def rows_of(profile, object_name):
    """The rows of a static mutex. Which row is the first depends on the machine: it is the one that was waited for longest."""
    return [row for row in profile["rows"] if object_name in row["object"]]


def trace_of(runner, how):
    return json.loads(read(runner.file(how + ".trace.json")))["traceEvents"]


def exact(runner):
    """Four threads take `known` 1000 times each, and `made` as often; two more take `known` once."""
    profile = profiled(runner, "exit")
    rows = profile["rows"]
    known = rows_of(profile, "known")
    made = [row for row in rows if row["objects"] == 3]
    recursive = [row for row in rows if row.get("taken") == 1]
    expect(known and known[0]["taken"] == 4002, "known: %s" % known)
    expect(made and made[0]["taken"] == 4000, "made: %s" % made)
    expect(recursive, "the recursive one: %s" % rows)
    expect(known[0]["contended"] >= 1 and known[0]["wait_longest_ns"] >= 1000000, "waits: %s" % known)
    expect(known[0]["held_longest_ns"] >= 19000000, "held: %s" % known)
    expect(known[0]["owner_changes"] >= 5, "owners: %s" % known)
    expect(any("wait_once" in frame for site in known[0]["waited_at"] for frame in site["stack"]),
           "no stack has wait_once: %s" % known[0]["waited_at"])
    expect("main" in str(made[0]["stack"]), "made by: %s" % made[0]["stack"])
    conds = [row for row in rows if row["kind"] == "condition variable"]
    expect(conds and conds[0]["signals"] == 40 and conds[0]["unheard"] == 40, "signals: %s" % conds)
    text = read(runner.file("exit"))
    find(text, r"threads waited for mutexes for [\d.]+ % of their time")
    find(text, r"waited \d+\.\d+ ms, \d+ times?, at wait_once < work_in_threads < main .*\(.*counts\+0x")
    trace = trace_of(runner, "exit")
    waits = [event for event in trace if event.get("name") == "wait for known"]
    expect(waits and max(wait["dur"] for wait in waits) >= 1000 and {"ts", "tid", "pid"} <= set(waits[0]),
           "trace: %s" % trace[:5])


def relock(runner):
    """The wait to lock again after a signal is the mutex's, not the condition variable's."""
    rows = rows_of(profiled(runner, "relock"), "relocked")
    expect(rows and rows[0]["contended"] >= 1 and rows[0]["wait_longest_ns"] >= 1000000, "mutex: %s" % rows)
    expect(any("wait_for_signal" in frame for site in rows[0]["waited_at"] for frame in site["stack"]),
           "no stack has wait_for_signal: %s" % rows[0]["waited_at"])
    trace = trace_of(runner, "relock")
    again = [event for event in trace if event.get("name") == "wait for relocked"]
    before = [event for event in trace if event.get("name") == "wait for signalled"]
    expect(again and all(event["ts"] + event["dur"] <= again[-1]["ts"] + 1 for event in before),
           "the waits overlap: %s %s" % (before, again))


def gave_up(runner):
    """Waits that end without the mutex are waits, too."""
    rows = rows_of(profiled(runner, "timed"), "relocked")
    expect(rows and (rows[0]["taken"], rows[0]["contended"], rows[0].get("timed_out")) == (1, 3, 3), "mutex: %s" % rows)
    expect(rows[0]["wait_ns"] > 0 and "case_timed" in str(rows[0]["waited_at"]), "mutex: %s" % rows)


def each_kind(runner):
    """
    What glibc waits for is in the same table, and each kind is waited for once in case_waits(); for the barrier wait both
    threads, of which the other one is not there.
    """
    found = {}
    for row in profiled(runner, "waits")["rows"]:
        waits = sum(site.get("waits", 0) for site in row["waited_at"] or [row] if "case_waits" in site["stack"][0])
        if waits:
            found[row["kind"]] = found.get(row["kind"], 0) + waits
    kinds = ["read lock", "write lock", "semaphore", "barrier", "once", "futex", "join"]
    expect(found == dict.fromkeys(kinds, 1), "waits: %s" % found)


def elsewhere(runner):
    """
    A thread that sleeps is neither running nor in a wait of the table, and the parts are the whole; on a busy machine they may be
    more, since a thread that was woken, and is not running yet, is both ready and in its wait.
    """
    profile = profiled(runner, "sleeps")
    known = profile["running_ns"] + profile["waiting_ns"] + profile["ready_ns"]
    expect(profile["elsewhere_ns"] == max(0, profile["threads_ns"] - known) and profile["threads"] == 7, "times: %s" % {
        name: value for name, value in profile.items() if isinstance(value, int)})


def many(runner):
    """The tables grow: each of 10,000 mutexes has a row of its own."""
    rows = rows_of(profiled(runner, "many"), "many")
    expect(len(rows) == 10000 and all(row.get("taken") == 2 for row in rows), "%d rows: %s" % (len(rows), rows[:3]))


def wrapped(runner):
    """A stack differs from one that differs only further out, at the same addresses."""
    rows = [row for row in profiled(runner, "wrapped")["rows"] if "make_wrapped" in str(row["stack"][:1])]
    found = sorted((row["stack"][1].partition("+")[0], row["objects"], row.get("taken")) for row in rows)
    expect(found == [("make_first", 10, 10), ("make_second", 10, 10)], "places: %s" % found)


def writes(runner, what):
    """A profile is written on request, to a pipe that is full, or has no reader."""
    runner.run(["--profile", "--profile-signal=USR2"], "counts", what, status=7)


def deleted(runner):
    """The file of a program that runs is removed, as by an upgrade: its names stay."""
    profiled(runner, "deleted")
    find(read(runner.file("deleted")), r"at wait_once < work_in_threads < main", "the profile")


def own_functions(runner, options):
    """Neither a stack nor the printing calls the program's malloc() or fstat(), or waits for libgcc's mutex."""
    runner.run(options, "own", status=7)


def debug_link(runner):
    """A stripped program's names come from the debug file that it links to, but not from another build's."""
    tools = [shutil.which(name) for name in ("objcopy", "strip")]
    if None in tools:
        raise Skip("objcopy or strip is missing")
    folder = runner.file("debug_link")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, ".debug"))
    program, debug = (os.path.join(folder, name) for name in ("linked", "linked.debug"))
    shutil.copy(runner.programs["counts"], program)
    for command in ([tools[0], "--only-keep-debug", program, debug], [tools[1], program],
                    [tools[0], "--add-gnu-debuglink=" + debug, program]):
        subprocess.run(command, check=True)

    def has_names():
        _, errors = runner.run(["--profile"], program, status=7)
        return "at wait_once < work_in_threads < main" in errors

    expect(has_names(), "the debug file beside the program was not read")
    os.rename(debug, os.path.join(folder, ".debug", "linked.debug"))
    expect(has_names(), "the debug file in .debug was not read")
    with open(os.path.join(folder, ".debug", "linked.debug"), "r+b") as file:
        file.seek(file.read().index(b"\x14\0\0\0\x03\0\0\0GNU\0") + 16)
        file.write(b"another build")
    expect(not has_names(), "the debug file is of another build, and was read")


def not_writable(runner):
    """hf-run reports that before the program runs, not at its end."""
    output, errors = runner.run(["--profile=/nonexistent/file"], "shop", status=125)
    expect(not output and "/nonexistent/file can't be written: No such file" in errors, output + errors)


def ends(runner, how, status=7):
    taken = [row.get("taken") for row in rows_of(profiled(runner, how, status), "known")]
    find(read(runner.file(how)), r"^holdfast: profile of process", "the profile")
    expect(taken == [4002], "known was taken %s times before %s" % (taken, how))


def child(runner):
    """The child of a fork has a profile of its own, which begins with nothing."""
    for name in os.listdir(runner.work):
        if name.startswith("fork"):
            os.remove(runner.file(name))
    ends(runner, "fork")
    names = [name for name in os.listdir(runner.work) if re.fullmatch(r"fork\.\d+\.json", name)]
    expect(len(names) == 1, "the child's profiles: %s" % names)
    taken = [row.get("taken") for row in rows_of(json.loads(read(runner.file(names[0]))), "known")]
    expect(taken == [4002], "%s: known was taken %s times" % (names[0], taken))


def without_mutexes(runner):
    _, errors = runner.run(["--profile"], "/bin/true")
    find(errors, r"no mutex of pthread was locked")
    find(errors, r"of the threads' time .* % was running, 0\.0 % in the waits below")


def vfork(runner):
    """The child of a vfork must not print its parent's profile, nor end it."""
    _, errors = runner.run(["--profile"], "counts", "vfork", status=7)
    expect(errors.count("profile of process") == 1, errors)


def all_profile(checks, runner):
    for name, function in (("exact", exact), ("relock", relock), ("timed_out", gave_up), ("each_kind", each_kind),
                           ("elsewhere", elsewhere), ("many", many), ("wrapped", wrapped)):
        checks.attempt("profile." + name, function, runner)
    for how in ("_exit", "quick_exit"):
        checks.attempt("profile." + how, ends, runner, how)
    if runner.emulator:
        return
    for name, function in (("debug_link", debug_link), ("not_writable", not_writable), ("deleted", deleted), ("fork", child),
                           ("vfork", vfork), ("without_mutexes", without_mutexes)):
        checks.attempt("profile." + name, function, runner)
    for how, status in (("kill", -signal.SIGTERM), ("interrupt", -signal.SIGINT), ("request", -signal.SIGKILL), ("small", 7),
                        ("begins", 7)):
        checks.attempt("profile." + how, ends, runner, how, status)
    for what in ("closed_pipe", "full_pipe"):
        checks.attempt("profile." + what, writes, runner, what)
    for option in ("--profile", "--validate"):
        checks.attempt("profile.own_functions." + option.strip("-"), own_functions, runner, [option])
    checks.attempt("profile.alternate_stack", runner.run, ["--profile"], "faults", "alternate")
    checks.attempt("profile.place_of_another", runner.run, ["--profile"], "faults", "another")


# ---- validate

# What faults.c must cause: the reports for each of its arguments, in their order.
ENDS = "held by a thread that ends"
ANOTHER = "unlock by a thread that does not hold it; it is unlocked"
FAULTS = {
    "nothing": [], "reuse": [], "pairs": [], "closed": [], "alternate": [], "another": [],
    "order": ["order inverted"], "recursion": ["recursion"],
    "owner": [ANOTHER], "end": [ENDS], "unheld": ["unlock of a lock that nobody holds"],
    "many": ["order inverted"], "around": ["order inverted"], "guarded": [], "once": ["order inverted"],
    "gate": ["recursion", ANOTHER], "limit": ["recursion"],
    "rwlock": ["write-locked by a thread that reads it", "order inverted", ENDS],
    "unmapped": [ENDS], "zeroed": [ENDS],
}


def fault(runner, what):
    if runner.emulator and what == "recursion":
        raise Skip("qemu has threads of its own, so hf-run does not grant a recursion")
    output, errors = runner.run(["--validate"], "faults", what)
    expect(output == "done\n", "the program did not go on: " + output)
    found = re.findall(r"^holdfast: (lock: .*)", errors, re.MULTILINE)
    expect(len(found) == len(FAULTS[what]) and all(text in line for text, line in zip(FAULTS[what], found)),
           "expected %s, found:\n%s" % (FAULTS[what], errors))
    if what == "order":
        find(errors, r"locking .*made at wrapped_init\+.*\n.*by make_one\+")
        find(errors, r"while holding .*made at wrapped_init\+.*\n.*by start_thread_two\+")
        find(errors, r"the other order was taken\n.*at take_both\+.*\n.*by case_order\+")
    if what == "around":
        find(errors, r"the other order was taken\n.*at take_both\+(.*\n)+?.*  then\n.*at take_under\+")
    expect("too many pairs" not in errors, errors)


def before_main(runner):
    """What a constructor locks before anything is watched is no misuse later."""
    output, errors = runner.run(["--validate"], "late")
    expect(output == "done\n" and "holdfast" not in errors, output + errors)


def status_of_faults(runner):
    _, errors = runner.run(["--validate=fail"], "faults", "order", status=99)
    find(errors, r"^holdfast: 1 report$")
    runner.run(["--validate=fail"], "faults", "nothing")


def all_validate(checks, runner):
    for what in FAULTS:
        checks.attempt("validate." + what, fault, runner, what)
    if not runner.emulator:
        checks.attempt("validate.before_main", before_main, runner)
    checks.attempt("validate.fail", status_of_faults, runner)


# ---- children

def exec_inherits(runner):
    output, _ = runner.run([], "/bin/sh", "-c", "cat /proc/self/maps; exit 5", status=5)
    find(output, re.escape(os.path.basename(runner.library)), "the maps of a child")


def starts_lightly(runner):
    """The unwinder is loaded only for a profile, or for validation: each process that a make starts would pay for it."""
    maps = ["/bin/cat", "/proc/self/maps"]
    output, _ = runner.run([], *maps)
    expect("libgcc_s" not in output, "the unwinder is loaded though nothing is watched:\n" + output)
    for option in ("--profile", "--validate"):
        output, _ = runner.run([option], *maps)
        find(output, "libgcc_s", "with %s, the maps" % option)


def make_inherits(runner):
    if not shutil.which("make"):
        raise Skip("make is missing")
    path = write(runner.file("Makefile"), "all: a b c d\na b c d:\n\t@%s order\n" % runner.programs["faults"])
    output, errors = runner.run(["--validate", "--"], "make", "-s", "-j4", "-f", path)
    expect(output.count("done") == 4 and errors.count("order inverted") == 4, output + errors)


def by_shell(runner):
    """A script that names no interpreter is one of the shell's, as for execvp()."""
    path = write(runner.file("script_of_shell"), "echo $0 $1 $2 $#; cat /proc/self/maps\n")
    os.chmod(path, 0o755)
    output, _ = runner.run([], path, "a", "b c")
    expect(output.startswith(path + " a b c 2\n"), output)
    find(output, re.escape(os.path.basename(runner.library)), "the maps of a child")


def by_env(runner):
    """A script that is found in PATH, as its interpreter is."""
    path = write(runner.file("script_of_env"), "#!/usr/bin/env sh\necho $0 $1 $2 $#\n")
    os.chmod(path, 0o755)
    output, _ = runner.run([], "script_of_env", "-c", "exit 3", PATH=runner.work + ":" + os.environ["PATH"])
    expect(output == path + " -c exit 3 2\n", output)


def keeps_preloads(runner):
    output, _ = runner.run([], "/bin/sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD="libm.so.6")
    expect(output.strip() == os.path.realpath(runner.library) + ":libm.so.6", output)


INHERIT = {"exec": exec_inherits, "light": starts_lightly, "by_shell": by_shell, "by_env": by_env, "make": make_inherits,
           "preloads": keeps_preloads}


# ---- refusals

def refused(runner, path, why, status=125, **more):
    _, errors = runner.run([], path, status=status, **more)
    find(errors, why, "the refusal")


def patched(runner, name, old, new):
    """A copy of the program, with some bytes replaced."""
    with open(runner.programs["counts"], "rb") as file:
        image = file.read()
    if len(old) != len(new) or old not in image:
        raise Skip("this program does not have %r" % old)
    path = runner.file(name)
    with open(path, "wb") as file:
        file.write(image.replace(old, new, 1))
    os.chmod(path, 0o755)
    return path


def interpreter(path):
    with open(path, "rb") as file:
        return re.search(rb"/lib[^\0]*/ld-linux[^\0]*\0", file.read()).group()


def refuse_patched(runner, name):
    """A copy of the program whose loader, note or machine is another one's."""
    loader = interpreter(runner.programs["counts"])
    with open(runner.programs["counts"], "rb") as file:
        header = file.read(20)
    old, new, why = {
        "musl": (loader, b"/lib/ld-musl-x.so.1".ljust(len(loader), b"\0"), "uses musl"),
        "other_library": (loader, b"/lib/ld-other.so.1".ljust(len(loader), b"\0"), "another C library than glibc"),
        "go": (b"\x14\0\0\0\x03\0\0\0GNU\0", b"\x14\0\0\0\x04\0\0\0Go\0\0", "written in Go"),
        "machine": (header, header[:18] + b"\xf3\0", "is a program for another processor")}[name]
    refused(runner, patched(runner, name, old, new), why)


def refuse_static(runner, options):
    path = runner.file("static")
    built = subprocess.run([options.cc, "-static", "-x", "c", "-", "-o", path], input="int main(void){return 0;}",
                           text=True, capture_output=True, check=False)
    if built.returncode:
        raise Skip("no static C library")
    refused(runner, path, "statically linked")


def refuse_sanitizer(runner, options):
    """A program that needs a library called libtsan.so.2, and one that has a sanitizer's function."""
    stub = runner.file("libtsan.so.2")
    path = runner.file("sanitized")
    for command, text in (([options.cc, "-shared", "-Wl,-soname,libtsan.so.2", "-o", stub], "int tsan;"),
                          ([options.cc, "-o", path, stub, "-Wl,--no-as-needed"],
                           "extern int tsan; int main(void){return tsan;}"),
                          ([options.cc, "-rdynamic", "-o", path + "2"],
                           "int __asan_init(void){return 0;} int main(void){return 0;}")):
        subprocess.run([*command[:1], "-x", "c", "-", "-x", "none", *command[1:]], input=text, text=True, check=True)
    refused(runner, path, r"sanitizer \(libtsan.so.2\)")
    refused(runner, path + "2", r"sanitizer \(__asan_init\)")


def refuse_loader(runner, _):
    refused(runner, interpreter(runner.programs["counts"]).rstrip(b"\0").decode(), "is the loader")


def refuse_setuid(runner, _):
    """As root: a program of another user. As another user: one of root's."""
    if os.geteuid() == 0:
        path = shutil.copy(runner.programs["counts"], runner.file("setuid"))
        os.chown(path, 65534, 65534)
        os.chmod(path, 0o4755)
    else:
        path = shutil.which("su") or shutil.which("passwd")
        if not path or not os.stat(path).st_mode & 0o4000:
            raise Skip("no setuid program")
    refused(runner, path, "setuid")


def refuse_layout(runner, options):
    refused(runner, runner.programs["counts"], "pthread_cond_t of this C library .* compile hf-run here",
            LD_PRELOAD=options.preloads)


def refuse_words(runner, _):
    refused(runner, "/nonexistent", "No such file", status=127)
    refused(runner, "nonexistent-program", "not found", status=127)
    refused(runner, "/etc/passwd", "ermission denied", status=126)
    for options, why in ((["--profile-signal=USR2"], "is for --profile"), (["--profile-signal=KILL"], "is not a signal"),
                         (["--profile-signal=9"], "is not a signal")):
        _, errors = runner.run(options, "counts", status=125)
        find(errors, why, "the refusal")
    _, errors = runner.run(["--unknown"], "counts", status=125)
    find(errors, "Usage: hf-run")
    output, _ = runner.run(["--help"], "counts")
    find(output, "Usage: hf-run")


REFUSALS = {"static": refuse_static, "sanitizer": refuse_sanitizer, "loader": refuse_loader, "setuid": refuse_setuid,
            "layout": refuse_layout, "words": refuse_words}


# ---- the guide

def masked(text):
    """Without what differs from run to run: numbers, the folder, the width of columns."""
    text = re.sub(r"/\S*/(run_)?shop", "SHOP", text)
    return [re.sub(r"\s+", " ", re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "N", line)).strip() for line in text.splitlines()]


# Without the debug files of the C library, as on most machines.
HIDDEN = ("unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /usr/lib/debug && exec "$@"', "sh")


def quoted(runner, source, options, before=()):
    guide = read(source, "docs", "guide", "your-program.md")
    block = find(guide, r"```console\n\$ hf-run %s ./shop\n([^`]*)```" % re.escape(options), "the guide").group(1)
    end = time.monotonic() + runner.seconds / 4
    output, errors = runner.run([options], "shop", before=before)
    # On a busy machine a thread may come too late: the lock is then held for less than half of the run, or waited for once.
    while (" % of the run" in block and " % of the run" not in errors or " 1 time," in errors) and time.monotonic() < end:
        output, errors = runner.run([options], "shop", before=before)
    expect(masked(block) == masked(output + errors), "the guide has\n%s\nbut the program prints\n%s%s"
           % (block, output, errors))


def main():
    options = arguments(__doc__, "source-dir", "work-dir", "hf-run", "library", "programs", "preloads", "cc",
                        names="which", emulator={"default": ""})
    checks, runner = Checks(), Runner(options.work_dir, options.library, options.programs, options.emulator)
    runner.hf_run = None if runner.emulator else options.hf_run  # hf-run would start this processor's own programs
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a shell's background process ignores some
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    wanted = options.which or ["conform", "profile", "validate", "inherit", "refuse", "guide"]
    if "conform" in wanted:
        all_conform(checks, runner, options.source_dir)
    if "profile" in wanted:
        all_profile(checks, runner)
    if "validate" in wanted:
        all_validate(checks, runner)
    if runner.emulator:
        return checks.end()
    if "inherit" in wanted:
        for name, function in INHERIT.items():
            checks.attempt("inherit." + name, function, runner)
    if "refuse" in wanted:
        for name in ("musl", "other_library", "go", "machine"):
            checks.attempt("refuse." + name, refuse_patched, runner, name)
        for name, function in REFUSALS.items():
            checks.attempt("refuse." + name, function, runner, options)
    if "guide" in wanted:
        for option in ("--profile", "--validate"):
            name = "guide." + option.strip("-")
            checks.attempt(name, quoted, runner, options.source_dir, option)
            if subprocess.run([*HIDDEN, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
                checks.skip(name + ".no_debug_files", "may not mount here, or there are no debug files")
            else:
                checks.attempt(name + ".no_debug_files", quoted, runner, options.source_dir, option, HIDDEN)
    return checks.end()


if __name__ == "__main__":
    start(main)
