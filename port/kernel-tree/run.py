#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build Debian's kernel with Holdfast's refcount and lockref in place of its own, boot it, and judge it.

    run.py              6.1 with Holdfast, and mutants: what `make test` runs
    run.py --all        that, and all other guests; then the table of instructions
    run.py GUEST...     these
    run.py --into TREE  put Holdfast into a kernel's tree of your own, and do nothing else

Needs an x86-64 Debian. The sources of Debian 12's kernel, and busybox, come from Debian's mirror as packages and are
unpacked below build/kernel-tree; nothing is installed and nothing needs root.
A guest is good if each of LKDTM's REFCOUNT cases gives the verdict of the table below, with one warning; if storm.c
ends well on tmpfs and on ext2, each is unmounted cleanly, and the kernel complains of nothing else.
A mutant must be caught, in the way that is named beside it.
The last line is "N passed, N failed". Exits with 1 if anything failed, with 77 if a program or a package can't be had.
"""
import glob
import gzip
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

import runner  # noqa: E402
from debian import Unavailable, apt, cpio_entry  # noqa: E402

BUILD = os.path.join(ROOT, "build", "kernel-tree")
KERNELS = {"6.1": "bookworm"}  # Debian's release
LIMIT = 900  # seconds for one guest: one minute of two processors
STORM = 3  # seconds of each of the three storms
JOBS = str(os.cpu_count() or 1)

# What the kernel's own files are replaced by, and what of Holdfast the overlay needs.
REPLACED = ("include/linux/refcount.h", "include/linux/lockref.h", "lib/refcount.c", "lib/lockref.c")
PARTS = (("include/holdfast", "include/holdfast"), ("src", "lib/holdfast/src"),
         ("port/kernel/seam.c", "lib/holdfast/port/kernel/seam.c"))

# Drivers whose sources are not compiled: their Makefiles and Kconfig files must stay.
NO_SOURCES = ("accessibility ata auxdisplay bluetooth bus clk comedi counter cpufreq crypto cxl devfreq dma edac "
              "extcon firewire fpga fsi gnss gpio gpu greybus hid hsi hv hwmon hwtracing i2c i3c iio infiniband input "
              "interconnect leds mailbox md media memory memstick message mfd mmc mtd mux nfc ntb nvdimm nvme of opp "
              "parport pcmcia perf phy pinctrl platform power powercap pwm rapidio ras regulator remoteproc reset "
              "rpmsg s390 scsi siox slimbus soc soundwire spi spmi ssb staging target tc tee thunderbolt ufs usb vfio "
              "vhost video virt w1 watchdog xen").split()
NOT_UNPACKED = ["arch/[a-wyz]*", "Documentation/[a-zA-JL-Z]*", "tools/testing/*", "tools/perf/*", "tools/power/*",
                "samples/*.[ch]", "sound/*.[ch]", "drivers/net/[!l]*/*.[ch]", "drivers/misc/[!l]*/*.[ch]"]
# crypto/Kconfig reads one in each of these, also for other processors.
CRYPTO = "arm arm64 loongarch mips powerpc riscv s390 sparc".split()

# LKDTM's cases: what Holdfast reports, and LKDTM's verdicts, which are those of the kernel's own refcount_t.
OVERFLOW = ("refcount: overflow; saturated", ["Overflow detected: saturated"])
OVERFLOW_NOT_ZERO = ("refcount: overflow in not_zero; saturated", ["Overflow detected: saturated"])
NEGATIVE = ("refcount: underflow; use after free", ["Negative detected: saturated"])
ON_ZERO = ("refcount: addition on 0; use after free",
           ["Good: zero detected", "Correctly stayed at zero", "Zero detected: saturated"])
SATURATED = ("refcount: saturated already", ["Saturation detected: still saturated"])
CASES = {
    "REFCOUNT_INC_OVERFLOW": OVERFLOW,
    "REFCOUNT_ADD_OVERFLOW": OVERFLOW,
    "REFCOUNT_INC_NOT_ZERO_OVERFLOW": OVERFLOW_NOT_ZERO,
    "REFCOUNT_ADD_NOT_ZERO_OVERFLOW": OVERFLOW_NOT_ZERO,
    "REFCOUNT_DEC_ZERO": ("refcount: decrement hit 0", ["Zero detected: saturated"]),
    "REFCOUNT_DEC_NEGATIVE": ("refcount: decrement hit 0", ["Negative detected: saturated"]),
    "REFCOUNT_DEC_AND_TEST_NEGATIVE": NEGATIVE,
    "REFCOUNT_SUB_AND_TEST_NEGATIVE": NEGATIVE,
    "REFCOUNT_INC_ZERO": ON_ZERO,
    "REFCOUNT_ADD_ZERO": ON_ZERO,
    "REFCOUNT_INC_SATURATED": SATURATED,
    "REFCOUNT_DEC_SATURATED": SATURATED,
    "REFCOUNT_ADD_SATURATED": SATURATED,
    "REFCOUNT_INC_NOT_ZERO_SATURATED": SATURATED,
    "REFCOUNT_ADD_NOT_ZERO_SATURATED": SATURATED,
    "REFCOUNT_DEC_AND_TEST_SATURATED": SATURATED,
    "REFCOUNT_SUB_AND_TEST_SATURATED": SATURATED,
}
# What else the guest must print, each so many times.
LINES = {r"CPUS 4": 1, r"storm: process \d+: [1-9]\d* rounds": 24, r"storm: done on /t": 2, r"storm: done on /e": 1,
         r"UMOUNT tmpfs, empty": 1, r"UMOUNT tmpfs": 1, r"UMOUNT ext2": 1, r"UMOUNT ext2, again": 1, r"ALL DONE": 1}
COMPLAINT = re.compile(r"WARNING|\bBUG\b|Oops|Kernel panic|general protection|Unable to handle|lockup|stall|hung task|"
                       r"blocked for more|scheduling while atomic|imbalance|possible recursive|possible circular|"
                       r"inconsistent lock|Busy inodes|still in use|FAILED|refcount_t:|holdfast:|suspicious RCU")

LOCKREF_C = "lib/lockref.c"
LKDTM_C = "drivers/misc/lkdtm/refcount.c"


def variant(name):
    """lib/lockref.c with one of the lab's lockrefs."""
    return (LOCKREF_C, LOCKREF_C, "#include <holdfast/lockref.h>\n",
            '#include <holdfast/lockref.h>\n#define LAB_LOCKREF_%s\n#include "%s"\n'
            % (name, os.path.join(ROOT, "lab", "variants", "in_place.h")))


