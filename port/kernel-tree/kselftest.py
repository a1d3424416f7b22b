#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run programs of the kernel's own kselftest on the stock kernel and on the one with Holdfast, and compare the results.

    kselftest.py [KERNEL]

KERNEL is 6.1 or 6.12. Fetches the kernel's source package once more, for tools/testing/selftests; compiles PROGRAMS,
statically, against this system's headers; builds the stock kernel and ours, with CONFIG, and boots both with the programs.
Prints for each program its exit status and how many of its tests said ok, not ok, and skipped, on both kernels. A program
fails if its lines differ: exit status, the result of any test. That a test fails on both kernels alike is no fault: then
the configuration or the small user space lacks something. The last line is "N passed, N failed", of programs. Exits with 1
if anything failed, with 77 if a program or package is missing.
"""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import run  # noqa: E402
from debian import KERNELS, Unavailable, unpack  # noqa: E402
from run import BUILD, say  # noqa: E402

# Options beyond kernel.config, for these programs and for kunit.py.
CONFIG = ("KUNIT=m", "KUNIT_DEFAULT_ENABLED", "POSIX_TIMERS", "EPOLL", "EVENTFD", "SIGNALFD", "TIMERFD", "ADVISE_SYSCALLS",
          "FILE_LOCKING", "PROC_PAGE_MONITOR")
LIMIT = 300  # seconds for one program, which takes a few: it only ends what hangs

# folder: (program, more sources, arguments). They copy to and from user memory, fault, look up paths, and count references
# of files, dentries and address spaces; the futexes and the epoll are locks and counts of tasks.
MM = [("map_fixed_noreplace", "", ""), ("map_populate", "", ""), ("mlock2-tests", "", ""), ("mremap_dontunmap", "", ""),
      ("on-fault-limit", "", ""), ("mrelease_test", "", ""),
      ("madv_populate", "vm_util.c", "")]
PROGRAMS = {
    "vm": MM,
    "mm": MM,  # its name since 6.3
    "futex/functional": [(name, "", "") for name in
                         "futex_wait futex_wait_timeout futex_wait_wouldblock futex_wait_uninitialized_heap "
                         "futex_wait_private_mapped_file futex_requeue futex_requeue_pi futex_requeue_pi_mismatched_ops "
                         "futex_requeue_pi_signal_restart".split()] + [("futex_requeue_pi", "", "-b -l -t 500000")],
    "filesystems/epoll": [("epoll_wakeup_test", "", "")],
    "filesystems/fat": [("rename_exchange", "", "a b")],
    "splice": [("default_file_splice_read", "", ""), ("splice_read", "", "a 100 | cat"),
               ("splice_read", "", "/proc/cmdline 100 | cat"), ("splice_read", "", "/proc/self/limits 100 | cat")],
    "openat2": [(name, "helpers.c", "") for name in ("openat2_test", "resolve_test")],
    "memfd": [("memfd_test", "common.c", "")],
    "proc": [(name, "", "") for name in
             "fd-001-lookup fd-002-posix-eq fd-003-kthread proc-loadavg-001 proc-multiple-procfs proc-pid-vm "
             "proc-self-map-files-001 proc-self-map-files-002 proc-self-syscall proc-self-wchan proc-subset-pid proc-tid0 "
             "proc-uptime-001 read self setns-dcache thread-self".split()],
}
# These wait for a thread for some milliseconds only, which is too short on a busy host: up to three times, until they pass.
TIMED = ("futex", "filesystems/epoll")


class Guest(run.Guest):
    """A kernel with CONFIG."""

    def __init__(self, kernel, overlay):
        super().__init__(kernel, overlay, CONFIG)

    def folder(self):
        return super().folder().replace("-debug", "-tests")


def sources(kernel):
    """Downloads and unpacks the selftests, if that has not been done. Returns their folder."""
    folder = os.path.join(BUILD, kernel + "-selftests")
    top = os.path.join(folder, "linux-source-" + kernel, "tools", "testing", "selftests")
    if not os.path.exists(os.path.join(folder, "ready")):
        say("fetching the selftests of Debian's Linux %s (140 MB) ..." % kernel)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        unpack(BUILD, folder, ["linux-source-" + kernel], KERNELS[kernel])
        archive = glob.glob(os.path.join(folder, "*", "usr", "src", "linux-source-*.tar.xz"))[0]
        subprocess.run(["tar", "-xJf", archive, "-C", folder, "--wildcards",
                        "linux-source-%s/tools/testing/selftests/*" % kernel], check=True)
        os.remove(archive)
        open(os.path.join(folder, "ready"), "w", encoding="utf-8").close()
    return top


def programs(kernel, out):
    """Compiles the programs. Returns ({name in the guest: path}, [(label, name, arguments)], [those that do not build])."""
    top, files, calls, missing = sources(kernel), {}, [], []
    os.makedirs(out, exist_ok=True)
    for folder, entries in PROGRAMS.items():
        where = os.path.join(top, folder)
        for name, more, arguments in entries if os.path.isdir(where) else ():
            target = "kselftest_" + name
            path = os.path.join(out, target)
            if target not in files and name not in missing:
                command = ["gcc", "-O2", "-w", "-s", "-D_GNU_SOURCE", "-static", "-pthread", "-I.", "-I..", "-I../include",
                           "-I../..", "-I" + top, "-o", path, name + ".c", *more.split()]
                done = subprocess.run(command, cwd=where, stderr=subprocess.PIPE, text=True, check=False)
                if done.returncode:
                    say("%s/%s does not build here: %s" % (folder, name, done.stderr.splitlines()[:1]))
                    missing.append(name)
                    continue
                files[target] = path
            if target in files:
                calls.append((" ".join(["%s/%s" % (folder, name), arguments]).strip(), target, arguments))
    return files, calls, missing


def script(calls):
    """What the guest's shell does: each program's output as lines of the log."""
    lines = ["b=/bin/busybox; $b --install -s /bin; PATH=/bin", "mkdir -p /tmp /mnt",
             "mount -t tmpfs t /t; mount -t tmpfs t /tmp; cd /t"]
    for number, (label, target, arguments) in enumerate(calls):
        lines += ["for attempt in %s; do" % ("1 2 3" if label.startswith(TIMED) else "1"),
                  "rm -rf /t/*; echo 123456789 > a; echo 2 > b",
                  "timeout -s KILL %d /%s %s > /out 2>&1 < /dev/null; status=$?" % (LIMIT, target, arguments),
                  "[ $status = 0 ] && break; done; echo KSELFTEST %d exit $status" % number,
                  'while read -r line; do echo "KSELFTEST %d: $line"; done < /out' % number]
    return "\n".join([*lines, "echo KSELFTEST END"]) + "\n"


def results(lines):
    """The log's lines of each program, without what differs from run to run: {number: [line, ...]}."""
    found = collections.defaultdict(list)
    for line in lines:
        if match := re.match(r"KSELFTEST (\d+)(?:: | )(.*)", line):
            found[int(match[1])].append(match[2])
    return found