class Guest:
    """kernel: of Debian; overlay: with Holdfast; config: more of it; change: (file to compile again, file that is
    changed, text, other text, and so on); expected: how a mutant must fail."""

    def __init__(self, kernel="6.1", overlay=True, config=(), change=None, expected=None):
        self.kernel, self.overlay, self.config = kernel, overlay, config
        self.change, self.expected = change, expected

    def name(self):
        """Of the folder that it is built in. One with a change is built in that of the one without."""
        return "-".join([self.kernel, "holdfast" if self.overlay else "stock", *(["debug"] if self.config else [])])


GUESTS = {
    "holdfast": Guest(),
    "mutant-put-drops-nothing": Guest(change=(
        LOCKREF_C, "include/holdfast/lockref.h",
        "return HF_LIKELY(hf_atomic64_try_cmpxchg_release(&l->word, &word, less));",
        "return HF_LIKELY(hf_atomic64_try_cmpxchg_release(&l->word, &word, word));"),
        expected=r"unexpected: .*(still in use|Busy inodes)"),
    "mutant-lock-is-ignored": Guest(change=(
        LOCKREF_C, "include/holdfast/lockref.h",
        "return HF_LIKELY(((uint32_t)word & HF_DETAIL_LOCKREF_LOCK_BITS) == 0);", "return true;"),
        expected=r"unexpected: .*"),
    "mutant-inc-of-0": Guest(change=(
        LKDTM_C, "include/holdfast/refcount.h", "return sum > i;", "return sum >= i;"), expected=r"REFCOUNT_INC_ZERO: "),
}
MORE = {
    "stock": Guest(overlay=False),
    "unbounded": Guest(change=variant("unbounded")),
    "locked": Guest(change=variant("locked")),
}
# The table of instructions: rows.
COUNTED = ("stock", "holdfast", "unbounded", "locked")


# ---- Sources -------------------------------------------------------------------------------------

def say(text):
    print(text, flush=True)


def fetch(kernel):
    """Download the sources and busybox, and unpack what is needed. What is there already stays."""
    folder = os.path.join(BUILD, kernel)
    if os.path.exists(os.path.join(folder, "ready")):
        return folder
    say("fetching the sources of Debian's Linux %s (140 MB) ..." % kernel)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    release = KERNELS[kernel]
    apt(BUILD, "apt-get", "-q", "update", release=release)
    apt(BUILD, "apt-get", "-q", "download", "linux-source-" + kernel, "busybox-static:amd64", cwd=folder,
        release=release)
    for deb in glob.glob(os.path.join(folder, "*.deb")):
        subprocess.run(["dpkg-deb", "-x", deb, folder], check=True)
    archive = glob.glob(os.path.join(folder, "usr", "src", "linux-source-*.tar.xz"))[0]
    top = "linux-source-" + kernel
    excluded = ["%s/%s" % (top, path) for path in
                NOT_UNPACKED + ["drivers/%s/*.[chS]" % driver for driver in NO_SOURCES]]
    subprocess.run(["tar", "-xJf", archive, "-C", folder, "--anchored", *["--exclude=" + one for one in excluded]],
                   check=True)
    os.rename(os.path.join(folder, top), os.path.join(folder, "stock"))
    for processor in CRYPTO:
        empty = os.path.join(folder, "stock", "arch", processor, "crypto")
        os.makedirs(empty, exist_ok=True)
        open(os.path.join(empty, "Kconfig"), "w", encoding="utf-8").close()
    for path in [archive, *glob.glob(os.path.join(folder, "*.deb"))]:
        os.remove(path)
    open(os.path.join(folder, "ready"), "w", encoding="utf-8").close()
    return folder


def replace(source, target):
    """A copy, never into the old file: the tree's files may be hard links to the stock kernel's."""
    if os.path.isdir(target) and not os.path.islink(target):
        shutil.rmtree(target)
    elif os.path.lexists(target):
        os.remove(target)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    (shutil.copytree if os.path.isdir(source) else shutil.copy2)(source, target)


def put_into(tree):
    """Puts Holdfast into a kernel's tree."""
    for path in REPLACED:
        if not os.path.exists(os.path.join(tree, path)):
            raise FileNotFoundError("%s has no %s: is it a kernel's tree?" % (tree, path))
    for source, target in PARTS:
        replace(os.path.join(ROOT, source), os.path.join(tree, target))
    overlay = os.path.join(HERE, "overlay")
    for folder, _, names in os.walk(overlay):
        for name in names:
            path = os.path.join(folder, name)
            replace(path, os.path.join(tree, os.path.relpath(path, overlay)))
    makefile = os.path.join(tree, "lib", "Makefile")
    with open(makefile, encoding="utf-8") as file:
        text = file.read()
    if "obj-y += holdfast/" not in text:
        os.remove(makefile)
        with open(makefile, "w", encoding="utf-8") as file:
            file.write(text + "\nobj-y += holdfast/\n")