def judged(label, lines):
    """The exit status and the results of the tests, as they are compared; of a program that copies, all that it wrote."""
    if label.endswith("| cat"):
        return lines
    kept = []
    for line in lines:
        if re.match(r"exit \d+$", line):
            kept.append(line)
        elif match := re.match(r"\s*(ok|not ok|\[OK\]|\[FAIL\]|\[PASS\]|\[SKIP\]|\[RUN\]|# Totals)\b(.*)", line):
            kept.append(re.sub(r"0x[0-9a-f]+|\d+(\.\d+)? *(ms|us|ns|s)\b|(?<=/proc/)\d+", "#", match[0].strip()))
    return kept


def summary(kept):
    text = " ".join(line for line in kept if line.startswith("exit"))
    good = sum(line.startswith("ok") and "SKIP" not in line for line in kept)
    bad = sum(line.startswith("not ok") and "SKIP" not in line for line in kept)
    skipped = sum("SKIP" in line for line in kept)
    return "%s, %d ok, %d not ok, %d skipped" % (text or "no exit", good, bad, skipped)


def boot(label, guest, files, calls):
    """Boots a kernel with the programs. Returns {number: lines}."""
    folder = os.path.join(BUILD, "guests", "kselftest-" + label)
    os.makedirs(folder, exist_ok=True)
    image = shutil.copy(run.build(guest), folder)
    path = os.path.join(folder, "initramfs.gz")
    init = os.path.join(HERE, "init")
    run.initramfs(path, os.path.join(BUILD, guest.kernel, "amd64"),
                  {"init": init, "kselftest": script(calls).encode(), **files})
    lines, faults = run.boot("kselftest-" + label, image, path, run.SMP, ["kselftest"])
    complaints = [line for line in lines if not line.startswith("KSELFTEST") and run.COMPLAINT.search(line)]
    for line in faults + complaints[:10]:
        say("    %s: %s" % (label, line))
    return results(lines), bool(faults or complaints) or "KSELFTEST END" not in lines


def main(kernel="6.1"):
    if missing := [name for name in ("make", "gcc", "flex", "bison", "bc", "xz", "qemu-system-x86_64", "apt-get", "dpkg-deb")
                   if not shutil.which(name)]:
        say("SKIPPED kselftest: not installed: " + " ".join(missing))
        return run.CANT_RUN
    os.makedirs(BUILD, exist_ok=True)
    total = run.runner.Sum()
    try:
        files, calls, absent = programs(kernel, os.path.join(BUILD, "guests", "kselftest-programs-" + kernel))
        stock, fault = boot("stock", Guest(kernel, False), files, calls)
        if fault:
            say("the stock kernel complained or did not end")
        ours, fault = boot("holdfast", Guest(kernel, True), files, calls)
        if fault:
            total.fault("holdfast", "the kernel complained or did not end")
    except Unavailable as why:
        say("SKIPPED kselftest: %s" % why)
        return run.CANT_RUN
    for number, (label, _, _) in enumerate(calls):
        one, other = judged(label, stock[number]), judged(label, ours[number])
        if one and one == other:
            say("same    %-55s %s" % (label, summary(one)))
            total.passed += 1
        else:
            say("DIFFERS %-55s stock: %s; ours: %s" % (label, summary(one), summary(other)))
            for line in sorted((collections.Counter(one) - collections.Counter(other)).elements()):
                say("    only stock: " + line)
            for line in sorted((collections.Counter(other) - collections.Counter(one)).elements()):
                say("    only ours:  " + line)
            total.fault(label, "differs")
    say("%d programs that do not build here: %s" % (len(absent), " ".join(absent) or "none"))
    return total.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