def digest(guest):
    """Of all that goes into a guest's tree and its configuration."""
    total = hashlib.sha256(" ".join([guest.kernel, *guest.config]).encode())
    ours = [os.path.join(ROOT, source) for source, _ in PARTS] + [os.path.join(HERE, "overlay")]
    for path in (ours if guest.overlay else []) + [os.path.join(HERE, "kernel.config")]:
        for file in sorted(glob.glob(os.path.join(path, "**"), recursive=True)) if os.path.isdir(path) else [path]:
            if os.path.isfile(file):
                with open(file, "rb") as data:
                    total.update(os.path.relpath(file, ROOT).encode() + data.read())
    return total.hexdigest()


# ---- Kernels -------------------------------------------------------------------------------------

def make(tree, out, log, *targets):
    """Kbuild. Raises if it fails or warns."""
    compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    environment.setdefault("CCACHE_DIR", os.path.expanduser("~/.cache/ccache"))
    environment["KBUILD_BUILD_TIMESTAMP"] = "2026"  # else each build differs
    done = subprocess.run(["make", "-j" + JOBS, "-C", tree, "O=" + out, "ARCH=x86_64", "CC=" + compiler, *targets],
                          env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    with open(log, "a", encoding="utf-8") as file:
        file.write(done.stdout + done.stderr)
    complaints = re.findall(r"^.*(?:[Ww]arning|[Ee]rror): .*", done.stdout + done.stderr, re.MULTILINE)
    if done.returncode != 0 or complaints:
        raise RuntimeError("does not build: " + ("; ".join(complaints[:5]) or (done.stdout + done.stderr)[-500:]))


def build(guest):
    """Builds the guest's kernel without its change. Returns (tree, folder of the build)."""
    folder = fetch(guest.kernel)
    tree = os.path.join(folder, "holdfast" if guest.overlay else "stock")
    out = os.path.join(BUILD, "build-" + guest.name())
    stamp = os.path.join(out, "built-of")
    wanted = digest(guest)
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == wanted:
                return tree, out
    say("building Linux %s, %s ..." % (guest.kernel, guest.name()))
    start = time.monotonic()
    # From nothing: Kbuild does not see that a header with #pragma GCC system_header has changed.
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    if guest.overlay:
        if not os.path.exists(tree):
            subprocess.run(["cp", "-al", os.path.join(folder, "stock"), tree], check=True)
        put_into(tree)
    config = os.path.join(out, "all.config")
    with open(os.path.join(HERE, "kernel.config"), encoding="utf-8") as file, open(config, "w", encoding="utf-8") as to:
        to.write(file.read() + "".join("CONFIG_%s=y\n" % name for name in guest.config))
    log = os.path.join(out, "build.log")
    make(tree, out, log, "KCONFIG_ALLCONFIG=" + config, "allnoconfig")
    with open(os.path.join(out, ".config"), encoding="utf-8") as file:
        there = file.read()
    missing = [name for name in re.findall(r"^(CONFIG_\w+=.*)", open(config, encoding="utf-8").read(), re.MULTILINE)
               if name not in there]
    if missing:
        raise RuntimeError("this kernel has no " + " ".join(missing))
    make(tree, out, log, "bzImage")
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(wanted)
    say("built in %d s" % (time.monotonic() - start))
    return tree, out


def kernel_image(label, guest):
    """The guest's kernel. A changed file keeps its time, and only the file that is named is compiled again."""
    tree, out = build(guest)
    image = os.path.join(out, "arch", "x86", "boot", "bzImage")
    target = os.path.join(BUILD, "guests", label, "bzImage")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not guest.change:
        shutil.copy(image, target)
        return target
    source, changed, *swaps = guest.change
    path = os.path.join(tree, changed)
    status = os.stat(path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    log = os.path.join(out, "build.log")
    source = os.path.join(tree, source)
    try:
        for before, after in zip(swaps[::2], swaps[1::2]):
            runner.mutation.edit(path, runner.mutation.swap(before, after))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        os.utime(source)
        make(tree, out, log, "bzImage")
        shutil.copy(image, target)
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        os.utime(source)
    make(tree, out, log, "bzImage")
    return target


# ---- Guests --------------------------------------------------------------------------------------

def program(folder, name):
    """One of the guest's programs, compiled."""
    path = os.path.join(folder, name)
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", path,
                    os.path.join(HERE, name + ".c")], check=True)
    return path


def initramfs(label, kernel, *programs):
    """An archive with init, busybox, an empty ext2 and these programs."""
    guest = os.path.join(BUILD, "guests", label)
    path, ext2 = os.path.join(guest, "initramfs.gz"), os.path.join(guest, "ext2")
    with open(ext2, "wb") as file:
        file.truncate(16 << 20)
    subprocess.run([shutil.which("mke2fs") or "/sbin/mke2fs", "-q", "-F", "-t", "ext2", "-b", "4096", ext2],
                   check=True)
    files = {"init": os.path.join(HERE, "init"),
             "bin/busybox": next(filter(os.path.exists, (os.path.join(BUILD, kernel, folder, "busybox")
                                                         for folder in ("bin", "usr/bin"))))}
    files.update((name, program(guest, name)) for name in programs)
    with gzip.open(path, "wb", compresslevel=1) as out:
        for folder in ("dev", "proc", "sys", "bin", "t", "e"):
            out.write(cpio_entry(folder, 0o040755))
        out.write(cpio_entry("dev/console", 0o020600, device=(5, 1)))
        for name, source in files.items():
            with open(source, "rb") as file:
                out.write(cpio_entry(name, 0o100755, file.read()))
        with open(ext2, "rb") as file:
            out.write(cpio_entry("ext2.gz", 0o100644, gzip.compress(file.read(), 1)))
        out.write(cpio_entry("TRAILER!!!", 0))
    return path


def boot(label, image, archive, machine, log="console.log", stop=None):
    """Returns the console's lines. `stop`: one that matches ends the machine."""
    command = ["qemu-system-x86_64", "-cpu", "max", *machine, "-m", "512", "-display", "none", "-serial", "stdio",
               "-monitor", "none", "-nodefaults", "-no-reboot", "-kernel", image, "-initrd", archive,
               # x86-64 panics where the timer does not tick in time, as in an emulator on a busy host.
               "-append", "console=ttyS0 panic=-1 oops=panic printk.time=0 no_timer_check STORM=%d" % STORM]
    lines, end = [], time.monotonic() + LIMIT
    with open(os.path.join(BUILD, "guests", label, log), "w", encoding="utf-8") as file, \
            subprocess.Popen(["timeout", str(LIMIT), *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace") as guest:
        for line in guest.stdout:
            lines.append(line.strip("\r\n"))
            file.write(lines[-1] + "\n")
            if stop and stop(lines):
                guest.terminate()
                break
    if time.monotonic() >= end:
        lines.append("did not end in %d s" % LIMIT)
    return lines


def judge(lines, ours):
    """(what passed, faults) of a console. ours: the reports are Holdfast's; else the kernel's own."""
    passed, faults, found, counts = 0, [], {}, dict.fromkeys(LINES, 0)
    case = None
    for line in lines:
        if match := re.match(r"CASE (\w+)", line):
            case = found.setdefault(match[1], ([], []))
        elif line == "CASES END":
            case = None
        elif match := re.match(r"lkdtm: (.*)", line):
            if case and not match[1].startswith(("Performing", "attempting")):
                case[1].append(match[1])
        elif case and (match := re.match(r"holdfast: 0x\w+: (.*)" if ours else r"refcount_t: (.*)", line)):
            case[0].append(match[1])
        elif COMPLAINT.search(line) and not (case and line.startswith("WARNING: ")):
            faults.append("unexpected: " + line)
        for pattern in LINES:
            counts[pattern] += bool(re.fullmatch(pattern, line))
    for name, (report, verdicts) in CASES.items():
        reports, said = found.pop(name, ([], []))
        if len(reports) == 1 and (not ours or reports[0].startswith(report)) and said == verdicts:
            passed += 1
        else:
            faults.append("%s: reported %s, verdicts %s" % (name, reports, said))
    faults += ["%s: there is no such case in the table" % name for name in found]
    for pattern, wanted in LINES.items():
        if counts[pattern] == wanted:
            passed += 1
        else:
            faults.append("%d lines, not %d: %s" % (counts[pattern], wanted, pattern))
    faults += [line for line in lines[-1:] if line.startswith("did not end")]
    return passed, faults


SMP = ["-accel", "tcg,thread=multi", "-smp", "4,sockets=4,cores=1,threads=1"]


def stop_mutant(lines):
    """A mutant's machine ends with the first complaint that no case of LKDTM's expects: thousands may follow."""
    after = "CASES END" in lines or not any(line.startswith("CASE ") for line in lines)
    return after and COMPLAINT.search(lines[-1]) and not lines[-1].startswith("lkdtm")


def run(label, guest, total):
    try:
        image = kernel_image(label, guest)
    except RuntimeError as fault:
        total.fault(label, fault)
        return
    archive = initramfs(label, guest.kernel, "storm")
    start = time.monotonic()
    lines = boot(label, image, archive, SMP, stop=stop_mutant if guest.expected else None)
    passed, faults = judge(lines, guest.overlay)
    if guest.expected is None:
        say("%s: %d passed, %d faults, in %d s" % (label, passed, len(faults), time.monotonic() - start))
        total.passed += passed
        for fault in faults[:20]:
            total.fault(label, fault)
        return
    found = next((fault for fault in faults if re.search(guest.expected, fault)), None)
    if found:
        say("%s: caught: %s" % (label, found))
        total.passed += 1
    else:
        total.fault(label, "should fail by /%s/, but: %s" % (guest.expected, faults[:5] or "passed"))


def count(total):
    """The instructions of the hot path, one row a guest. The table of docs/kernel-tree.md is from this."""
    for label in COUNTED:
        image = os.path.join(BUILD, "guests", label, "bzImage")
        if not os.path.exists(image):
            continue
        archive = initramfs(label, "6.1", "openclose")
        lines = boot(label, image, archive, ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off",
                                             "-smp", "1"], "console-instructions.log")
        found = [match.groups() for match in
                 (re.fullmatch(r"INSTRUCTIONS (.+) (\d+)", line) for line in lines) if match]
        if len(found) == 3:
            total.passed += 1
            say("    %-12s %s" % (label, ", ".join("%s %s" % row for row in found)))
        else:
            total.fault(label, "no instructions were counted: %s" % lines[-3:])


def main(names):
    if names[:1] == ["--into"] and len(names) == 2:
        put_into(names[1])
        return 0
    everything = names == ["--all"]
    known = {**GUESTS, **MORE}
    if platform.machine() != "x86_64":
        say("SKIPPED kernel-tree: the kernel is built for x86-64, this is " + platform.machine())
        return 77
    programs = ["make", "gcc", "flex", "bison", "bc", "xz", "qemu-system-x86_64", "apt-get", "dpkg-deb"]
    missing = [name for name in programs if not shutil.which(name)]
    missing += [] if shutil.which("mke2fs") or os.path.exists("/sbin/mke2fs") else ["mke2fs"]
    missing += [] if os.path.exists("/usr/include/libelf.h") else ["libelf-dev"]
    if missing:
        say("SKIPPED kernel-tree: not here: " + " ".join(missing))
        return 77
    names = list(known if everything else GUESTS) if everything or not names else names
    if unknown := [name for name in names if name not in known]:
        sys.exit("no such guest: %s; there are: %s" % (" ".join(unknown), " ".join(known)))
    total = runner.Sum()
    os.makedirs(BUILD, exist_ok=True)
    for name in names:
        try:
            run(name, known[name], total)
        except Unavailable as why:
            say("SKIPPED %s: %s" % (name, why))
    if everything:
        count(total)
    if not total.passed and not total.failed:
        return 77
    return total.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
